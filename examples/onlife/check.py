"""Two subscribers with the same services: TCP over IPv6, television, and the tags on the trunk."""

import socket
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from controller import (ACCESS, FABRIC, INTERNET, SUBSCRIBERS, TELEVISION,  # noqa: E402
                        TELEVISION_PORT, address, outer)
from streams import data, digest, download  # noqa: E402

SIZE, PICTURES = 2 << 20, 100
INTERNET_HOST, TELEVISION_HOST = 3, 4
IPV6 = 0x86DD


def enable_ipv6():
    for one in ('all', 'default', 'eth0'):
        Path('/proc/sys/net/ipv6/conf/%s/disable_ipv6' % one).write_text('0')


def picture(subscriber, number):
    """A packet of television that a subscriber sends, as its viewers do to choose a channel."""
    udp = struct.pack('!HHHHI', 5004, TELEVISION_PORT, 12, 0, number)
    addresses = b''.join(socket.inet_pton(socket.AF_INET6, one)
                         for one in (address(subscriber), 'ff3e::1'))
    packet = struct.pack('!IHBB', 6 << 28, len(udp), 17, 64) + addresses + udp
    macs = lab.mac_bytes('33:33:00:00:00:01') + lab.mac_bytes('02:00:00:00:00:0%d' % subscriber)
    return macs + struct.pack('!H', IPV6) + packet


def tags(frame):
    """Both tags of a frame, and what follows; None if it has others."""
    kinds = struct.unpack_from('!HHHHH', frame, 12)
    return kinds[1::2] if kinds[::2] == (0x88A8, 0x8100, IPV6) else None


def check():
    content = data(SIZE)
    with lab.Lab(hosts={1: ACCESS, 2: ACCESS, INTERNET_HOST: FABRIC, TELEVISION_HOST: FABRIC},
                 controller='controller.py', links=[(ACCESS, FABRIC)]) as laboratory:
        hosts = laboratory.hosts
        for number, host in hosts.items():
            host.inside(enable_ipv6)
            lab.ip('-n %s address add %s/64 dev eth0 nodad' % (host.name, address(number)))
        trunk = [lab.packet_socket('w%d-%d' % ends) for ends in ((1, 2), (2, 1))]
        seen = set()
        for subscriber in SUBSCRIBERS:
            received = download(hosts[INTERNET_HOST], hosts[subscriber], address(INTERNET_HOST),
                                8080, content, family=socket.AF_INET6)
            assert received == content, 'other bytes arrive'
            seen |= {tags(frame) for one in trunk for frame in lab.frames_of(one)}
        laboratory.resume()
        pictures = [picture(1 + number % 2, number) for number in range(PICTURES)]
        for number, frame in enumerate(pictures):
            hosts[1 + number % 2].socket.send(frame)
        hosts[1].socket.send(lab.udp('10.0.0.1', '10.0.0.3', 7))
        arrived = laboratory.arrived()
        seen |= {tags(frame) for one in trunk for frame in lab.frames_of(one)}
    assert sorted(arrived[TELEVISION_HOST], key=lambda frame: frame[-4:]) == pictures, 'television'
    assert not any(frame[12:14] == b'\x08\0' for frame in arrived[INTERNET_HOST]), 'no IPv4 passes'
    wanted = {(outer(subscriber), service) for subscriber in SUBSCRIBERS
              for service in (INTERNET, TELEVISION)}
    assert seen == wanted, 'tags on the trunk: %s' % seen
    return ('2 x %d MB of TCP over IPv6 with the same SHA-256 (%s), %d packets of television; the '
            'trunk has %s, outer and inner tag, and no other frame' % (
                SIZE >> 20, digest(received), PICTURES,
                ', '.join('%d/%d' % pair for pair in sorted(seen))))


if __name__ == '__main__':
    lab.main(check)
