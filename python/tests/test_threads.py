"""Tests the classes in several threads, long calls among them, and Ctrl-C."""

from __future__ import annotations

import copy
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest
from typing import Any, Callable

from bofuss import oflib, sim
from bofuss.switch import Switch, Transmit

FRAME = bytes.fromhex("020000000002 020000000001 0800") + bytes(46)
THREADS = 1000

BUSY = """
end = 100000.0
topology = { shape = "line", switches = 4, hosts = 1 }
controller = [{ name = "c0", kind = "learning" }]
traffic = [{ kind = "ping", from = "h1", to = "h4", count = 20000, interval = 0.001 }]
"""


def in_threads(count: int, call: Callable[[int], Any]) -> list[Any]:
    """What a call returns or raises in each of so many threads."""
    found: list[Any] = [None] * count

    def one(number: int) -> None:
        try:
            found[number] = call(number)
        except Exception as error:
            found[number] = error

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def flooding(**options: Any) -> Switch:
    """A switch whose entry sends what comes from port 1 to port 2."""
    switch = Switch(ports=2, **options)
    controller = switch.connect_messages()
    switch.message(controller, oflib.flow_from_text("in_port=1,actions=output:2"))
    return switch


class Moved(unittest.TestCase):
    def test_a_switch_is_used_by_a_thousand_threads(self) -> None:
        switch = flooding()

        def use(number: int) -> int:
            switch.receive(1, FRAME)
            return sum(isinstance(effect, Transmit) for effect in switch.drain())

        self.assertEqual(sum(in_threads(THREADS, use)), THREADS)
        controller = switch.connect_messages()
        switch.message(controller, oflib.MultipartRequest("FLOW"))
        [effect] = switch.drain()
        self.assertEqual(effect.message.body[0].packet_count, THREADS)

    def test_a_switch_of_each_of_a_thousand_threads_ends_in_another(self) -> None:
        switches = in_threads(THREADS, lambda number: flooding(now=number))
        self.assertEqual([one.now for one in switches], list(range(THREADS)))
        switches[7].receive(1, FRAME)
        self.assertEqual(len(switches[7].drain()), 1)

    def test_messages_and_their_parts_are_used_by_a_thousand_threads(self) -> None:
        flow = oflib.flow_from_text("priority=10,ip,nw_dst=10.0.0.0/8,actions=dec_ttl,output:2")
        data = flow.encode()
        unread = oflib.decode(data)
        framer = oflib.Framer()

        def use(number: int) -> tuple[bool, str, str]:
            framer.feed(b"")
            other = oflib.decode(data)
            return other == flow, unread.match["ipv4_dst"][0], str(other)

        self.assertEqual(set(in_threads(THREADS, use)), {(True, "10.0.0.0", str(flow))})

    def test_a_call_that_fails_in_a_thread_raises_an_exception_there(self) -> None:
        switch = flooding()
        [error] = in_threads(1, lambda number: switch.receive(9, FRAME))
        self.assertIsInstance(error, ValueError)

    def test_a_simulation_runs_in_each_of_several_threads(self) -> None:
        text = BUSY.replace("20000", "50").replace("100000.0", "1.0")
        alone = sim.run(text).statistics
        self.assertEqual([one.statistics for one in in_threads(4, lambda number: sim.run(text))], [alone] * 4)


class Long(unittest.TestCase):
    def test_other_threads_go_on_while_a_simulation_runs(self) -> None:
        thread = threading.Thread(target=lambda: sim.run(BUSY.replace("20000", "5000")))
        thread.start()
        turns = 0
        while thread.is_alive():
            time.sleep(0.001)
            turns += 1
        self.assertGreater(turns, 20)

    def test_ctrl_c_ends_a_simulation(self) -> None:
        # A job that a shell runs in the background ignores Ctrl-C, and so do its children.
        obeys = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        program = f"{obeys}from bofuss import sim\nprint('begins', flush=True)\nsim.run('''{BUSY}''')\n"
        endless = program.replace("20000", "100000000")
        running = subprocess.Popen(
            [sys.executable, "-c", endless], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.addCleanup(running.kill)
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(0.5)
        began = time.monotonic()
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=20)
        self.assertLess(time.monotonic() - began, 5)
        self.assertIn("KeyboardInterrupt", errors)


