"""A load balancer in two ways: a hash alone, and a hash whose choice a state keeps.

A line on standard input names the servers that are in use, as `1 2 3`.
"""

import sys

from bofuss_machine import (SELECT, Machine, Switch, flow_mod, goto, group, group_mod, install,
                            match, output, set_field, set_state)

# The addresses of the service, one for each way. All servers have them.
BY_HASH, BY_STATE = '10.9.0.1', '10.9.0.2'
SERVERS = [1, 2, 3]
STATES = 1  # the table that keeps connections where they are
HASH_GROUP, STATE_GROUP = 1, 2
CLIENT_AT = 1
CONNECTION = ['ipv4_src', 'ipv4_dst', 'tcp_src', 'tcp_dst']


def to_server(number):
    """Sends a packet to a server."""
    return [set_field(eth_dst='02:cc:00:00:00:%02x' % number), output(CLIENT_AT + number)]


def groups(servers, command=0):
    """The choice among the servers; that of the second group is written down as the state."""
    by_hash = [to_server(number) for number in servers]
    by_state = [[set_state(STATES, number), *to_server(number)] for number in servers]
    return [group_mod(HASH_GROUP, SELECT, by_hash, command),
            group_mod(STATE_GROUP, SELECT, by_state, command)]


def machine():
    """State 0: a new connection; state n: one of server n."""
    pinned = Machine(lookup=CONNECTION, table=STATES)
    pinned.on(match(state=0), group(STATE_GROUP))
    for number in SERVERS:
        pinned.on(match(state=number), *to_server(number))
    return pinned


def change_servers(switch, servers):
    """Connections of a server that is no longer there are chosen anew; all others stay."""
    install(switch, *groups(servers, command=1))
    for gone in set(SERVERS) - set(servers):
        switch.states(STATES, state=gone, and_delete=True)
    switch.barrier()


if __name__ == '__main__':
    switch = Switch.accept(6653)
    install(switch, *groups(SERVERS), machine(),
            flow_mod(match(in_port=CLIENT_AT, ipv4_dst=BY_HASH), group(HASH_GROUP)),
            flow_mod(match(in_port=CLIENT_AT, ipv4_dst=BY_STATE), goto(STATES)),
            flow_mod(match(), output(CLIENT_AT), priority=1))
    switch.barrier()
    print('READY', flush=True)
    for line in sys.stdin:
        change_servers(switch, [int(word) for word in line.split()])
        print('READY', flush=True)
