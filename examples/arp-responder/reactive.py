"""The same by a controller that is asked each time, for comparison."""

from bofuss_machine import (CONTROLLER, PACKET_IN, Switch, flow_mod, install, match, output,
                            packet_in_data, packet_out)
from network import ASKERS_AT, TABLE_OF_ADDRESSES, arp_reply

if __name__ == '__main__':
    switch = Switch.accept(6653)
    install(switch, flow_mod(match(arp_op=1), output(CONTROLLER)))
    switch.barrier()
    print('READY', flush=True)
    for kind, body in switch.messages():
        if kind == PACKET_IN:
            request = packet_in_data(body)
            address, asker = ('.'.join(map(str, request[at:at + 4])) for at in (38, 28))
            reply = arp_reply(TABLE_OF_ADDRESSES[address], address, request[22:28].hex(':'), asker)
            install(switch, packet_out(reply, output(ASKERS_AT)))
