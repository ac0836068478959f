"""A central office: subscribers speak IPv6, and two VLAN tags say who and which service."""

from rules import run

ACCESS, FABRIC = 1, 2
SUBSCRIBERS = {1: 10, 2: 11}  # by number: ports of the access switch
INTERNET, TELEVISION = 7, 8  # inner tags
SERVICES = {INTERNET: 10, TELEVISION: 11}  # ports of the fabric
TELEVISION_PORT = 5004
CLASSIFY = 1  # the table that sees the inner tag


def address(subscriber):
    return 'fd00::%d' % subscriber


def outer(subscriber):
    """The outer tag of a subscriber."""
    return 100 + subscriber


def push(service, subscriber):
    """Adds both tags: first the inner one, of 802.1Q, then the outer one, of 802.1ad."""
    return 'push_vlan:0x8100,set_field:%d->vlan_vid,push_vlan:0x88a8,set_field:%d->vlan_vid' % (
        0x1000 | service, 0x1000 | outer(subscriber))


def access():
    """The switch in front of the subscribers; what is not IPv6 goes nowhere."""
    for subscriber, port in SUBSCRIBERS.items():
        yield 'priority=10,in_port=%d,ipv6,actions=%s,output:%d' % (
            port, push(INTERNET, subscriber), FABRIC)
        yield 'priority=20,in_port=%d,udp6,tp_dst=%d,actions=%s,output:%d' % (
            port, TELEVISION_PORT, push(TELEVISION, subscriber), FABRIC)
        yield 'in_port=%d,dl_vlan=%d,actions=pop_vlan,pop_vlan,output:%d' % (
            FABRIC, outer(subscriber), port)


def fabric():
    """The switch in front of the services, which come to a subscriber by his address."""
    for subscriber in SUBSCRIBERS:
        yield 'in_port=%d,dl_vlan=%d,actions=pop_vlan,goto_table:%d' % (
            ACCESS, outer(subscriber), CLASSIFY)
        for service, port in SERVICES.items():
            for match in ('ipv6_dst=', 'icmp6,icmpv6_type=135,nd_target='):
                yield 'in_port=%d,ipv6,%s%s,actions=%s,output:%d' % (
                    port, match, address(subscriber), push(service, subscriber), ACCESS)
    for service, port in SERVICES.items():
        yield 'table=%d,dl_vlan=%d,actions=pop_vlan,output:%d' % (CLASSIFY, service, port)


if __name__ == '__main__':
    run({ACCESS: list(access()), FABRIC: list(fabric())})
