"""Four switches in a ring with all links in use: a firewall rule, pings, TCP, and a cut."""

import itertools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from streams import connects, data, digest, download, listen  # noqa: E402

RING = [(1, 2), (2, 3), (3, 4), (4, 1)]
HOSTS = {1: 1, 2: 2, 3: 3, 4: 4}
# Packets without an entry are ARP-Path's.
HYBRID = ['--extension', 'arppath.tables=0']
BROADCASTS, SIZE = 20, 4 << 20
PROBE = '02:bb:00:00:00:01'  # the source of our broadcasts
EVERYBODY = 'ff:ff:ff:ff:ff:ff'


def ping(one, other, count=1):
    one.run('ping', '-n', '-c', str(count), '-i', '.02', '-W', '5', other.address)


def copies(laboratory):
    """How often each broadcast of host 1 arrives at each other host."""
    laboratory.resume()
    frames = [lab.udp('10.8.0.1', '10.255.255.255', 9000 + number, macs=(PROBE, EVERYBODY))
              for number in range(BROADCASTS)]
    for frame in frames:
        laboratory.send(1, [frame])
    arrived = laboratory.arrived()
    return {host: [arrived[host].count(frame) for frame in frames] for host in (2, 3, 4)}


def used_neighbour(laboratory):
    """The neighbour through which switch 1 reaches host 3: its frames say so."""
    ways = {far: laboratory.metric('port_transmit_packets_total', 'switch="s1"', 'port="%d"' % far)
            for far in (2, 4)}
    ping(laboratory.hosts[1], laboratory.hosts[3], count=20)
    return max(ways, key=lambda far: laboratory.metric(
        'port_transmit_packets_total', 'switch="s1"', 'port="%d"' % far) - ways[far])


def check():
    content = data(SIZE)
    with lab.Lab(hosts=HOSTS, controller='controller.py', links=RING,
                 options=HYBRID) as laboratory:
        hosts = laboratory.hosts
        before = laboratory.messages()
        for one, other in itertools.permutations(hosts.values(), 2):
            ping(one, other)
        assert copies(laboratory) == dict.fromkeys((2, 3, 4), [1] * BROADCASTS), 'no loop'
        received = download(hosts[3], hosts[1], hosts[3].address, 8080, content)
        assert received == content, 'other bytes arrive'
        with listen(hosts[3], '', 80):
            assert not connects(hosts[1], hosts[3].address, 80), 'the firewall drops port 80'
        neighbour = used_neighbour(laboratory)
        frames = laboratory.metric('port_receive_packets_total')
        assert laboratory.messages() == before, 'no message to or from the controller'
        packet_ins = laboratory.metric('openflow_messages_total', 'PACKET_IN')
        lab.unplug(1, neighbour)
        ping(hosts[1], hosts[3])
        after_the_cut = download(hosts[3], hosts[1], hosts[3].address, 8080, content)
        assert after_the_cut == content, 'other bytes arrive after the cut'
        assert laboratory.metric('openflow_messages_total', 'PACKET_IN') == packet_ins == 0
    return ('12 pings over a ring, %d broadcasts once at each host, %d MB of TCP with the same '
            'SHA-256 (%s) before and after the cut of s1-s%d in use; port 80 is closed; %d frames, '
            '0 packet-ins' % (BROADCASTS, SIZE >> 20, digest(received), neighbour, frames))


if __name__ == '__main__':
    lab.main(check)
