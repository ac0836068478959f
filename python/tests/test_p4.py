"""Tests `bofuss.P4Switch` with the router and the firewall of `examples/p4`."""

from __future__ import annotations

import copy
import pathlib
import pickle
import threading
import time
import unittest
from unittest import mock

from bofuss import P4Switch, p4, sim
from bofuss.p4 import Count, Transmit

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "p4"
SECOND = 1_000_000_000


def switch(name: str, **options: int) -> P4Switch:
    """A switch with an example's program and entries, and ports 1 and 2."""
    folder = EXAMPLES / name
    return P4Switch(folder / f"{name}.json", folder / "entries.json", ports=2, **options)


def udp(src: str, dst: str, ports: tuple[int, int] = (7, 53), ttl: int = 64) -> bytes:
    """An Ethernet frame with UDP."""
    addresses = bytes(int(part) for part in f"{src}.{dst}".split("."))
    head = bytes([0x45, 0, 0, 28, 0, 0, 0, 0, ttl, 17])
    words = head + addresses
    total = sum(int.from_bytes(words[at : at + 2], "big") for at in range(0, len(words), 2))
    checksum = 0xFFFF - (total % 0xFFFF)
    numbers = b"".join(port.to_bytes(2, "big") for port in ports)
    ip = head + checksum.to_bytes(2, "big") + addresses
    return bytes.fromhex("0200000000010200000000020800") + ip + numbers + bytes([0, 8, 0, 0])


