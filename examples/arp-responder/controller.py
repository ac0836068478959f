"""An ARP responder in the switch: one packet to copy, and an entry for each address."""

from bofuss_machine import (Copy, Switch, add_template, flow_mod, install, match, output,
                            packet_gen_copy, set_field)
from network import ASKERS_AT, COMPARED_AT, KERNEL_AT, TABLE_OF_ADDRESSES, arp_reply

REPLY = 1
# What a reply has of its request: who asked, and for which address.
FROM_REQUEST = [Copy('arp_sha', 'eth_dst'), Copy('arp_sha', 'arp_tha'), Copy('arp_spa', 'arp_tpa'),
                Copy('arp_tpa', 'arp_spa')]


def answers():
    """A request for an address becomes a reply that says where the address is."""
    for address, mac in TABLE_OF_ADDRESSES.items():
        yield flow_mod(match(in_port=ASKERS_AT, arp_op=1, arp_tpa=address), packet_gen_copy(
            REPLY, FROM_REQUEST, set_field(eth_src=mac), set_field(arp_sha=mac),
            output(ASKERS_AT)))


def to_kernel():
    """For comparison, a host may ask the kernel that has the same addresses."""
    for port, other in ((COMPARED_AT, KERNEL_AT), (KERNEL_AT, COMPARED_AT)):
        yield flow_mod(match(in_port=port), output(other))


if __name__ == '__main__':
    switch = Switch.accept(6653)
    template = arp_reply('00:00:00:00:00:00', '0.0.0.0')
    install(switch, add_template(REPLY, template), *answers(), *to_kernel())
    switch.barrier()
    print('READY', flush=True)
    switch.wait()
