"""OSPF on four switches: traceroute, two ways that share flows, and one of them cut."""

import json
import re
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from controller import ROUTE  # noqa: E402
from routers import (HOSTS, LINKS, Routers, address, forwarded, mac, network_of_hosts)  # noqa: E402

SENDER, RECEIVER = HOSTS  # and the switches of both, between which are two others
NEAR, FAR = HOSTS.values()
WAYS = [2, 3]
FLOWS, PORT = 1000, 5001
MOST_HOPS = 8
# OSPF needs 4 seconds, unless its hellos come late because the machine is busy.
MOST_SECONDS = 40
# The share of flows that each of two ways has, and what the hash of 1,000 flows may differ.
SHARE, TOLERANCE = .5, .05


def settle(laboratory, number, switch):
    """Gives a host its network, in which its router has the way to all others."""
    host = laboratory.hosts[number]
    host.address = network_of_hosts(switch).replace('.0/24', '.100')
    host.run('ip', 'address', 'flush', 'dev', 'eth0')
    host.run('ip', 'address', 'add', host.address + '/24', 'dev', 'eth0')
    host.run('ip', 'route', 'add', 'default', 'via', address(switch, lab.HOST_PORT))


def ways(laboratory, switch, network):
    """The ports over which a switch reaches a network."""
    laboratory.controller.stdin.write('routes %d\n' % switch)
    laboratory.controller.stdin.flush()
    found = json.loads(laboratory.wait_for('ROUTES').partition(' ')[2])
    laboratory.wait_for('READY')
    return found.get(network, [])


def wait_for_ways(laboratory, between):
    """Waits until both hosts are reached over these switches; returns the seconds."""
    start = time.monotonic()
    wanted = [(NEAR, FAR, between), (FAR, NEAR, between)]
    wanted += [(switch, end, [end]) for switch in between for end in (NEAR, FAR)]
    for here, there, ports in wanted:
        lab.until(lambda: ways(laboratory, here, network_of_hosts(there)) == ports,
                  'switch %d reaches %d over %s' % (here, there, ports), MOST_SECONDS)
    return time.monotonic() - start


def wait_for_hosts(laboratory):
    """Has the routers find the hosts, and waits until the switches know these."""
    lab.until(lambda: probe(laboratory, MOST_HOPS)[1], 'hosts reach each other')
    for number, switch in HOSTS.items():
        host = laboratory.hosts[number].address + '/32'
        lab.until(lambda: ways(laboratory, switch, host) == [lab.HOST_PORT], host + ' is known')


def probe(laboratory, ttl):
    """Who answers a ping with this TTL, and with which TTL if it is the receiver."""
    ping = ['ping', '-n', '-c1', '-W5', '-t%d' % ttl, laboratory.hosts[RECEIVER].address]
    said, _ = laboratory.hosts[SENDER].start(*ping).communicate()
    found = re.search(r'[Ff]rom ([\d.]+).*?(?:ttl=(\d+)|$)', said, re.M)
    return found.groups() if found else (None, None)


def traceroute(laboratory):
    """The address of each hop to the receiver, and the TTL of its reply."""
    hops, ttl = [], None
    while ttl is None and len(hops) < MOST_HOPS:
        who, ttl = probe(laboratory, len(hops) + 1)
        hops.append(who)
    return hops, int(ttl or 0)


def datagrams():
    """A socket for UDP."""
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def shared(laboratory):
    """Sends a packet of each flow: how many take each way. All arrive, and no router sees one."""
    hosts = laboratory.hosts
    frames = [lab.udp(hosts[SENDER].address, hosts[RECEIVER].address, PORT, from_port=10000 + flow,
                      macs=(hosts[SENDER].mac, mac(NEAR, lab.HOST_PORT))) for flow in range(FLOWS)]
    before = {way: laboratory.counters(way)[ROUTE] for way in WAYS}
    by_routers = forwarded()
    laboratory.resume()
    laboratory.send(SENDER, frames)
    arrived = [one for one in laboratory.arrived()[RECEIVER] if one[23:24] == b'\x11']
    assert len(arrived) == FLOWS, '%d of %d packets arrive' % (len(arrived), FLOWS)
    assert forwarded() == by_routers, 'a virtual router forwards packets'
    return {way: laboratory.counters(way)[ROUTE] - before[way] for way in WAYS}


def check():
    with Routers(), lab.Lab(HOSTS, 'controller.py', links=LINKS) as laboratory:
        for number, switch in HOSTS.items():
            settle(laboratory, number, switch)
        converged = wait_for_ways(laboratory, WAYS)
        wait_for_hosts(laboratory)
        hops, ttl = traceroute(laboratory)
        sink = laboratory.hosts[RECEIVER].inside(datagrams)
        sink.bind(('', PORT))  # so that its kernel does not answer
        both, again = shared(laboratory), shared(laboratory)
        lab.cut(WAYS[0], FAR)
        around = wait_for_ways(laboratory, WAYS[1:])
        one = shared(laboratory)
    assert None not in hops, hops
    assert [hop.rpartition('.')[2] for hop in hops[:3]] in (
        [str(NEAR), str(way), str(FAR)] for way in WAYS), hops
    assert hops[3:] == [laboratory.hosts[RECEIVER].address] and ttl == 64 - 3, (hops, ttl)
    assert both == again, 'a flow changes its way: %s, %s' % (both, again)
    assert abs(both[WAYS[0]] / FLOWS - SHARE) < TOLERANCE, both
    assert one == {WAYS[0]: 0, WAYS[1]: FLOWS}, one
    return ('OSPF converges in %.1f s; traceroute: %s; %d flows share two ways %d : %d; %.1f s '
            'after a cut without loss of carrier all take the other' % (
                converged, ' '.join(hops), FLOWS, *both.values(), around))


if __name__ == '__main__':
    lab.need('bird', 'bird2')
    lab.main(check)