class P4SwitchTest(unittest.TestCase):
    """The switch by itself."""

    def test_a_router_forwards(self) -> None:
        router = switch("router")
        router.receive(1, udp("10.0.1.1", "10.0.2.2"), now=1_000)
        (sent,) = router.drain()
        assert isinstance(sent, Transmit)
        self.assertEqual((sent.port, sent.frame[22]), (2, 63))
        self.assertEqual((router.drain(), router.drops, router.now), ([], {}, 1_000))

    def test_what_is_refused_is_counted_and_dropped(self) -> None:
        router = switch("router")
        router.receive(1, memoryview(udp("10.0.1.1", "10.0.2.2", ttl=1)))
        self.assertEqual(router.drain(), [])
        self.assertEqual(router.counter("RouterIngress.refused", 2), Count(1, 43 - 1))
        self.assertEqual(router.drops, {"drop_ingress": 1})

    def test_entries_are_written_as_dicts_bytes_and_files(self) -> None:
        entry = {
            "table": "RouterIngress.routes",
            "match": {"hdr.ipv4.dst": ["10.0.2.2", 32]},
            "action_name": "RouterIngress.drop",
            "action_params": {},
        }
        router = switch("router")
        router.write({"table_entries": [entry]})
        self.assertIn("0xa000202/32", router.entries("RouterIngress.routes"))
        router.receive(1, udp("10.0.1.1", "10.0.2.2"))
        self.assertEqual(router.drain(), [])
        empty = P4Switch((EXAMPLES / "router" / "router.json").read_bytes())
        empty.write(str(EXAMPLES / "router" / "entries.json"))
        self.assertEqual(empty.entries(), switch("router").entries())

    def test_wrong_input_is_refused_with_its_place_and_changes_nothing(self) -> None:
        router = switch("router")
        before = router.entries()
        for call, wanted in [
            (lambda: router.write(b"[]"), "entries: /: "),
            (lambda: router.write({"table_entries": [{"table": "t"}]}), "/table_entries/0/table"),
            (lambda: router.receive(3, bytes(60)), "there is no port 3"),
            (lambda: router.add_port(511), "port 511: a P4 program has ports 0 to 510"),
            (lambda: router.counter("none"), "the program has no counter none"),
            (lambda: router.counter("RouterIngress.refused", 3), "has no index 3"),
            (lambda: router.register("none"), "the program has no register none"),
            (lambda: router.entries("none"), "the program has no table none"),
            (lambda: P4Switch(b"{}"), "program: /: has no __meta__"),
        ]:
            with self.assertRaises(ValueError) as caught:
                call()
            self.assertIn(wanted, str(caught.exception))
        self.assertEqual(router.entries(), before)
        with self.assertRaises(FileNotFoundError):
            P4Switch("none.json")

    def test_what_is_made_of_effects_may_call_the_switch(self) -> None:
        router = switch("router")
        router.receive(1, udp("10.0.1.1", "10.0.2.2"), now=1_000)
        times = []

        def work() -> None:
            router.drain()
            router.counter("RouterIngress.refused", 2)

        def made(*_: object) -> None:
            times.append(router.now)

        with mock.patch.object(p4, "Transmit", made), mock.patch.object(p4, "Count", made):
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            thread.join(30)
        self.assertEqual(times, [1_000, 1_000])

    def test_other_threads_go_on_while_entries_and_programs_are_read(self) -> None:
        router = switch("router")
        long = b'{"table_entries": [' + b"0, " * 3_000_000 + b"0]}"
        refused = []

        def read(what: str) -> None:
            try:
                if what == "entries":
                    router.write(long)
                else:
                    P4Switch(long)
            except ValueError as error:
                refused.append(str(error))

        for what in ("entries", "program"):
            thread = threading.Thread(target=read, args=(what,))
            thread.start()
            turns = 0
            while thread.is_alive():
                time.sleep(0.001)
                turns += 1
            self.assertGreater(turns, 5)
            self.assertEqual(refused.pop().split(":")[0], what)

    def test_time_is_the_callers_and_registers_are_read(self) -> None:
        firewall = switch("firewall")
        back = udp("10.0.0.2", "10.0.0.1", (53, 7))
        firewall.receive(1, udp("10.0.0.1", "10.0.0.2"), now=2 * SECOND)
        firewall.receive(2, back, now=12 * SECOND)
        firewall.receive(2, back, now=12 * SECOND + 2_000)
        self.assertEqual([effect.port for effect in firewall.drain()], [2, 1])  # type: ignore[union-attr]
        seen = {firewall.register("FirewallIngress.seen_one", at) for at in range(4096)}
        self.assertEqual(seen, {0, 2_000_001})
        with self.assertRaisesRegex(ValueError, "before"):
            firewall.receive(2, back, now=SECOND)

    def test_a_copy_goes_on_by_itself(self) -> None:
        firewall = switch("firewall")
        firewall.receive(1, udp("10.0.0.1", "10.0.0.2"))
        for twin in (copy.copy(firewall), copy.deepcopy(firewall)):
            twin.receive(2, udp("10.0.0.2", "10.0.0.1", (53, 7)))
            self.assertEqual(len(twin.drain()), 2)
        self.assertEqual(len(firewall.drain()), 1)
        with self.assertRaisesRegex(TypeError, "recorded=True"):
            pickle.dumps(firewall)

    def test_a_pickled_switch_goes_on_by_itself(self) -> None:
        firewall = switch("firewall", recorded=True, seed=7, now=5)
        firewall.add_port(9)
        firewall.remove_port(9)
        firewall.receive(1, bytearray(udp("10.0.0.1", "10.0.0.2")), now=SECOND)
        self.assertEqual(len(firewall.drain()), 1)
        firewall.write({"table_entries": []})
        back = udp("10.0.0.2", "10.0.0.1", (53, 7))
        firewall.receive(2, back)
        with self.assertRaises(ValueError):
            firewall.receive(3, back)
        again = pickle.loads(pickle.dumps(firewall))
        twins = [again, copy.copy(firewall), pickle.loads(pickle.dumps(copy.copy(again)))]
        effects = firewall.drain()
        firewall.receive(2, back, now=2 * SECOND)
        for twin in twins:
            self.assertEqual((twin.now, twin.drain()), (SECOND, effects))
            twin.receive(2, back, now=2 * SECOND)
        effects = firewall.drain()
        self.assertEqual([(twin.drain(), twin.entries()) for twin in twins], [(effects, firewall.entries())] * 3)
        self.assertEqual(len(effects), 1)

    def test_packets_wait_for_a_port_without_room_by_priority(self) -> None:
        program = EXAMPLES.parents[1] / "testdata" / "p4" / "queues" / "queues.json"
        queues = P4Switch(program, ports=2, recorded=True)
        queues.hold(1)
        for priority in (0, 7):
            queues.receive(2, bytes([priority]) + bytes(13), now=1_000)
        self.assertEqual((queues.drain(), queues.waiting), ([], 2))
        for twin in (pickle.loads(pickle.dumps(queues)), queues):
            left = []
            for most in (1, 9):
                twin.leave(1, most, now=5_000)
                left.append([sent.frame[0] for sent in twin.drain() if isinstance(sent, Transmit)])
            self.assertEqual((left, twin.waiting, twin.now), ([[7], [0]], 0, 5_000))
            twin.receive(2, bytes(14))
            self.assertEqual(len(twin.drain()), 1)
        for call in (lambda: queues.hold(3), lambda: queues.leave(3)):
            with self.assertRaisesRegex(ValueError, "there is no port 3"):
                call()

    def test_a_record_is_bounded(self) -> None:
        router = switch("router", recorded=True, max_record_bytes=1_000)
        for _ in range(10):
            router.receive(1, udp("10.0.0.1", "10.0.0.2"))
        with self.assertRaisesRegex(ValueError, "longer than max_record_bytes"):
            pickle.dumps(router)

    def test_an_explanation_changes_nothing(self) -> None:
        router = switch("router")
        text = router.explain(1, udp("10.0.1.1", "10.0.2.9"))
        self.assertIn("nearest: entry", text)
        self.assertEqual((router.drain(), router.drops), ([], {}))


class P4InNetworksTest(unittest.TestCase):
    """The switch in the simulator."""

    def test_a_scenario_with_programs_holds(self) -> None:
        folder = EXAMPLES / "network"
        text = (folder / "network.toml").read_text()
        result = sim.run(text, read=lambda name: (folder / name).read_text())
        self.assertEqual(result.failures, [])


if __name__ == "__main__":
    unittest.main()
