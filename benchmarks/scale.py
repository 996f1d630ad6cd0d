"""What to plan with: time and memory of tables in memory, up to a hundred million objects, beside what `ec3learn.plan` predicts.

    python benchmarks/scale.py [--most 100_000_000] [--methods iec3 auto]

Eight classifiers and four clusterings of 20 clusters, or seven classifiers and five clusterings of 3 clusters, as int8. From the
table to the label of each object, on one thread, every table in its own process. "Seconds" are those of the processor; the memory
is the peak of resident memory besides the table, with the 100 MB of the compiled loops where they are used.
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
from consensus import reset_peak, resident

from ec3learn import Votes, plan, solve


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


def run(shape: Shape, method: str) -> str:
    """Return a line of the table."""
    table, n = shape.table(), shape.classifiers
    solve(Votes.from_labels(table[:500, :n], table[:500, n:]), method=method)  # load what is loaded when used
    reset_peak()
    before, began = resident("VmRSS"), time.process_time()
    consensus = solve(Votes.from_labels(table[:, :n], table[:, n:]), method=method)
    labels = consensus.labels()
    took, peak = time.process_time() - began, (resident("VmHWM") - before) / 1e9
    assert consensus.votes is not None
    n_distinct = consensus.votes.n_rows
    del labels, table, consensus
    expected = plan(
        shape.rows,
        n_distinct,
        n_classifiers=shape.classifiers,
        n_clusterings=shape.clusterings,
        n_classes=shape.classes,
        n_clusters=shape.clusters,
        method=method,
    )
    told = f"{expected.seconds:.2g} s, {expected.gigabytes:.2g} GB"
    return f"| {shape.rows:,} | {n_distinct:,} | {shape.classes} | {method} | {took:.2g} | {peak:.2g} | {told} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--most", type=int, default=100_000_000, help="rows of the largest table")
    parser.add_argument("--methods", nargs="+", default=["iec3", "auto"])
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only is not None:
        print(run(SHAPES[options.only], options.methods[0]))
        return 0
    print("| rows | distinct rows | classes | method | seconds | GB | planned |\n|---|---|---|---|---|---|---|", flush=True)
    for i, shape in enumerate(SHAPES):
        for method in options.methods if shape.rows <= options.most else ():
            command = [sys.executable, __file__, "--only", str(i), "--methods", method]
            subprocess.run(command, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
