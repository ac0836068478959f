"""Simulates networks of switches, hosts and controllers on a virtual clock: scenarios and their results.

>>> from bofuss import sim
>>> result = sim.run('''
... end = 10.0
... [topology]
... shape = "line"
... switches = 2
... hosts = 1
... [[controller]]
... name = "c0"
... kind = "learning"
... [[traffic]]
... kind = "ping"
... from = "h1"
... to = "h2"
... count = 8
... [[assert]]
... statistic = "traffic.1.received"
... is = 8
... ''', log=True)
>>> result.statistics["traffic"][0]["received"], result.failures
(8, [])
>>> result.events == sim.run(result.text, log=True).events
True

`of_topo` converts a topology of Mininet to a scenario. A `Controller` is a controller written in Python.
"""

from __future__ import annotations

import argparse
import json
import operator
import pathlib
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Union

from bofuss import _native
from bofuss.oflib import ErrorMsg, FlowRemoved, Message, PacketIn, PortStatus
from bofuss.picture import Svg

NANOS = 1_000_000_000
"""Nanoseconds in a second."""
_NEVER = 2**64 - 1
"""Later than all times, in nanoseconds."""

Sent = Union[None, Message, Iterable[Message]]
"""What a callback returns or yields: messages for the switch that it is called about."""


class ControllerError(Exception):
    """A controller raised an exception, which is the `__cause__`; the run has ended."""


class ConnectedSwitch:
    """A switch, as its controller sees it while it is connected."""

    def __init__(self, name: str, send: Callable[[Message], int]) -> None:
        self.name = name
        """Its name in the scenario."""
        self._send = send

    def send(self, message: Message) -> int:
        """Sends a message and returns its transaction id; a message with 0 gets the controller's next one.

        Without a connection, the message is lost. Raises ValueError for a member that does not fit.
        """
        return self._send(message)

    def __repr__(self) -> str:
        return f"<switch {self.name}>"


class Controller:
    """A controller of kind `python` in a scenario; `run` takes it by its name there.

    Its methods `on_...` are called on events. The messages that they return or yield are sent, as are those
    passed to `ConnectedSwitch.send`. If a controller takes the time from `now` only, and random numbers from
    a `random.Random` with a seed, equal runs have equal events.
    """

    now: int = 0
    """The simulated time, in nanoseconds."""
    next_tick: int | None = None
    """The time at which to call `on_tick`, in nanoseconds; before the call it is set to None."""

    def connected(self, switch: ConnectedSwitch) -> None:
        """Calls `on_connect` and sends what it returns."""
        _send(switch, self.on_connect(switch))

    def received(self, switch: ConnectedSwitch, message: Message) -> None:
        """Calls the method for a message and sends what it returns."""
        callback = getattr(self, _CALLBACKS.get(message.name, "on_message"))
        _send(switch, callback(switch, message))

    def on_connect(self, switch: ConnectedSwitch) -> Sent:
        """A switch has connected, and HELLOs were exchanged."""
        return None

    def on_disconnect(self, switch: ConnectedSwitch) -> None:
        """The connection to a switch has ended."""

    def on_packet_in(self, switch: ConnectedSwitch, packet: PacketIn) -> Sent:
        """A packet came from a switch."""
        return self.on_message(switch, packet)

    def on_flow_removed(self, switch: ConnectedSwitch, removed: FlowRemoved) -> Sent:
        """An entry with the flag SEND_FLOW_REM was removed."""
        return self.on_message(switch, removed)

    def on_port_status(self, switch: ConnectedSwitch, status: PortStatus) -> Sent:
        """A port was added, removed or changed."""
        return self.on_message(switch, status)

    def on_error(self, switch: ConnectedSwitch, error: ErrorMsg) -> Sent:
        """A switch refused the message with this transaction id."""
        return self.on_message(switch, error)

    def on_message(self, switch: ConnectedSwitch, message: Message) -> Sent:
        """Another message came, or one whose own method is not overridden."""
        return None

    def on_tick(self) -> None:
        """The time of `next_tick` has come."""


_CALLBACKS = {
    "PACKET_IN": "on_packet_in",
    "FLOW_REMOVED": "on_flow_removed",
    "PORT_STATUS": "on_port_status",
    "ERROR": "on_error",
}
"""The callbacks of the messages that have one of their own, by the names of messages."""


