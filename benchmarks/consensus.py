"""Time and memory of iEC3, from arrays to probabilities, relative to polars counting the distinct rows of the same table.

    python benchmarks/consensus.py [CASE ...] [--best-of 5] [--scale 1.0]

Every case runs in its own process on one thread, with ec3learn and polars in turn; the best of
several runs counts. Seconds are those of the processor, which other work on the machine affects
least. "Extra" is the peak of resident memory above that with the input loaded, measured in a first
run before anything is timed. The compiled loops of the extra `fast`, if numba is installed, are
loaded before: they take another 100 MB and half a second, once. Read the ratio, not the seconds.
Exceeded limits are marked, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ONE_THREAD = dict.fromkeys(
    ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)


@dataclass
class Case:
    """A table: its columns for polars, and how to make votes of it."""

    columns: dict[str, Any]
    votes: Callable[[], Any]
    output_bytes: int = 0
    truth: Any = None


def easy(scale: float) -> Case:
    import numpy as np

    from ec3learn import Votes

    n = int(5_000_000 * scale)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n, dtype=np.int8)
    table = np.empty((n, 12), dtype=np.int8)
    for m in range(7):
        table[:, m] = truth ^ (rng.random(n, dtype=np.float32) > 0.6 + 0.04 * m)
    for m, k in enumerate((2, 3, 4, 5, 3)):
        table[:, 7 + m] = (truth * (k // 2) + rng.integers(0, max(2, k - 1), n, dtype=np.int8)) % k
    columns = {f"c{j}": table[:, j].copy() for j in range(12)}
    return Case(columns, lambda: Votes.from_labels(table[:, :7], table[:, 7:]), n * 2 * 8)


def medium(scale: float) -> Case:
    import numpy as np

    from ec3learn import Votes

    n, n_distinct = int(5_000_000 * scale), max(1, int(100_000 * scale))
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, n_distinct)
    votes = [
        np.where(rng.random(n_distinct) < 0.6, truth, rng.integers(0, 4, n_distinct))
        for _ in range(7)
    ]
    clusters = [truth + 4 * rng.integers(0, k, n_distinct) for k in (2, 3, 5, 8, 12)]
    patterns = np.stack(votes + clusters, axis=1).astype(np.int8)
    table = patterns[
        (rng.random(n) ** 3 * n_distinct).astype(np.int64)
    ]  # some far more often than others
    columns = {f"c{j}": table[:, j].copy() for j in range(12)}
    return Case(columns, lambda: Votes.from_labels(table[:, :7], table[:, 7:]), n * 4 * 8)


def hard(scale: float) -> Case:
    import numpy as np

    from ec3learn import Votes

    n = int(1_000_000 * scale)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 10, n)
    classifiers = {
        f"c{m}": np.where(rng.random(n) < 0.6, truth, rng.integers(0, 10, n)).astype(np.int16)
        for m in range(7)
    }
    clusterings = {f"k{k}": rng.integers(0, k, n).astype(np.int16) for k in (20, 50, 100, 200, 500)}
    return Case(
        classifiers | clusterings, lambda: Votes.from_labels(classifiers, clusterings), n * 10 * 8
    )


def wide(scale: float) -> Case:
    import numpy as np

    from ec3learn import Votes

    n = int(100_000 * scale)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, n)
    table = np.full((n, 200), -1, dtype=np.int8)
    for m in range(200):
        seen = np.flatnonzero(rng.random(n) < 0.05)
        table[seen, m] = np.where(
            rng.random(len(seen)) < 0.7, truth[seen], rng.integers(0, 3, len(seen))
        )
    columns = {f"c{j}": table[:, j].copy() for j in range(200)}
    return Case(columns, lambda: Votes.from_labels(table, missing=-1), 0)


def random(scale: float) -> Case:
    import numpy as np

    from ec3learn import Votes

    n = int(200_000 * scale)
    rng = np.random.default_rng(8)  # gives 1.5 million groups
    truth = rng.integers(0, 2, n)
    classifiers = {
        f"c{m}": np.where(rng.random(n) < 0.75, truth, 1 - truth).astype(np.int32) for m in range(7)
    }
    clusterings = {}
    for m in range(15):
        n_clusters = int(rng.integers(1, n + 1))
        clusters = np.concatenate(
            [np.arange(n_clusters), rng.integers(0, n_clusters, n - n_clusters)]
        )
        clusterings[f"k{m}"] = rng.permutation(clusters).astype(np.int32)
    return Case(classifiers | clusterings, lambda: Votes.from_labels(classifiers, clusterings), 0)


def soft(scale: float) -> Case:
    import numpy as np

    from ec3learn import Votes

    n = int(1_000_000 * scale)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n)
    probabilities = {}
    for m in range(7):
        p = rng.beta(2, 2, n)
        p = np.where(
            rng.random(n) < 0.5, np.where(truth == 1, np.maximum(p, 1 - p), np.minimum(p, 1 - p)), p
        )
        probabilities[f"c{m}"] = np.stack([1 - p, p], axis=1)
    clusterings = {
        f"k{m}": rng.integers(0, k, n).astype(np.int8) for m, k in enumerate((2, 3, 4, 5, 3))
    }
    columns = {
        f"{name}_{z}": p[:, z].copy() for name, p in probabilities.items() for z in range(2)
    } | clusterings
    return Case(columns, lambda: Votes.from_probabilities(probabilities, clusterings), n * 2 * 8)


# The case, its limits: ratio to polars, and megabytes above input and output.
CASES: dict[str, tuple[Callable[[float], Case], float, float]] = {
    "easy": (easy, 0.4, 60),
    "medium": (medium, 0.5, 200),
    "hard": (hard, 5, 300),
    "wide": (wide, 5, 150),
    "random": (random, 20, 250),
    "soft": (soft, 2.5, 150),
}


def resident(which: str) -> int:
    """Return the process's resident bytes now ("VmRSS") or at their peak ("VmHWM")."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(which))


