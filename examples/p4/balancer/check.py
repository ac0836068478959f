"""The packet tests of the balancer, and 60 connections that are spread over its servers."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from play import main, readme, stf, trace  # noqa: E402
from lab import checksum, tcp  # noqa: E402

CONNECTIONS, SERVICE = 60, '10.0.0.100'


def balanced(client, from_port, flags):
    """Where a segment to the service goes: the port of its server."""
    frame = tcp(client, SERVICE, 80, from_port=from_port, flags=flags)
    (port, left), = trace('balancer', 'entries.json', 1, frame)[1]
    assert left[30:34] == bytes([10, 0, 0, 9 + port]), left.hex()
    assert checksum(left[14:34]) == 0, 'the checksum of IPv4'
    pseudo = left[26:34] + bytes([0, 6, 0, 20])
    assert checksum(pseudo + left[34:54]) == 0, 'the checksum of TCP'
    return port


def check():
    readme()
    played = stf('balancer')
    choice = random.Random(1)
    loads = {2: 0, 3: 0, 4: 0}
    for _ in range(CONNECTIONS):
        connection = '10.1.0.%d' % choice.randint(1, 254), choice.randint(1024, 65535)
        port = balanced(*connection, flags=2)
        assert balanced(*connection, flags=16) == port, 'a connection stays'
        loads[port] += 1
    # The first server has two of four buckets.
    assert loads[2] > loads[3] > 5 and loads[2] > loads[4] > 5, loads
    return '%s; %d connections to three servers: %d, %d, %d' % (
        played, CONNECTIONS, *loads.values())


if __name__ == '__main__':
    main(check)
