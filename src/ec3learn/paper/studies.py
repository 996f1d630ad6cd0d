"""The experiments: each is a function of a `Case` (a data set and a seed) that yields rows.

A row is (method, setting, metric, value); `run` prepends experiment, data set and seed.
`run.EXPERIMENTS` lists them all.
"""

from __future__ import annotations

import time
import timeit
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, normalized_mutual_info_score

from .._typing import Array
from ..algebra.membership import membership
from ..consensus import Consensus
from ..diagnosis.metrics import macro_f, mean_auc
from ..methods import (
    BGCM,
    C3ESL,
    EC3,
    UPE,
    DawidSkene,
    MajorityVote,
    Method,
    ReliabilityWarning,
    SoftVote,
    WeightedVote,
)
from ..methods.ec3.objective import Setting
from ..methods.ec3.system import AnySetting, grid
from ..votes import Votes, only_rows
from . import published
from .datasets import Dataset
from .protocol import Case, Outputs, split
from .published import best_nmi

Row = tuple[str, str, str, float]
Study = Callable[[Case], Iterable[Row]]

UPE_STARTS = 2
MOST_ROWS = 20_000  # of a data set, in the study of size
MOST_UPE_OBJECTS = 4000  # with more it takes minutes
SIZES = (500, 1000, 2000, 4000, 8000, 16_000)  # objects, where all methods run as published
MOST_LIKE_UPE = 2000  # of them for UPE
LEARNED = partial(EC3, 0.5, 0.0, 0.5, 0.0, weights="agreement")  # measured best with few labels


# ---- scores --------------------------------------------------------------------------------------


def scores(
    method: str, setting: str, proba: Array, outputs: Outputs, labels: Array | None = None
) -> Iterator[Row]:
    """Yield the scores of class probabilities, and labels (by default the most probable classes), on the test set.

    "auc" is computed from probabilities and "auc_hard" from labels, both one-vs-rest and averaged
    over the classes; "f" is the F score of the rarer of two classes, with more classes the average;
    "f_macro" is always the average.
    """
    truth = outputs.truth
    labels = proba.argmax(axis=1) if labels is None else labels
    macro = macro_f(labels, truth, outputs.n_classes)
    values = {
        "auc": mean_auc(proba, truth),
        "auc_hard": mean_auc(np.eye(outputs.n_classes)[labels], truth),
        "f": class_f(outputs.rare, labels, truth) if outputs.n_classes == 2 else macro,
        "f_macro": macro,
        "accuracy": float(np.mean(labels == truth)),
    }
    for metric, value in values.items():
        yield method, setting, metric, value


def class_f(code: int, labels: Array, truth: Array) -> float:
    """Return the F score of one class; 0 if it neither occurs nor is predicted."""
    return float(f1_score(truth == code, labels == code, zero_division=0.0))


def solve_quietly(method: Method, votes: Votes) -> Consensus:
    """Solve without warnings about convergence or reliability: the scores show their effect."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", ReliabilityWarning)
        return method.solve(votes)


def solve_and_score(
    name: str,
    setting: str,
    method: Method,
    votes: Votes,
    test: Outputs,
    rule: Literal["argmax", "mass"] = "argmax",
) -> Iterator[Row]:
    """Yield the scores of a method's answer to some votes on the test set."""
    consensus = solve_quietly(method, votes)
    yield from scores(
        name,
        setting,
        consensus.proba,
        test,
        np.asarray(consensus.labels(rule=rule), dtype=np.int64),
    )


def auc_of(method: Method, votes: Votes, test: Outputs) -> float:
    """Return the AUC of a method's answer to some votes on the test set."""
    return mean_auc(solve_quietly(method, votes).proba, test.truth)


# ---- the data sets -------------------------------------------------------------------------------


def describe(data: Dataset) -> Iterator[Row]:
    """Yield the size of a data set, the share of its largest class and the entropy of its classes in bits."""
    shares = np.bincount(data.codes) / len(data.codes)
    values = {
        "rows": len(data.codes),
        "classes": data.n_classes,
        "features": data.X.shape[1],
        "majority": shares.max(),
        "entropy": -(shares * np.log2(shares)).sum(),
    }
    for head, value in values.items():
        yield "", head, "value", float(value)


def nmi_bound(case: Case) -> Iterator[Row]:
    """Yield the best match with the classes of the test set that any clustering into two or three clusters can have."""
    test = split(len(case.data.codes), case.seed, case.protocol.max_rows).test
    rows = case.data.X.iloc[test].astype(str).agg("|".join, axis=1)
    counts = pd.crosstab(rows.to_numpy(), case.data.codes[test]).to_numpy()
    for name, value in best_nmi(counts, 3).items():
        yield "any clustering", name, "nmi", value


