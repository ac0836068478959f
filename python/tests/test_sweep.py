"""Tests `bofuss.sweep`: tables, retries, processes that die, and the example."""

from __future__ import annotations

import importlib.util
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from bofuss import sweep

from common import ROOT


def flaky(folder: str, number: int, failures: int, dies: bool = False) -> dict[str, int]:
    """Fails so many times before it returns the number of its call."""
    calls = pathlib.Path(folder, str(number))
    before = len(calls.read_text()) if calls.exists() else 0
    calls.write_text("x" * (before + 1))
    if before < failures:
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError(f"try {before + 1}")
    return {"calls": before + 1}


def named(workers: int, retries: int) -> dict[str, int]:
    """Has arguments with names that `Client.submit` of dask has too."""
    return {"sum": workers + retries}


@unittest.skipUnless(importlib.util.find_spec("distributed"), "dask.distributed is not installed")
class DaskSweeps(unittest.TestCase):
    def test_a_cluster_runs_cases_again_that_fail_or_whose_process_dies(self) -> None:
        import logging

        from distributed import Client, LocalCluster

        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                          silence_logs=logging.CRITICAL) as cluster, Client(cluster) as client, \
                tempfile.TemporaryDirectory() as folder:
            cases = [{"folder": folder, "number": one, "failures": one, "dies": one == 1} for one in range(4)]
            out = io.StringIO()
            table = sweep.run(flaky, cases, executor=client, retries=2, progress=out)
            self.assertEqual([row.get("calls") for row in table.rows], [1, 2, 3, None])
            self.assertEqual([row["error"] for row in table.failed], ["RuntimeError: try 3"])
            self.assertIn("4 of 4 cases, about 0 s left", out.getvalue())
            table = sweep.run(named, sweep.grid(workers=[1, 2], retries=[5]), executor=client)
            self.assertEqual([row["sum"] for row in table.rows], [6, 7])
            # The client is the caller's, and stays open.
            self.assertEqual(client.submit(sweep.example, 2, 5).result(), {"power": 32})


class Sweeps(unittest.TestCase):
    def test_cases_that_fail_are_tried_again_and_then_say_why(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cases = [{"folder": folder, "number": one, "failures": one} for one in range(4)]
            out = io.StringIO()
            table = sweep.run(flaky, cases, executor=ThreadPoolExecutor(2), retries=2, progress=out)
        self.assertEqual([row.get("calls") for row in table.rows], [1, 2, 3, None])
        self.assertEqual([row["error"] for row in table.failed], ["RuntimeError: try 3"])
        self.assertIn("4 of 4 cases, about 0 s left", out.getvalue())

    def test_a_process_that_dies_is_replaced(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            cases = [{"folder": folder, "number": one, "failures": one == 0, "dies": True} for one in range(8)]
            table = sweep.run(flaky, cases, workers=2)
        self.assertEqual(table.failed, [])
        self.assertEqual(table.rows[0]["calls"], 2)

    def test_tables_have_csv_html_and_means(self) -> None:
        table = sweep.Table([{"a": 1, "b": 2.0}, {"a": 1, "b": 4.0}, {"a": 2, "error": "<x>"}])
        self.assertEqual(table.csv().splitlines()[:2], ["a,b,error", "1,2.0,"])
        self.assertIn("&lt;x&gt;", table._repr_html_())
        self.assertEqual(table.mean("b", by=["a"]).rows, [{"a": 1, "b": 3.0, "cases": 2}])
        with self.assertRaisesRegex(ValueError, "retries is -1"):
            sweep.run(sweep.example, [], retries=-1)

    def test_a_function_of_a_prompt_is_refused_for_other_processes(self) -> None:
        program = "from bofuss import sweep\ndef work(n):\n    return {'n': n}\nsweep.run(work, [{'n': 1}])\n"
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(ran.stderr, "ValueError: work: .* is of a notebook or prompt")
        program = program.replace("}])", "}], executor=ThreadPoolExecutor())")
        program = f"from concurrent.futures import ThreadPoolExecutor\n{program}"
        subprocess.run([sys.executable, "-c", program], check=True)

    def test_ctrl_c_ends_a_sweep(self) -> None:
        # A job that a shell runs in the background ignores Ctrl-C, and so do its children.
        program = "import signal\nimport time\nfrom bofuss import sweep\nif __name__ == '__main__':\n" \
            "    signal.signal(signal.SIGINT, signal.default_int_handler)\n" \
            "    print('begins', flush=True)\n    sweep.run(time.sleep, [], workers=1)\n" \
            "    sweep.run(sweep._pause, [{'seconds': 60}] * 4, workers=2)\n"
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "program.py")
            file.write_text(program)
            running = subprocess.Popen([sys.executable, str(file)], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            self.addCleanup(running.kill)
            assert running.stdout is not None
            running.stdout.readline()
            time.sleep(1.5)
            running.send_signal(signal.SIGINT)
            began = time.monotonic()
            _, errors = running.communicate(timeout=30)
        self.assertLess(time.monotonic() - began, 15)
        self.assertIn("KeyboardInterrupt", errors)

    def test_the_example_has_a_row_for_each_point_of_the_evaluation(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            rows = pathlib.Path(folder, "rows.csv")
            ran = subprocess.run(
                [sys.executable, "python/examples/evaluation.py", "--flows", "6", "--csv", str(rows)],
                cwd=ROOT, capture_output=True, text=True,
            )
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual(len(rows.read_text().splitlines()), 1 + 3 * 2 * 3 * 3)
        self.assertEqual(len(ran.stdout.splitlines()), 1 + 3 * 2 * 3, ran.stdout)


if __name__ == "__main__":
    unittest.main()
