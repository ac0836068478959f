"""Swaps two flows at two switches in the simulated network, and prints what became of their packets:
with messages that switches carry out as they come, and with a time at which both do."""

import json
import sys
from pathlib import Path

from bofuss import oflib, sim

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from timed import NANOS, tolerance, update  # noqa: E402

NETWORK = Path(__file__).with_name('network.toml').read_text()
# When the controllers send the change, and the time that they name.
SENT, AT = NANOS, NANOS * 3 // 2


class Swap(sim.Controller):
    """Sends the packets of a switch's host to one port, and later to another."""

    next_tick = SENT

    def __init__(self, before, after, at):
        self.before, self.after, self.at = before, after, at

    def on_connect(self, switch):
        self.switch = switch
        yield tolerance()
        yield oflib.flow_from_text('actions=output:%d' % self.before)

    def on_tick(self):
        for message in update(['actions=output:%d' % self.after], self.at):
            self.switch.send(message)

    def on_error(self, switch, error):
        raise AssertionError('%s refuses: %s' % (switch, error))


def swap(at):
    """Packets sent and received of both flows when they are swapped."""
    controllers = {'c1': Swap(3, 4, at), 'c2': Swap(4, 3, at)}
    statistics = sim.run(NETWORK, controllers=controllers).statistics
    flows = statistics['traffic']
    return {
        'sent': sum(flow['sent'] for flow in flows),
        'received': sum(flow['received'] for flow in flows),
        'moved': statistics['links']['s1-s4']['forth']['frames'],
    }


if __name__ == '__main__':
    print(json.dumps({'as they come': swap(None), 'at a time': swap(AT)}))
