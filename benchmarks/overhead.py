"""What does the consensus cost, compared with the base models?

    python benchmarks/overhead.py [--rows 100000]

Two measurements on one thread. Prediction: the time of `EC3Classifier.predict` on new rows, compared with its base models alone.
Selection: the time of the whole grid in steps of .05 on 20,000 labelled objects x 12 base models with five folds, compared with
solving each setting separately.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import make_classification

from ec3learn import EC3, EC3Classifier, Votes
from ec3learn.estimator.candidates import Split, make_folds
from ec3learn.methods.ec3.grid import grid


def seconds(work: Any) -> tuple[float, Any]:
    start = time.process_time()
    answer = work()
    return time.process_time() - start, answer


def predicting(n_rows: int) -> None:
    X, y = make_classification(n_rows + 4000, 20, n_informative=8, n_classes=3, random_state=0)
    model = EC3Classifier(random_state=0).fit(X[:4000], y[:4000])
    new = X[4000:]

    def ask_base_models() -> None:
        model.transform(new)
        for clusterer in model.clusterers_.values():
            clusterer.predict(new)

    for _ in range(3):
        alone, _ = seconds(ask_base_models)
        whole, _ = seconds(lambda: model.predict(new))
        print(f"predict, {n_rows:,} rows: base models {alone:.2f} s, EC3Classifier {whole:.2f} s, ratio {whole / alone:.3f}")


def choosing(n_objects: int = 20_000, n_classes: int = 3) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_objects)

    def noisy(share: float, n_labels: int, truth: Any) -> Any:
        return np.where(rng.random(n_objects) < share, truth, rng.integers(0, n_labels, n_objects))

    classifiers = {f"c{i}": noisy(0.5 + 0.05 * i, n_classes, y) for i in range(7)}
    parts = y * 3 + rng.integers(0, 3, n_objects)
    votes = Votes.from_labels(classifiers, {f"k{i}": noisy(0.6, 3 * n_classes, parts) for i in range(5)})
    settings = grid(0.05)
    folds = make_folds(y, 5, 0)
    summing, split = seconds(lambda: Split.of(votes, y, folds))
    weighing, candidate = seconds(lambda: split.candidate("equal", split.equal_weights))
    searching, _ = seconds(lambda: candidate.search(settings, y))
    known = {int(i): int(y[i]) for i in np.flatnonzero(folds != 0)}
    single, _ = seconds(lambda: EC3(0.4, 0.2, 0.2, 0.2).solve(votes, known=known))
    total, apart = summing + weighing + searching, single * len(settings) * 5
    print(f"{len(settings):,} settings on {n_objects:,} x 12 in 5 folds: {total:.1f} s (best AUC {candidate.score:.4f})")
    print(f"as many solutions one by one: about {apart:.0f} s, {apart / total:.0f} times that")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    choosing()
    predicting(options.rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
