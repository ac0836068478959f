"""The base classes of messages and the structures in them; `bofuss._native` derives the others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

import bofuss._native as _native

if TYPE_CHECKING:
    from inspect import Signature


class DecodeError(ValueError):
    """The bytes are no message.

    `type`, `code` and `experimenter` are those of the OpenFlow error that a switch would answer with;
    `offset` counts bytes from the start of the message, and `field` is what was being read.
    """

    __module__ = "bofuss.oflib"

    def __init__(
        self, text: str, type: int, code: int, experimenter: int, offset: int, field: str
    ) -> None:
        super().__init__(text)
        self.type = type
        self.code = code
        self.experimenter = experimenter
        self.offset = offset
        self.field = field


class EncodeError(ValueError):
    """A message is too long for its length field, or its version cannot express it."""

    __module__ = "bofuss.oflib"


class TextError(ValueError):
    """A text is not understood: `word` is at fault, at `offset` in bytes."""

    __module__ = "bofuss.oflib"

    def __init__(self, text: str, word: str, offset: int) -> None:
        super().__init__(text)
        self.word = word
        self.offset = offset


class _Signature:
    """The signature of a class: its members with their types, for `help` and `inspect`."""

    def __get__(self, instance: object, cls: type[Record]) -> Signature:
        from inspect import Parameter, Signature

        accepted = ACCEPTED.get(cls.__name__)
        if accepted is None:
            raise AttributeError("__signature__")
        has_all = not any(needed for _, _, needed in accepted)
        # The class of a message that nobody has read derives from that of the message.
        made = next(one for one in cls.__mro__ if "_class" in vars(one))
        initial = made() if has_all else None
        parameters = []
        has_initial = False
        for name, annotation, needed in accepted:
            # A member that is needed after one that is not has no form in Python.
            has_initial |= not needed
            default = getattr(initial, name, ...) if has_initial else Parameter.empty
            parameters.append(
                Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)
            )
        return Signature(parameters)


ACCEPTED: dict[str, list[tuple[str, str, bool]]] = {}
"""The members of each class with the types that its constructor accepts, and whether they are needed."""


class Record:
    """A structure with named members, which can be changed.

    The constructor takes members in order or by name; those left out get their initial values. It checks
    all of them: for a value that does not fit, it raises a ValueError that names the member.
    """

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()
    __signature__ = _Signature()
    __hash__ = None  # type: ignore[assignment]
    _class: ClassVar[str]
    _convert: ClassVar[Any]

    def __init__(self, *values: Any, **members: Any) -> None:
        names = self.__match_args__
        if len(values) > len(names):
            raise TypeError(f"{self._class} has {len(names)} members, not {len(values)}")
        for name, value in zip(names, values):
            if name in members:
                raise TypeError(f"{self._class} is given '{name}' twice")
            members[name] = value
        self._convert(members, self)

    def to_dict(self) -> dict[str, Any]:
        """The members in values that JSON has: structures are dictionaries, bytes hexadecimal digits.

        The key `class` names the class, for `from_dict`.
        """
        made: dict[str, Any] = self._convert(self, None)
        return made

    @classmethod
    def from_dict(cls, members: dict[str, Any]) -> Any:
        """The object that `to_dict` was called on; a base class makes one of the class named by `class`."""
        if "class" not in members and not hasattr(cls, "_class"):
            raise ValueError(f"the key 'class' is missing, which names one of the classes of {cls.__name__}")
        wanted = members.get("class", cls.__name__)
        for one in [cls, *_derived(cls)]:
            if one.__name__ == wanted:
                return one(**{name: value for name, value in members.items() if name != "class"})
        raise ValueError(f"{wanted} is no {cls.__name__}")

    def to_text(self) -> str:
        """The text form, as `dpctl` prints it."""
        text: str = self._convert(self)
        return text

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        members = (f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{self._class}({', '.join(members)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record) or self._class != other._class:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__match_args__)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__match_args__}

    def __setstate__(self, members: dict[str, Any]) -> None:
        for name, value in members.items():
            setattr(self, name, value)


# The types are those of each class.
Record.__init__.__annotations__.clear()


def _derived(cls: type[Record]) -> list[type[Record]]:
    found: list[type[Record]] = []
    for one in cls.__subclasses__():
        found += [one, *_derived(one)]
    return found


class Message(Record, _native.Held):
    """An OpenFlow message: the members of its body, the transaction id `xid`, and the `version`.

    The version is the number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5; 4 is 1.3.
    """

    __slots__ = ("xid", "version")

    name: ClassVar[str]
    """The specification's name of the message, without `OFPT_`."""
    xid: int
    version: int

    def __init_subclass__(cls) -> None:
        words = re.findall("[A-Z][a-z]*", cls.__name__.removesuffix("Msg"))
        cls.name = "_".join(words).upper()

    def encode(self) -> bytes:
        """The bytes of the message, header included."""
        data: bytes = _native.encode(self)
        return data


class _Unread:
    """The class of a decoded message until one of its members is first read or set.

    Until then, the object only holds what the decoder has read. Then all members are converted to Python
    values, and the class of the object changes to that of other messages.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        _native.read(self)
        if isinstance(self, _Unread):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return getattr(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        _native.read(self)
        setattr(self, name, value)

    def __delattr__(self, name: str) -> None:
        _native.read(self)
        delattr(self, name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        _native.read(self)
        return self.__reduce_ex__(protocol)


def unread(cls: type[Message]) -> type:
    """The class of decoded messages of `cls` whose members nobody has read yet."""
    # `object.__init__` does nothing, and costs less than a Python function that does nothing.
    parts = {"__slots__": (), "__module__": cls.__module__, "__init__": object.__init__}
    return type(cls.__name__, (_Unread, cls), parts)


class Action(Record):
    """An action."""

    __slots__ = ()


class Instruction(Record):
    """An instruction."""

    __slots__ = ()


class MeterBand(Record):
    """A band of a meter."""

    __slots__ = ()


class FlowUpdate(Record):
    """A report of a flow monitor about an entry."""

    __slots__ = ()


class QueueProp(Record):
    """A property of a queue."""

    __slots__ = ()


class TableFeatureProp(Record):
    """A property of a table's features."""

    __slots__ = ()
