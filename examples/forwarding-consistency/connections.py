"""Real TCP connections of the kernels' to the servers of a load balancer, that stay open."""

import socket
import threading

from streams import data, listen, tcp_socket

PORT, BYTES = 80, 20_000
SERVER_MAC = '02:cc:00:00:00:%02x'


def prepare(lab, client, services):
    """Gives all servers the services' addresses and the MACs that the switch writes; the client's
    kernel sends to these addresses and to its own as neighbours, so nobody sends ARP requests."""
    lab.hosts[client].run('ip', 'route', 'add', '10.9.0.0/16', 'dev', 'eth0')
    for service in services:
        lab.hosts[client].run('ip', 'neigh', 'add', service, 'lladdr', '02:aa:00:00:00:09',
                              'dev', 'eth0')
    for number, host in enumerate((host for host in lab.hosts if host != client), start=1):
        server = lab.hosts[host]
        server.run('ip', 'link', 'set', 'eth0', 'address', SERVER_MAC % number)
        for service in services:
            server.run('ip', 'address', 'add', service + '/32', 'dev', 'lo')
        server.run('ip', 'neigh', 'add', lab.hosts[client].address, 'lladdr',
                   lab.hosts[client].mac, 'dev', 'eth0')
        threading.Thread(target=serve, args=(listen(server, '', PORT), number),
                         daemon=True).start()


def serve(waiting, number):
    """Answers each connection: first which server it is, then all that is sent to it."""
    waiting.settimeout(None)
    while True:
        peer, _ = waiting.accept()
        peer.sendall(bytes([number]))
        threading.Thread(target=echo, args=(peer,), daemon=True).start()


def echo(peer):
    """Sends back what comes until the other end closes."""
    try:
        while part := peer.recv(1 << 16):
            peer.sendall(part)
    except OSError:
        pass
    peer.close()


class Connections:
    """Connections of one client to a service."""

    def __init__(self, host, service):
        self.host, self.service = host, service
        self.open = []

    def connect(self, count):
        """Makes more of them; each learns its server."""
        for _ in range(count):
            stream = tcp_socket(self.host)
            stream.connect((self.service, PORT))
            self.open.append((stream, stream.recv(1)[0]))

    def broken(self, seed):
        """The servers of the connections that are reset when data is to come back; the others
        must give back every byte, and stay open."""
        content, found, alive = data(BYTES, seed), [], []
        for stream, server in self.open:
            try:
                stream.sendall(content)
                back = b''
                while len(back) < BYTES:
                    part = stream.recv(BYTES)
                    if not part:
                        raise ConnectionResetError
                    back += part
                assert back == content, 'every byte comes back'
                alive.append((stream, server))
            except (ConnectionResetError, BrokenPipeError):
                stream.close()
                found.append(server)
        self.open = alive
        return found

    def servers(self):
        """The servers of the connections that are open."""
        return [server for _, server in self.open]

    def close(self):
        """Closes all, without waiting for the other end."""
        for stream, _ in self.open:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1] + 7 * [0]))
            stream.close()
