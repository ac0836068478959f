"""Three paths from switch 1 to switch 5, each by a switch between. OpenFlow alone knows the ports of
switch 1; with states, a packet that comes back tells it of failures further on."""

from bofuss_machine import Machine, match, output
from rules import run

FAST_FAILOVER_TO, OPENSTATE_TO = '10.9.0.1', '10.9.0.2'
FIRST, LAST, HOST_PORT = 1, 5, 10
MIDDLES = [2, 3, 4]  # and the ports to them
LOCAL = 1  # the group of switch 1
STATES = 1  # the table
RETRY_SECONDS = 1


def machine():
    """State i: the flow takes path i. A packet that comes back from there has the next one taken."""
    flows = Machine(lookup=['ipv4_src', 'ipv4_dst'], table=STATES)
    for state, path in enumerate(MIDDLES):
        flows.on(match(in_port=HOST_PORT, state=state), output(path))
        if path == MIDDLES[-1]:
            continue
        following = MIDDLES[state + 1]
        # The first path is tried again after a time, and packets that find it dead come back.
        moved = flows.set_state(state + 1, hard=RETRY_SECONDS, hard_to=0)
        flows.on(match(in_port=path, state=state), moved, output(following))
        # More of the same that were under way.
        for later in range(state + 1, len(MIDDLES)):
            flows.on(match(in_port=path, state=later), output(MIDDLES[later]))
    return flows


def rules():
    """Those of all switches."""
    local = ''.join(',bucket=watch_port:%d,output:%d' % (path, path) for path in MIDDLES)
    to_states = 'priority=9,ip,nw_dst=%s,actions=goto_table:%d' % (OPENSTATE_TO, STATES)
    found = {FIRST: ['add-group group_id=%d,type=ff%s' % (LOCAL, local),
                     'ip,nw_dst=%s,actions=group:%d' % (FAST_FAILOVER_TO, LOCAL),
                     to_states, *machine().messages],
             LAST: ['actions=output:%d' % HOST_PORT]}
    for path in MIDDLES:
        # If the way on is dead, the packet goes back.
        found[path] = ['add-group group_id=1,type=ff,bucket=watch_port:%d,output:%d,'
                       'bucket=watch_port:%d,output:in_port' % (LAST, LAST, FIRST),
                       'in_port=%d,actions=group:1' % FIRST]
    return found


if __name__ == '__main__':
    run(rules())
