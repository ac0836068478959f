"""One link after another fails where switch 1 cannot see it; then all work again."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from controller import (FAST_FAILOVER_TO, FIRST, LAST, MIDDLES, OPENSTATE_TO,  # noqa: E402
                        RETRY_SECONDS)

LINKS = [(end, middle) for middle in MIDDLES for end in (FIRST, LAST)]
FLOWS, EACH = 50, 20


def share(laboratory, service):
    """How many of the packets to an address arrive, of 1."""
    frames = [lab.udp('10.1.0.%d' % flow, service, 7) for flow in range(FLOWS)] * EACH
    laboratory.send(1, frames)
    wanted = lab.socket.inet_aton(service)
    return sum(frame[30:34] == wanted for frame in laboratory.arrived()[2]) / len(frames)


def change(laboratory, middle, work):
    """Unplugs or plugs the link beyond a switch in the middle, and waits until that knows."""
    work(LAST, middle)
    port = ('port_up', 'switch="s%d"' % middle, 'port="%d"' % LAST)
    lab.until(lambda: laboratory.metric(*port) == (work is lab.plug), 'the port changes')


def check():
    failover, states = [], []
    with lab.Lab(hosts={1: FIRST, 2: LAST}, controller='controller.py',
                 links=LINKS) as laboratory:
        packet_ins = laboratory.metric('openflow_messages_total', 'PACKET_IN')
        for failures in range(len(MIDDLES) + 1):
            if failures:
                change(laboratory, MIDDLES[failures - 1], lab.unplug)
            failover.append(share(laboratory, FAST_FAILOVER_TO))
            states.append(share(laboratory, OPENSTATE_TO))
        for middle in MIDDLES:
            change(laboratory, middle, lab.plug)
        time.sleep(RETRY_SECONDS)
        first = ('port_receive_packets_total', 'switch="s%d"' % MIDDLES[0])
        before = laboratory.metric(*first)
        states.append(share(laboratory, OPENSTATE_TO))
        returned = laboratory.metric(*first) - before
        assert laboratory.metric('openflow_messages_total', 'PACKET_IN') == packet_ins
    assert failover == [1, 0, 0, 0], failover
    assert states == [1, 1, 1, 0, 1], states
    assert returned == FLOWS * EACH, 'the flows are back on the first path'
    return ('of the packets after 0, 1, 2 and 3 failures arrive, with fast failover, %s; with '
            'states %s, and after the repair %.0f %% on the first path; 0 packet-ins' % (
                percent(failover), percent(states[:-1]), 100 * states[-1]))


def percent(shares):
    return ', '.join('%.0f %%' % (100 * one) for one in shares)


if __name__ == '__main__':
    lab.main(check)
