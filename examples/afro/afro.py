"""AFRO's parts: an application whose switches may be exchanged, the replay of a log to it, and what
differs between two sets of tables."""

from collections import deque
from typing import NamedTuple

from bofuss import oflib, sim

# Between two packets that are replayed, and before the first: the application has done its work.
PAUSE_NANOS = 5_000_000


class Logged(NamedTuple):
    """A packet-in that came from outside of the network."""

    switch: str
    in_port: int
    frame: bytes


class Application:
    """An application, and where the messages go that it sends: to simulated switches or to live ones."""

    def __init__(self, controller):
        self.controller = controller
        self.send = {}       # by name: what a switch takes messages by
        self.switches = {}   # by name: what the application sees

    def connected(self, name):
        """A switch has connected, to which `send` leads."""
        switch = sim.ConnectedSwitch(name, lambda message: self.send[name](message))
        self.switches[name] = switch
        self.controller.connected(switch)

    def received(self, name, message):
        """A message came from a switch."""
        self.controller.received(self.switches[name], message)


class Replay(sim.Controller):
    """Gives an application on the simulated network the packets of a log, then reads all tables."""

    def __init__(self, application, log):
        self.application = application
        self.log = deque(log)
        self.switches = {}
        self.asked = set()
        self.tables = {}  # by switch

    def on_connect(self, switch):
        self.switches[switch.name] = switch
        self.application.send[switch.name] = switch.send
        self.application.connected(switch.name)
        self.next_tick = self.now + PAUSE_NANOS

    def on_message(self, switch, message):
        if (switch.name, message.xid) in self.asked:
            self.tables.setdefault(switch.name, []).extend(message.body)
        else:
            self.application.received(switch.name, message)

    def on_tick(self):
        if self.log:
            packet = self.log.popleft()
            self.switches[packet.switch].send(oflib.PacketOut(
                in_port=packet.in_port, actions='output:table', data=packet.frame))
            self.next_tick = self.now + PAUSE_NANOS
            return
        for name, switch in self.switches.items():
            request = oflib.MultipartRequest('FLOW', oflib.FlowStatsRequest())
            self.asked.add((name, switch.send(request)))


def replay(scenario, failed, application, log):
    """Replays a log to a fresh application on a network without some links; returns its tables."""
    for link in sorted(failed):
        scenario += '[[change]]\nat = 0.0\nlink = "%s"\nstate = "down"\n' % link
    replayed = Replay(application, log)
    sim.run(scenario, controllers={'replay': replayed})
    return replayed.tables


def difference(there, wanted):
    """The flow-mods that make the entries of a switch those that are wanted: what is added, and what is
    removed."""
    old = {key(entry): entry for entry in there}
    new = {key(entry): entry for entry in wanted}
    added = [flow_mod('ADD', entry) for at, entry in new.items()
             if at not in old or old[at].instructions != entry.instructions]
    removed = [flow_mod('DELETE_STRICT', entry) for at, entry in old.items() if at not in new]
    return added, removed


def key(entry):
    """What an entry's table has only one of."""
    return entry.table_id, entry.priority, str(entry.match)


def flow_mod(command, entry):
    return oflib.FlowMod(
        command=command, table_id=entry.table_id, priority=entry.priority, match=entry.match,
        cookie=entry.cookie, idle_timeout=entry.idle_timeout, hard_timeout=entry.hard_timeout,
        flags=entry.flags, instructions=entry.instructions)
