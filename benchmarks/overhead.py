"""What does EC3Classifier cost, compared with soft voting of the same pool and with its base models alone?

    python benchmarks/overhead.py [--rows 50000] [--features 30] [--check]
    python benchmarks/overhead.py --landmarks 2000 [--rows 100000]

Three measurements on one thread, in seconds of processor. Fitting: EC3Classifier, with its peak
memory, and soft voting of the same pool. Size: their pickles. Predicting: one new row and 10,000 of
them, compared with the base models alone, classifiers and clusterings. `--check` fails above 1.6
times the time to fit, 1.3 times the size, and 1.3 times the time to predict one row.

With `--landmarks`, instead: seconds and peak memory of the paper's clusterings, of which those of
quadratic cost cluster so many landmarks, and of k-means with 20 clusters on all rows.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_classification
from sklearn.ensemble import VotingClassifier
from sklearn.metrics import log_loss

from ec3learn import EC3Classifier, Table
from ec3learn.estimator import classifier_pool, clusterer_pool

MOST = {"fitting": 1.6, "pickle": 1.3, "predicting one row": 1.3}


def seconds(work: Callable[[], Any], repeats: int = 1) -> float:
    """Return the seconds of processor that something takes, at best."""
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def peak_mb() -> int:
    """Return the most memory that this process has taken."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def ask_base_models(model: EC3Classifier, X: np.ndarray) -> None:
    for models in model.estimators_.values():
        for own in models:
            own.predict_proba(X)
    for clusterer in model.clusterers_.values():
        clusterer.predict(X)


def cluster(n_rows: int, n_landmarks: int) -> None:
    X, _ = make_blobs(n_rows, 10, centers=20, cluster_std=3.0, random_state=0)
    pool = clusterer_pool("paper", n_classes=5, n_landmarks=n_landmarks, random_state=0)
    columns: dict[str, list[Any]] = {"clustering": [], "seconds": [], "peak MB": []}
    for name, model in [
        ("k-means, 20 clusters, all rows", KMeans(20, n_init=10, random_state=0)),
        *pool,
    ]:
        columns["clustering"].append(name)
        columns["seconds"].append(seconds(lambda model=model: model.fit(X)))
        columns["peak MB"].append(peak_mb())
    print(Table(columns))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--landmarks", type=int, help="measure clusterings instead")
    parser.add_argument("--check", action="store_true", help="fail if a limit is passed")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.landmarks is not None:
        cluster(options.rows, options.landmarks)
        return 0
    X, y = make_classification(
        options.rows + 10_000, options.features, n_informative=10, flip_y=0.1, random_state=0
    )
    X, new, y, truth = X[: options.rows], X[options.rows :], y[: options.rows], y[options.rows :]
    pool = classifier_pool(random_state=0)
    soft, ours = VotingClassifier(pool, voting="soft"), EC3Classifier(pool, random_state=0)
    fitting = [seconds(lambda: ours.fit(X, y))]
    print(f"fitted in {fitting[0]:.1f} s, with at most {peak_mb():,} MB", flush=True)
    fitting.append(seconds(lambda: soft.fit(X, y)))
    sizes = [len(pickle.dumps(model)) / 1e6 for model in (ours, soft)]
    ratios = {"fitting": fitting[0] / fitting[1], "pickle": sizes[0] / sizes[1]}
    print(
        f"fitting {options.rows:,} x {options.features}: {fitting[0]:.1f} s, soft voting {fitting[1]:.1f} s"
    )
    print(f"pickle: {sizes[0]:.0f} MB, soft voting {sizes[1]:.0f} MB")
    for name, rows, repeats in (
        ("predicting one row", new[:1], 20),
        ("predicting 10,000 rows", new, 2),
    ):
        whole, alone = (
            seconds(work, repeats)
            for work in (
                lambda X=rows: ours.predict_proba(X),
                lambda X=rows: ask_base_models(ours, X),
            )
        )
        ratios[name] = whole / alone
        print(f"{name}: {whole * 1e3:.1f} ms, base models {alone * 1e3:.1f} ms")
    print("ratios:", ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()))
    print(
        f"log loss: {log_loss(truth, ours.predict_proba(new)):.4f}, soft voting {log_loss(truth, soft.predict_proba(new)):.4f}"
    )
    return int(options.check and any(ratios[name] > most for name, most in MOST.items()))


if __name__ == "__main__":
    sys.exit(main())
