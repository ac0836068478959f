"""A link of a diamond is cut under ping: without recovery all is lost, with it little."""

import json
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import Lab, main, plug, unplug  # noqa: E402

HOSTS = {1: 1, 2: 2, 3: 3, 4: 4}
LINKS = [(1, 2), (1, 3), (2, 4), (3, 4)]
# On the path from h1 to h4, which the application takes for its lower number.
CUT = (1, 2)
PINGS, INTERVAL_SECONDS = 300, .01
# What recovery may take, also on a machine that does other things.
MOST_LOST_SECONDS = 2


def ping(host, to, count, interval=.2):
    """How many of some pings are answered."""
    said = host.run('sh', '-c', 'ping -n -q -i %s -c %d -W 1 %s || true' % (interval, count, to.address))
    return int(re.search(r'(\d+) received', said)[1])


def check():
    with Lab(hosts=HOSTS, controller='controller.py', links=LINKS) as lab:
        h1, h2, h3, h4 = lab.hosts.values()
        assert ping(h1, h4, 2) == 2 and ping(h2, h1, 2) == 2, 'hosts reach each other'
        unplug(*CUT)
        assert ping(h1, h4, 3) == 0, 'the application does nothing about a failure'
        plug(*CUT)
        lab.tell('recover')
        assert ping(h1, h4, 2) == 2, 'the old path is whole again'

        pings = h1.start('ping', '-n', '-q', '-i', str(INTERVAL_SECONDS), '-c', str(PINGS), h4.address)
        time.sleep(1)
        cut = time.monotonic()
        unplug(*CUT)
        report = json.loads(lab.wait_for('RECOVERED').removeprefix('RECOVERED'))
        said, _ = pings.communicate()
        lost = PINGS - int(re.search(r'(\d+) received', said)[1])
        assert lost * INTERVAL_SECONDS < MOST_LOST_SECONDS, 'pings are lost only for a while'
        assert report['added'] > 0 and report['removed'] > 0, 'the path was changed'
        assert ping(h2, h1, 2) == 2, 'an old pair has a new path'
        assert ping(h3, h2, 2) == 2, 'a pair that is new has one, too'

        plug(*CUT)
        again = json.loads(lab.wait_for('RECOVERED').removeprefix('RECOVERED'))
        assert ping(h1, h4, 2) == 2 and again['added'] + again['removed'] > 0, 'the old path is back'
    return ('detection %.1f ms, replay of %d packets %.1f ms, installation of %d entries and removal of '
            '%d %.1f ms; %d of %d pings lost, one each %d ms') % (
        1000 * (report['detected'] - cut), report['packets'], 1000 * report['replay'],
        report['added'], report['removed'], 1000 * report['install'], lost, PINGS,
        1000 * INTERVAL_SECONDS)


if __name__ == '__main__':
    main(check)
