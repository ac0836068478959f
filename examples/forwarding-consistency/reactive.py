"""The same load balancer as a reactive controller: it is asked about each new connection."""

import itertools

from bofuss_machine import (CONTROLLER, PACKET_IN, Switch, flow_mod, install, match, output,
                            packet_in_data, packet_out)
from controller import CLIENT_AT, SERVERS, to_server

if __name__ == '__main__':
    switch = Switch.accept(6653)
    install(switch, flow_mod(match(in_port=CLIENT_AT), output(CONTROLLER)),
            flow_mod(match(), output(CLIENT_AT), priority=1))
    switch.barrier()
    print('READY', flush=True)
    servers = itertools.cycle(SERVERS)
    for kind, body in switch.messages():
        if kind == PACKET_IN:
            packet, server = packet_in_data(body), next(servers)
            connection = match(ipv4_src=packet[26:30], ipv4_dst=packet[30:34],
                               tcp_src=packet[34:36], tcp_dst=packet[36:38])
            install(switch, flow_mod(connection, *to_server(server), priority=20),
                    packet_out(packet, *to_server(server)))
