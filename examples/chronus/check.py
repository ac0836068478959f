"""A flow is moved between two paths: unordered changes lose packets, scheduled ones none."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import main, start  # noqa: E402

CONTROLLER = str(Path(__file__).with_name('controller.py'))


def check():
    said, _ = start(sys.executable, CONTROLLER, stdout=subprocess.PIPE, text=True).communicate()
    said = json.loads(said)
    runs = said['runs']
    lost = {name: run['sent'] - run['received'] for name, run in runs.items()}
    assert lost['as they come'] > 0, 'packets come back, and links have too many for a while'
    assert lost['scheduled'] == 0, 'no packet is lost'
    assert lost['1 ms'] == lost['10 ms'] == 0, 'a step of the schedule is how much clocks may differ'
    assert lost['40 ms'] > 0, 'clocks that differ by more make another order'
    assert sorted(said['times']) == ['1', '2', '3', '4'], 'four switches change'
    return ('of %d packets in 20 updates %d are lost as changes come, %d with a schedule of %d ms, '
            '%d, %d and %d if clocks differ by up to 1, 10 and 40 ms' % (
                runs['scheduled']['sent'], lost['as they come'], lost['scheduled'],
                max(said['times'].values()), lost['1 ms'], lost['10 ms'], lost['40 ms']))


if __name__ == '__main__':
    main(check)
