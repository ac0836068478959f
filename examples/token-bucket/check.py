"""100 flows send more than 1 Mb/s each; a simulation says of each packet whether it conforms."""

import collections
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, main, udp  # noqa: E402

FLOWS, AT_ONCE = 100, 25
RATE_BYTES_PER_MS, DEPTH_MS = 125, 100
FRAME_BYTES = [750, 1500, 1250]  # multiples of the rate, so that costs are whole milliseconds
OFFERED = 1.6  # of the rate
SECONDS = 1.5
TICK_SECONDS, MOST_A_TICK = .002, 100
TOLERANCE = .02
HEADER_BYTES = 42


class Bucket:
    """The token bucket of one flow, as virtual scheduling (ITU-T I.371)."""

    def __init__(self):
        self.full_at = 0
        self.full_ms = 0  # for how long it was full

    def takes(self, now, length):
        """Whether a packet conforms."""
        if now < self.full_at - DEPTH_MS:
            return False
        self.full_ms += max(0, now - self.full_at)
        self.full_at = max(now, self.full_at) + length // RATE_BYTES_PER_MS
        return True


def packet(number, flow):
    """A numbered packet of a flow."""
    length = FRAME_BYTES[number % len(FRAME_BYTES)]
    payload = struct.pack('!I', number).ljust(length - HEADER_BYTES, b'.')
    return udp('10.1.0.%d' % flow, '10.9.0.1', 7, payload)


def offer(lab, flows):
    """Has flows send more than they may."""
    mean = sum(FRAME_BYTES) / len(FRAME_BYTES)
    packets_per_second = OFFERED * RATE_BYTES_PER_MS * 1000 * len(flows) / mean
    start, number = time.monotonic(), 0
    while (elapsed := time.monotonic() - start) < SECONDS:
        for _ in range(MOST_A_TICK):
            if number < elapsed * packets_per_second:
                lab.hosts[1].socket.send(packet(number // len(flows), flows[number % len(flows)]))
                number += 1
        for host in lab.hosts.values():
            host.receive()
        time.sleep(TICK_SECONDS)


def rate(flow):
    """The rate of a flow, in that of the bucket, from its first packet too much to its last, when
    the bucket was empty. The time in which it was full, since the sender paused, does not count."""
    bucket, empty = Bucket(), []
    passed = 0
    for _, now, length, conforms in flow:
        assert bucket.takes(now, length) == conforms, 'as simulated'
        if conforms:
            passed += length
        else:
            empty.append((now - bucket.full_ms, passed))
    (start, before), (end, after) = empty[0], empty[-1]
    return (after - before) / (end - start) / RATE_BYTES_PER_MS


def check():
    with Lab(hosts=3, controller='controller.py') as lab:
        before = lab.messages()
        for first in range(0, FLOWS, AT_ONCE):
            offer(lab, range(first, first + AT_ONCE))
        arrived = lab.arrived()
        assert lab.messages() == before, 'no message to or from the controller'
    # Of each flow: number, time, length and whether it passed, of each packet.
    packets = collections.defaultdict(list)
    for host, conforms in ((2, True), (3, False)):
        for frame in arrived[host]:
            number, = struct.unpack_from('!I', frame, HEADER_BYTES)
            now, = struct.unpack_from('<I', frame, 6)
            packets[frame[26:30]].append((number, now, len(frame), conforms))
    worst = max(abs(rate(sorted(flow)) - 1) for flow in packets.values())
    assert len(packets) == FLOWS and worst <= TOLERANCE, '%.3f' % worst
    return ('%d packets of %d flows pass or not as simulated; each flow has 1 Mb/s within %.1f %%; '
            '0 controller messages' % (sum(map(len, packets.values())), FLOWS, 100 * worst))


if __name__ == '__main__':
    main(check)
