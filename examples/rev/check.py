"""Packets of three flows; then a rule sends to the attacker, and a rule has another priority."""

import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from controller import (  # noqa: E402
    BYTES_FOR_ONE, HOST_PORT, MASK, PATH, PRIORITY, UDP_PORTS, alarms, mac, rule)

ROUNDS, PACKETS, MOST_BYTES = 10, 300, 100
TWICE = 10  # one packet in so many is sent twice
CLIENT, SERVER, ATTACKER = 1, 2, 3


class Verifier:
    """What the controller knows of the packets, and what it expects of the switches."""

    def __init__(self, laboratory):
        self.lab, self.choice = laboratory, random.Random(1)
        self.expected = {(switch, flow): (0, 0) for switch in PATH for flow in UDP_PORTS}
        self.sent, self.report_bytes = 0, 0

    def packets(self):
        """Packets of random flows, as pairs of flow and frame."""
        found = []
        for number in range(PACKETS):
            flow = self.choice.choice(list(UDP_PORTS))
            data = self.choice.randbytes(self.choice.randrange(MOST_BYTES))
            frame = lab.udp('10.1.0.1', '10.9.0.1', UDP_PORTS[flow], data)
            found += [(flow, frame)] * (2 if number % TWICE == 0 else 1)
        return found

    def send(self, stolen=()):
        """Sends packets, and waits until all have arrived; those of flows that are stolen do so at
        the attacker."""
        packets = self.packets()
        for flow, frame in packets:
            for switch in PATH:
                count, total = self.expected[switch, flow]
                total = (total + mac(switch, flow, frame)) & MASK
                self.expected[switch, flow] = (count + 1, total)
        self.sent += len(packets)
        self.lab.send(CLIENT, [frame for _, frame in packets])
        for host, is_stolen in ((SERVER, False), (ATTACKER, True)):
            wanted = [frame for flow, frame in packets if (flow in stolen) == is_stolen]
            there = self.lab.hosts[host]

            def have_arrived():
                there.receive()
                return len(there.frames) >= len(wanted)

            lab.until(have_arrived, 'host %d gets %d packets' % (host, len(wanted)))
            assert there.frames == wanted, 'host %d gets its packets as they were sent' % host
            there.frames = []

    def alarms(self):
        """Has the switches report, and goes on from what they say."""
        self.lab.controller.stdin.write('report\n')
        self.lab.controller.stdin.flush()
        size, records = json.loads(self.lab.wait_for('REPORT').partition(' ')[2])
        self.lab.wait_for('READY')
        self.report_bytes += size
        report = {(switch, flow): (packets, total) for switch, flow, packets, total in records}
        found = alarms(report, self.expected)
        self.expected.update(report)
        return found


def check():
    hosts = {CLIENT: 1, SERVER: 3, ATTACKER: 2}
    with lab.Lab(hosts, controller='controller.py', links=[(1, 2), (2, 3)]) as laboratory:
        verifier = Verifier(laboratory)
        for _ in range(ROUNDS):
            verifier.send()
            assert verifier.alarms() == [], 'no false alarm'
        laboratory.tell('2 ' + rule(2, 1, port=HOST_PORT))
        verifier.send(stolen=[1])
        found = verifier.alarms()
        assert found == [(2, 1), (3, 1)], 'the first that is not as expected is s2: %s' % found
        laboratory.tell('2 ' + rule(2, 1))
        laboratory.tell('3 del-flows udp,tp_dst=%d' % UDP_PORTS[2])
        laboratory.tell('3 ' + rule(3, 2, priority=PRIORITY + 1))
        verifier.send()
        found = verifier.alarms()
        assert found == [(3, 2)], 'it is s3: %s' % found
        assert laboratory.metric('rev_without_key') + laboratory.metric('rev_refused') == 0
    each = verifier.sent * len(PATH) * BYTES_FOR_ONE
    share = 100 * verifier.report_bytes / each
    assert share < 3, share
    return ('%d packets; no false alarm in %d reports; a wrong port at s2 and another priority at '
            's3 found in one report each; %d bytes of reports, for each packet %d: %.1f %%' % (
                verifier.sent, ROUNDS, verifier.report_bytes, each, share))


if __name__ == '__main__':
    lab.main(check)
