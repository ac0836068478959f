"""The virtual routers: a namespace for each switch, with BIRD and an interface for each port.

The other end of eth2 of router 1 is r1-2, where the controller sends and receives.
"""

from pathlib import Path

import lab

LINKS = [(1, 2), (1, 3), (2, 4), (3, 4)]
HOSTS = {1: 1, 2: 4}  # the switch of each host
ROUTERS = [1, 2, 3, 4]
FOLDER = Path('/run')  # a file system of this example's alone
BIRD = '''
log stderr { warning, error, fatal, bug };
router id 10.255.0.%d;
protocol device {}
protocol kernel { ipv4 { import none; export all; }; }
protocol ospf v2 {
    ecmp yes;
    area 0 { %s };
}
'''
LINK = 'interface "%s" { type ptp; hello 1; dead 4; retransmit 2; };'
STUB = 'interface "%s" { stub yes; };'
# Packets come and go on different ways, and each probe of traceroute is answered at once.
SETTINGS = {'ip_forward': 1, 'conf/all/rp_filter': 0, 'conf/default/rp_filter': 0,
            'icmp_ratelimit': 0}


def network_of_hosts(switch):
    """The network of the host at a switch."""
    return '10.%d.0.0/24' % switch


def address(router, port):
    """The address of a router at a port, whose last number is the router's."""
    if port == lab.HOST_PORT:
        return '10.%d.0.%d' % (router, router)
    return '10.0.%d%d.%d' % (min(router, port), max(router, port), router)


def mac(router, port):
    """The MAC address of a router at a port."""
    return '02:00:00:%02x:00:%02x' % (router, port)


def ports(router):
    """A router's ports: that of its host, and one with the number of each neighbour."""
    hosts = [lab.HOST_PORT] if router in HOSTS.values() else []
    return hosts + [sum(link) - router for link in LINKS if router in link]


def settle():
    """Sets the kernel up as a router's, and has it send no frames of its own."""
    lab.disable_ipv6()
    for name, value in SETTINGS.items():
        (Path('/proc/sys/net/ipv4') / name).write_text(str(value))


def make(router):
    """Makes a router's namespace with its interfaces; returns the configuration of BIRD."""
    name, interfaces = 'r%d' % router, []
    lab.ip('netns add ' + name)
    lab.inside(name, settle)
    for port in ports(router):
        inner, outer = 'eth%d' % port, '%s-%d' % (name, port)
        lab.ip('link add %s type veth peer name %s address %s netns %s' % (
            outer, inner, mac(router, port), name))
        lab.ip('link set %s up' % outer)
        lab.ip('-n %s address add %s/24 dev %s' % (name, address(router, port), inner))
        lab.ip('-n %s link set %s up' % (name, inner))
        interfaces.append((STUB if port == lab.HOST_PORT else LINK) % inner)
    return BIRD % (router, ' '.join(interfaces))


def forwarded():
    """How many packets the routers themselves have forwarded."""
    total = 0
    for router in ROUTERS:
        said = lab.inside('r%d' % router, Path('/proc/net/snmp').read_text)
        names, values = map(str.split, said.splitlines()[:2])
        total += int(values[names.index('ForwDatagrams')])
    return total


class Routers:
    """All routers; they go at the end of the block."""

    def __enter__(self):
        self.daemons = []
        for router in ROUTERS:
            name = 'r%d' % router
            configuration, control = FOLDER / (name + '.conf'), FOLDER / (name + '.ctl')
            configuration.write_text(make(router))
            self.daemons.append(lab.start('ip', 'netns', 'exec', name, 'bird', '-f',
                                          '-c', str(configuration), '-s', str(control)))
        return self

    def __exit__(self, *_):
        for daemon in self.daemons:
            daemon.kill()
            daemon.wait()
        for router in ROUTERS:
            lab.ip('netns del r%d' % router)
