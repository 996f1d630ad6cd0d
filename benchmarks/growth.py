"""How does the time grow with objects, with base models, and with voters who vote once? The log-log slope should be near 1.

    python benchmarks/growth.py [--best-of 3]

Nearly every row is distinct, so solving equal rows once saves nothing. One thread; the seconds are those of the processor. The
compiled loops of the extra `fast` are loaded before, if numba is installed.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import sys
import time

import numpy as np
import numpy.typing as npt

from ec3learn import EC3, MajorityVote, Votes

MOST = 1.05


def seconds(n_objects: int, n_models: int, best_of: int) -> float:
    rng = np.random.default_rng(0)

    def draw(below: int) -> npt.NDArray[np.int8]:
        return rng.integers(0, below, n_objects, dtype=np.int8)

    truth = draw(4)
    n_classifiers = n_models // 2
    classifiers = {f"c{m}": np.where(rng.random(n_objects, dtype=np.float32) < 0.6, truth, draw(4)) for m in range(n_classifiers)}
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
    objects, names = rng.integers(0, n_voters // 5, n_voters), np.array([f"v{m}" for m in range(n_voters)])
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


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--best-of", type=int, default=3)
    best_of = parser.parse_args().best_of
    steep = False
    seconds(500_000, 12, 1)  # load what is loaded when used
    for label, sizes, most, job in (
        ("objects (12 models)", [10_000, 100_000, 1_000_000, 10_000_000], MOST, lambda n: seconds(n, 12, best_of)),
        ("models (100,000 objects)", [6, 12, 24, 48, 96], MOST, lambda n: seconds(100_000, n, best_of)),
        ("voters with one vote each", [10_000, 20_000, 40_000, 80_000, 160_000], 1.1, lambda n: crowd_seconds(n, best_of)),
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
    return int(steep)


if __name__ == "__main__":
    sys.exit(main())
