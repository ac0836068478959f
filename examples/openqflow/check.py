"""A download, peer-to-peer traffic and a call of more than 1 MB each; and a link that is flooded."""

import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, main, udp  # noqa: E402
from controller import (  # noqa: E402
    AFTER_BYTES, CALL, CALLS_LINK, LINK, OPTIONS, P2P, P2P_CAP)

SENDER = 1
FRAME_BYTES, HEADER_BYTES = 1000, 42
# After a pause, few packets come at once, since those of one batch have one time.
SECONDS, TICK_SECONDS, MOST_A_TICK = 6, .002, 4
# From when on the limited flow is measured: its queue has drained by then.
SETTLED_SECONDS = 4
LATE_SECONDS = .01
# What a machine may lose that does other things, too.
MOST_LOST = .01
TOLERANCE = .15
MICE = 300


class Stream:
    """A stream of UDP: its kb/s, and its packets, which are numbered."""

    def __init__(self, source, destination, port, kbps, word):
        self.ends, self.port, self.kbps, self.word = (source, destination), port, kbps, word
        self.sent = 0

    def frame(self, number):
        """The packet of a number."""
        data = struct.pack('!I', number) + self.word
        return udp(*self.ends, self.port, data.ljust(FRAME_BYTES - HEADER_BYTES, b'.'))

    def send(self, host, elapsed):
        """Sends what is due."""
        due = int(elapsed * self.kbps * 125 / FRAME_BYTES) - self.sent
        for _ in range(min(MOST_A_TICK, due)):
            host.socket.send(self.frame(self.sent))
            self.sent += 1

    def numbers(self, frames):
        """The numbers of its packets among frames, in the order in which they came."""
        port = struct.pack('!H', self.port)
        return [struct.unpack_from('!I', one, HEADER_BYTES)[0] for one in frames
                if one[36:38] == port]


DOWNLOAD = Stream('10.1.0.1', '10.9.0.1', 8080, 2_500, b'DATA')
PEERS = Stream('10.1.0.2', '10.9.0.2', 6881, 3_000, P2P)
# A call of many pictures: one of 64 kb/s would take two minutes to 1 MB.
A_CALL = Stream('10.1.0.3', '10.9.0.3', 5004, 4_000, CALL)
# A flood to several subscribers, whose fair shares leave less than the call needs.
FLOOD = [Stream('10.1.0.4', '10.9.1.%d' % i, 9000 + i, 4_000, b'MORE') for i in range(4)]
STREAMS = [DOWNLOAD, PEERS, A_CALL, *FLOOD]


def send(lab):
    """Sends all streams, and flows of one packet; gives the rate of the limited one in the end."""
    host, there = lab.hosts[SENDER], lab.hosts[LINK]
    mice = [udp('10.2.0.%d' % (i % 250), '10.9.0.4', 1000 + i) for i in range(MICE)]
    start, before = time.monotonic(), None
    while (elapsed := time.monotonic() - start) < SECONDS:
        for stream in STREAMS:
            stream.send(host, elapsed)
        while mice and len(mice) > MICE * (1 - elapsed / SECONDS):
            host.socket.send(mice.pop())
        lab.hosts[CALLS_LINK].receive()
        there.receive()
        if before is None and elapsed > SETTLED_SECONDS:
            before = elapsed, len(PEERS.numbers(there.frames))
        time.sleep(TICK_SECONDS)
    packets = len(PEERS.numbers(there.frames)) - before[1]
    return packets * FRAME_BYTES / 125 / (elapsed - before[0])


def missing(numbers, count):
    """How many of the first numbers are missing."""
    return len(set(range(count)) - set(numbers))


def check():
    with Lab(hosts=3, controller='controller.py', options=OPTIONS) as lab:
        messages = lab.messages()
        kbps = send(lab)
        arrived = lab.arrived()
        assert lab.messages() == messages, 'no message to or from the controller'
        classified = lab.metric('openqflow_classified')
    numbers = {stream: {port: stream.numbers(arrived[port]) for port in (LINK, CALLS_LINK)}
               for stream in STREAMS}
    for stream, by_port in numbers.items():
        for found in by_port.values():
            assert found == sorted(found), 'packets of port %d stay in order' % stream.port
    call = numbers[A_CALL]
    lost = missing(call[LINK] + call[CALLS_LINK], A_CALL.sent)
    assert lost <= MOST_LOST * A_CALL.sent, 'the call loses %d packets' % lost
    assert all(call.values()), 'the call uses both links'
    assert call[LINK][-1] < call[CALLS_LINK][0], 'the call moves once'
    # With the first packet that goes to the other link, which is inspected, too.
    at = (call[LINK][-1] + 2) * FRAME_BYTES
    late = (at - AFTER_BYTES) * 8 / 1000 / A_CALL.kbps
    assert 0 <= late <= LATE_SECONDS, 'the call moves after %d bytes' % at
    passed = sum(len(numbers[one][CALLS_LINK]) for one in FLOOD)
    assert 0 < passed < sum(one.sent for one in FLOOD) / 2, 'the link of calls is full: %d' % passed
    kept = missing(numbers[DOWNLOAD][LINK], DOWNLOAD.sent)
    assert kept <= MOST_LOST * DOWNLOAD.sent, 'the download loses %d packets' % kept
    peers, large = numbers[PEERS][LINK], AFTER_BYTES // FRAME_BYTES
    before = missing(peers, large)
    assert before <= MOST_LOST * large, '%d packets are lost before 1 MB' % before
    assert abs(kbps / P2P_CAP - 1) < TOLERANCE, 'peer-to-peer traffic has %.0f kb/s' % kbps
    assert classified == 2, '%d flows are classified' % classified
    return ('after %.2f MB (%.1f ms) a call goes to its link, which is flooded, and loses %d of '
            '%d packets; peer-to-peer traffic then has %.0f of %d kb/s; a download keeps its path; '
            'all in order; 0 controller messages for %d flows' % (
                at / 1e6, late * 1e3, lost, A_CALL.sent, kbps, P2P_CAP, MICE + len(numbers)))


if __name__ == '__main__':
    main(check)
