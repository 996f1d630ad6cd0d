"""Runtimes of the combination, and how they grow."""

import time
import timeit
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import linalg

from ec3learn import BGCM, EC3, UPE, Votes
from ec3learn.votes import only_rows

from ..protocol import MOST_UPE_OBJECTS
from ..scores import solve_quietly

SIZES = (500, 1000, 2000, 4000, 8000, 16_000)  # objects, where all methods run as published
MOST_LIKE_UPE = 2000  # of them for UPE
MOST_DENSE = 4000  # of them where there is an N x N matrix


def _everywhere(case):
    """The outputs on all rows that no model has seen, and these rows in random order."""
    outputs = case.outputs(tuned=False, everywhere=True).test
    return outputs, np.random.default_rng(case.seed).permutation(len(outputs.truth))


def runtime(case):
    """Time the combination of a fifth of all objects, given base outputs, as in the paper."""
    n_objects = len(case.data.codes) // 5
    outputs, order = _everywhere(case)
    votes = outputs.part(order[:n_objects]).votes()
    yield "", "", "n_objects", float(votes.n_objects)
    for name, method in {"BGCM": BGCM(), "EC3": EC3(balanced=False), "iEC3": EC3()}.items():
        yield name, "", "seconds", best_time(method, votes)
    few = votes[:MOST_UPE_OBJECTS]
    yield "UPE", "", "seconds", best_time(UPE(random_state=case.seed, n_init=1), few, 1)
    yield "UPE", "", "n_objects", float(few.n_objects)


def growth_models(case):
    """Time 2 to 12 base models: a classifier, a clustering, the other classifiers and clusterings."""
    outputs, _ = _everywhere(case)
    classifiers, clusterings = list(outputs.proba), list(outputs.clusters)
    order = [classifiers[0], clusterings[0], *classifiers[1:], *clusterings[1:]]
    votes = outputs.votes()
    for n_models in range(2, len(order) + 1):
        yield from _timed(str(n_models), votes.drop(*order[n_models:]))


def growth_classes(case):
    """Time the objects of 2, 3, ... random classes; other votes go to the most probable of these."""
    outputs, _ = _everywhere(case)
    order = np.random.default_rng(case.seed).permutation(outputs.n_classes)
    for n_classes in range(2, outputs.n_classes + 1):
        classes = np.sort(order[:n_classes])
        part = outputs.part(np.isin(outputs.truth, classes))
        labels = {name: proba[:, classes].argmax(axis=1) for name, proba in part.proba.items()}
        votes = Votes.from_labels(labels, part.clusters, classes=list(range(n_classes)))
        yield from _timed(str(n_classes), votes)


def _timed(setting, votes):
    yield "iEC3", setting, "seconds", best_time(EC3(), votes, clock=time.process_time)
    seconds = best_time(EC3(solver="bcd", random_state=0), votes, clock=time.process_time)
    yield "iEC3, the paper's loop", setting, "seconds", seconds


def like_for_like(case):
    """Time three methods as published, on the same objects and without merging equal rows.

    Beside them our solvers. Processor time. UPE is our reconstruction, so its rounds are ours. The
    multiplications of a round are counted: K^c F^o against G N l, which the paper states.
    """
    outputs, order = _everywhere(case)
    for size in (size for size in SIZES if size <= len(order)):
        part = outputs.part(order[:size])
        merged, clock = part.votes(), time.process_time
        votes = unmerged(merged)
        for name, method, chosen in (
            ("iEC3, the paper's loop", EC3(solver="bcd", random_state=case.seed), votes),
            ("BGCM", BGCM(solver="loop", random_state=case.seed), votes),
            ("UPE", UPE(n_init=1, random_state=case.seed), votes),
            ("iEC3, exact", EC3(), merged),
            ("BGCM, exact", BGCM(), merged),
        ):
            if name != "UPE" or size <= MOST_LIKE_UPE:
                times = 1 if name == "UPE" else 3
                yield name, str(size), "seconds", best_time(method, chosen, times, clock)
        if size <= MOST_DENSE:
            solve = partial(as_published, part, seed=case.seed)
            seconds = min(timeit.repeat(solve, timer=clock, number=1, repeat=2))
            yield "iEC3, as published", str(size), "seconds", seconds
            members, _ = matrices(part)
            pairs, classes = np.count_nonzero(members @ members.T), part.n_classes
            yield "K^c F^o", str(size), "multiplications", float(pairs * classes)
            yield "G N l", str(size), "multiplications", float(members.size * classes)