def _send(switch: ConnectedSwitch, sent: Sent) -> None:
    """Sends what a callback returned."""
    if isinstance(sent, Message):
        switch.send(sent)
    elif sent is not None:
        for message in sent:
            switch.send(message)


class Result(NamedTuple):
    """The result of a scenario."""

    text: str
    """The scenario."""
    statistics: dict[str, Any]
    """The counters, with the keys of `bofuss sim --json`."""
    failures: list[str]
    """The assertions that do not hold."""
    events: list[dict[str, Any]]
    """The event log; empty unless `run` was called with `log`."""
    timeline: Svg
    """When links carried packets, dropped some, or were down."""

    def __repr__(self) -> str:
        counts = f"{len(self.failures)} failures, {len(self.events)} events"
        return f"<result with statistics of {', '.join(self.statistics)}; {counts}>"


def run(
    text: str,
    seed: int | None = None,
    read: Callable[[str], str] | None = None,
    log: bool = False,
    controllers: Mapping[str, Controller] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Result:
    """Runs a scenario to its end. Other threads go on meanwhile; Ctrl-C raises KeyboardInterrupt.

    `read` returns the text of a file that the scenario names. `log` asks for the event log. `controllers`
    are the scenario's controllers of kind `python`, by their names; one that names a `file` there is an
    instance of the only class of it that is a `Controller`, made without arguments. `progress` is called some times a
    second with the simulated time in nanoseconds and the number of events so far; an exception of it ends
    the run. Raises ValueError for a mistake in the scenario, with its line, or after `max_events`, and
    ControllerError if a controller raises an exception. What ends a run, Ctrl-C too, has the statistics so
    far as `statistics`.
    """
    for name, one in (controllers or {}).items():
        if not isinstance(one, Controller):
            raise TypeError(f"controllers: {name}: {one!r} is no instance of bofuss.sim.Controller")
    calls = {name: _Calls(name, one) for name, one in (controllers or {}).items()}
    try:
        statistics, failures, lines, timeline = _native.run_scenario(text, seed, read, log, calls, progress)
    except BaseException as error:
        so_far = vars(error).get("statistics")
        if isinstance(so_far, str):
            vars(error)["statistics"] = json.loads(so_far)
        raise
    events = [json.loads(line) for line in lines]
    return Result(text, json.loads(statistics), failures, events, Svg(timeline))


def _load(name: str, file: str, text: str) -> _Calls:
    """Makes the controller of a file, for `run_scenario`. Raises ValueError unless it has one class of controllers."""
    module = types.ModuleType(f"bofuss controller {pathlib.PurePath(file).stem}")
    module.__file__ = file
    # Dataclasses look for their module there.
    sys.modules[module.__name__] = module
    exec(compile(text, file, "exec"), module.__dict__)
    # Those that it imports have the name of another module.
    found = [one for one in vars(module).values()
             if isinstance(one, type) and issubclass(one, Controller) and one.__module__ == module.__name__]
    if len(found) != 1:
        raise ValueError(f"{file} has {len(found)} classes of bofuss.sim.Controller, and not 1")
    return _Calls(name, found[0]())


class _Calls:
    """A controller, as the simulator calls it."""

    def __init__(self, name: str, controller: Controller) -> None:
        self.sent = _native.SentMessages()
        self._name = name
        self._controller = controller
        self._switches: dict[int, ConnectedSwitch] = {}
        self._xid = 0

    def name_switch(self, number: int, name: str) -> None:
        """Sets the name that a switch of this number has in the scenario."""
        self._switches[number] = ConnectedSwitch(name, lambda message: self._send(number, message))

    def __call__(self, what: str, now: int, number: int | None, message: Message | None) -> int | None:
        """Passes an event to the controller; returns the time of its next tick."""
        controller = self._controller
        controller.now = now
        try:
            if number is None:
                controller.next_tick = None
                controller.on_tick()
            elif message is not None:
                controller.received(self._switches[number], message)
            elif what == "connected":
                controller.connected(self._switches[number])
            else:
                controller.on_disconnect(self._switches[number])
            return _tick(controller.next_tick, now)
        except Exception as error:
            switch = "" if number is None else f" {self._switches[number].name}"
            at = f"controller {self._name} at {now / NANOS} s,{switch} {what}"
            raise ControllerError(f"{at}: {error!r}") from error

    def _send(self, number: int, message: Message) -> int:
        if not isinstance(message, Message):
            raise TypeError(f"{message!r} is no message")
        xid = message.xid
        if xid == 0:
            self._xid = xid = self._xid % 0xFFFF_FFFF + 1
        self.sent.send(number, xid, message)
        return xid


def _tick(at: Any, now: int) -> int | None:
    """The time that a controller has set. Raises TypeError or ValueError if it can be none."""
    if at is None:
        return None
    try:
        nanos = operator.index(at)
    except TypeError:
        raise TypeError(f"next_tick is {at!r}, and no int of nanoseconds") from None
    if nanos <= now:
        raise ValueError(f"next_tick is {nanos}, and not after {now}")
    return min(nanos, _NEVER)


def of_topo(topo: Any, end: float) -> str:
    """Converts a `mininet.topo.Topo` to a scenario: its switches, hosts, and links with their parameters.

    The caller appends traffic, controllers and changes.
    """
    rows = [f"end = {end}"]
    for name in topo.switches():
        rows.append(f"[[switch]]\nname = {_text(name)}")
        dpid = dict(topo.nodeInfo(name)).get("dpid")
        if dpid is not None:
            rows.append(f"dpid = {int(str(dpid).replace(':', ''), 16)}")  # as Mininet writes it
    for name in topo.hosts():
        rows.append(f"[[host]]\nname = {_text(name)}")
        address = dict(topo.nodeInfo(name))
        if address.get("ip") and "/" not in address["ip"]:
            address["ip"] += "/8"  # as Mininet has it
        rows += [f"{key} = {_text(address[key])}" for key in ("mac", "ip") if address.get(key)]
    for one, other, options in topo.links(withInfo=True):
        ends = [f"{node}:{options[port]}" if topo.isSwitch(node) and options.get(port) else node
                for node, port in ((one, "port1"), (other, "port2"))]
        rows.append(f"[[link]]\nends = [{_text(ends[0])}, {_text(ends[1])}]")
        if options.get("bw") is not None:
            rows.append(f"mbps = {float(options['bw'])}")
        if options.get("delay") is not None:
            rows.append(f"delay_us = {_micros(str(options['delay']))}")
        if options.get("jitter") is not None:
            rows.append(f"jitter_us = {_micros(str(options['jitter']))}")
        if options.get("loss") is not None:
            rows.append(f"loss = {float(options['loss']) / 100}")
        if options.get("max_queue_size") is not None:
            rows.append(f"queue = {int(options['max_queue_size'])}")
    return "\n".join(rows) + "\n"


def _text(text: object) -> str:
    """A string in TOML, which can read JSON's."""
    return json.dumps(str(text))


def _micros(delay: str) -> float:
    """The microseconds of a delay in the syntax of `tc`, such as `5ms`; without a unit, microseconds."""
    for unit, micros in (("us", 1), ("ms", 1_000), ("s", 1_000_000)):
        if delay.endswith(unit):
            return float(delay.removesuffix(unit)) * micros
    return float(delay)


def main() -> None:
    """Runs a scenario of a file, which may have controllers in Python, and prints its statistics as JSON.

    Files that it names are relative to its folder. The exit code is 1 if an assertion does not hold.
    """
    options = argparse.ArgumentParser(prog="python3 -m bofuss.sim", description="Runs a scenario.")
    options.add_argument("file", type=pathlib.Path, help="the scenario")
    options.add_argument("--seed", type=int, help="another seed than the scenario's")
    given = options.parse_args()
    try:
        text = given.file.read_text()
        result = run(text, given.seed, lambda name: (given.file.parent / name).read_text())
    except (OSError, ValueError, ControllerError) as error:
        sys.exit(f"{given.file}: {error}")
    print(json.dumps(result.statistics))
    if result.failures:
        sys.exit("\n".join(result.failures))


if __name__ == "__main__":
    # The classes of this module, which a file of controllers imports, and not those of `__main__`.
    from bofuss import sim

    sim.main()
