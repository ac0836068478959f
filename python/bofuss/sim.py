"""Networks of switches, hosts and controllers on a virtual clock: scenarios, and what becomes of them.

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

A topology of Mininet's becomes a scenario by `of_topo`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from bofuss import _native


class Result(NamedTuple):
    """What became of a scenario."""

    text: str
    """The scenario."""
    statistics: dict[str, Any]
    """What was counted, by the names that `bofuss sim --json` has."""
    failures: list[str]
    """The assertions that do not hold."""
    events: list[dict[str, Any]]
    """The event log, if it was wanted."""


def run(
    text: str,
    seed: int | None = None,
    read: Callable[[str], str] | None = None,
    log: bool = False,
) -> Result:
    """Runs a scenario to its end; `read` gives the text of files that it names.

    Raises ValueError for what is wrong in it, with the line.
    """
    statistics, failures, lines = _native.run_scenario(text, seed, read, log)
    return Result(text, json.loads(statistics), failures, [json.loads(line) for line in lines])


def of_topo(topo: Any, end: float) -> str:
    """The scenario of a `mininet.topo.Topo`: its switches, hosts, links, and what the links are like.

    Traffic, controllers and changes are for the caller to append.
    """
    rows = [f"end = {end}"]
    rows += [f"[[switch]]\nname = {_text(name)}" for name in topo.switches()]
    for name in topo.hosts():
        rows.append(f"[[host]]\nname = {_text(name)}")
        address = topo.nodeInfo(name)
        rows += [f"{key} = {_text(address[key])}" for key in ("mac", "ip") if address.get(key)]
    for one, other, options in topo.links(withInfo=True):
        ends = [f"{node}:{options[port]}" if topo.isSwitch(node) and options.get(port) else node
                for node, port in ((one, "port1"), (other, "port2"))]
        rows.append(f"[[link]]\nends = [{_text(ends[0])}, {_text(ends[1])}]")
        if options.get("bw") is not None:
            rows.append(f"mbps = {float(options['bw'])}")
        if options.get("delay") is not None:
            rows.append(f"delay_us = {_micros(str(options['delay']))}")
        if options.get("loss") is not None:
            rows.append(f"loss = {float(options['loss']) / 100}")
        if options.get("max_queue_size") is not None:
            rows.append(f"queue = {int(options['max_queue_size'])}")
    return "\n".join(rows) + "\n"


def _text(text: object) -> str:
    """A string of TOML, which JSON's are, too."""
    return json.dumps(str(text))


def _micros(delay: str) -> float:
    """The microseconds of a delay as `tc` reads it: `5ms`, or microseconds."""
    for unit, micros in (("us", 1), ("ms", 1_000), ("s", 1_000_000)):
        if delay.endswith(unit):
            return float(delay.removesuffix(unit)) * micros
    return float(delay)
