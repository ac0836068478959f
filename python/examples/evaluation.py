"""The evaluation of the BOFUSS paper's section 5.2, simulated: a table of flow completion times.

Flows with the published sizes of web search and data mining load 4 spines and 4 leaves by 10, 20 and 40 %. A switch
of kind `arp-path` explores a path for each pair of hosts; with `hash`, the controller `ecmp` has switches choose a spine
by the flow; with `one`, `shortest-path` has all flows take the first spine. By default this is a reduced form: fewer hosts and flows, links of 20 Mb/s, sizes
cut off at 1 MB, 3 repeats; it takes some minutes on two processors. `--full` has 20 hosts a leaf, links of 100 Mb/s,
sizes to 30 MB, 5,000 flows and 10 repeats: it takes hours, and says so. Run it as

    python3 python/examples/evaluation.py [--full] [--workers N] [--csv FILE]
"""

from __future__ import annotations

import argparse
import pathlib
import random
import statistics
import sys
from typing import Any

from bofuss import sim, sweep

# Bytes, and the share of flows that have at most so many: DCTCP_CDF.txt and VL2_CDF.txt of HKUST-SING/TrafficGenerator.
SIZES = {
    "web search": [(0, 0), (10e3, 0.15), (20e3, 0.2), (30e3, 0.3), (50e3, 0.4), (80e3, 0.53), (200e3, 0.6), (1e6, 0.7),
                   (2e6, 0.8), (5e6, 0.9), (10e6, 0.97), (30e6, 1)],
    "data mining": [(0, 0), (180, 0.1), (216, 0.2), (560, 0.3), (900, 0.4), (1100, 0.5), (1870, 0.6), (3160, 0.7),
                    (10e3, 0.8), (400e3, 0.9), (3.16e6, 0.95), (100e6, 0.98), (1e9, 1)],
}
SPINES = LEAVES = 4
REDUCED = {"hosts": 4, "mbps": 20.0, "largest": 1e6, "flows": 150, "repeats": 3}
FULL = {"hosts": 20, "mbps": 100.0, "largest": 30e6, "flows": 5000, "repeats": 10}


def size(of: str, largest: float, share: float) -> int:
    """The size that this share of flows has at most, linear between the points, and cut off."""
    for (low, below), (high, up_to) in zip(SIZES[of], SIZES[of][1:]):
        if share <= up_to:
            drawn = low + (high - low) * (share - below) / (up_to - below)
            return int(max(1, min(drawn, largest)))
    return int(largest)


def paths(switch: str) -> str:
    """Rows of the way in which switches choose paths; the keys at the top of a scenario are first."""
    if switch == "arp-path":
        return 'ties = "random"\ndefaults.switch.fail_mode = "arp-path"\n'
    kind = {"hash": "ecmp", "one": "shortest-path"}[switch]
    return f'known_addresses = true\ncontroller = [{{ name = "paths", kind = "{kind}" }}]\n'


def scenario(switch: str, of: str, load: float, repeat: int, form: dict[str, Any]) -> str:
    """The scenario of one case. The flows depend on the repeat alone, so that switches have the same."""
    drawn = random.Random(f"{of} {load} {repeat}")
    hosts = LEAVES * form["hosts"]
    sizes = [size(of, form["largest"], drawn.random()) for _ in range(form["flows"])]
    # The load is that of the links to hosts, so flows begin as often as these carry so many bytes.
    per_second = load * hosts * form["mbps"] * 1e6 / 8 / statistics.mean(sizes)
    at = 0.1
    rows = ""
    for bytes_ in sizes:
        at += drawn.expovariate(per_second)
        one, other = drawn.sample(range(1, hosts + 1), 2)
        rows += (f'[[traffic]]\nkind = "tcp"\nfrom = "h{one}"\nto = "h{other}"\n'
                 f"start = {at}\nsize = {bytes_}\n")
    return (f'end = {at + 20}\n{paths(switch)}defaults.link.mbps = {form["mbps"]}\n[topology]\nshape = "spine-leaf"\n'
            f'spines = {SPINES}\nleaves = {LEAVES}\nhosts = {form["hosts"]}\n{rows}')


def work(switch: str, sizes: str, load: float, repeat: int, form: dict[str, Any]) -> dict[str, Any]:
    """Runs one case: the mean completion time of its flows, and how unevenly spines are used."""
    result = sim.run(scenario(switch, sizes, load, repeat, form), seed=repeat + 1)
    flows = [flow for row in result.statistics["traffic"] for flow in row["flows"]]
    done = [flow["completed"] - flow["start"] for flow in flows if flow["completed"] is not None]
    use = [0] * SPINES
    for name, link in result.statistics["links"].items():
        if "spine" in name:
            use[int(name[-1]) - 1] += sum(way["bytes"] for way in link.values() if isinstance(way, dict))
    return {
        "ms": 1e3 * statistics.mean(done),
        "unfinished": len(flows) - len(done),
        "busiest": max(use) / max(statistics.mean(use), 1),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--full", action="store_true", help="the full form, of hours")
    options.add_argument("--workers", type=int, help="processes; as many as processors if missing")
    options.add_argument("--flows", type=int, help="flows of each case")
    options.add_argument("--csv", type=pathlib.Path, help="write all rows to a file")
    given = options.parse_args()
    form = FULL if given.full else REDUCED
    form = {**form, "flows": given.flows or form["flows"]}
    if given.full:
        print("the full form: 180 cases of 5,000 flows, each some minutes; several hours", file=sys.stderr)
    cases = sweep.grid(switch=["arp-path", "hash", "one"], sizes=list(SIZES), load=[0.1, 0.2, 0.4],
                       repeat=range(form["repeats"]))
    table = sweep.run(work, [{**case, "form": form} for case in cases], workers=given.workers, progress=True)
    rows = sweep.Table([{name: row[name] for name in row if name != "form"} for row in table.rows])
    if given.csv:
        given.csv.write_text(rows.csv())
    print(rows.mean("ms", "unfinished", "busiest", by=["sizes", "load", "switch"]))
    if rows.failed:
        sys.exit(f"{len(rows.failed)} cases failed, such as: {rows.failed[0]}")


if __name__ == "__main__":
    main()
