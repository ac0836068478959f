"""Prints `bofuss/_docs.py`: what oflib's sources say of each class, its members and its values.

A class of `bofuss.oflib` is made by a row in `python/src`, which names a type of oflib. The comments of that
type, of its members and of its variants are read from oflib's sources.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys

from bofuss import _native

ROOT = pathlib.Path(__file__).resolve().parents[2]
ITEM = re.compile(r"\s*(?:pub(?:\(crate\))? )?(?:(struct|enum) )?(\w+)")

# Types of which the sources of oflib say nothing, as macros or other crates make them.
OTHERS = {
    "MultipartRequest": "Asks for statistics or descriptions.",
    "MultipartReply": "An answer to a MULTIPART_REQUEST, or a part of it.",
    "ErrorType": "The types of errors (`OFPET_*`).",
    "EchoRequest": "Asks the peer to answer with the same bytes.",
    "EchoReply": "The answer to an ECHO_REQUEST, with its bytes.",
    "Experimenter": "A message of an experimenter.",
    "FeaturesRequest": "Asks a switch for its features.",
    "GetConfigRequest": "Asks a switch for its configuration.",
    "GetAsyncRequest": "Asks a switch which asynchronous messages this connection gets.",
    "BarrierRequest": "Asks a switch to finish all messages before it, and then to answer.",
    "BarrierReply": "The answer to a BARRIER_REQUEST: all messages before it are finished.",
    "GetConfigReply": "The configuration of a switch.",
    "SetConfig": "Sets the configuration of a switch.",
    "RoleRequest": "Asks for a role of this connection.",
    "RoleReply": "The role of this connection.",
    "GetAsyncReply": "The asynchronous messages that this connection gets.",
    "SetAsync": "Sets which asynchronous messages this connection gets.",
    "ActionExperimenter": "An action of an experimenter.",
    "InstructionExperimenter": "An instruction of an experimenter.",
    "MeterBandDrop": "Drops packets beyond the rate.",
    "MeterBandDscpRemark": "Raises the drop precedence of packets beyond the rate.",
    "MeterBandExperimenter": "A band of an experimenter.",
    "TableFeaturePropTypes": "Instructions or actions that a table has.",
    "TableFeaturePropNextTables": "Tables that goto_table of a table may name.",
    "TableFeaturePropOxm": "Fields of a table, for matches or for set-field.",
    "TableFeaturePropOxmValues": "Values of packet types that a table takes.",
    "TableFeaturePropExperimenter": "A property of an experimenter.",
}
# Members that are not those of the type in oflib.
MEMBERS = {
    "xid": "The transaction id.",
    "version": "The version's number on the wire, from 1 for OpenFlow 1.0 to 6 for 1.5.",
    "data": "The bytes.",
    "value": "The experimenter's value.",
    "metadata": "The bits to write.",
    "metadata_mask": "Which bits are written.",
    "body": "What is asked, or the answer: a structure, a list of them, or None, by the type.",
    "more": "True if another part of the same multipart follows.",
    "type": "Its type.",
    "code": "The code of the error within its type.",
    "experimenter": "The experimenter's number.",
    "exp_type": "The experimenter's type.",
    "request": "The message that another controller has sent.",
    "message": "The message to add.",
    "bundle_id": "The bundle.",
    "flags": "Its options.",
    "experimenters": "Properties of experimenters.",
    "port": "The port, or a reserved one such as CONTROLLER.",
    "max_len": "The most bytes of a packet that goes to the controller.",
    "ethertype": "The Ethernet type of the new or remaining header.",
    "queue_id": "The queue.",
    "group_id": "The group.",
    "meter_id": "The meter.",
    "table_id": "The table.",
    "mpls_ttl": "The TTL of the MPLS header.",
    "nw_ttl": "The TTL of the IP header.",
    "field": "The field's name, and its value.",
    "src": "The field to copy from.",
    "dst": "The field to copy to.",
    "n_bits": "How many bits are copied.",
    "src_offset": "The first bit to copy, from the lowest.",
    "dst_offset": "The first bit to write, from the lowest.",
    "actions": "The actions, in order.",
    "thresholds": "The counts at which the controller is told.",
    "rate": "The rate, in the unit of the meter or queue.",
    "burst_size": "The burst, in kilobits or packets.",
    "prec_level": "How far the drop precedence is raised.",
    "event": "What happened.",
    "flow": "The entry.",
    "ids": "The types of instructions or actions.",
    "next_table_ids": "The tables.",
    "oxm_ids": "The fields, each with `/mask` if it may have a mask.",
    "oxm_values": "The fields with their values.",
}


class Item:
    """A type, member or variant of oflib: what is said of it, and what it has."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: dict[str, str] = {}


