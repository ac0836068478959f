"""A decision tree as an extended finite state machine: an entry for each leaf."""

from bofuss_machine import (OPP, Machine, Switch, condition, fd, gd, header_extractor, hf, install,
                            match, output, set_field, set_global_variable)
from tree import CLASSES, FEATURES, PACKETS, TESTS, leaves, learn

TO = 2
IDLE_SECONDS = 60
LENGTH = hf(0)
COUNT = fd(0)
VARIABLES = {name: fd(1 + number) for number, name in enumerate(FEATURES)}
# States below PACKETS count packets; CLASSIFIED and the number of a class, of which a flow is.
CLASSIFIED = 16


def marked(number):
    """Packets of a class have its DSCP, from 1."""
    return [set_field(ip_dscp=1 + number), output(TO)]


def machine():
    flows = Machine(lookup=['ipv4_src', 'ipv4_dst', 'udp_src', 'udp_dst'], dialect=OPP)
    flows.add(header_extractor(0, 'pkt_len'))
    for number, (feature, threshold) in enumerate(TESTS):
        flows.add(set_global_variable(number, threshold),
                  condition(number, VARIABLES[feature], '>', gd(number)))
    # `var` keeps the count, the mean in thousandths and the variance.
    measure = flows.let(COUNT, 'var', LENGTH, VARIABLES['mean'], VARIABLES['variance'])
    first = flows.let(VARIABLES['first'], 'sum', LENGTH, 0)
    for state in range(PACKETS):
        flows.on(match(ip_proto=17, state=state), measure, *([] if state else [first]),
                 flows.set_state(state + 1, idle=IDLE_SECONDS), output(TO))
    for path, name in leaves(learn()):
        number = CLASSES.index(name)
        found = {'condition%d' % test: answer for test, answer in path.items()}
        decided = flows.set_state(CLASSIFIED + number, idle=IDLE_SECONDS)
        flows.on(match(ip_proto=17, state=PACKETS, **found), decided, *marked(number))
    for number, _ in enumerate(CLASSES):
        flows.on(match(ip_proto=17, state=CLASSIFIED + number), *marked(number))
    return flows


if __name__ == '__main__':
    switch = Switch.accept(6653)
    install(switch, machine())
    switch.barrier()
    print('READY', flush=True)
    switch.wait()
