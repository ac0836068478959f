"""A controller with a main connection and two auxiliary ones; it says what came over which."""

import collections
import itertools
import queue
import struct
import sys

from bofuss_machine import (CONTROLLER, PACKET_IN, Switch, flow_mod, match, output, packet_in_data)
from rules import install

OPTIONS = ['--aux', 'tcp', '--aux', 'tcp']
CONNECTIONS = 1 + len(OPTIONS) // 2
SILENCE_SECONDS = .5
FLOW_AT = 34  # the UDP source port in a frame, and behind the header a number


def taken(connection):
    """The packet-ins of a connection until none comes for a while: their flows and numbers."""
    found = []
    try:
        while True:
            kind, body = connection.unasked.get(timeout=SILENCE_SECONDS)
            if kind == PACKET_IN:
                found.append(struct.unpack_from('!H6xI', packet_in_data(body), FLOW_AT))
    except queue.Empty:
        return found


def report(connections):
    """Says how many packet-ins each connection had; whether each flow came over one, in order."""
    counts, flows = [], collections.defaultdict(list)
    for connection in connections:
        here = taken(connection)
        counts.append(len(here))
        for flow, number in here:
            flows[flow].append((connection.auxiliary_id, number))
    good = all(len({one for one, _ in packets}) == 1 and packets == sorted(packets)
               for packets in flows.values())
    print('TAKEN', *counts, int(good), flush=True)


if __name__ == '__main__':
    connections = list(itertools.islice(Switch.listen(6653), CONNECTIONS))
    connections.sort(key=lambda one: one.auxiliary_id)
    main = connections[0]
    assert [one.auxiliary_id for one in connections] == list(range(CONNECTIONS))
    install(main, flow_mod(match(), output(CONTROLLER), priority=1))
    print('READY', flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == 'report':
            report(connections)
        elif words[0] == 'add':
            # The reply to a barrier comes on the connection of the request.
            connection = connections[int(words[1])]
            install(connection, flow_mod(match(udp_dst=int(words[2])), output(2), priority=10))
        print('READY', flush=True)
