"""The packet tests of the program, and a path of three switches whose traces say the same as the
packet."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from play import main, readme, stf, trace  # noqa: E402
from lab import udp  # noqa: E402

# Each switch has hosts or switches before it at port 1, what comes next at 2, the collector at 3.
PATH, COLLECTOR = (1, 2, 3), 3
HOPS = re.compile(r'hop\[0\]\.(node|came|left) = (0x[0-9a-f]+)')


def hops(frame):
    """The hops that a packet carries, the last one first: its switch and two ports."""
    assert frame[12:14] == b'\x88\xb5', frame.hex()
    words = [int.from_bytes(frame[at:at + 4], 'big') for at in range(17, 17 + 4 * frame[14], 4)]
    return [(word >> 24, word >> 12 & 0xFFF, word & 0xFFF) for word in words]


def check():
    readme()
    played = stf('telemetry')
    sent = frame = udp('10.0.0.1', '10.0.0.2', 9, b'what is sent')
    traced = []
    for switch in PATH:
        text, left = trace('telemetry', 's%d.json' % switch, 1, frame)
        values = [int(value, 16) for _, value in HOPS.findall(text)]
        traced.insert(0, tuple(values[:3]))
        last = dict(left)
        frame = last[2]
    assert frame == sent, 'the receiver gets what was sent'
    assert hops(last[COLLECTOR]) == traced == [(3, 1, 2), (2, 1, 2), (1, 1, 2)], traced
    return '%s; the packet and the traces of %d switches name the same hops' % (
        played, len(PATH))


if __name__ == '__main__':
    main(check)
