"""The OpenFlow language: every message of 1.0 to 1.5, as bytes, objects and text.

`decode` reads the bytes of one message, `encode` writes them, and `Framer` cuts a stream into messages.
Messages, actions, instructions and the structures in them are objects with the members that the
specification names. They can be made, changed and compared, converted to dictionaries and back, and have
the text forms of `ovs-ofctl`. Numbers that have names are plain integers, equal to the members of
enumerations such as `PortNo` and `FlowModFlags`.

>>> from bofuss import oflib
>>> flow = oflib.flow_from_text("priority=10,ip,nw_dst=10.0.0.0/8,actions=dec_ttl,output:2")
>>> data = oflib.encode(flow)
>>> oflib.decode(data) == flow
True
>>> flow.match["ipv4_dst"]
('10.0.0.0', '255.0.0.0')
>>> flow.instructions[0].actions[1].port
2

A value that does not fit raises an error that names the member:

>>> oflib.FlowMod(priority=70000)
Traceback (most recent call last):
ValueError: FlowMod.priority: 70000 is no number of 16 bits

Bytes that are no message raise one with OpenFlow's error, the offset and the field:

>>> try:
...     oflib.decode(data[:-1])
... except oflib.DecodeError as error:
...     print(error, error.type, error.code, error.offset, error.field)
BAD_REQUEST/BAD_LEN (wrong length for the type) at byte 2, in length 1 6 2 length
"""

from __future__ import annotations

import enum as _enum
from typing import NamedTuple as _NamedTuple

from bofuss import _native
from bofuss._docs import DOCS as _DOCS
from bofuss._native import ExperimenterValue, Framer, Match, decode, encode
from bofuss._native import actions_from_text, flow_from_text, flow_to_text, group_from_text
from bofuss._native import instructions_from_text, meter_from_text, packet_from_text
from bofuss._record import ACCEPTED as _ACCEPTED
from bofuss._record import Action, DecodeError, EncodeError, Instruction, Message, MeterBand
from bofuss._record import FlowUpdate, QueueProp, Record, TableFeatureProp, TextError


class ErrorRow(_NamedTuple):
    """An OpenFlow error: its numbers, its names, and its meaning."""

    type: int
    code: int
    experimenter: int
    type_name: str
    code_name: str
    meaning: str


class FieldRow(_NamedTuple):
    """A match field: width, whether matches may mask it, whether set-field may write it, and other names."""

    name: str
    bits: int
    maskable: bool
    settable: bool
    aliases: list[str]


ERRORS = {row[:3]: ErrorRow(*row) for row in _native.error_rows()}
FIELDS = {row[0]: FieldRow(*row) for row in _native.field_rows()}


def _enumerations() -> None:
    for name, are_flags, values in _native.enumerations():
        make = _enum.IntFlag if are_flags else _enum.IntEnum
        made = make(name, values, module=__name__)
        text, said = _DOCS[name]
        made.__doc__ = _document(text, [(value, "", said.get(value, "")) for value, _ in values])
        globals()[name] = made


def _classes() -> None:
    for name, _, members in _native.rows():
        made = getattr(_native, name)
        text, said = _DOCS[name]
        made.__doc__ = _document(text, [(one, f" ({type_})", said[one]) for one, type_, _, _ in members])
        made.__annotations__ = {one: type_ for one, type_, _, _ in members}
        _ACCEPTED[name] = [(one, accepted, needed) for one, _, accepted, needed in members]
        globals()[name] = made


def _document(text: str, parts: list[tuple[str, str, str]]) -> str:
    """The text of a class, with its members or values, their types, and what they are."""
    lines = [f"{name}{type_}: {said}" if said else f"{name}{type_}" for name, type_, said in parts]
    return "\n".join([text, "", *lines]) if lines else text


_enumerations()
_classes()

__all__ = [name for name in globals() if not name.startswith("_") and name != "annotations"]
