"""A SYN flood is detected in the data plane, and what may belong to it is marked."""

from bofuss_machine import Machine, Switch, goto, install, match, output, set_field

SERVERS_AT = 2
SYN, ACK = 0x02, 0x10
SYN_ALONE = (SYN, SYN | ACK)
THRESHOLD = 64  # connection requests to a server in a window; a power of 2, so that a mask compares
WINDOW_SECONDS = 60
CALM_SECONDS = 2  # without a packet to the server an attack is over
CONNECTION_SECONDS = 60
SUSPECT_DSCP = 8  # class selector 1: lower effort (RFC 3662)
SERVERS, CONNECTIONS = 0, 1
ATTACK = 2 * THRESHOLD
KNOWN = 1


def servers():
    """The state of a server: its connection requests in this window, or ATTACK."""
    counting = Machine(lookup=['ipv4_dst'], table=SERVERS)
    first = counting.set_state(1, hard=WINDOW_SECONDS, hard_to=0)
    attack = counting.set_state(ATTACK, idle=CALM_SECONDS, idle_to=0)
    below = (0, ~(THRESHOLD - 1) & 0xFFFFFFFF)
    request = {'eth_type': 0x0800, 'tcp_flags': SYN_ALONE}
    counting.on(match(state=0, **request), first, goto(CONNECTIONS), priority=30)
    counting.on(match(state=below, **request), counting.inc_state(), goto(CONNECTIONS), priority=20)
    counting.on(match(state=THRESHOLD, **request), attack, *suspect(), priority=20)
    counting.on(match(state=ATTACK, **request), *suspect(), priority=20)
    counting.on(match(), goto(CONNECTIONS), priority=1)
    return counting


def suspect():
    """What is done with a connection request in an attack: it is marked, and not remembered."""
    return [set_field(ip_dscp=SUSPECT_DSCP), output(SERVERS_AT)]


def connections():
    """The state of a connection: KNOWN if its request came in peace. What belongs to none is
    marked."""
    known = Machine(['ipv4_src', 'ipv4_dst', 'tcp_src', 'tcp_dst'], table=CONNECTIONS)
    remember = known.set_state(KNOWN, idle=CONNECTION_SECONDS, idle_to=0)
    known.on(match(tcp_flags=SYN_ALONE), remember, output(SERVERS_AT), priority=20)
    known.on(match(eth_type=0x0800, state=KNOWN), output(SERVERS_AT))
    known.on(match(eth_type=0x0800, state=0), *suspect())
    return known


if __name__ == '__main__':
    switch = Switch.accept(6653)
    install(switch, servers(), connections())
    switch.barrier()
    print('READY', flush=True)
    switch.wait()
