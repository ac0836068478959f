"""Real TCP between hosts of a laboratory: what one sends, and what another receives."""

import hashlib
import random
import socket
import threading

SECONDS = 15


def data(size, seed=1):
    """Bytes that look random, always the same."""
    return random.Random(seed).randbytes(size)


def digest(received):
    """The SHA-256 of bytes, in short."""
    return hashlib.sha256(received).hexdigest()[:12]


def tcp_socket(host, family=socket.AF_INET):
    """A TCP socket in a host's namespace."""
    found = host.inside(lambda: socket.socket(family, socket.SOCK_STREAM))
    found.settimeout(SECONDS)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return found


def listen(host, address, port, family=socket.AF_INET):
    """A socket that waits for connections."""
    server = tcp_socket(host, family)
    server.bind((address, port))
    server.listen()
    return server


def read_all(stream):
    """What comes until the other end closes."""
    parts = []
    while part := stream.recv(1 << 16):
        parts.append(part)
    return b''.join(parts)


def download(server, client, address, port, content, family=socket.AF_INET):
    """What a host gets that connects to another, which sends `content`."""
    with listen(server, '::' if family == socket.AF_INET6 else '', port, family) as waiting:
        def give():
            peer, _ = waiting.accept()
            with peer:
                peer.settimeout(SECONDS)
                peer.sendall(content)

        giver = threading.Thread(target=give, daemon=True)
        giver.start()
        with tcp_socket(client, family) as stream:
            stream.connect((address, port))
            received = read_all(stream)
        giver.join(SECONDS)
    return received


def connects(client, address, port, seconds=1.5):
    """Whether a connection can be made in time."""
    with tcp_socket(client) as stream:
        stream.settimeout(seconds)
        return stream.connect_ex((address, port)) == 0
