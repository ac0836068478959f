"""Trapdoors for three switches, which forward tags of addresses that they do not know."""

import hashlib
import hmac
import struct

from bofuss_machine import EXPERIMENTER_MESSAGE, MULTIPART_REQUEST, message
from rules import accept, install, run_commands

BLIND = 0x626F62
PREDICATE, TRAPDOOR, FORGET, KEYWORDS = 1, 2, 3, 5  # types of messages and of a multipart
BOFUSS = 0x626F66  # the experimenter of configured fields
ETH_TYPE = 0x88B5
# A packet has a nonce and two tags of 128 bits: of the network of its destination, and of the host.
NONCE, NETWORK_TAG, HOST_TAG = 1, 2, 3
OPTIONS = ['--field=%s=eth_type:%d:128,number=%d,ip6,shared,eth_type=%#x' % (
               name, 16 + 128 * (number - 1), number, ETH_TYPE)
           for name, number in (('blind_nonce', NONCE), ('network_tag', NETWORK_TAG),
                                ('host_tag', HOST_TAG))]
HOST_PORT = 10
# The switch of each host, and how many identifiers each host has.
HOSTS = {1: 1, 2: 2, 3: 2, 4: 3, 5: 3}
EDGES, IDENTIFIERS = (2, 3), 25
# What hosts and the controller share, and switches do not have. In earnest, it is random.
SECRET = b'what no switch knows'


def trapdoor(keyword):
    """The trapdoor of a keyword, from which nobody computes the keyword or another trapdoor."""
    return hmac.digest(SECRET, keyword.encode(), hashlib.sha256)[:16]


def network(switch):
    """The keyword of a network."""
    return 'network %d' % switch


def identifier(host, number):
    """The keyword of one of a host's identifiers."""
    return 'host %d as %d' % (host, number)


def port(host):
    """The port of a host at its switch."""
    at = [other for other, switch in HOSTS.items() if switch == HOSTS[host]]
    return HOST_PORT + at.index(host)


def number_of(host, number):
    """The number by which entries of a switch know an identifier: the port, then its own."""
    return port(host) << 8 | number


def blind(kind, body):
    """A message of the extension for table 0."""
    return message(EXPERIMENTER_MESSAGE, struct.pack('!IIB3x', BLIND, kind, 0) + body)


def predicate(tag):
    """Which fields are nonce and tag: their OXM headers."""
    headers = (struct.pack('!HBBI', 0xFFFF, field << 1, 4 + 16, BOFUSS) for field in (NONCE, tag))
    return blind(PREDICATE, b''.join(headers))


def add(number, keyword):
    """A trapdoor and its number."""
    return blind(TRAPDOOR, struct.pack('!I', number) + trapdoor(keyword))


def at_core():
    """Switch 1 looks at networks only."""
    yield predicate(NETWORK_TAG)
    for edge in EDGES:
        yield add(edge, network(edge))
        yield 'priority=1,blind_keyword=%d,actions=output:%d' % (edge, edge)


def at_edge(switch):
    """A switch of hosts looks at its own hosts only."""
    yield predicate(HOST_TAG)
    for host in [host for host, edge in HOSTS.items() if edge == switch]:
        for number in range(IDENTIFIERS):
            yield add(number_of(host, number), identifier(host, number))
        yield 'priority=1,blind_keyword=%#x/0xff00,actions=output:%d' % (
            number_of(host, 0), port(host))


def forget(switches, host, number):
    """Takes a trapdoor from the switch of a host."""
    number = number_of(int(host), int(number))
    install(switches[HOSTS[int(host)]], blind(FORGET, struct.pack('!I', number)))


def show(switches):
    """Prints what the switches say of their trapdoors."""
    request = message(MULTIPART_REQUEST, struct.pack('!HH4xII', 0xFFFF, 0, BLIND, KEYWORDS))
    print('SHOWN', b''.join(switch.ask(request) for switch in switches.values()).hex(), flush=True)


if __name__ == '__main__':
    connected = accept(1 + len(EDGES))
    install(connected[1], *at_core())
    for edge in EDGES:
        install(connected[edge], *at_edge(edge))
    print('READY', flush=True)
    run_commands(connected, {'forget': forget, 'show': show})
