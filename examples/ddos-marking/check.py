"""Clients use ten servers, of which one is flooded; the mark of each packet is a model's."""

import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, main, tcp  # noqa: E402

CLIENTS, PER_CONNECTION, SPOOFED, SERVERS, THRESHOLD = 500, 10, 5000, 10, 64
SYN, ACK = 2, 16
SUSPECT_DSCP = 8
VICTIM = '10.9.0.0'
# Longer than the time after which an attack is over.
CALM_SECONDS = 3


class Model:
    """The detector: which packets it marks."""

    def __init__(self):
        self.requests, self.known = {}, set()

    def marks(self, client, server, flags):
        """Whether a packet is marked."""
        if flags != SYN:
            return (client, server) not in self.known
        count = self.requests.get(server, 0)
        self.requests[server] = count + 1
        if count >= THRESHOLD:
            return True
        self.known.add((client, server))
        return False

    def calm(self):
        """An attack is over."""
        self.requests = {one: n for one, n in self.requests.items() if n <= THRESHOLD}


def traffic(choice):
    """Client, server and flags of each packet: connections that begin in peace and go on through a
    flood of requests, in which others begin."""
    def connection(number):
        client, server = '10.1.%d.%d' % divmod(number, 256), '10.9.0.%d' % (number % SERVERS)
        return [(client, server, SYN)] + [(client, server, ACK)] * PER_CONNECTION
    peace = [connection(number) for number in range(CLIENTS)]
    late = [connection(CLIENTS + number) for number in range(50)]
    flood = [('10.2.%d.%d' % divmod(number, 256), VICTIM, SYN) for number in range(SPOOFED)]
    begin = [packet for packets in peace for packet in packets[:3]]
    mixed = flood + [packet for packets in peace for packet in packets[3:]]
    mixed += [packets[0] for packets in late]
    choice.shuffle(mixed)
    return begin + mixed + [packet for packets in late for packet in packets[1:]]


def frames(packets):
    return [tcp(client, server, 80, flags=flags) for client, server, flags in packets]


def marked(frame):
    return frame[15] >> 2 == SUSPECT_DSCP


def check():
    model, packets = Model(), traffic(random.Random(1))
    expected = [model.marks(*packet) for packet in packets]
    model.calm()
    afterwards = [('10.3.0.1', VICTIM, SYN), ('10.3.0.1', VICTIM, ACK)]
    expected += [model.marks(*packet) for packet in afterwards]
    with Lab(hosts=2, controller='controller.py') as lab:
        before = lab.messages()
        lab.send(1, frames(packets))
        time.sleep(CALM_SECONDS)
        lab.send(1, frames(afterwards))
        arrived = lab.arrived()[2]
        assert lab.messages() == before, 'no message to or from the controller'
    sources = [frame[26:34] for frame in arrived]
    assert sources == [frame[26:34] for frame in frames(packets + afterwards)], 'all arrive'
    assert list(map(marked, arrived)) == expected, 'marks are the model\'s'
    spoofed = [mark for (client, _, _), mark in zip(packets, expected) if client[:5] == '10.2.']
    return ('%d packets are marked as a model says: %.1f %% of the flood, no packet of the %d '
            'connections from before; 0 controller messages' % (
                len(expected), 100 * sum(spoofed) / SPOOFED, CLIENTS))


if __name__ == '__main__':
    main(check)
