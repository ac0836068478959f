"""Compares `bofuss.Switch` with the same switch in Rust, and tests its methods."""

from __future__ import annotations

import random
import subprocess
import unittest
from typing import Any

from bofuss import oflib
from bofuss.switch import Close, Deliver, Effect, Refused, Send, SetLink, Switch, Transmit

from common import example, vectors

ADDRESSES = [f"0200000000{number:02x}" for number in range(1, 5)]


def frame(chance: random.Random) -> bytes:
    """An IPv4, ARP or other frame of few stations, or random bytes."""
    if chance.random() < 0.05:
        return chance.randbytes(chance.randrange(1, 100))
    dst, src = chance.choices(ADDRESSES, k=2)
    kind = chance.choice(["0800", "0806", "86dd", "8847", "8100000308004500"])
    if kind == "0800":
        last, protocol = chance.randrange(256), chance.choice([1, 6, 17])
        payload = f"4500002e000040004{chance.randrange(10)}{protocol:02x}0000 0a000001 0a0000{last:02x}"
        return bytes.fromhex(dst + src + kind + payload) + chance.randbytes(26)
    return bytes.fromhex(dst + src + kind) + chance.randbytes(46)


def flow(chance: random.Random) -> oflib.Message:
    """A flow-mod as controllers send them, some of them wrong."""
    match = chance.choice(
        ["", f"in_port={chance.randrange(1, 6)},", f"dl_dst=02:00:00:00:00:0{chance.randrange(1, 5)},"]
        + [f"ip,nw_dst=10.0.0.{chance.randrange(256)}/{chance.randrange(24, 33)},", "arp,", "tcp,"]
    )
    actions = chance.choice(
        ["output:2", "flood", "all", "controller", "dec_ttl,output:3", "push_vlan:0x8100,output:4"]
        + ["drop", "in_port", "group:1", "set_field:02:00:00:00:00:09->dl_dst,output:1"]
        + ["write_actions(output:2),goto_table:1", "meter:1,output:3", "output:99"]
    )
    limits = f"hard_timeout={chance.randrange(3)},idle_timeout={chance.randrange(3)}"
    text = f"table={chance.randrange(2)},priority={chance.randrange(4)},{limits},{match}actions={actions}"
    command = chance.choice(["add", "add", "add", "modify", "delete", "delete_strict"])
    made = oflib.flow_from_text(text, command)
    made.flags = chance.randrange(4)
    return made


def inputs(chance: random.Random, count: int) -> list[str]:
    """Lines for `python/examples/replay.rs`."""
    # Whole messages, right and wrong, except those that end the connection: HELLOs and wrong lengths.
    others = [data for _, data in vectors() if data[:1] == b"\4" and data[1] > 0]
    others = [data for data in others if int.from_bytes(data[2:4], "big") == len(data)]
    asked = ["FLOW", "TABLE", "PORT_STATS", "GROUP", "METER", "AGGREGATE", "TABLE_FEATURES"]
    first = [oflib.Hello([16]), oflib.group_from_text("group_id=1,type=all,bucket=output:1,bucket=output:4")]
    first.append(oflib.meter_from_text("meter=1,pktps,bands=type=drop,rate=100"))
    lines = [f"0 feed {message.encode().hex()}" for message in first]
    now = 0
    while len(lines) < count:
        now += chance.randrange(20_000_000)
        what = chance.random()
        if what < 0.6:
            lines.append(f"{now} frame {chance.randrange(1, 5)} {frame(chance).hex()}")
        elif what < 0.85:
            lines.append(f"{now} feed {flow(chance).encode().hex()}")
        elif what < 0.9:
            request = oflib.MultipartRequest(chance.choice(asked), xid=now % 1000)
            lines.append(f"{now} feed {request.encode().hex()}")
        elif what < 0.93:
            lines.append(f"{now} feed {chance.choice(others).hex()}")
        else:
            lines.append(f"{now} tick")
    return lines


def text_of(effect: Effect) -> str:
    match effect:
        case Transmit(port, data, queue):
            return f"transmit {port} {queue} {data.hex()}"
        case Send(connection, data):
            return f"send {connection} {data.hex()}"
        case Close(connection, why):
            return f"close {connection} {why}"
        case SetLink(port, up):
            return f"link {port} {int(up)}"
        case Refused(connection, xid, kind, code, _):
            return f"refused {connection} {xid} {kind} {code}"
    return repr(effect)


def played(lines: list[str]) -> list[str]:
    """What the switch in Python does, in the words of `python/examples/replay.rs`."""
    switch = Switch(ports=4)
    connection = switch.connect()
    said = []
    for line in lines:
        words = line.split(" ")
        now = int(words[0])
        match words[1:]:
            case ["frame", port, data]:
                switch.receive(int(port), bytes.fromhex(data), now)
            case ["feed", data]:
                switch.feed(connection, bytes.fromhex(data), now)
            case ["tick"]:
                switch.tick(now)
        said += [text_of(effect) for effect in switch.drain()]
    return said


