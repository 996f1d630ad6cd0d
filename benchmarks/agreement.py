"""How close do weights learned without labels come to the weights by the true accuracies?

    python benchmarks/agreement.py [--objects 1000000]

Twelve annotators with accuracies from .6 to .9 vote on two classes. The ceiling weights each by the
log-odds of its true accuracy.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from ec3learn import EC3, Votes


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--objects", type=int, default=1_000_000)
    n = parser.parse_args().objects
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n, dtype=np.int8)
    skill = np.linspace(0.6, 0.9, 12)
    table = np.stack([truth ^ (rng.random(n) > p) for p in skill], axis=1).astype(np.int8)

    lead = (2 * table - 1) @ np.log(skill / (1 - skill))
    ceiling = float(np.mean((lead > 0) == truth))
    counts = table.sum(axis=1)
    majority = float(np.mean(np.where(counts == 6, rng.integers(0, 2, n), counts > 6) == truth))
    print(f"{'the best possible (true accuracies known)':45s} {ceiling:.4f}")
    print(f"{'majority vote (ties by lot)':45s} {majority:.4f}")
    reached = 0.0
    for label, method in {
        "iEC3": EC3(),
        "iEC3, weights='agreement'": EC3(weights="agreement"),
    }.items():
        start = time.perf_counter()
        labels = method.solve(Votes.from_labels(table)).labels()
        seconds = time.perf_counter() - start
        reached = float(np.mean(labels == truth))
        print(f"{label:45s} {reached:.4f}  {seconds:.2f} s")
    return int(reached < ceiling - 0.001)


if __name__ == "__main__":
    sys.exit(main())
