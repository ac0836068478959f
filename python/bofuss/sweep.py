"""Runs many cases of an experiment on several processors or machines, and collects a table.

A case is a dictionary of arguments, `work` the function that runs one: it returns a dictionary of results. Both
are sent to other processes, so that `work` is a function of a module or program, and neither a lambda nor of a
notebook's cell: write it into a file, and import that.

>>> from bofuss import sweep
>>> cases = sweep.grid(base=[2, 10], exponent=[3, 4])
>>> cases[0]
{'base': 2, 'exponent': 3}
>>> from concurrent.futures import ThreadPoolExecutor
>>> table = sweep.run(sweep.example, cases, executor=ThreadPoolExecutor(2))
>>> print(table)
base  exponent  power
   2         3      8
   2         4     16
  10         3   1000
  10         4  10000
>>> table.mean("power", by=["base"]).rows
[{'base': 2, 'power': 12.0, 'cases': 2}, {'base': 10, 'power': 5500.0, 'cases': 2}]

Without `executor`, the processors of this machine run the cases. With an executor of `concurrent.futures`, or a
client of `dask.distributed`, others do.
"""

from __future__ import annotations

import csv
import functools
import io
import itertools
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TextIO

Case = dict[str, Any]
Work = Callable[..., Mapping[str, Any]]


def grid(**values: Iterable[Any]) -> list[Case]:
    """Each combination of the values of some arguments, the last one changing fastest."""
    names = list(values)
    return [dict(zip(names, chosen)) for chosen in itertools.product(*values.values())]


def example(base: int, exponent: int) -> dict[str, int]:
    """Work for the example above."""
    return {"power": base**exponent}


def _pause(seconds: float) -> dict[str, float]:
    """Work that only takes time."""
    time.sleep(seconds)
    return {"slept": seconds}


class Table:
    """The results: a row for each case, with its arguments and what was returned, in the order of cases."""

    def __init__(self, rows: Sequence[Case]) -> None:
        self.rows = list(rows)

    @property
    def failed(self) -> list[Case]:
        """The rows of cases that failed to the last try; their `error` says why."""
        return [row for row in self.rows if "error" in row]

    def mean(self, *results: str, by: Sequence[str]) -> Table:
        """The means of some results over the rows that agree in `by`; failed cases do not count."""
        groups: dict[tuple[Any, ...], list[Case]] = {}
        for row in self.rows:
            if "error" not in row:
                groups.setdefault(tuple(row[name] for name in by), []).append(row)
        made = []
        for key, rows in groups.items():
            means = {name: sum(row[name] for row in rows) / len(rows) for name in results}
            made.append({**dict(zip(by, key)), **means, "cases": len(rows)})
        return Table(made)

    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def csv(self) -> str:
        """The table as CSV, with a line of names."""
        text = io.StringIO()
        writer = csv.DictWriter(text, self.columns(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return text.getvalue()

    def __str__(self) -> str:
        names = self.columns()
        lines = [names] + [[_shown(row.get(name, "")) for name in names] for row in self.rows]
        widths = [max(len(line[at]) for line in lines) for at in range(len(names))]
        padded = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines]
        return "\n".join(line.rstrip() for line in padded)

    def __repr__(self) -> str:
        return f"<table of {len(self.rows)} cases, {len(self.failed)} failed>"

    def _repr_html_(self) -> str:
        from html import escape

        names = self.columns()
        lines = [("th", names)] + [("td", [_shown(row.get(name, "")) for name in names]) for row in self.rows]
        cells = ("".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in line) for tag, line in lines)
        return "<table>" + "".join(f"<tr>{line}</tr>" for line in cells) + "</table>"


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def run(
    work: Work,
    cases: Iterable[Mapping[str, Any]],
    *,
    workers: int | None = None,
    executor: Any = None,
    retries: int = 2,
    progress: bool | TextIO = False,
) -> Table:
    """Runs `work(**case)` for each case, and returns the table of results.

    `workers` are the processes on this machine, one for each processor if it is None. `executor`, an
    `Executor` or a client of `dask.distributed`, replaces them, and is not closed. A case that raises an
    exception, or whose process dies, is tried again up to `retries` times; after that its row has `error`.
    `progress` prints cases done and the time left to standard error, or to a file. Ctrl-C ends the sweep
    with `KeyboardInterrupt`; cases that run are ended with it, and those that wait for an `executor` are cancelled.
    """
    listed = [dict(case) for case in cases]
    if retries < 0:
        raise ValueError(f"retries is {retries}, and at least 0")
    if executor is None:
        _check_importable(work)
    pool = _Pool(workers, executor)
    out = sys.stderr if progress is True else progress or None
    sweep = _Sweep(work, listed, pool, retries, out)
    try:
        return sweep.run()
    finally:
        pool.close()


