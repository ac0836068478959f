"""RouteFlow: what the kernels of virtual routers know becomes entries and groups of the switches.

The command `routes SWITCH` prints the ports over which each network is reached there.
"""

import ipaddress
import itertools
import json
import selectors
import socket
import struct
import subprocess
import threading

from bofuss_machine import PACKET_IN, message, output, packet_in_data, packet_out
from lab import frames_of, inside, packet_socket
from routers import ROUTERS, address, mac, ports
from rules import accept, install, run_commands

ROUTE = 1  # the cookie of entries that are routes
SET_CONFIG, WHOLE_PACKETS = 9, 0xffff
# A switch sends packets whose TTL has ended only if it is asked for them.
SET_ASYNC, NO_MATCH, ACTION, INVALID_TTL = 28, 1, 2, 4
# Of linux/rtnetlink.h: the groups of changes of neighbours and IPv4 routes.
RTMGRP_NEIGH, RTMGRP_IPV4_ROUTE = 0x4, 0x40
OSPF = 89
PORT_IN_PACKET_IN = 24  # the value of its match's only field


def events():
    """A socket that hears of each change of neighbours and routes."""
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
    sock.bind((0, RTMGRP_NEIGH | RTMGRP_IPV4_ROUTE))
    return sock


class Router:
    """A switch and its virtual router: what they exchange, and the routes that the switch has."""

    def __init__(self, switch):
        self.switch, self.number = switch, switch.datapath_id
        self.name = 'r%d' % self.number
        self.sockets = {port: packet_socket('%s-%d' % (self.name, port))
                        for port in ports(self.number)}
        self.installed, self.groups = {}, itertools.count(1)
        control = 'priority=1000,%s,actions=controller'
        own = ['ip,nw_dst=' + address(self.number, port) for port in self.sockets]
        install(switch, message(SET_CONFIG, struct.pack('!HH', 0, WHOLE_PACKETS)),
                message(SET_ASYNC, struct.pack('!I20x', NO_MATCH | ACTION | INVALID_TTL)),
                *(control % match for match in ['arp', 'ip,nw_proto=%d' % OSPF, *own]))
        for work in (self.relay_up, self.relay_down, self.follow):
            threading.Thread(target=self.until_closed, args=(work,), daemon=True).start()

    @staticmethod
    def until_closed(work):
        """Works until the switch has closed the connection."""
        try:
            work()
        except ConnectionError:
            pass

    def relay_up(self):
        """Gives packet-ins to the router, each at the interface of its port."""
        for kind, body in self.switch.messages():
            if kind == PACKET_IN:
                port, = struct.unpack_from('!I', body, PORT_IN_PACKET_IN)
                self.sockets[port].send(packet_in_data(body))

    def relay_down(self):
        """Sends what comes out of the router's interfaces through their ports."""
        with selectors.DefaultSelector() as waiting:
            for port, sock in self.sockets.items():
                waiting.register(sock, selectors.EVENT_READ, port)
            while True:
                for ready, _ in waiting.select():
                    for frame in frames_of(ready.fileobj):
                        self.switch.send(packet_out(frame, output(ready.data)))

    def follow(self):
        """Brings the switch's routes up to date, and again whenever the kernel's change."""
        changes = inside(self.name, events)
        while True:
            self.update()
            try:
                changes.recv(1 << 16)  # it says that, and the tables say what
            except OSError:
                pass  # more changes than it holds

    def show(self, what):
        """A table of the router's kernel."""
        said = subprocess.run(['ip', '-n', self.name, '-json', what], check=True,
                              stdout=subprocess.PIPE)
        return json.loads(said.stdout)

    def routes(self):
        """The next hops of each network: ports, MAC addresses and weights. A network at a port has
        none: the router looks for its hosts, each of which is then a network of its own."""
        neighbours = {one['dst']: one for one in self.show('neigh')}
        found = {to + '/32': [(port_of(one), one['lladdr'], 1)]
                 for to, one in neighbours.items() if 'lladdr' in one}
        for route in sorted(self.show('route'), key=lambda one: one.get('metric', 0)):
            hops = [hop for hop in route.get('nexthops', [route]) if 'dev' in hop]
            ways = [(port_of(hop), to, hop.get('weight', 1)) for hop in hops
                    if (to := self.mac_address(hop, neighbours))]
            network = route['dst'].replace('default', '0.0.0.0/0')
            if ways or any('gateway' not in hop for hop in hops):
                found.setdefault(str(ipaddress.ip_network(network)), sorted(ways))
        return found

    def mac_address(self, hop, neighbours):
        """The MAC address of a next hop, or None; if nobody has, the kernel has to look for it."""
        gateway = hop.get('gateway')
        neighbour = neighbours.get(gateway, {})
        if gateway and neighbour.get('state') in (None, ['FAILED']):
            subprocess.run(['ip', '-n', self.name, 'neigh', 'replace', gateway, 'dev', hop['dev'],
                            'use'], check=True)
        return neighbour.get('lladdr')

    def update(self):
        """Gives the switch the routes that it lacks, and takes those that are no more."""
        routes, before, after = self.routes(), self.installed, {}
        # An entry goes with its group.
        changes = ['del-group group_id=%d' % before[network][0]
                   for network in before if network not in routes]
        for network, hops in routes.items():
            number, old = before.get(network) or (next(self.groups), None)
            after[network] = number, hops
            if hops != old:
                changes.append('%s group_id=%d,type=select%s' % (
                    'add-group' if old is None else 'mod-group', number, self.buckets(hops)))
            if old is None:
                changes.append('cookie=%d,priority=%d,ip,nw_dst=%s,actions=group:%d' % (
                    ROUTE, 100 + int(network.partition('/')[2]), network, number))
        if changes:
            install(self.switch, *changes)
            self.installed = after

    def buckets(self, hops):
        """A bucket for each next hop; without one, the router has the packet as it is."""
        if not hops:
            return ',bucket=actions=controller'
        bucket = (',bucket=weight:%d,actions=dec_ttl,set_field:%s->eth_src,set_field:%s->eth_dst,'
                  'output:%d')
        return ''.join(bucket % (weight, mac(self.number, port), to, port)
                       for port, to, weight in hops)


def port_of(hop):
    """The port of an interface's name."""
    return int(hop['dev'].partition('eth')[2])


def reached(router):
    """The ports over which each network is reached."""
    return {network: [port for port, _, _ in hops]
            for network, (_, hops) in router.installed.items()}


if __name__ == '__main__':
    switches = accept(len(ROUTERS))
    routers = {number: Router(switch) for number, switch in switches.items()}
    print('READY', flush=True)
    run_commands(switches, {'routes': lambda _, number: print(
        'ROUTES', json.dumps(reached(routers[int(number)])), flush=True)})
