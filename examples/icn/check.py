"""5,000 requests for names of three producers, and of nobody."""

import random
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, main, udp  # noqa: E402
from controller import DEFAULT, INTEREST, PORT, PRODUCERS, name  # noqa: E402

REQUESTS = 5_000
TOP, SECOND = ['video', 'news', 'music', 'books'], ['live', 'archive', 'world', 'sport']
OTHER_TYPE = 6


def producer(components):
    """Whose a name is: that of the longest prefix."""
    for length in range(len(components), 0, -1):
        if tuple(components[:length]) in PRODUCERS:
            return PRODUCERS[tuple(components[:length])]
    return DEFAULT


def request(components, kind=INTEREST):
    """A packet that asks for a name, with the name itself behind the hash."""
    head = struct.pack('!BI', kind, name(components))
    return udp('10.1.0.1', '10.9.0.1', PORT, head + '/'.join(components).encode())


def check():
    choice = random.Random(1)
    expected, frames = {}, []
    for number in range(REQUESTS):
        components = [choice.choice(TOP), choice.choice(SECOND), 'item%d' % number]
        frames.append(request(components))
        expected.setdefault(producer(components), []).append(frames[-1])
    with Lab(hosts=5, controller='controller.py') as lab:
        before = lab.messages()
        lab.send(1, frames)
        lab.send(1, [request(['video'], OTHER_TYPE), udp('10.1.0.1', '10.9.0.1', PORT + 1)])
        arrived = lab.arrived()
        assert lab.messages() == before, 'no message to or from the controller'
    for host in range(2, DEFAULT + 1):
        assert arrived[host] == expected[host], 'host %d gets what it produces' % host
    return '%d names go to their producers by the longest prefix: %s; 0 controller messages' % (
        REQUESTS, ', '.join('%d to host %d' % (len(there), host)
                            for host, there in sorted(expected.items())))


if __name__ == '__main__':
    main(check)
