"""How long do clusterings of quadratic cost take on many rows, with landmarks?

    python benchmarks/landmarks.py [--rows 100000] [--landmarks 2000]

Prints seconds and peak memory of `Landmarks` with the paper's clusterings, and of k-means with 20 clusters on all rows; one
thread.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from ec3learn import Table
from ec3learn.estimator import clusterer_pool


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--landmarks", type=int, default=2_000)
    options = parser.parse_args()
    X, _ = make_blobs(options.rows, 10, centers=20, cluster_std=3.0, random_state=0)
    pool = clusterer_pool("paper", n_classes=5, n_landmarks=options.landmarks, random_state=0)
    rows: dict[str, list[object]] = {"clustering": [], "clusters": [], "seconds": [], "ratio": [], "peak MB": []}
    rival = 0.0
    for name, model in [("k-means, 20 clusters, all rows", KMeans(20, n_init=10, random_state=0)), *pool]:
        start = time.process_time()
        labels = model.fit(X).labels_
        seconds = time.process_time() - start
        rival = rival or seconds
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        for column, value in zip(rows, (name, len(set(labels.tolist())), seconds, seconds / rival, round(peak)), strict=True):
            rows[column].append(value)
    print(Table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
