"""An ARP responder in the switch: one packet to copy, and an entry for each address."""

from bofuss_machine import (TABLE, Switch, add_template, flow_mod, goto, install, match, output,
                            packet_gen, set_field, set_global_state)
from network import (ASKERS_AT, COMPARED_AT, KERNEL_AT, TABLE_OF_ADDRESSES, TABLE_OF_ASKERS,
                     arp_reply)

REPLY = 1
FROM_TEMPLATE = 0  # the port by which packets of templates come
START, ANSWERS = 0, 1


def answers():
    """A request for an address becomes a reply that says where the address is."""
    for address, mac in TABLE_OF_ADDRESSES.items():
        yield flow_mod(match(arp_op=1, arp_tpa=address), table=ANSWERS, *[packet_gen(
            REPLY, set_field(eth_src=mac), set_field(arp_sha=mac), set_field(arp_spa=address),
            output(TABLE))])


def askers():
    """Who asks is a number in the global state while the reply is made, and then its receiver."""
    for number, (mac, address) in enumerate(TABLE_OF_ASKERS.items()):
        yield flow_mod(match(in_port=ASKERS_AT, arp_op=1, arp_sha=mac, arp_spa=address),
                       set_global_state(number), goto(ANSWERS), table=START)
        yield flow_mod(match(in_port=FROM_TEMPLATE, eth_type=0x0806, global_state=number),
                       set_field(eth_dst=mac), set_field(arp_tha=mac), set_field(arp_tpa=address),
                       output(ASKERS_AT), table=START)


def to_kernel():
    """For comparison, a host may ask the kernel that has the same addresses."""
    for port, other in ((COMPARED_AT, KERNEL_AT), (KERNEL_AT, COMPARED_AT)):
        yield flow_mod(match(in_port=port), output(other), table=START)


if __name__ == '__main__':
    switch = Switch.accept(6653)
    template = arp_reply('00:00:00:00:00:00', '0.0.0.0')
    install(switch, add_template(REPLY, template), *answers(), *askers(), *to_kernel())
    switch.barrier()
    print('READY', flush=True)
    switch.wait()