# ---- accuracy ------------------------------------------------------------------------------------


def accuracy(case: Case, labels: int | None = None) -> Iterator[Row]:
    """Score the paper's 16 methods, and ours with and without clusterings; the setting names the clusterings."""
    outputs = case.outputs(labels=labels)
    test = outputs.test
    yield from _score_printed(
        outputs, UPE(n_init=UPE_STARTS if labels is None else 1, random_state=case.seed)
    )
    yield from solve_and_score("C3E-SL", "paper", C3ESL(), test.votes(), test)
    yield from solve_and_score("iEC3, mass rule", "paper", EC3(), test.votes(), test, rule="mass")
    for clusterings in ("none", "paper", "both"):
        hard, soft = (test.votes(soft=soft, clusterings=clusterings) for soft in (False, True))
        if clusterings == "none":
            yield from solve_and_score("weighted vote", "none", WeightedVote(), soft, test)
            yield from solve_and_score(
                "Dawid-Skene", "none", DawidSkene(prior="uniform"), hard, test
            )
        if clusterings != "paper":
            yield from solve_and_score("iEC3", clusterings, EC3(), hard, test)
        yield from solve_and_score("iEC3, soft votes", clusterings, EC3(), soft, test)
        yield from solve_and_score("iEC3, learned weights", clusterings, LEARNED(), soft, test)


def _score_printed(outputs: Outputs, upe: UPE) -> Iterator[Row]:
    """Score the paper's 16 methods and the two plainest votes."""
    test = outputs.test
    yield "", "", "n_rows", outputs.n_rows
    yield "", "", "n_test", len(test.truth)
    for name, proba in {**test.proba, **outputs.rivals}.items():
        yield from scores(name, "none", proba, test)
    for name, method in {
        "BGCM": BGCM(),
        "UPE": upe,
        "EC3": EC3(balanced=False),
        "iEC3": EC3(),
    }.items():
        yield from solve_and_score(name, "paper", method, test.votes(), test)
    for name, vote, soft in (
        ("majority vote", MajorityVote(), False),
        ("soft vote", SoftVote(), True),
    ):
        yield from solve_and_score(
            name, "none", vote, test.votes(soft=soft, clusterings="none"), test
        )


def accuracy_large(case: Case) -> Iterator[Row]:
    """Score the paper's 16 methods on more rows of the same data set."""
    large = replace(case, protocol=replace(case.protocol, max_rows=MOST_ROWS))
    return _score_printed(large.outputs(), UPE(n_init=1, max_iter=300, random_state=case.seed))


def parameters(case: Case) -> Iterator[Row]:
    """Score iEC3 over the whole grid of alpha, beta, gamma and delta, and the setting that is best on the validation set."""
    outputs = case.outputs()
    settings = grid(published.STEP)
    names = ["{:.2f} {:.2f} {:.2f} {:.2f}".format(*setting) for setting in settings]
    test, validation = (
        _grid_auc(part, settings) for part in (outputs.test, outputs.part(outputs.known))
    )
    for name, area in zip(names, test, strict=True):
        yield "iEC3", name, "auc", area
    chosen = int(np.argmax(validation))
    yield "iEC3, tuned", names[chosen], "auc", test[chosen]


def _grid_auc(part: Outputs, settings: Sequence[Setting]) -> list[float]:
    """Return the AUC of each setting, all solved from the same sums over rows."""
    votes = part.votes()
    solved = AnySetting(votes, membership(votes), votes.weights)
    row_of = slice(None) if votes.index is None else votes.index  # the distinct row of each object
    return [mean_auc(solved.proba(setting)[row_of], part.truth) for setting in settings]


# ---- which base models ---------------------------------------------------------------------------


def drop_one(case: Case, kind: str) -> Iterator[Row]:
    """Leave out one base model at a time: `kind` is "proba" for classifiers, "clusters" for clusterings."""
    test = case.outputs().test
    votes = test.votes()
    yield from solve_and_score("iEC3", "none", EC3(), votes, test)
    for name in getattr(test, kind):
        yield from solve_and_score("iEC3", name, EC3(), votes.drop(name), test)


