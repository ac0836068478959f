"""A learning switch whose table of addresses is the state table, as a plain script."""

from bofuss_machine import FLOOD, Machine, Switch, flow_mod, goto, install, match, output

PORTS = [1, 2, 3, 4]
FORGET_SECONDS = 300
LEARN, FORWARD = 0, 1


def messages():
    """A flow's state is the port behind which its address was seen, 0 if it was not."""
    forwarding = Machine(lookup=['eth_dst'], update=['eth_src'], table=FORWARD)
    parts = [forwarding]
    for port in PORTS:
        here = forwarding.set_state(port, idle=FORGET_SECONDS, idle_to=0)
        parts.append(flow_mod(match(in_port=port), here, goto(FORWARD), table=LEARN))
        forwarding.on(match(state=port), output(port))
    forwarding.on(match(state=0), output(FLOOD))
    return parts


if __name__ == '__main__':
    switch = Switch.accept(6653)
    install(switch, *messages())
    switch.barrier()
    print('READY', flush=True)
    switch.wait()
