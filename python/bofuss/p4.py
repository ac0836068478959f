"""A switch with a P4 program in your own program, and its effects.

`P4Switch` has no threads, sockets or clock. Its methods take frames, entries and the time; `drain` returns the
effects in order. The program is the JSON that `p4c-bm2-ss` writes for v1model.

>>> from bofuss.p4 import P4Switch
>>> folder = "examples/p4/router/"
>>> switch = P4Switch(folder + "router.json", folder + "entries.json", ports=2)
>>> frame = bytes.fromhex("0200000000010200000000010800"
...                       "4500001d0000000040115cbe0a0001010a090909000700090009000041")
>>> switch.receive(1, frame, now=1_000)
>>> [effect.port for effect in switch.drain()]
[2]
>>> switch.write({"table_entries": [{
...     "table": "RouterIngress.routes", "match": {"hdr.ipv4.dst": ["10.9.0.0", 16]},
...     "action_name": "RouterIngress.drop", "action_params": {}}]})
>>> switch.receive(1, frame, now=2_000)
>>> switch.drain(), switch.drops
([], {'drop_ingress': 1})
>>> switch.counter("RouterIngress.refused", 2)
Count(packets=0, bytes=0)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Union

from bofuss._native import P4Switch

__all__ = ["Count", "Digest", "Effect", "Log", "P4Switch", "Transmit"]


class Transmit(NamedTuple):
    """A frame leaves by a port; `priority` is that of `standard_metadata`."""

    port: int
    frame: bytes
    priority: int


class Digest(NamedTuple):
    """The program sends a digest: the name of its list, and the values in order."""

    name: str
    values: tuple[int, ...]


class Log(NamedTuple):
    """The program calls `log_msg`."""

    text: str


class Count(NamedTuple):
    """The value of a counter."""

    packets: int
    bytes: int


def _again(made_with: dict[str, Any], calls: Iterable[tuple[str, tuple[Any, ...]]]) -> P4Switch:
    """The switch that these calls make: a copy, for `pickle`."""
    switch = P4Switch(**made_with)
    for name, arguments in calls:
        getattr(switch, name)(*arguments)
    return switch


Effect = Union[Transmit, Digest, Log]
