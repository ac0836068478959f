"""Moves a flow between two paths through six switches, again and again, and prints what became of
its packets: with changes that switches make as they come, and at times that were scheduled."""

import json
import random
import sys
import tomllib
from pathlib import Path

from bofuss import oflib, sim

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from schedule import hops, schedule  # noqa: E402
from timed import NANOS, tolerance, update  # noqa: E402

NETWORK = Path(__file__).with_name('network.toml').read_text()
OLD, NEW = [1, 2, 3, 4, 5, 6], [1, 4, 3, 2, 5, 6]
HOST_PORT = 10
RUNS = 20
# When messages are sent that name a time, and the first of the times; when the others are sent.
SENT, START = NANOS * 6 // 10, NANOS * 8 // 10
MILLIS = 1_000_000
# What a packet takes besides the delay of a link until all of it is sent, in milliseconds, at most.
SERIALISATION = 1
# The milliseconds by which clocks may differ: less than a step of the schedule, a step, and more.
SKEWS = [1, 10, 40]
# How much longer one message may take than another, in milliseconds.
SLOWEST = 60


def delays():
    """The milliseconds that a packet takes over each link between switches, in both directions."""
    found = {}
    for link in tomllib.loads(NETWORK)['link']:
        ends = [end.partition(':')[0] for end in link['ends']]
        if all(end[0] == 's' for end in ends):
            one, other = (int(end[1:]) for end in ends)
            delay = link.get('delay_us', 10000) // 1000 + SERIALISATION
            found[one, other] = found[other, one] = delay
    return found


class Mover(sim.Controller):
    """Moves the flow to the new path, at `times` in milliseconds after START, or in a random order.

    The clocks of switches differ by up to `skew` milliseconds: one that is behind reads a time that
    much later, as if that later one was named.
    """

    def __init__(self, seed, times=None, skew=0):
        random_source = random.Random(seed)
        start = START + random_source.randrange(MILLIS)
        self.switches = {}
        self.waiting = []   # (when, switch, next hop, at)
        for switch, there in hops(NEW).items():
            if times is None:
                sent = START + random_source.randrange(SLOWEST) * MILLIS
                self.waiting.append((sent, switch, there, None))
            elif switch in times:
                behind = random_source.randrange(skew * MILLIS + 1)
                at = start + times[switch] * MILLIS + behind
                self.waiting.append((SENT, switch, there, at))
        self.waiting.sort(key=lambda one: one[0])
        self.next_tick = self.waiting[0][0]

    def on_connect(self, switch):
        number = int(switch.name[1:])
        self.switches[number] = switch
        yield tolerance()
        yield oflib.flow_from_text('actions=output:%d' % hops(OLD).get(number, HOST_PORT))

    def on_tick(self):
        while self.waiting and self.waiting[0][0] <= self.now:
            _, switch, there, at = self.waiting.pop(0)
            for message in update(['actions=output:%d' % there], at):
                self.switches[switch].send(message)
        self.next_tick = self.waiting[0][0] if self.waiting else None

    def on_error(self, switch, error):
        raise AssertionError('%s refuses: %s' % (switch, error))


def move(times=None, skew=0):
    """Packets sent and received in all runs."""
    sums = {'sent': 0, 'received': 0}
    for seed in range(RUNS):
        statistics = sim.run(NETWORK, controllers={'c0': Mover(seed, times, skew)}).statistics
        flow, = statistics['traffic']
        sums['sent'] += flow['sent']
        sums['received'] += flow['received']
    return sums


if __name__ == '__main__':
    times = schedule(OLD, NEW, delays())
    runs = {'as they come': move(), 'scheduled': move(times)}
    runs.update(('%d ms' % skew, move(times, skew)) for skew in SKEWS)
    print(json.dumps({'runs': runs, 'times': times}))
