"""Dynamic NAT as two extended finite state machines: ports come from a pool, and go back to it.

A line on standard input is the seconds after which an unused port is free again.
"""

import sys

from bofuss_machine import (OPP, Machine, Switch, condition, fd, gd, goto, header_extractor, hf,
                            install, match, output, set_field, set_global_variable, set_state,
                            write_context)

INSIDE, OUTSIDE = 1, 2
PUBLIC = '192.0.2.1'
INSIDE_MAC = '02:aa:00:00:00:01'
FIRST_PORT, LAST_PORT = 10_000, 19_999
ENDPOINTS, PORTS = 0, 1
MAPPED = USED = 1


def endpoints():
    """By private address and port: the public port of an endpoint; new ones take the next."""
    public_port, next_port, first, last, asked = fd(0), gd(0), gd(1), gd(2), gd(3)
    table = Machine(lookup=['ipv4_src', 'tcp_src'], table=ENDPOINTS, dialect=OPP)
    table.add(header_extractor(0, 'tcp_dst', table=ENDPOINTS))
    for variable, value in ((next_port, FIRST_PORT), (first, FIRST_PORT), (last, LAST_PORT)):
        table.add(set_global_variable(variable.number, value, table=ENDPOINTS))
    table.add(condition(0, next_port, '>', last, table=ENDPOINTS))

    to_ports = [write_context(public_port, 'metadata'), goto(PORTS)]
    new = {'eth_type': 0x0800, 'in_port': INSIDE, 'state': 0}
    take = [table.let(public_port, 'sum', next_port, 0), table.let(next_port, 'sum', next_port, 1)]
    table.on(match(condition0=0, **new), *take, *to_ports)
    table.on(match(condition0=1, **new), table.let(next_port, 'sum', first, 0), *take, *to_ports)
    table.on(match(in_port=INSIDE, state=MAPPED), *to_ports)
    table.on(match(in_port=OUTSIDE, ip_proto=6), table.let(asked, 'sum', hf(0), 0),
             write_context(asked, 'metadata'), goto(PORTS))
    return table


def ports(free_seconds):
    """By public port, which the metadata has: whose it is."""
    address, port, wanted = fd(0), fd(1), gd(0)
    table = Machine(lookup=['metadata'], table=PORTS, dialect=OPP)
    for number, name in enumerate(['ipv4_src', 'tcp_src', 'metadata']):
        table.add(header_extractor(number, name, table=PORTS))
    table.add(condition(0, address, '==', hf(0), table=PORTS),
              condition(1, port, '==', hf(1), table=PORTS))

    times = {'idle': free_seconds, 'idle_to': 0, 'scope': ()}
    keep = [set_state(ENDPOINTS, MAPPED, **times), set_state(PORTS, USED, **times)]
    claim = [table.let(address, 'sum', hf(0), 0), table.let(port, 'sum', hf(1), 0)]
    translate = [table.let(wanted, 'sum', hf(2), 0), write_context(wanted, 'tcp_src'),
                 set_field(ipv4_src=PUBLIC), output(OUTSIDE)]
    out = {'eth_type': 0x0800, 'ip_proto': 6, 'in_port': INSIDE}
    table.on(match(state=0, **out), *claim, *keep, *translate)
    table.on(match(state=USED, condition0=1, condition1=1, **out), *keep, *translate)
    table.on(match(in_port=OUTSIDE, ip_proto=6, state=USED), write_context(address, 'ipv4_dst'),
             write_context(port, 'tcp_dst'), set_field(eth_dst=INSIDE_MAC), output(INSIDE))
    return table


if __name__ == '__main__':
    switch = Switch.accept(6653)
    install(switch, endpoints())
    print('READY', flush=True)
    for line in sys.stdin:
        install(switch, ports(float(line)))
        switch.barrier()
        print('READY', flush=True)
