"""Applications offer three times their rate; what arrives has the rates, the marks and the copies."""

import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, checksum, main, udp  # noqa: E402
from controller import (BURST_SECONDS, COPIED, COPIES_AT, MARKED, MARKED_RATE, RATES,  # noqa: E402
                        SERVER_AT)

SECONDS, OFFERED, COPIES = 4, 3, 200
TICK_SECONDS, MOST_A_TICK = .002, 60
FRAME_BYTES, HEADER_BYTES = 1000, 42
TOLERANCE = .15
AF11, AF12 = 10, 12


def frame(port, number=0, dscp=0):
    """A packet of an application."""
    payload = struct.pack('!I', number).ljust(FRAME_BYTES - HEADER_BYTES, b'.')
    found = bytearray(udp('10.1.0.1', '10.9.0.1', port, payload))
    found[15] = dscp << 2
    found[24:26] = bytes(2)
    found[24:26] = checksum(bytes(found[14:34])).to_bytes(2, 'big')
    return bytes(found)


def offer(lab):
    """Sends all applications with a rate and the marked one; returns how long, and the packets."""
    rates = {**RATES, MARKED: MARKED_RATE}
    frames = {port: frame(port, dscp=AF11 if port == MARKED else 0) for port in rates}
    sent = dict.fromkeys(rates, 0)
    start = time.monotonic()
    while (elapsed := time.monotonic() - start) < SECONDS:
        for port, rate in rates.items():
            due = elapsed * OFFERED * rate * 125 / FRAME_BYTES
            for _ in range(min(MOST_A_TICK, int(due) - sent[port])):
                lab.hosts[1].socket.send(frames[port])
                sent[port] += 1
        lab.hosts[SERVER_AT].receive()
        time.sleep(TICK_SECONDS)
    return elapsed, sent


def share(packets, seconds, rate):
    """What packets are of a rate in kb/s, without what may come at once."""
    return packets * FRAME_BYTES * 8 / 1000 / rate / (seconds + BURST_SECONDS)


def port_of(one):
    return int.from_bytes(one[36:38], 'big')


def check():
    copied = [frame(COPIED, number) for number in range(COPIES)]
    with Lab(hosts=4, controller='controller.py') as lab:
        seconds, sent = offer(lab)
        arrived = lab.arrived()[SERVER_AT]
        lab.resume()
        lab.send(1, copied)
        copies = lab.arrived()
    got = {port: sum(port_of(one) == port for one in arrived) for port in sent}
    shares = {}
    for port, rate in RATES.items():
        shares[port] = share(got[port], seconds, rate)
        assert abs(shares[port] - 1) < TOLERANCE, 'port %d has %.2f of its rate' % (
            port, shares[port])
    marks = [one[15] >> 2 for one in arrived if port_of(one) == MARKED]
    assert len(marks) == sent[MARKED] and set(marks) == {AF11, AF12}, 'none is dropped'
    assert all(checksum(one[14:34]) == 0 for one in arrived), 'checksums are right'
    kept_share = share(marks.count(AF11), seconds, MARKED_RATE)
    assert abs(kept_share - 1) < TOLERANCE, 'unmarked: %.2f of the rate' % kept_share
    assert all(copies[port] == copied for port in COPIES_AT), 'copies are as sent, and in order'
    return ('three applications get %s of 1, 2 and 4 Mb/s; a fourth keeps its mark on %.2f of '
            '1 Mb/s, and all of its %d packets pass; %d packets are copied to %d ports' % (
                ', '.join('%.2f' % share for share in shares.values()), kept_share, len(marks),
                COPIES, len(COPIES_AT)))


if __name__ == '__main__':
    main(check)