def sources() -> dict[str, Item]:
    """The types of oflib by name, with their members, variants and constants."""
    found: dict[str, Item] = {}
    for file in sorted((ROOT / "oflib/src").rglob("*.rs")):
        said: list[str] = []
        current: Item | None = None
        depth = 0
        for line in file.read_text().splitlines():
            words = line.strip()
            indent = len(line) - len(line.lstrip())
            if words.startswith("///"):
                said.append(words.removeprefix("///").strip())
                continue
            if words.startswith("#["):
                continue
            item = ITEM.match(line)
            if item and said:
                kind, name = item.groups()
                text = plain(" ".join(said))
                if kind:
                    current = Item(text)
                    depth = indent
                    found.setdefault(name, current)
                elif current is not None and indent > depth:
                    current.parts.setdefault(name, text)
            if words:
                said = []
    return found


def plain(text: str) -> str:
    """A comment without the marks of rustdoc, up to the sections that are for Rust."""
    text = re.split(r"\s(?:Spec|Errors|Panics|Units|Shape|Choice):", text)[0]
    text = re.sub(r"\[`?([^\]`]*)`?\](?:\([^)]*\))?", r"\1", text)
    return text.replace("Self::", "").replace("::", ".").strip()


def quoted(text: str) -> str:
    """A text in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def rows() -> tuple[dict[str, str], dict[str, tuple[str, str]], dict[str, dict[str, str]]]:
    """Of each class: its type in oflib, or its enum and variant; and other names of members, by type."""
    types: dict[str, str] = {}
    variants: dict[str, tuple[str, str]] = {}
    names: dict[str, dict[str, str]] = {}
    text = {name: (ROOT / f"python/src/{name}.rs").read_text() for name in ("message", "structures", "action")}
    for name, path in re.findall(r"^    (\w+) \[\w+\] ([\w:]+);$", text["message"], re.M):
        types[name] = path.split("::")[-1]
    for name, type_ in re.findall(r'^    "(\w+)" (\w+) (?:=|\{)', text["structures"], re.M):
        types[name] = type_
    for part in ("structures", "action"):
        for name, enum, variant in re.findall(r"^        (\w+) \[(\w+)(?:::(\w+))?", text[part], re.M):
            variants[name] = (enum, variant)
    for type_, members in re.findall(r'(\w+)(?: = [^>]*?)? => \{([^}]*)\}', text["structures"]):
        other = re.findall(r'(\w+) "(\w+)"', members)
        names[type_] = {in_python: in_rust for in_rust, in_python in other}
    return types, variants, names


def main() -> int:
    found = sources()
    types, variants, names = rows()
    docs: dict[str, tuple[str, dict[str, str]]] = {}
    missing = []
    for name, _, members in _native.rows():
        enum, variant = variants.get(name, ("", ""))
        type_ = types.get(name, "")
        item = found.get(type_)
        text = OTHERS.get(name, item.text if item else "")
        if not text and enum in found:
            text = found[enum].parts.get(variant, found[enum].text)
        said = {}
        for member, *_ in members:
            inner = names.get(type_, {}).get(member, member)
            of_type = item.parts.get(inner) if item else None
            said[member] = of_type or MEMBERS.get(member, "")
            if not said[member]:
                missing.append(f"{name}.{member}")
        docs[name] = (text, said)
        if not text:
            missing.append(name)
    for name, _, values in _native.enumerations():
        item = found.get(name, Item(""))
        constants = {value: item.parts.get(value, "") for value, _ in values}
        docs[name] = (OTHERS.get(name, item.text), {k: v for k, v in constants.items() if v})
        if not docs[name][0]:
            missing.append(name)
    print('"""What the classes of `bofuss.oflib` are; printed by python/tools/docs.py."""\n')
    print("DOCS: dict[str, tuple[str, dict[str, str]]] = {")
    for name, (text, said) in docs.items():
        print(f"    {quoted(name)}: (\n        {quoted(text)},\n        {{")
        for member, what in said.items():
            print(f"            {quoted(member)}: {quoted(what)},")
        print("        },\n    ),")
    print("}")
    if missing:
        print(f"nothing is said of {', '.join(missing)}", file=sys.stderr)
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
