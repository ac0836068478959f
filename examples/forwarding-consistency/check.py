"""10,000 connections to three servers, of which one goes and comes back, in two ways."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, main, tcp  # noqa: E402
from connections import Connections, prepare  # noqa: E402

CONNECTIONS = 10_000
# Connections whose first packet is timed.
TIMED = 300
CLIENT = 1
BY_HASH, BY_STATE, BY_CONTROLLER = '10.9.0.1', '10.9.0.2', '10.9.0.3'
FAIR = .98
# Connections of real TCP to each service, and the server that goes.
REAL, GONE = 60, 3


def packets(service, network=1, count=CONNECTIONS):
    """A packet of each connection."""
    return [tcp('10.%d.%d.%d' % (network, *divmod(i, 256)), service, 80, from_port=1024 + i)
            for i in range(count)]


class Balancer:
    """What the check sees of one way to choose servers."""

    def __init__(self, lab, service):
        self.lab = lab
        self.service = service
        self.messages = 0

    def servers(self):
        """Sends a packet of each connection, and gives the server of each."""
        before = self.lab.messages()
        self.lab.send(CLIENT, packets(self.service))
        server_of = {}
        for host, frames in self.lab.arrived().items():
            for frame in frames:
                server_of[frame[26:38]] = host - CLIENT
        assert len(server_of) == CONNECTIONS, 'each connection has a server'
        self.messages += self.lab.messages() - before
        return server_of


def jain(server_of):
    """Jain's fairness index of the servers' shares."""
    shares = [list(server_of.values()).count(server) for server in (1, 2, 3)]
    return sum(shares) ** 2 / (len(shares) * sum(share ** 2 for share in shares))


def moved(before, after, but_of=0):
    """Connections that are at another server than before, without those of one server."""
    return sum(after[one] != server for one, server in before.items() if server != but_of)


def setup_times(lab, service):
    """Median and 99th percentile of the time in microseconds that a first packet takes."""
    times = []
    for frame in packets(service, network=2, count=TIMED):
        start = time.perf_counter()
        lab.hosts[CLIENT].socket.send(frame)
        lab.wait_for_frame(lambda found: found[26:38] == frame[26:38])
        times.append(time.perf_counter() - start)
    times.sort()
    return '%.0f/%.0f us' % (times[TIMED // 2] * 1e6, times[TIMED * 99 // 100] * 1e6)


def real_connections():
    """Real TCP while a server goes and comes back: how many connections by state are served to the
    last byte, and how many by a hash are reset that were made while the server was away."""
    with Lab(hosts=4, controller='controller.py') as lab:
        services = BY_HASH, BY_STATE
        prepare(lab, CLIENT, services)
        ways = [Connections(lab.hosts[CLIENT], service) for service in services]
        for way in ways:
            way.connect(REAL)
        gone = [[GONE] * way.servers().count(GONE) for way in ways]
        assert not any(way.broken(1) for way in ways), 'all are served'
        lab.tell('1 2')
        assert [way.broken(2) for way in ways] == gone, 'only those of the server that went end'
        for way in ways:
            way.connect(REAL)
            assert set(way.servers()) == {1, 2}, 'new connections are at the other servers'
        lab.tell('1 2 3')
        by_hash, by_state = [way.broken(3) for way in ways]
        assert by_state == [] and by_hash, 'a hash moves connections, a state none'
        served = len(ways[1].servers())
        assert served == 2 * REAL - len(gone[1]), 'connections by state are all served'
        for way in ways:
            way.connect(REAL)
            assert set(way.servers()) == {1, 2, GONE}, 'new connections are at all servers'
            way.close()
    return served, len(by_hash)


def check():
    served, reset = real_connections()
    with Lab(hosts=4, controller='controller.py') as lab:
        ways = [Balancer(lab, BY_HASH), Balancer(lab, BY_STATE)]
        at_first = [way.servers() for way in ways]
        lab.tell('1 2')
        with_two = [way.servers() for way in ways]
        lab.tell('1 2 3')
        at_last = [way.servers() for way in ways]
        times = [setup_times(lab, service) for service in (BY_HASH, BY_STATE)]
    with Lab(hosts=4, controller='reactive.py') as lab:
        times.append(setup_times(lab, BY_CONTROLLER))
    by_hash, by_state = [moved(at_first[i], with_two[i], but_of=3) + moved(with_two[i], at_last[i])
                         for i in (0, 1)]
    assert by_state == 0, '%d connections moved' % by_state
    assert set(with_two[1].values()) == {1, 2}, 'the server that has gone has no connection'
    assert jain(at_first[1]) >= FAIR, jain(at_first[1])
    assert sum(way.messages for way in ways) == 0, 'no message to or from the controller'
    return ('%d connections, a server goes and comes back: by state 0 move, by a hash alone %d; '
            'fairness %.4f; of real TCP %d go on by state, and '
            'by a hash %d are reset; first packet p50/p99 by hash %s, by state %s, by a controller %s'
            % (CONNECTIONS, by_hash, jain(at_first[1]), served, reset, *times))


if __name__ == '__main__':
    main(check)
