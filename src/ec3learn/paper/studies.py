"""The experiments: each is a function of a `Case` (a data set and a seed) that returns rows.

A row is (method, setting, metric, value); `run` prepends experiment, data set and seed. `run.EXPERIMENTS` lists them all.
"""

from __future__ import annotations

import time
import timeit
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, normalized_mutual_info_score

from .._typing import Array
from ..algebra.membership import membership
from ..consensus import Consensus
from ..diagnosis.metrics import macro_f, mean_auc
from ..methods import BGCM, C3ESL, EC3, UPE, DawidSkene, MajorityVote, Method, ReliabilityWarning, SoftVote, WeightedVote
from ..methods.ec3.objective import Setting
from ..methods.ec3.system import AnySetting, grid
from ..votes import Votes
from . import published
from .datasets import Dataset
from .protocol import Case, Outputs, split
from .published import best_nmi

Row = tuple[str, str, str, float]
Study = Callable[[Case], list[Row]]

UPE_STARTS = 2
MOST_ROWS = 20_000  # of a data set, in the study of size
MOST_UPE_OBJECTS = 4000  # with more it takes minutes
SIZES = (500, 1000, 2000, 4000, 8000, 16_000)  # objects, where all methods run as published
MOST_LIKE_UPE = 2000  # of them for UPE
LEARNED = partial(EC3, 0.5, 0.0, 0.5, 0.0, weights="agreement")  # measured best with few labels


# ---- scores ----------------------------------------------------------------------------------------------------------


def scores(method: str, setting: str, proba: Array, outputs: Outputs, labels: Array | None = None) -> list[Row]:
    """Return the scores of class probabilities, and labels (by default the most probable classes), on the test set.

    "auc" is computed from probabilities and "auc_hard" from labels, both one-vs-rest and averaged over the classes; "f" is the F
    score of the rarer of two classes, with more classes the average; "f_macro" is always the average.
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
    return [(method, setting, metric, value) for metric, value in values.items()]


def class_f(code: int, labels: Array, truth: Array) -> float:
    """Return the F score of one class; 0 if it neither occurs nor is predicted."""
    return float(f1_score(truth == code, labels == code, zero_division=0.0))


def solve_quietly(method: Method, votes: Votes) -> Consensus:
    """Solve without warnings about convergence or reliability: the scores show their effect."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", ReliabilityWarning)
        return method.solve(votes)


def label_codes(consensus: Consensus, rule: Any = "argmax") -> Array:
    """Return the labels as integers."""
    return np.asarray(consensus.labels(rule=rule), dtype=np.int64)


def solve_and_score(name: str, setting: str, method: Method, votes: Votes, test: Outputs) -> list[Row]:
    """Return the scores of a method's answer to some votes on the test set."""
    consensus = solve_quietly(method, votes)
    return scores(name, setting, consensus.proba, test, label_codes(consensus))


# ---- the data sets ---------------------------------------------------------------------------------------------------


def describe(data: Dataset) -> list[Row]:
    """Return the size of a data set, the share of its largest class and the entropy of its classes in bits."""
    shares = np.bincount(data.codes) / len(data.codes)
    values = {
        "rows": len(data.codes),
        "classes": data.n_classes,
        "features": data.X.shape[1],
        "majority": shares.max(),
        "entropy": -(shares * np.log2(shares)).sum(),
    }
    return [("", head, "value", float(value)) for head, value in values.items()]


def nmi_bound(case: Case) -> list[Row]:
    """Return the best match with the classes of the test set that any clustering into two or three clusters can have."""
    test = split(len(case.data.codes), case.seed, case.protocol.max_rows).test
    rows = case.data.X.iloc[test].astype(str).agg("|".join, axis=1)
    counts = pd.crosstab(rows.to_numpy(), case.data.codes[test]).to_numpy()
    return [("any clustering", name, "nmi", value) for name, value in best_nmi(counts, 3).items()]


# ---- accuracy --------------------------------------------------------------------------------------------------------


