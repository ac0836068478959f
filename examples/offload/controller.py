"""OFLoad: mice are spread by a select group, elephants are found and placed by the controller.

The command `balance` reads how many packets each flow has sent since the last time.
"""

from bofuss_machine import Machine, goto, match, parse_short_states, short_states_request
from rules import install, run

PATHS = [2, 3]  # the ports to the spines
COUNT, FORWARD = 0, 1
# Packets in an interval that make an elephant.
ELEPHANT = 100


def machine():
    """The state of a flow is how many packets it has sent."""
    counting = Machine(lookup=['ipv4_src', 'udp_src'], table=COUNT)
    counting.on(match(ip_proto=17), counting.inc_state(), goto(FORWARD))
    return counting


def balance(switches):
    """The largest elephant goes to the path that has the least, then the next one."""
    switch = switches[1]
    report = switch.ask(short_states_request(COUNT, and_delete=True))
    elephants = sorted(((packets, flow) for flow, packets in parse_short_states(report)
                        if packets >= ELEPHANT), reverse=True)
    load = dict.fromkeys(PATHS, 0)
    for packets, flow in elephants:
        path = min(load, key=load.get)
        load[path] += packets
        # Of a key, addresses are as in the packet, and ports are little-endian.
        address, port = '.'.join(map(str, flow[:4])), int.from_bytes(flow[4:6], 'little')
        install(switch, 'table=%d,priority=20,idle_timeout=10,udp,nw_src=%s,tp_src=%d,'
                'actions=output:%d' % (FORWARD, address, port, path))
    print('PLACED', len(elephants), flush=True)


if __name__ == '__main__':
    buckets = ''.join(',bucket=output:%d' % path for path in PATHS)
    run({1: [*machine().messages, 'add-group group_id=1,type=select' + buckets,
             'table=%d,priority=1,actions=group:1' % FORWARD]}, {'balance': balance})
