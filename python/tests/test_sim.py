"""`bofuss.sim`: what is wrong in a scenario, and topologies of Mininet's."""

from __future__ import annotations

import unittest
from typing import Any

from bofuss import sim


class Topo:
    """What `mininet.topo.Topo` has of a network of two switches."""

    def switches(self) -> list[str]:
        return ["s1", "s2"]

    def hosts(self) -> list[str]:
        return ["h1", "h2"]

    def isSwitch(self, node: str) -> bool:  # noqa: N802, the name is Mininet's
        return node in self.switches()

    def nodeInfo(self, node: str) -> dict[str, Any]:  # noqa: N802
        return {"ip": "10.0.7.1/16"} if node == "h1" else {}

    def links(self, withInfo: bool) -> list[tuple[str, str, dict[str, Any]]]:  # noqa: N803
        assert withInfo
        slow = {"bw": 10, "delay": "5ms", "loss": 0, "max_queue_size": 50}
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
        result = sim.run(sim.of_topo(Topo(), end=10) + PING)
        self.assertEqual(result.failures, [])
        link = [name for name in result.statistics["links"] if "s1" in name and "s2" in name]
        self.assertEqual(len(link), 1)

    def test_assertions_that_do_not_hold_are_listed(self) -> None:
        text = sim.of_topo(Topo(), end=10) + PING.replace("is = 3", "is = 4")
        [failure] = sim.run(text).failures
        self.assertIn("traffic.1.received", failure)

    def test_what_is_wrong_has_its_line(self) -> None:
        with self.assertRaisesRegex(ValueError, "line 2"):
            sim.run("end = 1.0\ncolour = 3\n")
        with self.assertRaisesRegex(ValueError, "nothing is given that reads files"):
            sim.run('end = 1.0\n[topology]\ngml = "a.gml"\n')


if __name__ == "__main__":
    unittest.main()
