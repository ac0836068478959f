"""The swap on real switches: at a time, which one of them may read from a clock that is behind.

A line `swap MS SKEW_US` names a time in so many milliseconds, `swap after MS` lets the second switch
change so long after the first.
"""

import time
from itertools import cycle

from bofuss_machine import VERSION
from rules import accept, install, run_commands
from timed import tolerance, update

HOST_PORT = 10
SWITCHES = (1, 2, 3, 4)
# The switches by which the hosts of switch 1 and switch 2 send, in turn.
WAYS = cycle([(4, 3), (3, 4)])


def encoded(messages):
    """Messages as bytes of the version that is spoken."""
    for message in messages:
        message.version = VERSION
        yield message.encode()


def change(switch, way, at=None):
    """Changes the way of a host's packets, at a time in nanoseconds if one is given."""
    install(switch, *encoded([tolerance(), *update(['actions=output:%d' % way], at)]))


def swap(switches, first, second):
    """Swaps the ways of both hosts.

    A clock that is behind by a skew reads a time that much later: as if that later one was named.
    """
    one, other = next(WAYS)
    if first == 'after':
        change(switches[1], one)
        time.sleep(int(second) / 1e3)
        change(switches[2], other)
        return
    at = time.time_ns() + int(first) * 1_000_000
    change(switches[1], one, at)
    change(switches[2], other, at + int(second) * 1_000)


if __name__ == '__main__':
    connected = accept(len(SWITCHES))
    for number, way in ((1, 3), (2, 4), (3, HOST_PORT), (4, HOST_PORT)):
        install(connected[number], 'actions=output:%d' % way)
    print('READY', flush=True)
    run_commands(connected, {'swap': swap})
