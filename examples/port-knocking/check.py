"""10,000 random sequences of knocks, each from an address of its own, beside a model."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, main, tcp, udp  # noqa: E402

SEQUENCES = 10_000
KNOCKS = [5123, 6234, 7345, 8456]
SERVER = '10.0.0.2'


def model(steps):
    """Which steps of a sequence pass: those to port 22 after all knocks in their order."""
    state, passing = 0, []
    for step in steps:
        if state == len(KNOCKS) and step == 22:
            passing.append(step)
        elif state < len(KNOCKS) and step == KNOCKS[state]:
            state += 1
        else:
            state = 0
    return passing


def sequence(choice):
    """Knocks in their order, of which some are others, and tries of port 22."""
    steps = [port if choice.random() < .9 else choice.choice(KNOCKS + [9, 22]) for port in KNOCKS]
    return steps + [22] * choice.randint(1, 2)


def check():
    choice = random.Random(1)
    frames, expected = [], []
    for number in range(SEQUENCES):
        client = '10.1.%d.%d' % divmod(number, 256)
        steps = sequence(choice)
        build = {step: tcp if step == 22 else udp for step in steps}
        made = {step: build[step](client, SERVER, step) for step in steps}
        frames += [made[step] for step in steps]
        expected += [made[step] for step in model(steps)]
    with Lab(hosts=2, controller='controller.py') as lab:
        before = lab.messages()
        lab.send(1, frames)
        arrived = lab.arrived()[2]
        assert lab.messages() == before, 'no message to or from the controller'
    assert arrived == expected, '%d frames arrived, not %d' % (len(arrived), len(expected))
    return '%d sequences, %d packets: the %d that may pass do, no other; 0 controller messages' % (
        SEQUENCES, len(frames), len(expected))


if __name__ == '__main__':
    main(check)
