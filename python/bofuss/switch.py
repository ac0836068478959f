"""A switch in your own program, and its effects.

`Switch` has no threads, sockets or clock. Its methods take frames, bytes or messages of controllers, and the
time; `drain` returns the effects in order.

>>> from bofuss import oflib
>>> from bofuss.switch import Deliver, Switch, Transmit
>>> switch = Switch(ports=3)
>>> controller = switch.connect_messages()
>>> flow = oflib.flow_from_text("priority=1,in_port=1,actions=output:2,controller")
>>> switch.message(controller, flow)
True
>>> frame = bytes.fromhex("020000000002 020000000001 0800") + bytes(46)
>>> switch.receive(1, frame, now=1_000)
>>> for effect in switch.drain():
...     match effect:
...         case Transmit(port, data):
...             print("leaves by", port, data == frame)
...         case Deliver(_, oflib.PacketIn(reason=reason, match=match)):
...             print("packet-in from", match["in_port"], oflib.PacketInReason(reason).name)
leaves by 2 True
packet-in from 1 ACTION

`explain` says what would happen to a frame, and why:

>>> print(switch.explain(2, frame).splitlines()[-1].strip())
=> dropped: no entry of the table matches

A notebook shows this as a picture, which is also `explain(...).picture`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Union

from bofuss._native import Switch
from bofuss.oflib import Message
from bofuss.picture import Svg

__all__ = [
    "Advertise",
    "Close",
    "Deliver",
    "Effect",
    "Refused",
    "Send",
    "SetLink",
    "Switch",
    "Trace",
    "Transmit",
    "Unsent",
]


class Trace(str):
    """What would happen to a frame, and why: a text, and a picture of it."""

    picture: Svg

    def __new__(cls, text: str, picture: str) -> Trace:
        made = super().__new__(cls, text)
        made.picture = Svg(picture)
        return made

    def __repr__(self) -> str:
        return str(self)

    def _repr_svg_(self) -> str:
        return str(self.picture)


class Transmit(NamedTuple):
    """A frame leaves by a port, from the destination address on, without FCS; `queue` is its queue, or 0."""

    port: int
    frame: bytes
    queue: int = 0


class Send(NamedTuple):
    """The switch sends bytes on a connection: whole messages."""

    connection: int
    data: bytes


class Deliver(NamedTuple):
    """The switch sends a message on a connection of messages."""

    connection: int
    message: Message


class Close(NamedTuple):
    """The switch closes a connection; nothing follows on it."""

    connection: int
    why: str


class SetLink(NamedTuple):
    """A controller wants a port's link up or down; call `Switch.set_link` when it is."""

    port: int
    up: bool


class Advertise(NamedTuple):
    """A controller changes what a port's interface advertises, as bits of `oflib.PortFeatures`."""

    port: int
    features: int


class Unsent(NamedTuple):
    """A message is not sent, because its connection's version cannot express it, or it is too long."""

    connection: int
    xid: int
    name: str
    why: str


class Refused(NamedTuple):
    """A message is refused; the ERROR follows."""

    connection: int
    xid: int
    type: int
    code: int
    experimenter: int


def _again(made_with: dict[str, Any], calls: Iterable[tuple[str, tuple[Any, ...]]]) -> Switch:
    """The switch that these calls make: a copy, for `copy` and `pickle`."""
    switch = Switch(**made_with)
    for name, arguments in calls:
        getattr(switch, name)(*arguments)
    return switch


Effect = Union[Transmit, Send, Deliver, Close, SetLink, Advertise, Unsent, Refused]
