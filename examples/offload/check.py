"""Four elephants whose hash leads to one path, and 100 mice: how full is the fuller path?"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, main, udp  # noqa: E402
from controller import ELEPHANT, PATHS  # noqa: E402

MICE, PACKETS_OF_MICE = 100, 4
ELEPHANTS, PACKETS_OF_ELEPHANTS = 4, 3 * ELEPHANT
MOST_BALANCED, CANDIDATES = 1.15, 40
SENDER = 1


def frame(flow):
    """A packet of a flow, by its number."""
    return udp('10.1.0.%d' % (flow % 250), '10.9.0.1', 7, from_port=5000 + flow)


def paths(lab, frames):
    """How many packets of each flow take each path."""
    lab.send(SENDER, frames)
    arrived = lab.arrived()
    found = {path: {} for path in PATHS}
    for path in PATHS:
        for one in arrived[path]:
            found[path][one[26:36]] = found[path].get(one[26:36], 0) + 1
    total = sum(sum(flows.values()) for flows in found.values())
    assert total == len(frames), '%d of %d packets arrive' % (total, len(frames))
    return found


def imbalance(found):
    """The load of the fullest path by the mean."""
    loads = [sum(flows.values()) for flows in found.values()]
    return max(loads) * len(loads) / sum(loads)


def check():
    with Lab(hosts=3, controller='controller.py') as lab:
        mice = [frame(flow) for flow in range(MICE)]
        candidates = [frame(MICE + flow) for flow in range(CANDIDATES)]
        by_hash = paths(lab, candidates)[PATHS[0]]
        elephants = [one for one in candidates if one[26:36] in by_hash][:ELEPHANTS]
        assert len(elephants) == ELEPHANTS, 'so many collide'
        traffic = mice * PACKETS_OF_MICE + elephants * PACKETS_OF_ELEPHANTS
        random.Random(1).shuffle(traffic)
        lab.tell('balance')  # forgets what was counted so far
        before = paths(lab, traffic)
        packet_ins = lab.metric('openflow_messages_total', 'PACKET_IN')
        lab.tell('balance')
        after = paths(lab, traffic)
        assert lab.metric('openflow_messages_total', 'PACKET_IN') == packet_ins
    small = {one[26:36] for one in mice}
    for path in PATHS:
        assert small & set(before[path]) == small & set(after[path]), 'mice stay where they are'
    assert imbalance(before) > 1.4, imbalance(before)
    assert imbalance(after) < MOST_BALANCED, imbalance(after)
    return ('the fuller of two paths has %.2f times the mean load by a hash, and %.2f after %d '
            'elephants of %d flows are placed; no mouse moves, 0 of %d packets are lost' % (
                imbalance(before), imbalance(after), ELEPHANTS, MICE + ELEPHANTS,
                2 * len(traffic)))


if __name__ == '__main__':
    main(check)
