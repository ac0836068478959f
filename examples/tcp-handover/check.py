"""A client gets the first part of a file from one server and the rest from another, in one
connection, with packets lost."""

import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, main  # noqa: E402
from controller import (BACK_AT, CLIENT_AT, FRONT, FRONT_AT, PORT,  # noqa: E402
                        SWITCH_OPTIONS)
from streams import SECONDS, data, digest, listen, read_all, tcp_socket  # noqa: E402

FIRST, WHOLE = 1 << 20, 8 << 20
REQUEST = b'MORE\n'


def without_time_stamps():
    Path('/proc/sys/net/ipv4/tcp_timestamps').write_text('0')


def serve(waiting, content, request=b''):
    """Sends content to who connects, after a request if one is expected; gives a list that will
    have the connection, and what was asked."""
    found = []

    def work():
        peer, address = waiting.accept()
        peer.settimeout(SECONDS)
        found.append(address)
        found.append(peer.recv(len(request)) if request else peer)
        peer.sendall(content)
        if request:
            peer.close()

    threading.Thread(target=work, daemon=True).start()
    return found


def tcp_counter(host, page, kind, name):
    """A counter of a host's TCP."""
    names, values = [line.split() for line in host.run('cat', '/proc/net/' + page).splitlines()
                     if line.startswith(kind + ':')]
    return int(values[names.index(name)])


def check():
    content = data(WHOLE)
    with Lab(hosts=3, controller='controller.py', options=SWITCH_OPTIONS) as lab:
        client, front, back = (lab.hosts[i] for i in (CLIENT_AT, FRONT_AT, BACK_AT))
        for server in (front, back):
            server.inside(without_time_stamps)
        at_front = serve(listen(front, '', PORT), content[:FIRST])
        at_back = serve(listen(back, '', PORT), content[FIRST:], REQUEST)
        with tcp_socket(client) as stream:
            stream.connect((FRONT, PORT))
            received = b''
            while len(received) < FIRST:
                received += stream.recv(FIRST - len(received))
            stream.sendall(REQUEST)
            received += read_all(stream)
            ours = stream.getsockname()
        by = int(lab.wait_for('MOVED').split()[1])
        again = tcp_counter(back, 'snmp', 'Tcp', 'RetransSegs')
        recovered = tcp_counter(back, 'netstat', 'TcpExt', 'TCPSackRecovery')
        refused = tcp_counter(back, 'netstat', 'TcpExt', 'TCPSACKDiscard')
    assert received == content, '%d bytes, or others' % len(received)
    assert at_back == [ours, REQUEST] and at_front[0] == ours, 'both see the same client'
    assert again > 0 and recovered > 0, 'packets are lost, and SACK tells which'
    assert refused == 0, '%d SACK blocks are out of the window' % refused
    return ('%d MB of one server and %d MB of another in one connection, SHA-256 as sent (%s); '
            'numbers shifted by %d, %d packets sent again, %d recoveries by SACK' % (
                FIRST >> 20, (WHOLE - FIRST) >> 20, digest(received), by, again, recovered))


if __name__ == '__main__':
    main(check)
