"""Experiments with a clock: the tolerance of the paper's loop, runtimes, and how they grow."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..diagnosis.metrics import mean_auc
from ..methods import BGCM, EC3, UPE
from ..votes import Votes
from . import published
from .protocol import Case
from .studies import Row, solve_quietly

MOST_UPE_OBJECTS = 4000  # with more it takes minutes
SIZES = (500, 1000, 2000, 4000, 8000, 16_000)  # objects, where all methods run as published
MOST_LIKE_UPE = 2000  # of them for UPE


def epsilon(case: Case) -> list[Row]:
    """Score and time the paper's loop for each epsilon: AUC, rounds and seconds."""
    test = case.outputs().test
    votes = test.votes()
    rows: list[Row] = []
    for tol in published.EPSILONS:
        method = EC3(solver="bcd", tol=tol, random_state=case.seed)
        consensus = solve_quietly(method, votes)
        seconds = best_time(lambda method=method: solve_quietly(method, votes), 3)  # type: ignore[misc]
        values = {"auc": mean_auc(consensus.proba, test.truth), "rounds": float(consensus.n_iter), "seconds": seconds}
        rows += [("iEC3", f"{tol:.3f}", metric, value) for metric, value in values.items()]
    return rows


def runtime(case: Case) -> list[Row]:
    """Time the combination of a fifth of all objects of the data set, given base outputs, as in the paper."""
    outputs = case.outputs(tuned=False, everywhere=True).test
    n_objects = len(case.data.codes) // 5
    fifth = outputs.part(np.random.default_rng(case.seed).permutation(len(outputs.truth))[:n_objects])
    rows: list[Row] = [("", "", "n_objects", float(len(fifth.truth)))]
    votes = fifth.votes()
    for name, method in {"BGCM": BGCM(), "EC3": EC3(balanced=False), "iEC3": EC3()}.items():
        rows.append((name, "", "seconds", best_time(partial(solve_quietly, method, votes), 3)))
    few = votes[:MOST_UPE_OBJECTS]
    seconds = best_time(partial(solve_quietly, UPE(random_state=case.seed, n_init=1), few), 1)
    rows += [("UPE", "", "seconds", seconds), ("UPE", "", "n_objects", float(few.n_objects))]
    return rows


def growth_objects(case: Case) -> list[Row]:
    """Time a tenth, two tenths, ... of the objects."""
    outputs = case.outputs(tuned=False, everywhere=True).test
    order = np.random.default_rng(case.seed).permutation(len(outputs.truth))
    rows: list[Row] = []
    for tenth in range(1, 11):
        part = outputs.part(order[: len(order) * tenth // 10])
        rows += _timed(f"{tenth * 10} %", part.votes(), len(part.truth))
    return rows


def growth_models(case: Case) -> list[Row]:
    """Time 2 to 12 base models: a classifier and a clustering, then the other classifiers, then the other clusterings."""
    outputs = case.outputs(tuned=False, everywhere=True).test
    classifiers, clusterings = list(outputs.proba), list(outputs.clusters)
    order = [classifiers[0], clusterings[0], *classifiers[1:], *clusterings[1:]]
    votes = outputs.votes()
    rows: list[Row] = []
    for n_models in range(2, len(order) + 1):
        kept = votes.drop(*order[n_models:]) if n_models < len(order) else votes
        rows += _timed(str(n_models), kept, n_models)
    return rows


def growth_classes(case: Case) -> list[Row]:
    """Time the objects of 2, 3, ... random classes; a vote for another class goes to the most probable of these."""
    outputs = case.outputs(tuned=False, everywhere=True).test
    order = np.random.default_rng(case.seed).permutation(outputs.n_classes)
    rows: list[Row] = []
    for n_classes in range(2, outputs.n_classes + 1):
        chosen = np.sort(order[:n_classes])
        part = outputs.part(np.isin(outputs.truth, chosen))
        chosen_votes = {name: proba[:, chosen].argmax(axis=1) for name, proba in part.proba.items()}
        votes = Votes.from_labels(chosen_votes, part.clusters, classes=list(range(n_classes)))
        rows += _timed(str(n_classes), votes, len(part.truth))
    return rows


def _timed(setting: str, votes: Votes, size: int) -> Iterator[Row]:
    yield "iEC3", setting, "size", float(size)
    yield "iEC3", setting, "seconds", best_time(partial(solve_quietly, EC3(), votes), 3)
    yield "iEC3, the paper's loop", setting, "seconds", best_time(partial(solve_quietly, EC3(solver="bcd"), votes), 3)


def like_for_like(case: Case) -> list[Row]:
    """Time three methods as published, on the same objects and without merging equal rows; beside them our solvers.

    Processor time. UPE is our reconstruction, so its rounds are ours.
    """
    outputs = case.outputs(tuned=False, everywhere=True).test
    order = np.random.default_rng(case.seed).permutation(len(outputs.truth))
    rows: list[Row] = []
    for size in (size for size in SIZES if size <= len(order)):
        merged = outputs.part(order[:size]).votes()
        votes = unmerged(merged)
        for name, method, chosen in (
            ("iEC3", EC3(solver="bcd", random_state=case.seed), votes),
            ("BGCM", BGCM(solver="loop", random_state=case.seed), votes),
            ("UPE", UPE(n_init=1, random_state=case.seed), votes),
            ("iEC3, exact", EC3(), merged),
            ("BGCM, exact", BGCM(), merged),
        ):
            if name != "UPE" or size <= MOST_LIKE_UPE:
                call = partial(solve_quietly, method, chosen)
                rows.append((name, str(size), "seconds", best_time(call, 1 if name == "UPE" else 3, time.process_time)))
    return rows


def unmerged(votes: Votes) -> Votes:
    """Return the votes with one row per object, also where objects are equal.

    Examples
    --------
    >>> votes = Votes.from_labels({"svm": ["a", "b", "a", "a"]})
    >>> votes.n_rows, unmerged(votes).n_rows
    (2, 4)
    """
    if votes.index is None:
        return votes
    return replace(votes.only_rows(votes.index), counts=np.ones(votes.n_objects))


def best_time(call: Callable[[], Any], n_times: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of the fastest of `n_times` calls."""
    return min(timeit.repeat(call, timer=clock, number=1, repeat=n_times))