def replayed(record: str) -> tuple[list[str], str]:
    """Plays the inputs of a record (see `docs/guide/record.md`): frames that leave, and all messages."""
    switch = Switch(tables=4)
    ports = connection = 0
    frames: list[str] = []
    messages = ""
    for line in record.splitlines():
        words = line.split(" ")
        if not words[0].isdigit():
            continue
        now = int(words[0])
        match words[1:]:
            case ["port", *_]:
                ports += 1
                switch.add_port(ports, now=now)
            case ["connect", *_]:
                connection = switch.connect()
                switch.feed(connection, oflib.Hello([16]).encode(), now)
            case ["frames", port, *batch]:
                for frame in batch:
                    switch.receive(int(port), bytes.fromhex(frame), now)
            case ["message", _, data]:
                switch.feed(connection, bytes.fromhex(data), now)
            case ["tick"]:
                switch.tick(now)
            case other:
                raise ValueError(f"{other} is not played here")
        for effect in switch.drain():
            match effect:
                case Transmit(port, data, queue):
                    frames.append(f"{port} {queue} {data.hex()}")
                case Send(_, data):
                    messages += data.hex()
    return frames, messages


SELECT = {"Hash": "hash", "RoundRobin": "round-robin", "Random": "random"}

# The scenarios that are not played in Python, and why.
NOT_IN_PYTHON = {
    "auxiliary": "a switch in Python has main connections only",
    "hooks": "it has no hooks but the extensions'",
    "profile": "tables are shaped by TABLE_FEATURES only",
    "profile_masks": "tables are shaped by TABLE_FEATURES only",
    "reconfigure": "a switch in Python keeps its configuration",
}


def made(words: list[str]) -> Switch:
    """The switch of a script's first line: KEY=VALUE..."""
    options = dict(word.split("=") for word in words)
    numbers: dict[str, Any] = {key: int(value) for key, value in options.items() if value.isdigit()}
    links_fixed = bool(numbers.pop("links_fixed"))
    select = SELECT[options["select"]]
    return Switch(**numbers, fail_mode=options["fail_mode"], select=select, links_fixed=links_fixed)


def port_of(address: str, supported: str, speed: str, link: str) -> oflib.PortDesc:
    return oflib.PortDesc(
        hw_addr=":".join(address[at : at + 2] for at in range(0, 12, 2)),
        supported=int(supported),
        curr_speed=int(speed),
        max_speed=int(speed),
        state=int(link == "down"),
    )


def in_script(effect: Effect) -> str:
    match effect:
        case Transmit(port, data, queue):
            return f"> transmit {port} {queue} {data.hex()}"
        # The versions in a HELLO depend on how the switch was made.
        case Send(connection, data) if data[1] != 0:
            return f"> send {connection} {data.hex()}"
        case Close(connection, _):
            return f"> close {connection}"
        case SetLink(port, up):
            return f"> link {port} {'up' if up else 'down'}"
    return ""


def script_played(calls: list[str]) -> list[str]:
    """What the calls of a script (see `embed/tests/common/scripted.rs`) cause, in its words."""
    switch = made(calls[0].split(" ")[1:])
    said = []
    for call in calls[1:]:
        words = call.split(" ")
        now = int(words[0])
        match words[1:]:
            case ["port", number, *desc]:
                switch.add_port(int(number), port_of(*desc), now)
            case ["gone", number]:
                switch.remove_port(int(number), now)
            case ["connect", number, kind]:
                assert switch.connect(kind == "controller") == int(number)
            case ["disconnect", number]:
                switch.disconnect(int(number), now)
            case ["feed", number, data]:
                switch.feed(int(number), bytes.fromhex(data), now)
            case ["frame", port, data]:
                switch.receive(int(port), bytes.fromhex(data), now)
            case ["tick"]:
                switch.tick(now)
            case other:
                raise ValueError(f"{other} is not played here")
        lines = [in_script(effect) for effect in switch.drain()]
        said += [line for line in lines if line]
    return said