def add_one_by_one(case: Case, kind: str, first: int) -> Iterator[Row]:
    """Add base models one by one, beginning with the one whose absence costs most on the validation set.

    `kind` is as in `drop_one`, and `first` the number of base models of this kind to begin with.
    """
    outputs = case.outputs()
    known, test = outputs.part(outputs.known), outputs.test
    auc = {name: auc_of(EC3(), known.votes().drop(name), known) for name in getattr(known, kind)}
    order = sorted(auc, key=auc.__getitem__)
    for place, name in enumerate(order, 1):
        yield "iEC3", name, "position", float(place)
    for step in range(first, len(order) + 1):
        yield from solve_and_score("iEC3", str(step), EC3(), test.votes().drop(*order[step:]), test)


def clustering_nmi(case: Case) -> Iterator[Row]:
    """Compare each clustering with the classes of the test set by normalised mutual information; noise is a cluster."""
    test = case.outputs().test
    for kind, found in (("paper", test.clusters), ("default", test.more_clusters)):
        for name, clusters in found.items():
            yield name, kind, "nmi", float(normalized_mutual_info_score(test.truth, clusters))


def drop_term(case: Case) -> Iterator[Row]:
    """Leave out one of the four terms of the objective."""
    test = case.outputs().test
    for name, balanced in (("EC3", False), ("iEC3", True)):
        yield from solve_and_score(name, "none", EC3(balanced=balanced), test.votes(), test)
        for term, weight in {"J1": "alpha", "J2": "beta", "J3": "gamma", "J4": "delta"}.items():
            method = EC3(balanced=balanced).set_params(**{weight: 0.0})
            yield from solve_and_score(name, term, method, test.votes(), test)


# ---- robustness ----------------------------------------------------------------------------------


def imbalance(case: Case) -> Iterator[Row]:
    """Remove a share of one class's rows and train everything again."""
    for removed in published.REMOVED:
        outputs = case.outputs(tuned=False, removed=removed)
        test, setting = outputs.test, f"{removed:.2f}"
        for name, method in {
            "UPE": UPE(n_init=UPE_STARTS, random_state=case.seed),
            "EC3": EC3(balanced=False),
            "iEC3": EC3(),
            "majority vote": MajorityVote(),
        }.items():
            consensus = solve_quietly(method, test.votes())
            yield name, setting, "auc", mean_auc(consensus.proba, test.truth)
            yield (
                name,
                setting,
                "f_touched",
                class_f(outputs.touched, consensus.labels(), test.truth),
            )


def random_classifiers(case: Case) -> Iterator[Row]:
    """Add classifiers that vote at random."""
    return _with_noise(
        case,
        "classifiers",
        lambda rng, test: rng.integers(test.n_classes, size=len(test.truth)),
        (0, 5, 10),
    )


def random_clusterings(case: Case) -> Iterator[Row]:
    """Add random clusterings with a random number of clusters.

    With thousands of clusters UPE takes half a minute for 500 objects, so it is run in the first
    repeat only.
    """
    return _with_noise(case, "clusterings", _random_clustering, (0, 10) if case.seed == 0 else ())


def _random_clustering(rng: np.random.Generator, test: Outputs) -> Array:
    """Return between 1 and N clusters, none of them empty."""
    n_objects = len(test.truth)
    n_clusters = int(rng.integers(1, n_objects + 1))
    labels = np.concatenate(
        [np.arange(n_clusters), rng.integers(n_clusters, size=n_objects - n_clusters)]
    )
    return rng.permutation(labels)


def _with_noise(
    case: Case,
    kind: str,
    draw: Callable[[np.random.Generator, Outputs], Array],
    upe_with: tuple[int, ...],
) -> Iterator[Row]:
    """Add base models that are drawn at random, one by one; UPE joins in where so many were added."""
    test = case.outputs().test
    rng = np.random.default_rng([case.seed, 3])
    hard, soft = test.votes(), test.votes(soft=True)
    for n_random in range(published.MOST_RANDOM + 1):
        if n_random:
            added = {kind: {f"random {n_random}": draw(rng, test)}}
            hard, soft = hard.add(**added), soft.add(**added)
        methods: dict[str, tuple[Method, Votes]] = {
            "majority vote": (MajorityVote(), hard),
            "iEC3": (EC3(), hard),
            "iEC3, learned weights, hard votes": (EC3(weights="agreement"), hard),
            "iEC3, learned weights": (LEARNED(), soft),
        }
        if n_random in upe_with:
            methods["UPE"] = (UPE(n_init=1, max_iter=300, random_state=case.seed), hard)
        for name, (method, votes) in methods.items():
            yield name, str(n_random), "auc", auc_of(method, votes, test)


# ---- with a clock: the tolerance of the paper's loop, runtimes, and how they grow ----------------