def reset_peak() -> None:
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def run_case(name: str, best_of: int, scale: float) -> dict[str, Any]:
    import polars as pl

    from ec3learn import EC3, kernels

    case = CASES[name][0](scale)

    def ours() -> None:
        _ = EC3().solve(case.votes()).proba

    small, least = CASES[name][0](0.001), kernels.LEAST
    for kernels.LEAST in (
        least,
        0,
    ):  # load what is loaded when used: on small tables, and on large ones
        _ = EC3().solve(small.votes()).proba
    kernels.LEAST = least
    before = resident("VmRSS")
    reset_peak()
    ours()
    extra = resident("VmHWM") - before
    frame = pl.DataFrame(case.columns)

    def count() -> None:
        frame.group_by(pl.all()).len()

    seconds: dict[str, list[float]] = {"ours": [], "polars": []}
    for _ in range(best_of):
        for label, job in (("ours", ours), ("polars", count)):
            start = time.process_time()
            job()
            seconds[label].append(time.process_time() - start)
    best = {label: min(times) for label, times in seconds.items()}
    return {
        "case": name,
        **best,
        "ratio": best["ours"] / best["polars"],
        "extra": extra / 1e6,
        "output": case.output_bytes / 1e6,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help=f"from: {', '.join(CASES)}; all unless given"
    )
    parser.add_argument("--best-of", type=int, default=5)
    parser.add_argument(
        "--scale",
        type=float,
        default=1.0,
        help="shrink or grow the number of objects; limits hold for 1.0",
    )
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        print(json.dumps(run_case(arguments.inside, arguments.best_of, arguments.scale)))
        return 0
    unknown = sorted(set(arguments.cases) - set(CASES))
    if unknown:
        parser.error(f"unknown case {unknown[0]!r}; choose from: {', '.join(CASES)}")
    broken = False
    heads = ("ours s", "polars s", "ratio", "limit", "extra MB", "of it output", "limit")
    print(f"{'case':8s}" + "".join(f"{head:>13s}" for head in heads))
    for name in arguments.cases or CASES:
        row = fresh(name, arguments)
        _, most, most_extra = CASES[name]
        over = row["ratio"] > most or row["extra"] > most_extra + row["output"]
        broken |= over
        cells = (
            row["ours"],
            row["polars"],
            row["ratio"],
            most,
            row["extra"],
            row["output"],
            most_extra + row["output"],
        )
        print(
            f"{name:8s}"
            + "".join(f"{c:13.3g}" for c in cells)
            + ("  over the limit" if over else ""),
            flush=True,
        )
    return int(broken)


def fresh(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure a case in a process of its own."""
    options = {
        "--inside": name,
        "--best-of": arguments.best_of,
        "--scale": arguments.scale,
    }
    command = [
        sys.executable,
        __file__,
        *(str(part) for option in options.items() for part in option),
    ]
    result = subprocess.run(
        command, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=False
    )
    if result.returncode:
        sys.exit(result.stderr)
    return dict(json.loads(result.stdout))


if __name__ == "__main__":
    sys.exit(main())
