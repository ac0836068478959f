"""Frames with no, one and two tags go through each rule and are as a model says; ONUs have rates."""

import struct
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import lab  # noqa: E402
from bofuss_driver import Driver  # noqa: E402
from controller import BURST_KB, C_PCP, C_VID, OPERATIONS, S_VID, UPLINK, source  # noqa: E402

C_TAG, S_TAG = 0x8100, 0x88A8
RATES_KBPS = {1: 400, 2: 800, 3: 100_000}
TAGGING = 3  # the ONU whose rate is no limit
FORMS = {'untagged': [], 'c-tag': [(C_TAG, 3, 7)], 's-tag and c-tag': [(S_TAG, 1, 9), (C_TAG, 3, 7)]}
FRAME_BYTES, FRAMES, OFFERED = 500, 250, 3


class Onu(Driver):
    """The port of an ONU: it registers with the rate of its contract."""

    def __init__(self, port):
        super().__init__('s1', port)
        self.attached = threading.Event()

    def on_attach(self):
        self.event('registered', rate_kbps=RATES_KBPS[self.port])
        self.attached.set()


def frame(name, tags, payload=b'', size=60):
    """An Ethernet frame for an operation, with tags as (type, priority, VLAN)."""
    packet = lab.udp('10.1.0.1', '10.9.0.1', 9, payload, macs=(source(name), '02:aa:00:00:00:02'))
    words = b''.join(struct.pack('!HH', kind, pcp << 13 | vid) for kind, pcp, vid in tags)
    return packet[:12] + words + packet[12:].ljust(size - 12, b'\0')


def model(name, tags):
    """The tags of a frame after an operation, the outermost first; None if no rule is for it."""
    if not tags and name in ('pop', 'pop both', 'set', 'swap'):
        return None
    pcp, vid = tags[0][1:] if tags else (0, 0)
    both = [(C_TAG, pcp, C_VID), *tags]
    return {
        'leave': tags, 'push c-tag': both, 'push s-tag': [(S_TAG, pcp, S_VID), *tags],
        'push copy': [(S_TAG, pcp, vid), *tags], 'push both': [(S_TAG, pcp, S_VID), *both],
        'pop': tags[1:], 'pop both': tags[2:],
        'set': [(tags[0][0], C_PCP, C_VID), *tags[1:]] if tags else None,
        'swap': [(S_TAG, tags[1][1] if tags[1:] else 0, S_VID), *tags[1:]],
    }[name]


def tagged(laboratory):
    """Sends each form of frame through each operation; returns how many there were."""
    cases = [(name, form) for name in OPERATIONS for form in FORMS.values()]
    for number, (name, tags) in enumerate(cases):
        sent = frame(name, tags, b'%04d' % number)
        laboratory.send(TAGGING, [sent])
        after = model(name, tags)
        wanted = [] if after is None else [frame(name, after, b'%04d' % number)]
        uplink = laboratory.hosts[UPLINK]
        if wanted:
            lab.until(lambda: uplink.receive() or uplink.frames, '%s of %s' % (name, tags))
        found, uplink.frames = uplink.frames, []
        assert found == wanted, (name, tags, found, wanted)
    assert not laboratory.arrived()[UPLINK], 'a frame that no rule is for goes nowhere'
    return len(cases)


def limited(laboratory):
    """Has ONUs send more than their rates; returns the part of each rate that arrives."""
    found = {}
    for onu in (1, 2):
        frames = [frame('push both', [], b'%04d' % number, FRAME_BYTES) for number in range(FRAMES)]
        before = time.monotonic()
        pause = FRAME_BYTES * 8 / 1000 / RATES_KBPS[onu] / OFFERED
        for number, one in enumerate(frames):
            laboratory.hosts[onu].socket.send(one)
            time.sleep(max(0, before + (number + 1) * pause - time.monotonic()))
        seconds = time.monotonic() - before
        arrived = len(laboratory.arrived()[UPLINK]) * FRAME_BYTES * 8 / 1000
        found[onu] = arrived / (RATES_KBPS[onu] * seconds + BURST_KB)
    return found


def check():
    with lab.Lab(hosts=4, controller='controller.py') as laboratory:
        onus = [Onu(port) for port in RATES_KBPS]
        laboratory.send(1, [frame('leave', [])])
        assert not laboratory.arrived()[UPLINK], 'an ONU that has not registered has no service'
        for one in onus:
            one.start()
            assert one.attached.wait(lab.PATIENCE_SECONDS), 'the switch takes the driver'
        probe = frame('leave', [])
        lab.until(lambda: laboratory.send(TAGGING, [probe]) or probe in laboratory.arrived()[UPLINK],
                  'the rules of the last ONU are there')
        cases = tagged(laboratory)
        shares = limited(laboratory)
        onus[0].event('deregistered')
        laboratory.resume()
        probe = frame('leave', [])
        lab.until(lambda: laboratory.send(1, [probe]) or not laboratory.arrived()[UPLINK],
                  'an ONU that deregisters has no service')
        assert laboratory.metric('drivers_refused') == 0, 'no line is refused'
    assert all(.9 < share < 1.05 for share in shares.values()), shares
    return ('%d combinations of tags and rules are as the model says; ONUs get %s of their rates' % (
        cases, ' and '.join('%.1f %%' % (100 * share) for share in shares.values())))


if __name__ == '__main__':
    lab.main(check)
