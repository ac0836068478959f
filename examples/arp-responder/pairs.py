"""The same by the instruction of the paper, which copies no fields: an entry for each pair of an asker
and an address, which makes the asker's reply of a template."""

from bofuss_machine import (Switch, add_template, flow_mod, install, match, output, packet_gen,
                            set_field)
from controller import to_kernel
from network import (ASKERS_AT, PAIRED_ADDRESSES, TABLE_OF_ADDRESSES, TABLE_OF_ASKERS, arp_reply)


def templates():
    """A reply to each asker, without an address."""
    for number, (mac, address) in enumerate(TABLE_OF_ASKERS.items()):
        yield add_template(number, arp_reply('00:00:00:00:00:00', '0.0.0.0', mac, address))


def answers():
    """Who asks chooses the template; what is asked for is written by the entry's actions."""
    for number, asker in enumerate(TABLE_OF_ASKERS.values()):
        for address in PAIRED_ADDRESSES:
            mac = TABLE_OF_ADDRESSES[address]
            yield flow_mod(match(in_port=ASKERS_AT, arp_op=1, arp_spa=asker, arp_tpa=address),
                           packet_gen(number, set_field(eth_src=mac), set_field(arp_sha=mac),
                                      set_field(arp_spa=address), output(ASKERS_AT)))


if __name__ == '__main__':
    switch = Switch.accept(6653)
    install(switch, *templates(), *answers(), *to_kernel())
    switch.barrier()
    print('READY', flush=True)
    switch.wait()