def _check_importable(work: Work) -> None:
    """Raises ValueError if other processes of this machine cannot have the function."""
    main = sys.modules["__main__"]
    if getattr(work, "__module__", None) == "__main__" and not hasattr(main, "__file__"):
        raise ValueError(
            f"work: {work!r} is of a notebook or prompt, where other processes cannot find it: write it into a "
            "module and import that, or pass executor=ThreadPoolExecutor()"
        )


class _Pool:
    """Processes of our own, which are made anew if one dies, or an executor of the caller."""

    def __init__(self, workers: int | None, given: Any) -> None:
        self._workers = workers
        if given is not None and hasattr(given, "get_executor"):
            # Otherwise a case that failed is not run again: its result counts as known.
            given = given.get_executor(pure=False)
        self._given: Executor | None = given
        self._own: ProcessPoolExecutor | None = None
        self.made = 0
        """How often processes were made."""

    def submit(self, work: Work, case: Case) -> Future[Mapping[str, Any]]:
        # An executor may have arguments of its own, with names that a case may have too.
        call = functools.partial(work, **case)
        if self._given is not None:
            return self._given.submit(call)
        if self._own is None:
            # Not by fork, which copies locks of other threads in a state that nobody ends.
            context = multiprocessing.get_context("spawn")
            self._own = ProcessPoolExecutor(self._workers, mp_context=context)
            self.made += 1
        try:
            return self._own.submit(call)
        except BrokenProcessPool:
            self.renew()
            return self.submit(work, case)

    def renew(self) -> None:
        """Has the next case make new processes."""
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)
            self._own = None

    def close(self) -> None:
        if self._own is not None:
            processes = list(getattr(self._own, "_processes", None) or {})
            running = [getattr(self._own, "_processes")[number] for number in processes]
            self._own.shutdown(wait=False, cancel_futures=True)
            for process in running:
                process.terminate()


class _Sweep:
    """One call of `run`."""

    def __init__(self, work: Work, cases: list[Case], pool: _Pool, retries: int, out: TextIO | None) -> None:
        self.work = work
        self.cases = cases
        self.pool = pool
        self.retries = retries
        self.out = out
        self.rows: list[Case | None] = [None] * len(cases)
        self.tries = [0] * len(cases)
        self.pools = [0] * len(cases)
        self.shown = 0
        self.began = time.monotonic()

    def run(self) -> Table:
        waiting = {self._submit(at): at for at in range(len(self.cases))}
        try:
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    at = waiting.pop(future)
                    if not self._take(at, future):
                        waiting[self._submit(at)] = at
                self._show()
        finally:
            for future in waiting:
                future.cancel()
        return Table([row for row in self.rows if row is not None])

    def _submit(self, at: int) -> Future[Mapping[str, Any]]:
        self.tries[at] += 1
        future = self.pool.submit(self.work, self.cases[at])
        self.pools[at] = self.pool.made
        return future

    def _take(self, at: int, future: Future[Mapping[str, Any]]) -> bool:
        """Takes a result; returns False if the case is to be tried again."""
        case = self.cases[at]
        try:
            self.rows[at] = {**case, **future.result()}
        except Exception as error:
            # With a process, all cases of its pool end: the first one found renews it.
            if isinstance(error, BrokenProcessPool) and self.pools[at] == self.pool.made:
                self.pool.renew()
                self.pool.made += 1
            if self.tries[at] <= self.retries:
                return False
            self.rows[at] = {**case, "error": f"{type(error).__name__}: {error}"}
        return True

    def _show(self) -> None:
        done = sum(row is not None for row in self.rows)
        if self.out is None or done == self.shown:
            return
        self.shown = done
        left = (time.monotonic() - self.began) * (len(self.rows) - done) / max(done, 1)
        self.out.write(f"{done} of {len(self.rows)} cases, about {left:.0f} s left\n")
        self.out.flush()