class Buffers(unittest.TestCase):
    def test_any_object_with_a_buffer_is_a_frame(self) -> None:
        import array

        for frame in [bytearray(FRAME), memoryview(FRAME), array.array("B", FRAME), memoryview(FRAME * 2)[::2]]:
            switch = flooding()
            switch.receive(1, frame)
            self.assertEqual(switch.drain(), [Transmit(2, bytes(frame), 0)])
            switch.explain(1, frame)
        data = oflib.Hello().encode()
        self.assertEqual(oflib.decode(memoryview(data)), oflib.decode(data))
        self.assertEqual(len(list(oflib.Framer().feed(bytearray(data)))), 1)
        self.assertEqual(oflib.EchoRequest(bytearray(b"ab")).data, b"ab")
        self.assertEqual(oflib.EchoRequest(memoryview(b"ab")).data, b"ab")

    def test_what_has_no_buffer_is_refused_by_name(self) -> None:
        for wrong in ("text", 5, None, [1, 2]):
            with self.assertRaisesRegex(TypeError, "^frame: an object of class .* has no buffer"):
                flooding().receive(1, wrong)  # type: ignore[arg-type]

    def test_a_full_pool_says_drain(self) -> None:
        switch = flooding(pool_bytes=100_000)
        with self.assertRaisesRegex(ValueError, "call drain"):
            for _ in range(1000):
                switch.receive(1, FRAME)
        self.assertGreater(len(switch.drain()), 10)
        switch.receive(1, FRAME)
        with self.assertRaisesRegex(ValueError, "at most 65792"):
            switch.receive(1, bytes(70_000))
        for wrong in (0, -1, 2048, "many"):
            with self.assertRaisesRegex((ValueError, TypeError, OverflowError), "pool_bytes"):
                Switch(pool_bytes=wrong)  # type: ignore[arg-type]


class Copied(unittest.TestCase):
    def test_a_copy_goes_on_as_its_original(self) -> None:
        switch = flooding(recorded=True)
        bytes_of = switch.connect()
        switch.feed(bytes_of, oflib.Hello().encode(), now=5)
        switch.receive(1, bytearray(FRAME), now=6)
        flow = oflib.flow_from_text("in_port=2,idle_timeout=3,actions=output:1")
        switch.message(1, flow, now=7)
        flow.priority = 9
        # It is no input, whose time would be that of the next one.
        switch.explain(1, FRAME, now=1_000)
        copies = [copy.copy(switch), copy.deepcopy(switch), pickle.loads(pickle.dumps(switch))]
        for one in [*copies, pickle.loads(pickle.dumps(copies[0]))]:
            self.assertEqual((one.now, one.next_tick), (switch.now, switch.next_tick))
        wanted = switch.drain()
        self.assertEqual([one.drain() for one in copies], [wanted] * 3)
        for one in [switch, *copies]:
            one.receive(2, FRAME, now=8)
            one.message(1, oflib.MultipartRequest("FLOW"), now=9)
        wanted = switch.drain()
        self.assertEqual([one.drain() for one in copies], [wanted] * 3)
        copies[0].receive(1, FRAME)
        self.assertEqual(switch.drain(), [])

    def test_a_switch_without_a_record_says_how_it_gets_one(self) -> None:
        with self.assertRaisesRegex(TypeError, "recorded=True"):
            copy.copy(Switch())

    def test_a_record_is_bounded(self) -> None:
        switch = flooding(recorded=True, max_record_bytes=10_000)
        pickle.dumps(switch)
        for _ in range(100):
            switch.receive(1, FRAME)
            switch.drain()
        with self.assertRaisesRegex(ValueError, "longer than max_record_bytes"):
            pickle.dumps(switch)

    def test_a_record_counts_what_is_in_messages(self) -> None:
        for data in (bytes(9_000), bytes(70_000)):
            switch = Switch(ports=1, recorded=True, max_record_bytes=10_000)
            switch.message(switch.connect_messages(), oflib.PacketOut(data=data))
            with self.assertRaisesRegex(ValueError, "longer than max_record_bytes"):
                pickle.dumps(switch)


if __name__ == "__main__":
    unittest.main()
