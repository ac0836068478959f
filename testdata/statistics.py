"""Writes testdata/statistics.json: what scipy says about fixed samples, for the tests of ofmeter.

    python3 statistics.py > statistics.json        needs numpy and scipy
"""

import json

import numpy
import scipy
from scipy import stats

BATCHES = 100


def series(count, seed):
    """Delays in whole nanoseconds that follow each other closely: an autoregressive series."""
    state = seed
    value = 0.0
    delays = []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        value = 0.9 * value + (state >> 40) / 2**24 * 1000
        delays.append(int(20000 + value))
    return delays


def interval(values, confidence):
    values = numpy.asarray(values, dtype=float)
    return stats.t.interval(
        confidence, len(values) - 1, loc=values.mean(), scale=stats.sem(values)
    )


def order_interval(values, share, confidence):
    """The order statistics around a quantile, counted from 0."""
    ordered = numpy.sort(values)
    tail = (1 - confidence) / 2
    low = int(stats.binom.ppf(tail, len(values), share)) - 1
    high = int(stats.binom.ppf(1 - tail, len(values), share))
    return None if low < 0 or high >= len(values) else (int(ordered[low]), int(ordered[high]))


def summary(delays):
    values = numpy.asarray(delays, dtype=float)
    size = len(values) // BATCHES
    batches = values[: size * BATCHES].reshape(BATCHES, size).mean(axis=1) if size >= 10 else None
    differences = numpy.abs(numpy.diff(values))
    running = 0.0
    for difference in differences:
        running += (difference - running) / 16
    return {
        "delays": delays,
        "mean": values.mean(),
        "deviation": stats.tstd(values),
        "quantiles": list(numpy.quantile(values, [0.5, 0.9, 0.99, 0.999])),
        "plain_99": interval(values, 0.99),
        "plain_95": interval(values, 0.95),
        "batch_99": None if batches is None else interval(batches, 0.99),
        "batch_95": None if batches is None else interval(batches, 0.95),
        "p50_95": order_interval(delays, 0.5, 0.95),
        "p99_95": order_interval(delays, 0.99, 0.95),
        "jitter": list(numpy.quantile(differences, [0.5, 0.9, 0.99])),
        "jitter_rfc3550": running,
    }


def share(hits, trials, confidence):
    found = stats.binomtest(hits, trials).proportion_ci(confidence, method="exact")
    return [hits, trials, confidence, found.low, found.high]


print(
    json.dumps(
        {
            "scipy": scipy.__version__,
            "t": [[c, f, stats.t.ppf((1 + c) / 2, f)] for c in (0.95, 0.99) for f in (1, 5, 99, 29999)],
            "shares": [
                share(hits, trials, confidence)
                for hits, trials in ((0, 100), (3, 300), (300, 30000), (100, 100), (1, 1))
                for confidence in (0.95, 0.99)
            ],
            "binomial": [
                [p, n, q, int(stats.binom.ppf(p, n, q))]
                for p in (0.005, 0.025, 0.975)
                for n, q in ((100, 0.5), (10000, 0.99), (30000, 0.999))
            ],
            "series": [summary(series(50, 1)), summary(series(2000, 2))],
        }
    )
)
