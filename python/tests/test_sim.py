"""Tests `bofuss.sim`: mistakes in scenarios, topologies of Mininet, and controllers in Python."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
import traceback
import unittest
from collections.abc import Iterator
from typing import Any

from bofuss import oflib, sim


class Topo:
    """A network of two switches, with the methods of `mininet.topo.Topo`."""

    def __init__(self, address: str = "10.0.7.1/16") -> None:
        self.address = address

    def switches(self) -> list[str]:
        return ["s1", "s2"]

    def hosts(self) -> list[str]:
        return ["h1", "h2"]

    def isSwitch(self, node: str) -> bool:  # noqa: N802, the name is Mininet's
        return node in self.switches()

    def nodeInfo(self, node: str) -> dict[str, Any]:  # noqa: N802
        known = {"h1": {"ip": self.address}, "s1": {"dpid": "00:00:00:00:00:00:01:0a"}}
        return known.get(node, {})

    def links(self, withInfo: bool) -> list[tuple[str, str, dict[str, Any]]]:  # noqa: N803
        assert withInfo
        slow = {"bw": 10, "delay": "5ms", "jitter": "1ms", "loss": 0, "max_queue_size": 50}
        return [
            ("h1", "s1", {"port1": 0, "port2": 1}),
            ("s1", "s2", {"port1": 2, "port2": 2, **slow}),
            ("s2", "h2", {"port1": 1, "port2": 0}),
        ]


PING = """
[[controller]]
name = "c0"
kind = "learning"
[[traffic]]
kind = "ping"
from = "h1"
to = "h2"
count = 3
[[assert]]
statistic = "traffic.1.received"
is = 3
"""


class Scenarios(unittest.TestCase):
    def test_a_topology_of_mininet_becomes_a_scenario(self) -> None:
        text = sim.of_topo(Topo(), end=10)
        self.assertIn("dpid = 266\n", text)
        self.assertIn("delay_us = 5000.0\njitter_us = 1000.0\n", text)
        result = sim.run(text + PING)
        self.assertEqual(result.failures, [])
        self.assertRegex(repr(result), "^<result with statistics of .*traffic.*; 0 failures, 0 events>$")
        link = [name for name in result.statistics["links"] if "s1" in name and "s2" in name]
        self.assertEqual(len(link), 1)

    def test_an_address_of_mininet_without_a_prefix_length_has_8(self) -> None:
        text = sim.of_topo(Topo("10.0.7.1"), end=10)
        self.assertIn('ip = "10.0.7.1/8"', text)
        self.assertEqual(sim.run(text + PING).failures, [])

    def test_assertions_that_do_not_hold_are_listed(self) -> None:
        text = sim.of_topo(Topo(), end=10) + PING.replace("is = 3", "is = 4")
        [failure] = sim.run(text).failures
        self.assertIn("traffic.1.received", failure)

    def test_a_storm_is_a_warning(self) -> None:
        ring = 'end = 0.1\ntopology = { shape = "ring", switches = 3, hosts = 1 }\n'
        with self.assertWarnsRegex(UserWarning, "closes a loop"):
            sim.run(ring + 'controller = [{ name = "c0", kind = "learning" }]')

    def test_what_ends_a_run_has_the_statistics_so_far(self) -> None:
        class Full(Exception):
            pass

        def refuse(now: int, events: int) -> None:
            raise Full

        text = sim.of_topo(Topo(), end=10) + PING
        with self.assertRaisesRegex(ValueError, "more events than max_events") as raised:
            sim.run(f"max_events = 40\n{text}")
        self.assertGreater(vars(raised.exception)["statistics"]["events"], 40)
        endless = text.replace("end = 10", "end = 1e5").replace("count = 3", "interval = 0.001")
        with self.assertRaises(Full) as ended:
            sim.run(endless, progress=refuse)
        self.assertGreater(vars(ended.exception)["statistics"]["traffic"][0]["received"], 0)

    def test_what_is_wrong_has_its_line(self) -> None:
        with self.assertRaisesRegex(ValueError, "line 2"):
            sim.run("end = 1.0\ncolour = 3\n")
        with self.assertRaisesRegex(ValueError, "nothing is given that reads files"):
            sim.run('end = 1.0\n[topology]\ngml = "a.gml"\n')


NO_BUFFER = 0xFFFF_FFFF
WHOLE_PACKET = 0xFFFF
# Pings between eight hosts; a link and a connection fail and come back.
TREE = """
end = 20.0
[topology]
shape = "tree"
depth = 3
fanout = 2
[defaults.link]
delay_us = 50
[[controller]]
name = "c0"
kind = "KIND"
version = "VERSION"
delay_us = 100
[[traffic]]
kind = "ping"
from = "h*"
to = "h*"
count = 5
[[change]]
at = 2.5
link = "s1-s2"
state = "down"
[[change]]
at = 3.5
link = "s1-s2"
state = "up"
[[change]]
at = 4.0
controller = "c0"
switch = "s3"
state = "down"
[[change]]
at = 4.1
controller = "c0"
switch = "s3"
state = "up"
"""


class Learning(sim.Controller):
    """What `kind = "learning"` does."""

    def __init__(self) -> None:
        self.ports: dict[tuple[str, bytes], int] = {}

    def on_connect(self, switch: sim.ConnectedSwitch) -> sim.Sent:
        to_us = oflib.ActionOutput(oflib.PortNo.CONTROLLER, WHOLE_PACKET)
        return oflib.FlowMod(priority=0, instructions=[oflib.InstructionApplyActions([to_us])])

    def on_disconnect(self, switch: sim.ConnectedSwitch) -> None:
        self.ports = {at: port for at, port in self.ports.items() if at[0] != switch.name}

    def on_packet_in(self, switch: sim.ConnectedSwitch, packet: oflib.PacketIn) -> sim.Sent:
        dst, src = packet.data[:6], packet.data[6:12]
        in_port = packet.match["in_port"]
        self.ports[switch.name, src] = in_port
        known = self.ports.get((switch.name, dst))
        actions = [oflib.ActionOutput(oflib.PortNo.FLOOD if known is None else known)]
        if known is not None:
            match = oflib.Match(in_port=in_port, eth_dst=dst.hex(":"), eth_src=src.hex(":"))
            apply = [oflib.InstructionApplyActions(actions)]
            yield oflib.FlowMod(priority=1, idle_timeout=60, match=match, instructions=apply)
        data = packet.data if packet.buffer_id == NO_BUFFER else b""
        yield oflib.PacketOut(packet.buffer_id, in_port, actions, data)


class Controllers(unittest.TestCase):
    def run_tree(self, controller: sim.Controller | None, version: str = "1.3") -> sim.Result:
        text = TREE.replace("VERSION", version)
        if controller is None:
            return sim.run(text.replace("KIND", "learning"), log=True)
        return sim.run(text.replace("KIND", "python"), log=True, controllers={"c0": controller})

    def test_a_learning_controller_in_python_gives_the_log_of_the_one_in_rust(self) -> None:
        for version in ("1.3", "1.2", "1.0"):
            ours = self.run_tree(Learning(), version)
            self.assertEqual(ours.events, self.run_tree(None, version).events)
            self.assertGreater(len(ours.events), 1000)
            self.assertGreater(ours.statistics["traffic"][0]["received"], 0)

    def test_a_controller_is_called_at_its_times_and_knows_the_time(self) -> None:
        class Clock(sim.Controller):
            def __init__(self) -> None:
                self.called: list[int] = []
                self.replies: list[tuple[int, str, int]] = []
                self.switches: list[sim.ConnectedSwitch] = []

            def on_connect(self, switch: sim.ConnectedSwitch) -> None:
                self.switches.append(switch)
                self.next_tick = 5 * sim.NANOS

            def on_tick(self) -> None:
                self.called.append(self.now)
                for switch in self.switches:
                    switch.send(oflib.EchoRequest(b"", xid=7))
                if len(self.called) < 3:
                    self.next_tick = self.now + sim.NANOS

            def on_message(self, switch: sim.ConnectedSwitch, message: oflib.Message) -> None:
                if isinstance(message, oflib.EchoReply):
                    self.replies.append((self.now, switch.name, message.xid))

        clock = Clock()
        self.run_tree(clock)
        self.assertEqual(clock.called, [second * sim.NANOS for second in (5, 6, 7)])
        # s3 connects twice, so it is twice in the list: 7 switches and it make 8 requests per tick.
        self.assertEqual(len(clock.replies), 3 * 8)
        # A message takes 100 us each way.
        self.assertEqual(clock.replies[0], (5 * sim.NANOS + 200_000, "s1", 7))

    def test_an_exception_of_a_controller_ends_the_run_with_its_traceback(self) -> None:
        class Faulty(Learning):
            def on_packet_in(self, switch: sim.ConnectedSwitch, packet: oflib.PacketIn) -> sim.Sent:
                return [oflib.PacketOut(data=self.frames[switch.name])]

        with self.assertRaises(sim.ControllerError) as raised:
            self.run_tree(Faulty())
        text = "".join(traceback.format_exception(raised.exception))
        self.assertIn(", s4 PACKET_IN: AttributeError", text)
        self.assertIn("data=self.frames[switch.name]", text)
        self.assertIsInstance(raised.exception.__cause__, AttributeError)

    def test_what_a_controller_may_not_send_is_an_exception_where_it_is_sent(self) -> None:
        class Wrong(sim.Controller):
            def __init__(self, sent: Any) -> None:
                self.sent = sent

            def on_connect(self, switch: sim.ConnectedSwitch) -> sim.Sent:
                switch.send(self.sent)
                return None

        wrong_member = oflib.FlowMod()
        wrong_member.priority = 70_000
        for sent, wanted in [(wrong_member, "priority: 70000"), ("drop", "no message")]:
            with self.assertRaisesRegex(sim.ControllerError, wanted) as raised:
                self.run_tree(Wrong(sent))
            text = "".join(traceback.format_exception(raised.exception))
            self.assertIn("switch.send(self.sent)", text)

    def test_a_message_may_be_sent_while_another_one_is_read(self) -> None:
        class Nested(sim.Controller):
            def __init__(self) -> None:
                self.replies: list[bytes] = []

            def on_connect(self, switch: sim.ConnectedSwitch) -> None:
                def actions() -> Iterator[oflib.Action]:
                    switch.send(oflib.EchoRequest(b"first"))
                    yield oflib.ActionOutput(oflib.PortNo.CONTROLLER)

                message: Any = oflib.PacketOut(data=bytes(60))
                message.actions = actions()
                switch.send(message)
                switch.send(oflib.EchoRequest(b"second"))

            def on_message(self, switch: sim.ConnectedSwitch, message: oflib.Message) -> None:
                if isinstance(message, oflib.EchoReply):
                    self.replies.append(message.data)

        nested = Nested()
        self.run_tree(nested)
        self.assertEqual(nested.replies.count(b"first"), nested.replies.count(b"second"))
        self.assertGreater(nested.replies.count(b"first"), 6)

    def test_a_tick_that_is_not_in_the_future_is_an_exception(self) -> None:
        class Stuck(sim.Controller):
            def on_connect(self, switch: sim.ConnectedSwitch) -> None:
                self.next_tick = self.now

        with self.assertRaisesRegex(sim.ControllerError, "next_tick is 0, and not after 0"):
            self.run_tree(Stuck())

    def test_a_tick_is_a_whole_number_and_may_be_never(self) -> None:
        class Ticking(sim.Controller):
            def __init__(self, at: Any) -> None:
                self.at = at

            def on_connect(self, switch: sim.ConnectedSwitch) -> None:
                self.next_tick = self.at

        with self.assertRaisesRegex(sim.ControllerError, "next_tick is 1500000000.0, and no int of nanoseconds"):
            self.run_tree(Ticking(1.5e9))
        self.assertEqual(self.run_tree(Ticking(1 << 70)).failures, [])

    def test_a_controller_may_send_while_another_message_of_it_is_read(self) -> None:
        class Nested(sim.Controller):
            def __init__(self) -> None:
                self.replies: list[bytes] = []

            def on_connect(self, switch: sim.ConnectedSwitch) -> sim.Sent:
                class Instructions:
                    def __iter__(self) -> Iterator[oflib.Message]:
                        switch.send(oflib.EchoRequest(b"within"))
                        return iter([])

                entry: Any = oflib.FlowMod()
                entry.instructions = Instructions()
                return [entry, oflib.EchoRequest(b"after")]

            def on_message(self, switch: sim.ConnectedSwitch, message: oflib.Message) -> None:
                if isinstance(message, oflib.EchoReply) and switch.name == "s1":
                    self.replies.append(message.data)

        nested = Nested()
        self.run_tree(nested)
        self.assertEqual(nested.replies, [b"within", b"after"])

    def test_a_class_is_no_controller(self) -> None:
        wrong: Any = Learning
        with self.assertRaisesRegex(TypeError, "controllers: c0: .*Learning.* is no instance of bofuss.sim.Controller"):
            self.run_tree(wrong)

    def test_what_ends_the_program_is_no_error_of_the_controller(self) -> None:
        class Ending(sim.Controller):
            def on_connect(self, switch: sim.ConnectedSwitch) -> None:
                raise SystemExit(3)

        with self.assertRaises(SystemExit):
            self.run_tree(Ending())

    def test_controllers_that_are_missing_or_not_named_are_errors(self) -> None:
        text = TREE.replace("KIND", "python").replace("VERSION", "1.3")
        with self.assertRaisesRegex(ValueError, "line 11: 'python': no controller is given for c0"):
            sim.run(text)
        both = {"c0": Learning(), "c1": Learning()}
        with self.assertRaisesRegex(ValueError, "no controller of kind python is called c1"):
            sim.run(text, controllers=both)
        with self.assertRaisesRegex(TypeError, "controllers: c0: 5 is no instance"):
            sim.run(text, controllers={"c0": 5})  # type: ignore[dict-item]
        with self.assertRaisesRegex(ValueError, "'tcp': it is one of learning, shortest-path, ecmp, rules, python"):
            sim.run(text.replace("python", "tcp"))
        with self.assertRaisesRegex(ValueError, "line 12: '1.9': it is one of 1.0, 1.1, 1.2, 1.3, 1.4, 1.5"):
            sim.run(text.replace("1.3", "1.9"))

    def test_a_controller_of_a_file_is_the_one_of_the_program(self) -> None:
        text = TREE.replace("KIND", "python").replace("VERSION", "1.3")
        in_file = text.replace('kind = "python"', 'kind = "python"\nfile = "hub.py"')
        hub = (
            "from __future__ import annotations\nfrom dataclasses import dataclass\n"
            "from bofuss import oflib, sim\nfrom bofuss.sim import Controller\n"
            "@dataclass\nclass Port:\n    number: int\n"
            "class Hub(Controller):\n"
            "    def on_connect(self, switch):\n"
            "        return oflib.flow_from_text('actions=CONTROLLER')\n"
            "    def on_packet_in(self, switch, packet):\n"
            "        return oflib.PacketOut(in_port=packet.match['in_port'], actions='FLOOD', data=packet.data)\n"
        )
        result = sim.run(in_file, read=lambda name: {"hub.py": hub}[name])
        self.assertGreater(result.statistics["traffic"][0]["received"], 0)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "hub.py").write_text(hub)
            (folder / "tree.toml").write_text(in_file)
            ran = subprocess.run(
                [sys.executable, "-m", "bofuss.sim", folder / "tree.toml"], capture_output=True, text=True, check=True
            )
        self.assertEqual(json.loads(ran.stdout), result.statistics)
        wrong = {
            "class A(": "SyntaxError",
            "x = 1": "hub.py has 0 classes",
            "raise OSError('no disk')": "no disk",
        }
        for source, wanted in wrong.items():
            with self.assertRaisesRegex(ValueError, f"line 11: 'python': .*{wanted}") as raised:
                sim.run(in_file, read=lambda name, source=source: source)
            self.assertIsNotNone(raised.exception.__cause__)
        with self.assertRaisesRegex(ValueError, "line 11: 'python': hub.py: nothing is given that reads files"):
            sim.run(in_file)
        with self.assertRaisesRegex(ValueError, "c0 is given, and has a file"):
            sim.run(in_file, read=lambda name: hub, controllers={"c0": Learning()})


if __name__ == "__main__":
    unittest.main()
