"""The swap on real switches, with clocks that differ: how many packets find both flows on one link."""

import struct
import threading
import time

from lab import Lab, udp

HOSTS = {1: 1, 2: 2, 3: 3, 4: 4}
LINKS = [(1, 3), (1, 4), (2, 3), (2, 4)]
SENDERS, BY = (1, 2), (3, 4)
PORT = 5000
# How often each sender sends a packet, how many swaps there are of a kind, and how long before its
# time a swap is sent.
PERIOD, SWAPS, AHEAD_MS = 250e-6, 7, 60
PAUSE = .15
# The share of pairs that arrive whole on a machine that does other things, too.
LEAST_SHARE = .99


class Senders:
    """A thread by which both hosts send a packet at a time, numbered as one pair."""

    def __init__(self, lab):
        self.lab, self.pairs, self.is_over = lab, 0, False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        """Sends pairs until it is over; after a pause of the processor none are made up for."""
        while not self.is_over:
            for sender in SENDERS:
                data = struct.pack('!BI', sender, self.pairs)
                frame = udp('10.0.0.%d' % sender, '10.9.0.1', PORT, data)
                self.lab.hosts[sender].socket.send(frame)
            self.pairs += 1
            time.sleep(PERIOD)

    def end(self):
        """The way of each packet, by sender and pair."""
        self.is_over = True
        self.thread.join()
        ways = {}
        for host, frames in self.lab.arrived().items():
            for frame in frames if host in BY else []:
                if frame[36:38] == struct.pack('!H', PORT):
                    ways[struct.unpack_from('!BI', frame, 42)] = host
        return ways


def met(lab, command):
    """The number of pairs on one link during a swap."""
    senders = Senders(lab)
    time.sleep(PAUSE)
    lab.tell('swap %s %s' % command)
    time.sleep(PAUSE)
    ways = senders.end()
    pairs = [tuple(ways.get((sender, pair)) for sender in SENDERS) for pair in range(senders.pairs)]
    pairs = [pair for pair in pairs if None not in pair]
    assert len(pairs) >= LEAST_SHARE * senders.pairs, '%d of %d pairs arrive' % (
        len(pairs), senders.pairs)
    assert pairs[0] == pairs[-1][::-1], 'both flows are swapped'
    return sum(one == other for one, other in pairs)


def swaps():
    """The numbers of pairs that meet on one link in swaps, sorted, by what differs."""
    kinds = {'0 ms': (AHEAD_MS, 0), '1 ms': (AHEAD_MS, 1_000), '10 ms': (AHEAD_MS, 10_000),
             'one after the other': ('after', 40)}
    with Lab(HOSTS, 'live_controller.py', links=LINKS) as lab:
        return {name: sorted(met(lab, command) for _ in range(SWAPS))
                for name, command in kinds.items()}
