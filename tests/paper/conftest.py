"""A small data set, a small protocol, and rows that were not measured but made up."""

import numpy as np
import pandas as pd
import pytest

from paper import published as paper
from paper.datasets import Dataset
from paper.protocol import Protocol
from paper.rows import COLUMNS

SMALL = Protocol(
    max_rows=150,
    n_landmarks=60,
    without=("nb", "svm", "sgd", "cnn", "affinity", "kmeans", "BAG", "BOO", "XGB"),
)


def blobs(n_rows=200, n_classes=3, seed=0):
    """Three blobs that overlap, and a nominal feature that says a little."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n_rows)
    frame = pd.DataFrame(
        rng.normal(size=(n_rows, 3)) + 1.5 * np.eye(3)[codes], columns=["a", "b", "c"]
    )
    frame["kind"] = pd.Categorical(np.where(rng.random(n_rows) < 0.5, codes.astype(str), "other"))
    return frame.assign(target=pd.Categorical([f"class {z}" for z in codes]))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EC3LEARN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("EC3LEARN_DATA", raising=False)


@pytest.fixture
def data():
    return Dataset("blobs", blobs())


@pytest.fixture
def folder(tmp_path):
    """A folder in which Iris and Image are small and made up."""
    place = tmp_path / "data"
    place.mkdir()
    blobs(120).to_parquet(place / "iris.parquet")
    blobs(120, seed=1).to_parquet(place / "image.parquet")
    return place


@pytest.fixture(scope="session")
def rows():
    """Rows of all experiments, three data sets and two seeds; a score is a hash of its name, so that it never changes."""
    names = ("titanic", "magic", "creditcard", "waveform", "sensor_sample")
    made = [
        (experiment, name, seed, *row, "table")
        for name in names
        for seed in (0, 1)
        for experiment, row in _made_up(name, seed)
    ]
    made += [
        ("datasets", name, 0, "", head, metric, 10.0 * len(name) + k, "table")
        for name in names
        for metric, heads in (("value", HEADS), ("count", ("no", "yes")))
        for k, head in enumerate(heads)
    ]
    made += [
        ("synthetic", "susy_synthetic", 0, "", size, metric, 5.0, "table")
        for size in ("1000", "5000")
        for metric in ("seconds", "distinct_rows")
    ]
    return pd.DataFrame(made, columns=COLUMNS)


HEADS = ("rows", "classes", "features", "majority", "entropy")
METRICS = ("auc", "auc_hard", "f", "f_macro", "accuracy")
LOOPS = ("iEC3, as published", "iEC3, the paper's loop")
FORMS = ("iEC3", "iEC3, soft votes", "iEC3, learned weights")


def _score(*words):
    """A number from 0.6 to 0.9 that follows from the words."""
    text = " ".join(map(str, words))
    return round(
        0.6
        + 0.3 * (sum(ord(sign) * (place % 13 + 1) for place, sign in enumerate(text)) % 997) / 997,
        4,
    )


def _made_up(name, seed):
    def scored(experiment, method, setting, metrics=("auc", "f")):
        return [
            (experiment, (method, setting, metric, _score(name, seed, method, setting, metric)))
            for metric in metrics
        ]

    for experiment in ("accuracy", "accuracy_large"):
        yield experiment, ("", "", "n_rows", 2500.0)
        yield experiment, ("", "", "n_test", 500.0)
        for method in (
            *paper.CLASSIFIERS,
            *paper.ENSEMBLES,
            "majority vote",
            "soft vote",
            "weighted vote",
            "Dawid-Skene",
        ):
            yield from scored(experiment, method, "none", METRICS)
        for method in ("BGCM", "UPE", "EC3", "C3E-SL", "iEC3, mass rule"):
            yield from scored(experiment, method, "paper", METRICS)
        for method in FORMS:
            for setting in ("none", "paper"):
                yield from scored(experiment, method, setting, METRICS)
    for setting in (
        "0.25 0.35 0.35 0.05",
        "0.00 0.00 1.00 0.00",
        "0.10 0.40 0.50 0.00",
        "0.50 0.00 0.25 0.25",
    ):
        yield from scored("parameters", "iEC3", setting, ["auc"])
    yield from scored("parameters", "iEC3, tuned", "0.10 0.40 0.50 0.00", ["auc"])
    for tol in paper.EPSILONS:
        yield from scored("epsilon", "iEC3", f"{tol:.3f}", ["auc", "rounds", "seconds"])
    for setting in ("none", *paper.CLASSIFIERS):
        yield from scored("drop_classifier", "iEC3", setting)
    for step in range(1, 8):
        yield from scored("add_classifier", "iEC3", str(step))
    for method in paper.CLUSTERINGS:
        yield from scored("clustering_nmi", method, "paper", ["nmi"])
    for setting in ("none", *paper.CLUSTERINGS):
        yield from scored("drop_clustering", "iEC3", setting)
    for step in range(6):
        yield from scored("add_clustering", "iEC3", str(step))
    for setting in ("none", "J1", "J2", "J3", "J4"):
        for method in ("iEC3", "EC3"):
            yield from scored("drop_term", method, setting, ["auc", "auc_hard", "f"])
    for method in ("iEC3", "EC3", "UPE", "majority vote"):
        for removed in paper.REMOVED:
            yield from scored("imbalance", method, f"{removed:.2f}", ["auc", "f_touched"])
        for removed in ("0.00", "0.30"):
            yield from scored("imbalance_large", method, removed, ["auc", "f_touched"])
    for experiment in ("random_classifiers", "random_clusterings"):
        for method in (
            "iEC3",
            "UPE",
            "majority vote",
            "iEC3, learned weights",
            "iEC3, learned weights, hard votes",
        ):
            for n_random in (0, 5, 10, 15):
                yield from scored(experiment, method, str(n_random), ["auc"])
    for size in ("400", "800", "1200"):
        for method in (*LOOPS, "BGCM", "UPE", "iEC3, exact", "BGCM, exact"):
            yield from scored("like_for_like", method, size, ["seconds"])
        for what in ("K^c F^o", "G N l"):
            yield from scored("like_for_like", what, size, ["multiplications"])
    yield "runtime", ("", "", "n_objects", 440.0)
    yield "runtime", ("UPE", "", "n_objects", 440.0)
    for method in ("BGCM", "UPE", "EC3", "iEC3"):
        yield from scored("runtime", method, "", ["seconds"])
    for experiment, settings in (
        ("growth_models", ("2", "3")),
        ("growth_classes", ("2", "3")),
    ):
        for k, setting in enumerate(settings):
            yield experiment, ("iEC3", setting, "size", 100.0 * (k + 1))
            for method in ("iEC3", LOOPS[1]):
                yield from scored(experiment, method, setting, ["seconds"])
