"""Hosts forge LLDP frames, before, while and after the controller expects one."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from controller import FAR, WATCHED, WINDOW_SECONDS, lldp  # noqa: E402

ROUNDS, FORGED = 5, 200
# A host at the watched switch, and one beyond the switch that is asked.
NEAR, BEYOND = 1, 2


def came(laboratory, command):
    """What the controller got: genuine frames, and others."""
    laboratory.controller.stdin.write(command + '\n')
    laboratory.controller.stdin.flush()
    genuine, others = map(int, laboratory.wait_for('CAME').split()[1:])
    laboratory.wait_for('READY')
    return genuine, others


def forge(laboratory, host, frames):
    """Sends frames from a host, and waits until all switches have had them."""
    laboratory.send(host, frames)
    laboratory.arrived()


def check():
    forged = [lldp(FAR, WATCHED, b'guessed!')] * FORGED
    data = [lab.udp('10.1.0.1', '10.9.0.1', 7)] * FORGED
    genuine = others = 0
    with lab.Lab(hosts={NEAR: WATCHED, BEYOND: FAR}, controller='controller.py',
                 links=[(WATCHED, FAR)]) as laboratory:
        for _ in range(ROUNDS):
            forge(laboratory, NEAR, forged)  # nothing is expected
            some, more = came(laboratory, 'probe')
            forge(laboratory, BEYOND, forged[:1])  # the expected frame has been there
            late = came(laboratory, 'listen')
            genuine, others = genuine + some, others + more + sum(late)
        laboratory.tell('open')
        forge(laboratory, NEAR, forged)  # the frame is expected from another port
        time.sleep(2 * WINDOW_SECONDS)
        forge(laboratory, BEYOND, forged)  # the frame is not expected any more
        laboratory.send(NEAR, data)
        others += sum(came(laboratory, 'listen'))
        passed = [frame for frame in laboratory.arrived()[BEYOND] if frame == data[0]]
        packet_ins = laboratory.metric('openflow_messages_total', 'PACKET_IN')
    assert genuine == ROUNDS, '%d of %d genuine frames come' % (genuine, ROUNDS)
    assert others == 0, '%d forged frames reach the controller' % others
    assert packet_ins == ROUNDS, packet_ins
    assert len(passed) == FORGED, 'other packets flow'
    return ('%d of %d genuine LLDP frames reach the controller, of %d forged ones none; %d other '
            'packets pass' % (genuine, ROUNDS, (ROUNDS + 2) * FORGED + ROUNDS, len(passed)))


if __name__ == '__main__':
    lab.main(check)
