"""1,000 sources use 50 servers; then one is flooded from 5,000 spoofed addresses."""

import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import PATIENCE_SECONDS, Lab, main, udp  # noqa: E402

NORMAL, SPOOFED, SERVERS = 1000, 5000, 50
NORMAL_RATE, FLOOD_RATE = 2000, 4000
TICK_SECONDS = .01
AFTER_SECONDS = 1
VICTIM = '10.9.0.7'
MAX_DETECTION_SECONDS, MAX_LOSS = 5, .01
# What sampling would report of a sampled packet, and of how many it samples one, for comparison.
SAMPLE_BYTES, SAMPLING = 128, 64


class Traffic:
    """What is sent, by kind, and what arrives at the servers."""

    def __init__(self, lab):
        choice = random.Random(1)
        self.lab = lab
        self.normal = [udp('10.1.%d.%d' % divmod(i % NORMAL, 256),
                           '10.9.0.%d' % choice.randrange(SERVERS), 53) for i in range(10_000)]
        self.flood = [udp('10.2.%d.%d' % divmod(i, 256), VICTIM, 53) for i in range(SPOOFED)]
        choice.shuffle(self.normal)
        choice.shuffle(self.flood)
        self.sent = [0, 0]  # normal, flood

    def run(self, flood, until):
        """Sends until a condition holds; gives how long it took."""
        start = time.monotonic()
        while not until(time.monotonic() - start):
            began = time.monotonic()
            self.burst(1, 0, self.normal, NORMAL_RATE)
            if flood:
                self.burst(2, 1, self.flood, FLOOD_RATE)
            self.lab.hosts[3].receive()
            time.sleep(max(0, began + TICK_SECONDS - time.monotonic()))
        return time.monotonic() - start

    def burst(self, host, kind, frames, rate):
        """Sends the packets of one tick."""
        for _ in range(round(rate * TICK_SECONDS)):
            self.lab.hosts[host].socket.send(frames[self.sent[kind] % len(frames)])
            self.sent[kind] += 1

    def arrived(self):
        """Packets of each kind that have arrived, of those sent since this was last asked."""
        frames = self.lab.arrived()[3]
        normal = sum(frame[27] == 1 for frame in frames)
        sent, self.sent = self.sent, [0, 0]
        return (normal, len(frames) - normal), sent


def check():
    with Lab(hosts=3, controller='controller.py') as lab, ThreadPoolExecutor() as pool:
        traffic = Traffic(lab)
        packet_ins = lab.metric('openflow_messages_total', 'PACKET_IN')
        learned = pool.submit(lab.wait_for, 'LEARNED')
        traffic.run(False, lambda seconds: learned.done() or seconds > PATIENCE_SECONDS)
        attack = pool.submit(lab.wait_for, 'ATTACK')
        detection = traffic.run(True, lambda seconds: attack.done() or seconds > PATIENCE_SECONDS)
        assert detection < MAX_DETECTION_SECONDS, 'detected after %.1f s' % detection
        _, victim, reported = attack.result().split()
        assert victim == VICTIM, victim
        before, sent_before = traffic.arrived()
        traffic.run(True, lambda seconds: seconds > AFTER_SECONDS)
        after, sent_after = traffic.arrived()
        assert lab.metric('openflow_messages_total', 'PACKET_IN') == packet_ins
    normal = sent_before[0] + sent_after[0]
    loss = 1 - (before[0] + after[0]) / normal
    assert loss < MAX_LOSS, 'loss %.4f' % loss
    assert after[1] == 0, '%d packets of the flood pass' % after[1]
    sampled = sum(sent_before) // SAMPLING * SAMPLE_BYTES
    return ('detected after %.2f s; of %d normal packets %.2f %% lost, of %d of the flood then '
            'all; reports %d kB, samples of one packet in %d %d kB; 0 packet-ins' % (
                detection, normal, 100 * loss, sent_after[1], int(reported) // 1000, SAMPLING,
                sampled // 1000))


if __name__ == '__main__':
    main(check)
