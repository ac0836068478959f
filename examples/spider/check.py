"""A cable loses all frames while its carriers stay up: how long is a flow cut?"""

import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402

RATE = 1000
LINKS = [(1, 2), (2, 3), (3, 4), (4, 5), (5, 1)]
CUT = (2, 3)
# Hosts by number, and the switch of each; their addresses in frames are those of controller.py.
HOSTS = {1: 1, 2: 3}
MACS = ('02:dd:00:00:00:01', '02:dd:00:00:00:03')
# d1 to d7: the sets in SPIDER's own code, and one with a short d5 and d3, to see the flow return.
SETS = {
    'd6 1, d7 1': (.1, 1, .1, 1, 10, 1, 1),
    'd6 0.1, d7 0.1': (.1, 1, .1, 1, 10, .1, .1),
    'd6 0.01, d7 0.1': (.01, .1, .01, .1, 10, .01, .1),
}
RETURN = (.03, .5, .03, .5, .3, .01, .1)
RETURN_SECONDS = 2
# Bursts and the pauses between them, in which flows may change their path, in seconds.
BURST_SECONDS, PAUSE_SECONDS = .06, .06


class Stream:
    """Numbered packets from host 1 to host 2, and when each was sent and arrived."""

    def __init__(self, laboratory):
        self.lab = laboratory
        self.lab.arrived()  # those of an earlier stream
        self.sent, self.arrived, self.order = [], {}, []

    def run(self, seconds):
        """Sends for a while, at the rate."""
        host = self.lab.hosts[1]
        start, first = time.perf_counter(), len(self.sent)
        while (elapsed := time.perf_counter() - start) < seconds:
            while len(self.sent) - first < elapsed * RATE:
                payload = struct.pack('!I', len(self.sent)).ljust(32, b'.')
                host.socket.send(lab.udp('10.0.0.1', '10.0.0.3', 7, payload, macs=MACS))
                self.sent.append(time.perf_counter())
            self.receive()
            time.sleep(.0002)

    def receive(self):
        """Notes what has arrived."""
        host = self.lab.hosts[2]
        host.receive()
        for frame in host.frames:
            number, = struct.unpack_from('!I', frame, 42)
            self.arrived.setdefault(number, time.perf_counter())
            self.order.append(number)
        host.frames = []

    def outage(self):
        """Number and time from the last packet before the longest hole until the one after it."""
        numbers = sorted(self.arrived)
        size, last, following = max((b - a, a, b) for a, b in zip(numbers, numbers[1:]))
        return size - 1, self.arrived[following] - self.sent[last]

    def bursts(self, seconds):
        """Sends for a while, in bursts."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.run(BURST_SECONDS)
            time.sleep(PAUSE_SECONDS)
        self.receive()

    def longest_gap(self):
        """The longest time between two packets sent."""
        return max(b - a for a, b in zip(self.sent, self.sent[1:]))

    def round_trip(self):
        """The longest time that a packet took there and back, if back takes as long."""
        return 2 * max(self.arrived[n] - self.sent[n] for n in self.arrived)


def outage(laboratory, timers):
    """Cuts the cable under traffic: packets lost, seconds without one, and seconds allowed.

    Allowed are d6 + d7, a round trip as long as the longest before the cut, and the longest gap of
    the sender, for it is a packet that asks.
    """
    laboratory.tell(' '.join(map(str, timers)))
    d6, d7 = timers[5:]
    stream = Stream(laboratory)
    before = laboratory.messages()
    stream.run(.5)
    round_trip = stream.round_trip()
    lab.cut(*CUT)
    stream.run(d6 + d7 + .5)
    assert laboratory.messages() == before, 'no message to or from the controller'
    lab.repair(*CUT)
    lost, seconds = stream.outage()
    return lost, seconds, d6 + d7 + round_trip + stream.longest_gap()


def returns(laboratory):
    """After the repair the flow goes back to its path: packets lost then, and out of order."""
    laboratory.tell(' '.join(map(str, RETURN)))
    stream = Stream(laboratory)
    stream.bursts(.5)
    lab.cut(*CUT)
    stream.bursts(1)
    lab.repair(*CUT)
    first = len(stream.sent)
    stream.bursts(RETURN_SECONDS)
    detoured = laboratory.metric('port_receive_packets_total', 'switch="s4"')
    stream.bursts(.3)
    assert laboratory.metric('port_receive_packets_total', 'switch="s4"') == detoured, 'it is back'
    lost = [number for number in range(first, len(stream.sent)) if number not in stream.arrived]
    pairs = list(zip(stream.order, stream.order[1:]))
    return len(lost), sum(later < earlier for earlier, later in pairs)


def check():
    figures = []
    with lab.Lab(hosts=HOSTS, controller='controller.py', links=LINKS) as laboratory:
        for name, timers in SETS.items():
            lost, seconds, allowed = outage(laboratory, timers)
            assert seconds <= allowed, '%s: %.3f s, more than %.3f' % (name, seconds, allowed)
            figures.append('%s: %.3f s of %.3f, %d packets' % (name, seconds, allowed, lost))
        lost, disordered = returns(laboratory)
        assert (lost, disordered) == (0, 0), '%d lost, %d out of order' % (lost, disordered)
    return 'a silent cut lasts for %s; the way back loses none and keeps their order' % (
        '; '.join(figures))


if __name__ == '__main__':
    lab.main(check)