class Equality(unittest.TestCase):
    def test_scenarios_have_the_effects_that_they_have_in_rust(self) -> None:
        ran = subprocess.run([example("scenario_scripts")], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        played = []
        for scenario in ran.stdout.split("scenario ")[1:]:
            name, *lines = scenario.splitlines()
            # Only tests in Rust can select versions, configure fields and pass super-frames.
            alone = ("! version", "! set field ", "! super-frame")
            in_rust = any(line.startswith(alone) for line in lines)
            if name in NOT_IN_PYTHON or in_rust:
                continue
            self.assertEqual([line for line in lines if line[0] == "!"], [], name)
            calls = [line for line in lines if line[0] != ">"]
            wanted = [line for line in lines if line[0] == ">"]
            self.assertEqual(script_played(calls), wanted, name)
            played.append(name)
        self.assertGreater(len(played), 40)

    def test_10000_inputs_have_the_effects_and_counters_that_they_have_in_rust(self) -> None:
        lines = inputs(random.Random(11), 10_000)
        # The statistics of entries, tables, ports, groups and meters are among the effects.
        lines += [
            f"900000000000 feed {oflib.MultipartRequest(what).encode().hex()}"
            for what in ("FLOW", "TABLE", "PORT_STATS", "GROUP", "METER")
        ]
        text = "".join(f"{line}\n" for line in lines)
        ran = subprocess.run([example("replay")], input=text, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        theirs = ran.stdout.splitlines()
        ours = played(lines)
        self.assertGreater(len([line for line in ours if line.startswith("transmit")]), 2000)
        self.assertGreater(len([line for line in ours if line.startswith("send")]), 2000)
        for at, (one, other) in enumerate(zip(ours, theirs)):
            self.assertEqual(one, other, f"line {at}")
        self.assertEqual(len(ours), len(theirs))


    def test_the_inputs_of_a_record_have_the_effects_that_it_has(self) -> None:
        ran = subprocess.run([example("random_record")], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        wanted: dict[str, list[str]] = {"frame": [], "message": []}
        for line in ran.stdout.splitlines():
            if line.startswith("> "):
                kind, _, rest = line[2:].partition(" ")
                wanted[kind].append(rest)
        frames, messages = replayed(ran.stdout)
        self.assertGreater(len(frames), 3000)
        self.assertEqual(frames, wanted["frame"])
        # The HELLO comes first. The last messages are replies with all counters.
        sent = "".join(line.split(" ")[1] for line in wanted["message"])
        self.assertEqual(messages[int(messages[4:8], 16) * 2 :], sent)


class Calls(unittest.TestCase):
    def test_messages_go_in_and_come_out_in_the_version_of_their_connection(self) -> None:
        for version in (1, 3, 4):
            switch = Switch(ports=2)
            controller = switch.connect_messages(version)
            self.assertTrue(switch.message(controller, oflib.EchoRequest(b"ping", xid=9)))
            [effect] = switch.drain()
            expected = oflib.EchoReply(b"ping", xid=9, version=version)
            self.assertEqual(effect, Deliver(controller, expected))

    def test_timeouts_end_entries_when_their_time_has_come(self) -> None:
        switch = Switch(ports=2)
        controller = switch.connect_messages()
        flow = oflib.flow_from_text("hard_timeout=5,send_flow_rem,actions=drop")
        switch.message(controller, flow, now=1_000_000_000)
        self.assertEqual(switch.next_tick, 6_000_000_000)
        switch.tick(6_000_000_000)
        [effect] = switch.drain()
        self.assertEqual(effect.message.reason, oflib.FlowRemovedReason.HARD_TIMEOUT)
        self.assertEqual(effect.message.duration_sec, 5)

    def test_wrong_calls_are_refused_and_change_nothing(self) -> None:
        switch = Switch(ports=1, now=5)
        for call, said in [
            (lambda: switch.receive(9, bytes(60)), "there is no port 9"),
            (lambda: switch.receive(1, bytes(1 << 20)), "no room for 1048576 bytes"),
            (lambda: switch.receive(1, bytes(60), now=4), "4 is before 5"),
            (lambda: switch.feed(7, b""), "there is no connection 7"),
            (lambda: switch.connect_messages(9), "version 9 is not spoken"),
            (lambda: switch.add_port(0), "0 is no port's number"),
            (lambda: switch.message(7, oflib.Hello()), "there is no connection 7"),
            (lambda: Switch(tables=0), "0 tables: 1 to"),
            (lambda: Switch(ports=2**31), "2147483648 are more than 65535"),
            (lambda: Switch(fail_mode="open"), "no fail mode is 'open'"),
        ]:
            with self.assertRaisesRegex(ValueError, said):
                call()
        self.assertEqual((switch.now, switch.drain()), (5, []))

    def test_switches_share_nothing(self) -> None:
        switches = [Switch(datapath_id=number, ports=2) for number in range(1, 4)]
        for number, switch in enumerate(switches):
            controller = switch.connect_messages()
            switch.message(controller, oflib.flow_from_text(f"actions=output:{1 + number % 2}"))
            switch.message(controller, oflib.FeaturesRequest())
            [effect] = switch.drain()
            self.assertEqual(effect.message.datapath_id, number + 1)


if __name__ == "__main__":
    unittest.main()
