"""10,000 connections use one public address at a time, with as many ports; then others do."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, main, tcp  # noqa: E402

CONNECTIONS = 10_000
PUBLIC, SERVER, SERVER_PORT = '192.0.2.1', '198.51.100.1', 80
FIRST_PORT = 10_000
INSIDE_MACS = ('02:aa:00:00:00:01', '02:aa:00:00:00:02')
OUTSIDE_MACS = ('02:aa:00:00:00:02', '02:aa:00:00:00:03')
# While connections are used, and then to see their ports come back, in seconds.
KEPT, FREED = 60, 1


def endpoints(network):
    """Private addresses and ports: each address has 50."""
    return [('10.%d.0.%d' % (network, 1 + i // 50), 2000 + i % 50) for i in range(CONNECTIONS)]


def requests(of):
    return [tcp(address, SERVER, SERVER_PORT, from_port=port, macs=INSIDE_MACS)
            for address, port in of]


def public_ports(lab, private):
    """Sends a packet of each connection; gives the public port of each that gets through. Each
    arrives as the packet that NAT must make, to the byte."""
    before = lab.messages()
    lab.send(1, requests(private))
    found = []
    for frame in lab.arrived()[2]:
        port = int.from_bytes(frame[34:36], 'big')
        assert frame == tcp(PUBLIC, SERVER, SERVER_PORT, from_port=port, macs=INSIDE_MACS)
        found.append(port)
    assert lab.messages() == before, 'no message to or from the controller'
    return found


def replies_return(lab, private, public):
    """The reply to each connection gets to its private address and port."""
    before = lab.messages()
    lab.send(2, [tcp(SERVER, PUBLIC, port, from_port=SERVER_PORT, macs=OUTSIDE_MACS)
                 for port in public])
    assert lab.arrived()[1] == [
        tcp(SERVER, address, port, from_port=SERVER_PORT, macs=(OUTSIDE_MACS[0], INSIDE_MACS[0]))
        for address, port in private], 'both directions fit'
    assert lab.messages() == before, 'no message to or from the controller'


def check():
    pool = set(range(FIRST_PORT, FIRST_PORT + CONNECTIONS))
    first, second = endpoints(1), endpoints(2)
    with Lab(hosts=2, controller='controller.py') as lab:
        lab.tell(str(KEPT))
        public = public_ports(lab, first)
        assert len(public) == CONNECTIONS and set(public) == pool, 'no port is given twice'
        replies_return(lab, first, public)
        assert public_ports(lab, second[:100]) == [], 'nobody takes a port that is in use'
        replies_return(lab, first[:100], public[:100])
        lab.tell(str(FREED))
        assert public_ports(lab, first) == public, 'a connection keeps its port'
        time.sleep(FREED + .2)
        again = public_ports(lab, second)
        assert len(again) == CONNECTIONS and set(again) == pool, 'ports are free again'
    return ('%d connections over one address and as many ports: none collides, both directions are '
            'right to the byte, all ports come back after %d s; 0 controller messages' % (
                CONNECTIONS, FREED))


if __name__ == '__main__':
    main(check)
