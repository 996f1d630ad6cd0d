"""How do time and memory grow, with objects, with base models, and with voters who vote once?

    python benchmarks/growth.py [--best-of 3]
    python benchmarks/growth.py --tables [--most 100_000_000] [--methods iec3 auto]

First the slopes of log seconds over log size, which should be near 1. Nearly every row is distinct,
so solving equal rows once saves nothing. One thread; the seconds are those of the processor. The
compiled loops of the extra `fast` are loaded before, if numba is installed.

With `--tables`, tables in memory of up to a hundred million objects x 12 models as int8 instead,
from the table to the label of each object, every one in its own process. The memory is the peak of
resident memory besides the table, with the 100 MB of the compiled loops where they are used.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from consensus import reset_peak, resident

from ec3learn import EC3, MajorityVote, Votes, solve

MOST = 1.05


def seconds(n_objects: int, n_models: int, best_of: int) -> float:
    rng = np.random.default_rng(0)

    def draw(below: int) -> npt.NDArray[np.int8]:
        return rng.integers(0, below, n_objects, dtype=np.int8)

    truth = draw(4)
    n_classifiers = n_models // 2
    classifiers = {
        f"c{m}": np.where(rng.random(n_objects, dtype=np.float32) < 0.6, truth, draw(4))
        for m in range(n_classifiers)
    }
    clusterings = {f"k{m}": draw(20) for m in range(n_models - n_classifiers)}
    times = []
    for _ in range(best_of):
        start = time.process_time()
        _ = EC3().solve(Votes.from_labels(classifiers, clusterings)).proba
        times.append(time.process_time() - start)
    return min(times)


def crowd_seconds(n_voters: int, best_of: int) -> float:
    """Return the time to combine and judge voters with one vote each, five on an object."""
    rng = np.random.default_rng(0)
    objects, names = (
        rng.integers(0, n_voters // 5, n_voters),
        np.array([f"v{m}" for m in range(n_voters)]),
    )
    labels = np.where(rng.random(n_voters) < 0.7, objects % 3, rng.integers(0, 3, n_voters))
    times = []
    for _ in range(best_of):
        start = time.process_time()
        consensus = MajorityVote().solve(Votes.from_long(objects, names, labels))
        consensus.summary(fast=True), consensus.contested(200)
        times.append(time.process_time() - start)
    return min(times)


def slope(sizes: list[int], times: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


# ---- tables in memory -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """How many rows, how many of them differ (0: nearly all), classes, classifiers, clusterings and clusters."""

    rows: int
    distinct: int
    classes: int
    classifiers: int = 8
    clusterings: int = 4
    clusters: int = 20

    def table(self) -> Any:
        """Return random votes that are right more often than not."""
        rng = np.random.default_rng(0)
        n = self.distinct or self.rows
        truth = rng.integers(0, self.classes, n, dtype=np.int8)
        table = np.empty((n, self.classifiers + self.clusterings), dtype=np.int8)
        for m in range(table.shape[1]):
            below = self.classes if m < self.classifiers else self.clusters
            right = rng.random(n, dtype=np.float32) < 0.5
            table[:, m] = np.where(right, truth % below, rng.integers(0, below, n, dtype=np.int8))
        return table[rng.integers(0, n, self.rows)] if self.distinct else table


SHAPES = [
    Shape(10_000, 0, 4),
    Shape(100_000, 0, 4),
    Shape(1_000_000, 0, 4),
    Shape(1_000_000, 0, 10),
    Shape(5_000_000, 100_000, 4),
    Shape(10_000_000, 0, 4),
    Shape(100_000_000, 100_000, 4),
    Shape(100_000_000, 0, 2, 7, 5, 3),
]


def line(shape: Shape, method: str) -> str:
    """Return a line of the table."""
    table, n = shape.table(), shape.classifiers
    solve(
        Votes.from_labels(table[:500, :n], table[:500, n:]), method=method
    )  # load what is loaded when used
    reset_peak()
    before, began = resident("VmRSS"), time.process_time()
    consensus = solve(Votes.from_labels(table[:, :n], table[:, n:]), method=method)
    labels = consensus.labels()
    took, peak = time.process_time() - began, (resident("VmHWM") - before) / 1e9
    assert consensus.solution.votes is not None
    n_distinct = consensus.solution.votes.n_rows
    del labels, table, consensus
    return f"| {shape.rows:,} | {n_distinct:,} | {shape.classes} | {method} | {took:.2g} | {peak:.2g} |"


def tables(most: int, methods: list[str]) -> None:
    print(
        "| rows | distinct rows | classes | method | seconds | GB |\n|---|---|---|---|---|---|",
        flush=True,
    )
    for i, shape in enumerate(SHAPES):
        for method in methods if shape.rows <= most else ():
            subprocess.run(
                [sys.executable, __file__, "--only", str(i), "--methods", method], check=True
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--best-of", type=int, default=3)
    parser.add_argument("--tables", action="store_true", help="tables in memory instead")
    parser.add_argument("--most", type=int, default=100_000_000, help="rows of the largest table")
    parser.add_argument("--methods", nargs="+", default=["iec3", "auto"])
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only is not None:
        print(line(SHAPES[options.only], options.methods[0]))
        return 0
    if options.tables:
        tables(options.most, options.methods)
        return 0
    return int(slopes(options.best_of))


def slopes(best_of: int) -> bool:
    """Print how the time grows, and return whether it is too steep."""
    steep = False
    seconds(500_000, 12, 1)  # load what is loaded when used
    for label, sizes, most, job in (
        (
            "objects (12 models)",
            [10_000, 100_000, 1_000_000, 10_000_000],
            MOST,
            lambda n: seconds(n, 12, best_of),
        ),
        (
            "models (100,000 objects)",
            [6, 12, 24, 48, 96],
            MOST,
            lambda n: seconds(100_000, n, best_of),
        ),
        (
            "voters with one vote each",
            [10_000, 20_000, 40_000, 80_000, 160_000],
            1.1,
            lambda n: crowd_seconds(n, best_of),
        ),
    ):
        times = [job(size) for size in sizes]
        grown = slope(sizes, times)
        steep |= grown > most
        print(
            f"{label}: "
            + ", ".join(f"{size:,}: {t:.3f} s" for size, t in zip(sizes, times, strict=True))
            + f"; slope {grown:.2f} (at most {most})",
            flush=True,
        )
    return steep


if __name__ == "__main__":
    sys.exit(main())
