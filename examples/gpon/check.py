"""A mock OLT learns from rules which services its ONUs have, shares the upstream, and counts."""

import collections
import json
import re
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from bofuss_driver import Driver  # noqa: E402
from controller import ONUS, SERVICES, UPLINK, cookie, rule  # noqa: E402

FRAME_BYTES, CYCLE_BYTES, CYCLES = 500, 10_000, 12
ASSURED_BYTES = {1: 5000, 2: 2500}
OFFERED = 300  # frames that wait at each ONU, more than all cycles carry


class Onu(Driver):
    """The port of an ONU: its services are the rules that the switch was given for the port."""

    def __init__(self, host, port):
        super().__init__('s1', port, rules=True)
        self.host, self.services, self.assured = host, {}, 0
        self.counts, self.waiting = collections.Counter(), collections.deque()
        self.attached, self.calls = threading.Event(), []

    def on_attach(self):
        self.report(values={'assured_bytes': self.assured}, settable=['assured_bytes'])
        self.attached.set()

    def on_set(self, values):
        self.assured = values['assured_bytes']
        self.report(values=values)

    def on_rule(self, command, flow):
        self.calls.append(command)
        service = int(re.search(r'udp_dst=(\d+)', flow)[1])
        if command == 'add':
            self.services[service] = int(re.search(r'cookie=(0x[0-9a-f]+)', flow)[1], 16)
        else:
            del self.services[service]

    def offered(self):
        """The bytes that the ONU could send: it discards what is of no service."""
        is_served = [(service, frame) for service, frame in self.waiting
                     if service in self.services]
        self.counts['refused'] += len(self.waiting) - len(is_served)
        self.waiting = collections.deque(is_served)
        return len(is_served) * FRAME_BYTES

    def granted(self, size):
        """Sends as many bytes; returns the frames."""
        frames = []
        for _ in range(size // FRAME_BYTES):
            service, frame = self.waiting.popleft()
            self.counts['rule_%d' % self.services[service]] += 1
            frames.append(frame)
        self.report(counters=self.counts)
        return frames


def grants(offered, assured):
    """The bytes of a cycle for each ONU: what is assured, and equal shares of the rest, in frames."""
    given = {onu: min(offered[onu], assured[onu]) for onu in offered}
    while sum(given.values()) < CYCLE_BYTES and given != offered:
        hungry = min((onu for onu in offered if given[onu] < offered[onu]),
                     key=lambda onu: given[onu] - min(assured[onu], offered[onu]))
        given[hungry] += FRAME_BYTES
    return given


def said(laboratory):
    """What the controller reads of the ports, by their numbers."""
    laboratory.controller.stdin.write('values\n')
    laboratory.controller.stdin.flush()
    found = json.loads(laboratory.wait_for('VALUES').partition(' ')[2])
    laboratory.wait_for('READY')
    return {int(port): values for port, values in found.items()}


def upstream(laboratory, onus):
    """Fills the queues and runs cycles; returns the frames of each ONU and service that arrive."""
    for onu, one in onus.items():
        for number in range(OFFERED):
            service = list(SERVICES.values())[number % 3 // 2]  # two of three packets are internet
            data = b'%04d' % number
            frame = lab.udp('10.1.0.%d' % onu, '10.9.0.1', service, data.ljust(FRAME_BYTES - 42))
            one.waiting.append((service, frame))
    for _ in range(CYCLES):
        given = grants({onu: one.offered() for onu, one in onus.items()},
                       {onu: one.assured for onu, one in onus.items()})
        assert sum(given.values()) <= CYCLE_BYTES
        for onu, size in given.items():
            laboratory.send(onu, onus[onu].granted(size))
    found = collections.Counter()
    for frame in laboratory.arrived()[UPLINK]:
        found[frame[29], int.from_bytes(frame[36:38], 'big')] += 1
    for one in onus.values():
        one.waiting.clear()
    return found


def per_onu(found):
    total = collections.Counter()
    for (onu, _), count in found.items():
        total[onu] += count
    return [total[onu] for onu in ONUS]


def check():
    with lab.Lab(hosts=5, controller='controller.py') as laboratory:
        onus = {onu: Onu(laboratory.hosts[onu], onu) for onu in ONUS}
        for one in onus.values():
            one.start()
            assert one.attached.wait(lab.PATIENCE_SECONDS), 'the switch takes the driver'
        nothing = upstream(laboratory, onus)
        for onu in ONUS:
            laboratory.tell('assure %d %d' % (onu, ASSURED_BYTES.get(onu, 0)))
            for service in SERVICES:
                laboratory.tell('1 ' + rule(onu, service))
        lab.until(lambda: all(len(one.services) == 2 for one in onus.values()), 'rules arrive')
        lab.until(lambda: onus[1].assured and onus[2].assured, 'bandwidth is assured')
        shared = upstream(laboratory, onus)
        laboratory.tell('1 del-flows in_port=2')
        laboratory.tell('1 del-flows in_port=3,udp,tp_dst=%d' % SERVICES['voice'])
        lab.until(lambda: not onus[2].services and len(onus[3].services) == 1, 'deletes arrive')
        fewer = upstream(laboratory, onus)
        # What the drivers count comes back: it is what the switch and host 5 have counted.
        counted = shared + fewer
        lab.until(lambda: all(said(laboratory)[onu]['counters'].get('rule_%d' % cookie(onu, name), 0)
                              == counted[onu, port] for onu in ONUS
                              for name, port in SERVICES.items()), 'counters come back')
        by_rule = laboratory.counters(1)
        assert all(by_rule[cookie(onu, name)] == counted[onu, port] for onu in (1, 4)
                   for name, port in SERVICES.items()), by_rule
        assert said(laboratory)[1]['assured_bytes'] == ASSURED_BYTES[1]
        calls = {onu: one.calls for onu, one in onus.items()}
        assert laboratory.metric('drivers_refused') == 0, 'no line is refused'
    frames = CYCLES * CYCLE_BYTES // FRAME_BYTES
    # Of 20 frames a cycle, 10 and 5 are assured; the rest is shared by all, in turn from the first.
    assert not nothing and sum(shared.values()) == sum(fewer.values()) == frames
    assert calls == {1: ['add'] * 2, 4: ['add'] * 2, 2: ['add'] * 2 + ['delete'] * 2,
                     3: ['add'] * 2 + ['delete']}, calls
    assert per_onu(shared) == [CYCLES * share for share in (12, 6, 1, 1)], shared
    assert per_onu(fewer) == [CYCLES * share for share in (14, 0, 3, 3)], fewer
    assert fewer[3, SERVICES['voice']] == 0 < fewer[3, SERVICES['internet']]
    return ('%d frames pass a shared upstream: %s of ONUs 1 to 4, and %s after rules were deleted; '
            '%d calls; counters of the OLT are those of the switch' % (
                frames, per_onu(shared), per_onu(fewer), sum(map(len, calls.values()))))


if __name__ == '__main__':
    lab.main(check)
