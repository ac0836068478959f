"""Packets of 50 flows go to the controller, over which connection? And who may change entries?"""

import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, main, udp, until  # noqa: E402
from controller import CONNECTIONS, OPTIONS  # noqa: E402

FLOWS, EACH = 50, 20
SERVICE, ANSWERED = 7, 8


def frame(flow, number, port=SERVICE):
    return udp('10.1.0.1', '10.9.0.1', port, struct.pack('!I', number), from_port=5000 + flow)


def taken(lab):
    """Packet-ins of each connection, and whether each flow kept to one."""
    lab.controller.stdin.write('report\n')
    lab.controller.stdin.flush()
    *counts, good = map(int, lab.wait_for('TAKEN').split()[1:])
    lab.wait_for('READY')
    return counts, good


def check():
    frames = [frame(flow, number) for number in range(EACH) for flow in range(FLOWS)]
    with Lab(hosts=2, controller='controller.py', options=OPTIONS) as lab:
        lab.send(1, frames)
        until(lambda: lab.metric('openflow_messages_total', 'PACKET_IN') == len(frames),
              'all packet-ins are sent')
        lab.arrived()
        counts, good = taken(lab)
        assert counts[0] == 0, '%d packet-ins on the main connection' % counts[0]
        assert sum(counts) == len(frames) and min(counts[1:]) > 0, counts
        assert good, 'a flow keeps to its connection, in order'
        for connection in range(CONNECTIONS):
            port = ANSWERED + connection
            lab.tell('add %d %d' % (connection, port))
            lab.send(1, [frame(0, 0, port)])
            assert frame(0, 0, port) in lab.arrived()[2], 'connection %d changes entries' % connection
    return ('%d packet-ins of %d flows: 0 on the main connection, %s on the auxiliary ones, each flow '
            'on one and in order; entries are changed over all %d, with replies where the requests '
            'came' % (len(frames), FLOWS, ' and '.join(map(str, counts[1:])), CONNECTIONS))


if __name__ == '__main__':
    main(check)
