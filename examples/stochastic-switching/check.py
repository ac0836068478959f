"""20,000 packets of one flow are spread as the weights say, and new weights count at once."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, main, udp  # noqa: E402
from controller import (BY_PACKET, FIRST_PORT, FLOWS_TO, OPTIONS, PACKETS_TO,  # noqa: E402
                        WEIGHTS, group)

PACKETS, FLOWS, EACH = 20_000, 1000, 4
NEW_WEIGHTS = [1, 1, 8]
# The most that chi-square with two degrees of freedom exceeds once in 1,000 times.
CHI_SQUARE = 13.8
# A share of a hash: what 1,000 flows may differ, five standard deviations of a fair draw.
TOLERANCE = .08


def counts(arrived):
    """Packets at each port."""
    return [len(arrived[FIRST_PORT + i]) for i in range(len(WEIGHTS))]


def chi_square(found, weights):
    """How far counts are from those that weights say."""
    wanted = [sum(found) * weight / sum(weights) for weight in weights]
    return sum((a - b) ** 2 / b for a, b in zip(found, wanted))


def draw(lab, weights):
    """Sends packets of one flow; gives how many leave through each port, and chi-square."""
    lab.send(1, [udp('10.1.0.1', PACKETS_TO, 7)] * PACKETS)
    found = counts(lab.arrived())
    assert sum(found) == PACKETS, 'none is lost: %s' % found
    distance = chi_square(found, weights)
    assert distance < CHI_SQUARE, 'chi-square %.1f: %s' % (distance, found)
    return found, distance


def flows(lab):
    """Each flow stays at one port: the shares of flows."""
    frames = [udp('10.1.%d.%d' % divmod(i, 256), FLOWS_TO, 7) for i in range(FLOWS)]
    lab.send(1, frames * EACH)
    arrived = lab.arrived()
    ports = {}
    for port, there in arrived.items():
        for frame in there:
            ports.setdefault(frame[26:30], []).append(port)
    assert all(len(set(each)) == 1 and len(each) == EACH for each in ports.values()), 'pinned'
    shares = [count / FLOWS / EACH for count in counts(arrived)]
    assert all(abs(share - weight / sum(WEIGHTS)) < TOLERANCE
               for share, weight in zip(shares, WEIGHTS)), shares
    return shares


def check():
    with Lab(hosts=4, controller='controller.py', options=[*OPTIONS, '--seed', '1']) as lab:
        before, distance = draw(lab, WEIGHTS)
        shares = flows(lab)
        lab.tell('1 ' + group('mod-group', BY_PACKET, NEW_WEIGHTS))
        after, distance_after = draw(lab, NEW_WEIGHTS)
    return ('%d packets of one flow are split %s by weights %s (chi-square %.1f) and %s by %s '
            '(%.1f); each of %d flows stays at one port, shares %s' % (
                PACKETS, before, WEIGHTS, distance, after, NEW_WEIGHTS, distance_after, FLOWS,
                ' '.join('%.2f' % share for share in shares)))


if __name__ == '__main__':
    main(check)
