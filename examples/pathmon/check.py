"""Three paths with ten flows each; a link loses some packets, and the counters tell which link."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from controller import CLASSES, EGRESS, INGRESS, LINKS, PATHS, cookie  # noqa: E402

FLOWS, PACKETS, LOST = 10, 3000, 30
BAD_LINK = (2, 3)  # of path 3 alone


def traffic(choice, paths, count):
    """Packets of random flows of some paths, and how many there are of each path and class."""
    frames, sent = [], {}
    for _ in range(count):
        path, kind, flow = choice.choice(paths), choice.choice(list(CLASSES)), choice.randrange(FLOWS)
        port = 5060 if kind else 6000
        frames.append(lab.udp('10.1.0.1', '10.9.%d.%d' % (path, flow), port))
        sent[cookie(path, kind)] = sent.get(cookie(path, kind), 0) + 1
    return frames, sent


def losses(counters):
    """Packets that were counted at one end of a link and not at the other, by link and cookie."""
    found = {}
    for path, hops in PATHS.items():
        for one, other in zip(hops, hops[1:]):
            for kind in CLASSES:
                number = cookie(path, kind)
                if counters[one][number] != counters[other][number]:
                    found[one, other, number] = counters[one][number] - counters[other][number]
    return found


def check():
    choice = random.Random(1)
    with lab.Lab(hosts={1: INGRESS, 2: EGRESS}, controller='controller.py',
                 links=LINKS) as laboratory:
        before, sent = traffic(choice, list(PATHS), PACKETS)
        laboratory.send(1, before)
        laboratory.arrived()
        at_first = {switch: laboratory.counters(switch) for switch in laboratory.switches}
        assert not losses(at_first), losses(at_first)
        assert {number: at_first[INGRESS][number] for number in sent} == sent, 'exact counts'
        lab.cut(*BAD_LINK)
        during, lost = traffic(choice, [3], LOST)
        laboratory.send(1, during)
        laboratory.arrived()
        lab.repair(*BAD_LINK)
        after, _ = traffic(choice, list(PATHS), PACKETS)
        laboratory.send(1, after)
        arrived = laboratory.arrived()[2]
        found = losses({switch: laboratory.counters(switch) for switch in laboratory.switches})
    assert sorted(arrived) == sorted(after), 'frames leave the network as they came'
    assert found == {(*BAD_LINK, number): count for number, count in lost.items()}, found
    entries = len(PATHS) * len(CLASSES)
    return ('%d packets of %d flows on %d paths; all %d that are lost are found on s%d-s%d, by class '
            '%s, with %d entries a switch at most instead of %d' % (
                2 * PACKETS + LOST, FLOWS * entries, len(PATHS), LOST, *BAD_LINK,
                ' and '.join(map(str, found.values())), entries, FLOWS * entries))


if __name__ == '__main__':
    lab.main(check)
