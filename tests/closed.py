"""Holds contrib/bofuss_machine.py to what it says of a connection that closes."""

import socket
import struct
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'contrib'))
import bofuss_machine as m  # noqa: E402

SECONDS = 30


def connected():
    """A Switch, and the other end of its connection, which has answered once."""
    ours, theirs = socket.socketpair()

    def answer():
        stream = theirs.makefile('rb')
        while True:
            _, kind, length, xid = struct.unpack('!BBHI', stream.read(8))
            stream.read(length - 8)
            if kind == m.FEATURES_REQUEST:
                reply = struct.pack('!QIBB2xII', 7, 0, 1, 0, 0, 0)
                return theirs.sendall(m.message(m.FEATURES_REPLY, reply, xid))

    answering = threading.Thread(target=answer)
    answering.start()
    switch = m.Switch(ours)
    answering.join()
    assert switch.datapath_id == 7
    return switch, theirs


def within(work):
    """Does work that may hang, which would be an error."""
    done = []
    thread = threading.Thread(target=lambda: done.append(work()), daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert done, 'it hangs'
    return done[0]


def is_refused(switch):
    """Whether a request says that the connection has closed."""
    try:
        switch.ask(m.message(m.BARRIER_REQUEST))
    except ConnectionError:
        return True
    return False


def main():
    switch, theirs = connected()
    # Nobody reads them, so that the last ones are lost.
    for _ in range(m.MOST_WAITING + 10):
        theirs.sendall(m.message(m.PACKET_IN))
    # The switch goes once it has got a request, and without an answer.
    asked = threading.Thread(target=lambda: (theirs.recv(1 << 16), theirs.close()))
    asked.start()
    assert all(within(lambda: is_refused(switch)) for _ in range(3))
    within(lambda: switch.wait() or True)
    asked.join()
    counts = [within(lambda: len(list(switch.messages()))) for _ in range(2)]
    assert counts == [m.MOST_WAITING, 0], counts
    switch.socket.close()


if __name__ == '__main__':
    main()
