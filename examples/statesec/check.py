"""1,000 sources use 50 servers; one scans the ports of a server; one is flooded from 5,000 addresses."""

import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import PATIENCE_SECONDS, Lab, main, udp  # noqa: E402

NORMAL, SPOOFED, SERVERS, SERVICES = 1000, 5000, 50, [53, 123, 443, 500, 5060]
NORMAL_RATE, FLOOD_RATE, SCAN_RATE = 2000, 4000, 1500
TICK_SECONDS = .01
AFTER_SECONDS = 1
VICTIM, SCANNER, SCANNED = '10.9.0.7', '10.3.0.1', '10.9.0.9'
MAX_DETECTION_SECONDS, MAX_LOSS = 5, .01
# What sampling would report of a sampled packet, and of how many it samples one, for comparison.
SAMPLE_BYTES, SAMPLING = 128, 64
# Kinds of packets, by the second byte of their sources.
PEACE, FLOOD, SCAN = 1, 2, 3
RATES = {PEACE: NORMAL_RATE, FLOOD: FLOOD_RATE, SCAN: SCAN_RATE}


class Traffic:
    """What is sent, by kind, and what arrives at the servers."""

    def __init__(self, lab):
        choice = random.Random(1)
        self.lab = lab

        def port():
            return choice.randrange(1024, 65536)

        self.frames = {
            PEACE: [udp('10.1.%d.%d' % divmod(i % NORMAL, 256),
                        '10.9.0.%d' % choice.randrange(SERVERS), choice.choice(SERVICES),
                        from_port=port()) for i in range(10_000)],
            FLOOD: [udp('10.2.%d.%d' % divmod(i, 256), VICTIM, 53, from_port=port())
                    for i in range(SPOOFED)],
            SCAN: [udp(SCANNER, SCANNED, to, from_port=port()) for to in range(1, 20_000)],
        }
        for frames in self.frames.values():
            choice.shuffle(frames)
        self.sent = dict.fromkeys(RATES, 0)
        self.got = lab.metric('port_receive_packets_total', 'port="1"')

    def run(self, attack, until):
        """Sends until a condition holds; gives how long it took."""
        start = time.monotonic()
        while not until(time.monotonic() - start):
            began = time.monotonic()
            self.burst(1, PEACE)
            if attack:
                self.burst(2, attack)
            self.lab.hosts[3].receive()
            time.sleep(max(0, began + TICK_SECONDS - time.monotonic()))
        return time.monotonic() - start

    def burst(self, host, kind):
        """Sends the packets of one tick."""
        frames = self.frames[kind]
        for _ in range(round(RATES[kind] * TICK_SECONDS)):
            self.lab.hosts[host].socket.send(frames[self.sent[kind] % len(frames)])
            self.sent[kind] += 1

    def arrived(self):
        """Packets of each kind that have arrived, and were sent, since this was last asked. Of the
        normal ones, those that the switch got: on a busy machine, its kernel may lose some."""
        kinds = [frame[27] for frame in self.lab.arrived()[3]]
        sent, self.sent = self.sent, dict.fromkeys(RATES, 0)
        got = self.lab.metric('port_receive_packets_total', 'port="1"')
        sent[PEACE], self.got = got - self.got, got
        return {kind: (kinds.count(kind), sent[kind]) for kind in RATES}


def attacked(lab, pool, traffic, kind, word, address):
    """Attacks until the controller names the attack, and then goes on; gives the seconds until it
    did, the bytes of its reports, and the packets before and after."""
    said = pool.submit(lab.wait_for, word)
    seconds = traffic.run(kind, lambda seconds: said.done() or seconds > PATIENCE_SECONDS)
    assert seconds < MAX_DETECTION_SECONDS, '%s detected after %.1f s' % (word, seconds)
    _, named, reported = said.result().split()
    assert named == address, named
    before = traffic.arrived()
    traffic.run(kind, lambda seconds: seconds > AFTER_SECONDS)
    after = traffic.arrived()
    assert after[kind][0] == 0 < after[kind][1], '%d packets of %s pass' % (after[kind][0], word)
    return seconds, int(reported), before, after


def check():
    with ThreadPoolExecutor() as pool, Lab(hosts=3, controller='controller.py') as lab:
        traffic = Traffic(lab)
        packet_ins = lab.metric('openflow_messages_total', 'PACKET_IN')
        learned = pool.submit(lab.wait_for, 'LEARNED')
        traffic.run(None, lambda seconds: learned.done() or seconds > PATIENCE_SECONDS)
        periods = [traffic.arrived()]
        scan, _, *more = attacked(lab, pool, traffic, SCAN, 'SCAN', SCANNER)
        periods += more
        traffic.run(None, lambda seconds: seconds > AFTER_SECONDS)
        flood, reported, *more = attacked(lab, pool, traffic, FLOOD, 'FLOOD', VICTIM)
        periods += more
        assert lab.metric('openflow_messages_total', 'PACKET_IN') == packet_ins
    for arrived, sent in (period[PEACE] for period in periods):
        assert arrived >= sent * (1 - MAX_LOSS), '%d of %d normal packets arrive' % (arrived, sent)
    arrived, sent = (sum(period[PEACE][i] for period in periods) for i in range(2))
    loss = 1 - arrived / sent
    everything = sum(period[kind][1] for period in periods[:-1] for kind in RATES)
    return ('a scan is detected after %.2f s, a flood after %.2f s, and then all their packets are '
            'dropped; of %d normal packets %.2f %% lost; reports of four features %d kB, samples '
            'of one packet in %d %d kB; 0 packet-ins' % (
                scan, flood, sent, 100 * loss, reported // 1000, SAMPLING,
                everything // SAMPLING * SAMPLE_BYTES // 1000))


if __name__ == '__main__':
    main(check)
