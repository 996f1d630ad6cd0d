"""Named tables, and how hypothesis runs."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from ec3learn import Votes

from .strategies import RawTable

settings.register_profile(
    "suite",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
)
settings.register_profile("fuzz", settings.get_profile("suite"), derandomize=False, print_blob=True)
settings.load_profile(
    "fuzz" if "EC3LEARN_FUZZ" in os.environ else "suite"
)  # `make fuzz` draws other examples each time


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests of pipes, links, modes and signals on Windows."""
    for item in items:
        if os.name == "nt" and item.get_closest_marker("posix"):
            item.add_marker(pytest.mark.skip(reason="pipes, links, modes and signals of POSIX"))


@pytest.fixture
def tiny_votes() -> Votes:
    """Four objects, two classifiers, one clustering.

    They agree on objects 0 and 3 and differ on 1 and 2; object 1 is in the cluster of object 0,
    object 2 in that of object 3.
    """
    return Votes.from_labels(
        {"svm": ["a", "a", "b", "b"], "knn": ["a", "b", "a", "b"]}, {"kmeans": [0, 0, 1, 1]}
    )


@pytest.fixture
def w8_table() -> RawTable:
    """W8, the worked example of the method's specification: 8 objects, 3 classes, 3 classifiers, 2 clusterings, 2 gaps."""
    classifiers = {
        "c0": [0, 0, 1, 1, 1, 2, 2, 2],
        "c1": [0, 0, 0, 1, 2, 1, 2, 0],
        "c2": [0, 1, 0, 1, 1, 1, None, 2],
    }
    clusterings = {"k0": [0, 0, 0, 1, 1, 1, 2, 2], "k1": [0, 0, 3, 1, 1, -1, 2, 3]}
    return RawTable(classifiers, clusterings, [0, 1, 2])


@pytest.fixture
def w8(w8_table: RawTable) -> Votes:
    return w8_table.votes()


@pytest.fixture
def t7() -> Votes:
    """T7, the toy example of BGCM: 7 objects, 3 classes, 2 classifiers, 2 clusterings."""
    classifiers = {"c0": [0, 0, 0, 1, 2, 2, 1], "c1": [0, 0, 1, 1, 1, 2, 0]}
    return Votes.from_labels(
        classifiers, {"k0": [1, 1, 0, 2, 2, 0, 2], "k1": [0, 1, 2, 0, 1, 0, 0]}
    )


@pytest.fixture
def t6() -> Votes:
    """T6, the toy example of UPE: 6 objects, 2 classes, 2 classifiers, clusterings with 3 and 2 clusters."""
    classifiers = {"c0": [0, 1, 0, 0, 1, 1], "c1": [0, 0, 1, 0, 1, 1]}
    return Votes.from_labels(classifiers, {"k0": [1, 1, 0, 0, 2, 2], "k1": [1, 1, 1, 1, 0, 0]})


@pytest.fixture
def crowd() -> Votes:
    """300 questions, 40 annotators of whom each saw about one question in eight, three answers; kept as a sparse matrix."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=300)
    asked = np.argwhere(rng.random((300, 40)) < 0.12)
    said = np.where(
        rng.random(len(asked)) < 0.7, truth[asked[:, 0]], rng.integers(3, size=len(asked))
    )
    return Votes.from_long(asked[:, 0], [f"a{voter}" for voter in asked[:, 1]], said)
