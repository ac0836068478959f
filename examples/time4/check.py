"""Two flows swap their links: at different times packets are lost, at one time none is."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lab import main, start  # noqa: E402

CONTROLLER = str(Path(__file__).with_name('controller.py'))


def check():
    said, _ = start(sys.executable, CONTROLLER, stdout=subprocess.PIPE, text=True).communicate()
    runs = json.loads(said)
    lost = {name: run['sent'] - run['received'] for name, run in runs.items()}
    for name, run in runs.items():
        assert run['moved'] > 500, '%s: the first flow is swapped' % name
    assert lost['as they come'] > 10, 'one link has both flows for a while'
    assert lost['at a time'] == 0, 'no packet is lost'
    return 'of %d packets %d are lost if the switches change 39 ms apart, %d if both do at one time' % (
        runs['at a time']['sent'], lost['as they come'], lost['at a time'])


if __name__ == '__main__':
    main(check)