def accuracy(case: Case, labels: int | None = None) -> list[Row]:
    """Score the paper's 16 methods, and ours with and without clusterings; the setting names the clusterings."""
    outputs = case.outputs(labels=labels)
    test = outputs.test
    rows = _score_printed(outputs, UPE(n_init=UPE_STARTS if labels is None else 1, random_state=case.seed))
    rows += solve_and_score("C3E-SL", "paper", C3ESL(), test.votes(), test)
    mass = solve_quietly(EC3(), test.votes())
    rows += scores("iEC3, mass rule", "paper", mass.proba, test, label_codes(mass, "mass"))
    for clusterings in ("none", "paper", "both"):
        hard, soft = (test.votes(soft=soft, clusterings=clusterings) for soft in (False, True))
        if clusterings == "none":
            rows += solve_and_score("weighted vote", "none", WeightedVote(), soft, test)
            rows += solve_and_score("Dawid-Skene", "none", DawidSkene(prior="uniform"), hard, test)
        if clusterings != "paper":
            rows += solve_and_score("iEC3", clusterings, EC3(), hard, test)
        rows += solve_and_score("iEC3, soft votes", clusterings, EC3(), soft, test)
        rows += solve_and_score("iEC3, learned weights", clusterings, LEARNED(), soft, test)
    return rows


def _score_printed(outputs: Outputs, upe: UPE) -> list[Row]:
    """Score the paper's 16 methods and the two plainest votes."""
    test = outputs.test
    rows: list[Row] = [("", "", "n_rows", outputs.n_rows), ("", "", "n_test", len(test.truth))]
    for name, proba in {**test.proba, **outputs.rivals}.items():
        rows += scores(name, "none", proba, test)
    for name, method in {"BGCM": BGCM(), "UPE": upe, "EC3": EC3(balanced=False), "iEC3": EC3()}.items():
        rows += solve_and_score(name, "paper", method, test.votes(), test)
    for name, vote, soft in (("majority vote", MajorityVote(), False), ("soft vote", SoftVote(), True)):
        rows += solve_and_score(name, "none", vote, test.votes(soft=soft, clusterings="none"), test)
    return rows


def accuracy_large(case: Case) -> list[Row]:
    """Score the paper's 16 methods on more rows of the same data set."""
    large = replace(case, protocol=replace(case.protocol, max_rows=MOST_ROWS))
    return _score_printed(large.outputs(), UPE(n_init=1, max_iter=300, random_state=case.seed))


def parameters(case: Case) -> list[Row]:
    """Score iEC3 over the whole grid of alpha, beta, gamma and delta, and the setting that is best on the validation set."""
    outputs = case.outputs()
    settings = grid(published.STEP)
    names = ["{:.2f} {:.2f} {:.2f} {:.2f}".format(*setting) for setting in settings]
    test, validation = (_grid_auc(part, settings) for part in (outputs.test, outputs.part(outputs.known)))
    rows: list[Row] = [("iEC3", name, "auc", area) for name, area in zip(names, test, strict=True)]
    chosen = int(np.argmax(validation))
    return [*rows, ("iEC3, tuned", names[chosen], "auc", test[chosen])]


def _grid_auc(part: Outputs, settings: Sequence[Setting]) -> list[float]:
    """Return the AUC of each setting, all solved from the same sums over rows."""
    votes = part.votes()
    solved = AnySetting(votes, membership(votes), votes.weights)
    row_of = slice(None) if votes.index is None else votes.index  # the distinct row of each object
    return [mean_auc(solved.proba(setting)[row_of], part.truth) for setting in settings]


# ---- which base models -----------------------------------------------------------------------------------------------


def drop_one(case: Case, kind: str) -> list[Row]:
    """Leave out one base model at a time: `kind` is "proba" for classifiers, "clusters" for clusterings."""
    test = case.outputs().test
    names = list(getattr(test, kind))
    rows = solve_and_score("iEC3", "none", EC3(), test.votes(), test)
    for name in names:
        rows += solve_and_score("iEC3", name, EC3(), _votes_of(test, kind, [other for other in names if other != name]), test)
    return rows


def add_one_by_one(case: Case, kind: str, first: int) -> list[Row]:
    """Add base models one by one, beginning with the one whose absence costs most on the validation set.

    `kind` is as in `drop_one`, and `first` the number of base models of this kind to begin with.
    """
    outputs = case.outputs()
    known, test = outputs.part(outputs.known), outputs.test
    names = list(getattr(known, kind))
    without = {name: _votes_of(known, kind, [other for other in names if other != name]) for name in names}
    auc = {name: mean_auc(solve_quietly(EC3(), votes).proba, known.truth) for name, votes in without.items()}
    order = sorted(auc, key=auc.__getitem__)
    rows: list[Row] = [("iEC3", name, "position", float(order.index(name) + 1)) for name in order]
    for step in range(first, len(order) + 1):
        rows += solve_and_score("iEC3", str(step), EC3(), _votes_of(test, kind, order[:step]), test)
    return rows