def synthetic(case):
    """Time iEC3 on random base outputs of as many objects as Susy has, and a fifth of them; votes are read each time."""
    frame = case.data.X
    for n_rows in (1000, len(frame) // 5, len(frame)):  # the first compiles loops
        labels = {name: frame[name].to_numpy()[:n_rows] for name in frame}
        clusters = {name: labels.pop(name) for name in list(labels) if "clusters" in name}
        began = time.perf_counter()
        votes = Votes.from_labels(labels, clusters, classes=[0, 1])
        EC3().solve(votes)
        yield "iEC3", str(n_rows), "seconds", time.perf_counter() - began
        yield "", str(n_rows), "distinct_rows", float(votes.n_rows)


def unmerged(votes):
    """The votes with one row per object, also where objects are equal."""
    if votes.index is None:
        return votes
    return replace(only_rows(votes, votes.index), counts=np.ones(votes.n_objects))


def best_time(method, votes, n_times=3, clock=time.perf_counter):
    """The seconds of the fastest of `n_times` solutions."""
    solve = partial(solve_quietly, method, votes)
    return min(timeit.repeat(solve, timer=clock, number=1, repeat=n_times))


# ---- Algorithms 1 and 2 as the paper has them, for iEC3: dense, with K^c; misprints are mended ------

ALPHA, BETA, GAMMA, DELTA = 0.25, 0.35, 0.35, 0.05


def matrices(outputs):
    """A^m and Y^o; a noise label of DBSCAN is a missing vote."""
    votes = [np.eye(outputs.n_classes)[proba.argmax(axis=1)] for proba in outputs.proba.values()]
    found = outputs.clusters.values()
    clusters = [(own[:, None] == np.unique(own[own >= 0])).astype(float) for own in found]
    members = np.hstack([*votes, *clusters])
    return members[:, members.any(axis=0)], np.mean(votes, axis=0)


def algorithm_1(similarity, tol):
    """K^c: rounds of K_ij / sqrt(d_i d_j) with the row sums d, until a round changes little."""
    scaled, change = similarity, np.inf
    while change > tol:
        before, sums = scaled, scaled.sum(axis=1)
        scaled = before / np.sqrt(np.outer(sums, sums))
        change = np.linalg.norm(scaled - before)
    return scaled


def algorithm_2(members, between, votes, tol, seed):
    """F^o by block coordinate descent; line 6 inverts an N x N matrix, which is factored once."""
    sizes = members.sum(axis=0)
    group_votes = members.T @ votes / sizes[:, None]  # Y^g
    weights = members / sizes / (members / sizes).sum(axis=1, keepdims=True)  # K^m
    left = (ALPHA + 2 * BETA + 2 * GAMMA) * np.eye(len(between)) - 2 * BETA * between
    factor, totals = linalg.cho_factor(left), ALPHA * weights.sum(axis=0)[:, None] + 2 * DELTA
    proba = np.random.default_rng(seed).dirichlet(np.ones(votes.shape[1]), len(votes))
    change = np.inf
    while change > tol:
        before = proba
        groups = (ALPHA * weights.T @ before + 2 * DELTA * group_votes) / totals  # line 5
        proba = linalg.cho_solve(factor, ALPHA * weights @ groups + 2 * GAMMA * votes)
        change = np.linalg.norm(proba - before)
    return proba


def as_published(outputs, tol=0.025, seed=0):
    """F^o of iEC3 from base outputs, one algorithm after the other."""
    members, votes = matrices(outputs)
    return algorithm_2(members, algorithm_1(members @ members.T, tol), votes, tol, seed)
