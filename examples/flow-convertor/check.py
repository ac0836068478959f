"""The same random packets through switches of four shapes: the same must leave each."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, main, udp  # noqa: E402
from controller import WAYS  # noqa: E402

PACKETS, PORTS = 2000, 4
HERE = Path(__file__).resolve().parent
SOURCES = ['10.1.7.%d', '10.1.8.%d', '10.2.0.%d']
DESTINATIONS = ['10.9.0.%d', '10.20.0.%d', '10.21.4.%d', '10.30.0.%d', '192.0.2.%d']
APPLICATIONS = [23, 53, 80, 443]


def packets():
    """Numbered packets that meet every rule, and none."""
    choice = random.Random(1)
    return [udp(choice.choice(SOURCES) % choice.randrange(1, 10),
                choice.choice(DESTINATIONS) % choice.randrange(1, 12),
                choice.choice(APPLICATIONS), b'%06d' % number) for number in range(PACKETS)]


def entries(lab, way):
    """Has the rules installed in a way: how many entries there are, 0 if the switch refuses one."""
    lab.controller.stdin.write('convert %s\n' % way)
    lab.controller.stdin.flush()
    found = int(lab.wait_for('ENTRIES').split()[1])
    lab.wait_for('READY')
    return found


def through(way, frames):
    """What leaves each port of a switch that has the shape of a way, and how many entries it has."""
    profile = HERE / (way + '.toml')
    options = ['--profile', str(profile)] if profile.exists() else []
    with Lab(hosts=PORTS, controller='controller.py', options=options) as lab:
        if options:
            assert entries(lab, 'as-written') == 0, 'this switch has other tables'
            lab.tell('1 del-flows ')
        count = entries(lab, way)
        assert count > 0, way + ': the switch refuses an entry'
        lab.send(1, frames)
        return lab.arrived(), count


def check():
    frames, counts, wanted = packets(), {}, None
    for way in WAYS:
        arrived, counts[way] = through(way, frames)
        wanted = wanted or arrived
        assert arrived == wanted, way + ': other packets leave'
    leave = [len(wanted[port]) for port in range(2, PORTS + 1)]
    assert min(leave) > 0 and sum(leave) < PACKETS, leave
    return ('of %d packets %s leave through three ports, and the same bytes on switches of all '
            'shapes: %s' % (PACKETS, ' + '.join(map(str, leave)), ', '.join(
                '%s %d entries' % pair for pair in counts.items())))


if __name__ == '__main__':
    main(check)