def _votes_of(outputs: Outputs, kind: str, names: list[str]) -> Votes:
    """Return the votes with these base models only among those of their kind."""
    if kind == "proba":
        return outputs.votes(classifiers=names)
    others = [name for name in outputs.clusters if name not in names]
    return outputs.votes().drop(*others) if others else outputs.votes()


def clustering_nmi(case: Case) -> list[Row]:
    """Compare each clustering with the classes of the test set by normalised mutual information; noise is a cluster."""
    test = case.outputs().test
    return [
        (name, kind, "nmi", float(normalized_mutual_info_score(test.truth, clusters)))
        for kind, found in (("paper", test.clusters), ("default", test.more_clusters))
        for name, clusters in found.items()
    ]


def drop_term(case: Case) -> list[Row]:
    """Leave out one of the four terms of the objective."""
    test = case.outputs().test
    rows: list[Row] = []
    for name, balanced in (("EC3", False), ("iEC3", True)):
        rows += solve_and_score(name, "none", EC3(balanced=balanced), test.votes(), test)
        for term, weight in {"J1": "alpha", "J2": "beta", "J3": "gamma", "J4": "delta"}.items():
            rows += solve_and_score(name, term, EC3(balanced=balanced).set_params(**{weight: 0.0}), test.votes(), test)
    return rows


# ---- robustness ------------------------------------------------------------------------------------------------------


def imbalance(case: Case) -> list[Row]:
    """Remove a share of one class's rows and train everything again."""
    rows: list[Row] = []
    for removed in published.REMOVED:
        outputs = case.outputs(tuned=False, removed=removed)
        test = outputs.test
        for name, method in {
            "UPE": UPE(n_init=UPE_STARTS, random_state=case.seed),
            "EC3": EC3(balanced=False),
            "iEC3": EC3(),
            "majority vote": MajorityVote(),
        }.items():
            consensus = solve_quietly(method, test.votes())
            labels = label_codes(consensus)
            setting = f"{removed:.2f}"
            rows.append((name, setting, "auc", mean_auc(consensus.proba, test.truth)))
            rows.append((name, setting, "f_touched", class_f(outputs.touched, labels, test.truth)))
    return rows


def random_classifiers(case: Case) -> list[Row]:
    """Add classifiers that vote at random."""
    return _with_noise(case, "classifiers", lambda rng, test: rng.integers(test.n_classes, size=len(test.truth)), (0, 5, 10))


def random_clusterings(case: Case) -> list[Row]:
    """Add random clusterings with a random number of clusters.

    With thousands of clusters UPE takes half a minute for 500 objects, so it is run in the first repeat only.
    """
    return _with_noise(case, "clusterings", _random_clustering, (0, 10) if case.seed == 0 else ())


def _random_clustering(rng: np.random.Generator, test: Outputs) -> Array:
    """Return between 1 and N clusters, none of them empty."""
    n_objects = len(test.truth)
    n_clusters = int(rng.integers(1, n_objects + 1))
    labels = np.concatenate([np.arange(n_clusters), rng.integers(n_clusters, size=n_objects - n_clusters)])
    return rng.permutation(labels)


def _with_noise(
    case: Case, kind: str, draw: Callable[[np.random.Generator, Outputs], Array], upe_with: tuple[int, ...]
) -> list[Row]:
    """Add base models that are drawn at random, one by one; UPE joins in where so many were added."""
    test = case.outputs().test
    rng = np.random.default_rng([case.seed, 3])
    hard, soft = test.votes(), test.votes(soft=True)
    rows: list[Row] = []
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
            rows.append((name, str(n_random), "auc", mean_auc(solve_quietly(method, votes).proba, test.truth)))
    return rows


# ---- with a clock: the tolerance of the paper's loop, runtimes, and how they grow ---------------------------------------


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
    """Return the votes with one row per object, also where objects are equal."""
    if votes.index is None:
        return votes
    return replace(votes.only_rows(votes.index), counts=np.ones(votes.n_objects))


def best_time(call: Callable[[], Any], n_times: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of the fastest of `n_times` calls."""
    return min(timeit.repeat(call, timer=clock, number=1, repeat=n_times))