def epsilon(case: Case) -> Iterator[Row]:
    """Score and time the paper's loop for each epsilon: AUC, rounds and seconds."""
    test = case.outputs().test
    votes = test.votes()
    for tol in published.EPSILONS:
        method, setting = EC3(solver="bcd", tol=tol, random_state=case.seed), f"{tol:.3f}"
        consensus = solve_quietly(method, votes)
        yield "iEC3", setting, "auc", mean_auc(consensus.proba, test.truth)
        yield "iEC3", setting, "rounds", float(consensus.n_iter)
        yield "iEC3", setting, "seconds", best_time(method, votes)


def _everywhere(case: Case) -> tuple[Outputs, Array]:
    """Return the outputs on all rows of the data set that no model has seen, and these rows in random order."""
    outputs = case.outputs(tuned=False, everywhere=True).test
    return outputs, np.random.default_rng(case.seed).permutation(len(outputs.truth))


def runtime(case: Case) -> Iterator[Row]:
    """Time the combination of a fifth of all objects of the data set, given base outputs, as in the paper."""
    n_objects = len(case.data.codes) // 5
    outputs, order = _everywhere(case)
    votes = outputs.part(order[:n_objects]).votes()
    yield "", "", "n_objects", float(votes.n_objects)
    for name, method in {"BGCM": BGCM(), "EC3": EC3(balanced=False), "iEC3": EC3()}.items():
        yield name, "", "seconds", best_time(method, votes)
    few = votes[:MOST_UPE_OBJECTS]
    yield "UPE", "", "seconds", best_time(UPE(random_state=case.seed, n_init=1), few, 1)
    yield "UPE", "", "n_objects", float(few.n_objects)


def growth_objects(case: Case) -> Iterator[Row]:
    """Time a tenth, two tenths, ... of the objects."""
    outputs, order = _everywhere(case)
    for tenth in range(1, 11):
        part = outputs.part(order[: len(order) * tenth // 10])
        yield from _timed(f"{tenth * 10} %", part.votes(), len(part.truth))


def growth_models(case: Case) -> Iterator[Row]:
    """Time 2 to 12 base models: a classifier and a clustering, then the other classifiers, then the other clusterings."""
    outputs, _ = _everywhere(case)
    classifiers, clusterings = list(outputs.proba), list(outputs.clusters)
    order = [classifiers[0], clusterings[0], *classifiers[1:], *clusterings[1:]]
    votes = outputs.votes()
    for n_models in range(2, len(order) + 1):
        yield from _timed(str(n_models), votes.drop(*order[n_models:]), n_models)


def growth_classes(case: Case) -> Iterator[Row]:
    """Time the objects of 2, 3, ... random classes; a vote for another class goes to the most probable of these."""
    outputs, _ = _everywhere(case)
    order = np.random.default_rng(case.seed).permutation(outputs.n_classes)
    for n_classes in range(2, outputs.n_classes + 1):
        chosen = np.sort(order[:n_classes])
        part = outputs.part(np.isin(outputs.truth, chosen))
        chosen_votes = {name: proba[:, chosen].argmax(axis=1) for name, proba in part.proba.items()}
        votes = Votes.from_labels(chosen_votes, part.clusters, classes=list(range(n_classes)))
        yield from _timed(str(n_classes), votes, len(part.truth))


def _timed(setting: str, votes: Votes, size: int) -> Iterator[Row]:
    yield "iEC3", setting, "size", float(size)
    yield "iEC3", setting, "seconds", best_time(EC3(), votes)
    yield "iEC3, the paper's loop", setting, "seconds", best_time(EC3(solver="bcd"), votes)


def like_for_like(case: Case) -> Iterator[Row]:
    """Time three methods as published, on the same objects and without merging equal rows; beside them our solvers.

    Processor time. UPE is our reconstruction, so its rounds are ours.
    """
    outputs, order = _everywhere(case)
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
                seconds = best_time(method, chosen, 1 if name == "UPE" else 3, time.process_time)
                yield name, str(size), "seconds", seconds


def unmerged(votes: Votes) -> Votes:
    """Return the votes with one row per object, also where objects are equal."""
    if votes.index is None:
        return votes
    return replace(only_rows(votes, votes.index), counts=np.ones(votes.n_objects))


def best_time(
    method: Method, votes: Votes, n_times: int = 3, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return the seconds of the fastest of `n_times` solutions."""
    return min(
        timeit.repeat(partial(solve_quietly, method, votes), timer=clock, number=1, repeat=n_times)
    )
