"""A path fails; until that is detected its packets are lost, and then none."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from controller import ACTIVE_TO, FIRST, LAST, PATHS, STANDBY_TO  # noqa: E402

LINKS = [(end, path) for path in PATHS for end in (FIRST, LAST)]
FLOWS, EACH = 100, 20
# Active/active may lose at most this share of what active/standby loses: half, and what the hash
# of 100 flows may differ.
SHARE = .7


def frames(service):
    """Some packets of each flow."""
    return [lab.udp('10.1.0.%d' % flow, service, 7) for flow in range(FLOWS)] * EACH


def delivered(laboratory, service):
    """Packets of each flow that arrive, by its address."""
    laboratory.send(1, frames(service))
    found = {}
    for frame in laboratory.arrived()[2]:
        if frame[30:34] == lab.socket.inet_aton(service):
            found[frame[29]] = found.get(frame[29], 0) + 1
    return found


def wait_for_link(laboratory, up):
    """Waits until the first switch knows whether its port to the first path has a link."""
    port = ('port_up', 'switch="s%d"' % FIRST, 'port="%d"' % PATHS[0])
    lab.until(lambda: laboratory.metric(*port) == up, 'the port changes')


def switchover(laboratory, service):
    """Lost packets: before the failure, until it is detected, and after that; and how many flows
    were cut at all."""
    before = delivered(laboratory, service)
    lab.cut(LAST, PATHS[0])  # the path fails, and nobody knows it yet
    undetected = delivered(laboratory, service)
    lab.unplug(FIRST, PATHS[0])  # now the carrier of the first link shows it
    wait_for_link(laboratory, up=0)
    detected = delivered(laboratory, service)
    lab.plug(FIRST, PATHS[0])
    lab.repair(LAST, PATHS[0])
    wait_for_link(laboratory, up=1)
    lost = [FLOWS * EACH - sum(some.values()) for some in (before, undetected, detected)]
    return lost, FLOWS - len(undetected)


def check():
    with lab.Lab(hosts={1: FIRST, 2: LAST}, controller='controller.py',
                 links=LINKS) as laboratory:
        messages = laboratory.metric('openflow_messages_total', 'PACKET_IN')
        standby, cut_standby = switchover(laboratory, STANDBY_TO)
        active, cut_active = switchover(laboratory, ACTIVE_TO)
        assert laboratory.metric('openflow_messages_total', 'PACKET_IN') == messages
    assert standby == [0, FLOWS * EACH, 0], standby
    assert active[0] == active[2] == 0, active
    assert 0 < active[1] <= SHARE * standby[1], (active, standby)
    return ('until a failure is detected, active/standby loses %d of %d packets and cuts %d of %d '
            'flows, active/active %d and %d; afterwards both lose none' % (
                standby[1], FLOWS * EACH, cut_standby, FLOWS, active[1], cut_active))


if __name__ == '__main__':
    lab.main(check)
