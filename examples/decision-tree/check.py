"""2,000 made-up flows, interleaved: the switch puts each into the class that the tree says."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, main, udp  # noqa: E402
from tree import CLASSES, DEPTH, PACKETS, answers, decide, depth, flow, learn, leaves  # noqa: E402

FLOWS, AFTER = 2000, 2
HEADER_BYTES = 42


def packet(number, length):
    """A packet of a flow."""
    source = '10.1.%d.%d' % divmod(number, 256)
    return udp(source, '10.9.0.1', 4000, bytes(length - HEADER_BYTES))


def check():
    choice = random.Random(2)
    flows = [flow(choice) for _ in range(FLOWS)]
    tree = learn()
    decided = [decide(tree, answers(lengths)) for _, lengths in flows]
    frames, expected = [], []
    for position in range(PACKETS + AFTER):
        for number, (_, lengths) in enumerate(flows):
            length = lengths[position] if position < PACKETS else choice.randint(80, 1500)
            frames.append(packet(number, length))
            mark = CLASSES.index(decided[number]) + 1 if position >= PACKETS else 0
            expected.append(mark)
    with Lab(hosts=2, controller='controller.py') as lab:
        before = lab.messages()
        lab.send(1, frames)
        arrived = lab.arrived()[2]
        assert lab.messages() == before, 'no message to or from the controller'
        assert lab.metric('openstate_states') == FLOWS, 'each flow has a state'
        memory = lab.metric('openstate_state_bytes') / FLOWS
    assert [frame[26:30] for frame in arrived] == [frame[26:30] for frame in frames], 'all arrive'
    found = [frame[15] >> 2 for frame in arrived]
    wrong = sum(one != other for one, other in zip(found, expected))
    assert wrong == 0, '%d packets are in another class than the tree says' % wrong
    assert depth(tree) == DEPTH, depth(tree)
    right = sum(name == by_tree for (name, _), by_tree in zip(flows, decided))
    return ('%d flows: the switch agrees with the tree of depth %d and %d leaves on 100 %%; the '
            'tree is right on %.1f %%; %.0f bytes of memory for each flow; 0 controller messages' % (
                FLOWS, depth(tree), len(list(leaves(tree))), 100 * right / FLOWS, memory))


if __name__ == '__main__':
    main(check)
