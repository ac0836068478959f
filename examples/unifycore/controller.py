"""Forwarders at both ends of a plain Ethernet: the MAC addresses of a frame say its session."""

from rules import run

ACCESS, GATEWAY, HOST_PORT = 1, 2, 10
MOBILE_MAC, INTERNET_MAC = '02:00:00:00:00:01', '02:00:00:00:00:02'
# Session 0 is that of the host itself, with ARP; the others have addresses of their own.
SESSIONS = 200


def address(session):
    """The address of a session's mobile."""
    return '10.1.0.%d' % session if session else '10.0.0.1'


def end(forwarder, session):
    """The MAC address of a tunnel's end."""
    return '02:f%d:00:00:%02x:%02x' % (forwarder, *divmod(session, 256))


def macs(source, destination):
    return 'set_field:%s->eth_src,set_field:%s->eth_dst' % (source, destination)


def tunnel(here, there, own_mac, far_mac, own):
    """The rules of a forwarder: what its host sends goes into the tunnel of its session, and what
    comes out of one has the addresses of the hosts again."""
    found = []
    for session in range(SESSIONS):
        matches = ['ip,%s=%s' % (own, address(session))] + (['arp'] if session == 0 else [])
        found += ['in_port=%d,%s,actions=%s,output:%d' % (
            HOST_PORT, match, macs(end(here, session), end(there, session)), there)
            for match in matches]
        found.append('in_port=%d,dl_dst=%s,actions=%s,output:%d' % (
            there, end(here, session), macs(far_mac, own_mac), HOST_PORT))
    return found


if __name__ == '__main__':
    run({ACCESS: tunnel(ACCESS, GATEWAY, MOBILE_MAC, INTERNET_MAC, 'nw_src'),
         GATEWAY: tunnel(GATEWAY, ACCESS, INTERNET_MAC, MOBILE_MAC, 'nw_dst')})
