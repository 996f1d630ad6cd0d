"""The experiments: each is a function of a `Case`, a data set and a seed, and returns rows.

A row is (method, setting, metric, value). `EXPERIMENTS` has them all; `run` puts experiment, data set and seed in front.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score

from ..algebra.membership import membership
from ..consensus import Consensus
from ..estimator.selection import choose, macro_f, mean_auc
from ..methods import BGCM, C3ESL, EC3, UPE, DawidSkene, MajorityVote, Method, ReliabilityWarning, SoftVote, WeightedVote
from ..methods.ec3.grid import HeldOutFold, grid
from ..votes import Votes
from . import published as paper
from .datasets import Dataset
from .protocol import Case, Outputs

Array = npt.NDArray[Any]
Row = tuple[str, str, str, float]
Study = Callable[[Case], list[Row]]

UPE_STARTS = 2
MOST_UPE_OBJECTS = 4000  # it takes minutes beyond
LEARNED = partial(EC3, 0.5, 0.0, 0.5, 0.0, weights="agreement")  # what measured best with few labels


# ---- scores ----------------------------------------------------------------------------------------------------------


def scores(method: str, setting: str, proba: Array, outputs: Outputs, labels: Array | None = None) -> list[Row]:
    """Score class probabilities of the test part.

    Parameters
    ----------
    method, setting : str
        What is scored.
    proba : array of shape (n_objects, n_classes)
        The answer.
    outputs : Outputs
        The test part, whose truth is looked at.
    labels : array of shape (n_objects,), optional
        Labels, if they are not those of the highest probability.

    Returns
    -------
    list of rows
        "auc" from probabilities, "auc_hard" from labels, both one against the rest and meaned over the classes; "f", the F of
        the rarer of two classes, else the mean over the classes; "f_macro", always the mean; "accuracy".
    """
    truth = outputs.truth
    labels = proba.argmax(axis=1) if labels is None else labels
    macro = macro_f(labels, truth, outputs.n_classes)
    values = {
        "auc": mean_auc(proba, truth),
        "auc_hard": mean_auc(np.eye(outputs.n_classes)[labels], truth),
        "f": f_of(outputs.rare, labels, truth) if outputs.n_classes == 2 else macro,
        "f_macro": macro,
        "accuracy": float(np.mean(labels == truth)),
    }
    return [(method, setting, metric, value) for metric, value in values.items()]


def f_of(code: int, labels: Array, truth: Array) -> float:
    """Return the F score of one class; 0 where it neither occurs nor is predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from ec3learn.paper.studies import f_of
    >>> f_of(1, np.array([1, 1, 0]), np.array([1, 0, 0]))
    0.6666666666666666
    """
    total = int(np.sum(labels == code) + np.sum(truth == code))
    return float(2 * np.sum((labels == code) & (truth == code)) / total) if total else 0.0


def solved(method: Method, votes: Votes, known: Any = None) -> Consensus:
    """Solve without a word about rounds that ran out or voters in doubt: scores tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", ReliabilityWarning)
        return method.solve(votes, known) if known is not None else method.solve(votes)


def labels_of(consensus: Consensus, rule: Any = "argmax") -> Array:
    """Return labels as numbers."""
    return np.asarray(consensus.labels(rule=rule), dtype=np.int64)


def _combined(name: str, setting: str, method: Method, test: Outputs, **kind: Any) -> list[Row]:
    consensus = solved(method, test.votes(**kind))
    return scores(name, setting, consensus.proba, test, labels_of(consensus))


# ---- what was used ---------------------------------------------------------------------------------------------------


def facts(data: Dataset) -> list[Row]:
    """Describe a data set: size, share of the largest class, entropy of the classes in bits."""
    shares = np.bincount(data.codes) / len(data.codes)
    values = {
        "rows": len(data.codes),
        "classes": data.n_classes,
        "features": data.X.shape[1],
        "majority": shares.max(),
        "entropy": -(shares * np.log2(shares)).sum(),
    }
    return [("", head, "value", float(value)) for head, value in values.items()]


# ---- how good --------------------------------------------------------------------------------------------------------


def accuracy(case: Case, labels: int | None = None) -> list[Row]:
    """Score the paper's 16 methods, and ours with and without clusterings; the setting says which clusterings."""
    outputs = case.outputs(labels=labels)
    test = outputs.test
    rows: list[Row] = [("", "", "n_rows", outputs.n_rows), ("", "", "n_test", len(test.truth))]
    for name, proba in {**test.proba, **outputs.rivals}.items():
        rows += scores(name, "none", proba, test)
    for name, method in {
        "BGCM": BGCM(),
        "UPE": UPE(n_init=UPE_STARTS if labels is None else 1, random_state=case.seed),
        "C3E-SL": C3ESL(),
        "EC3": EC3(balanced=False),
        "iEC3": EC3(),
    }.items():
        rows += _combined(name, "paper", method, test)
    mass = solved(EC3(), test.votes())
    rows += scores("iEC3, mass rule", "paper", mass.proba, test, labels_of(mass, "mass"))
    for name, voting, soft in (
        ("majority vote", MajorityVote(), False),
        ("soft vote", SoftVote(), True),
        ("weighted vote", WeightedVote(), True),
        ("Dawid-Skene", DawidSkene(), False),
    ):
        rows += _combined(name, "none", voting, test, soft=soft, clusterings="none")
    for clusterings in ("none", "paper", "both"):
        kind = {"clusterings": clusterings}
        if clusterings != "paper":
            rows += _combined("iEC3", clusterings, EC3(), test, **kind)
        rows += _combined("iEC3, soft votes", clusterings, EC3(), test, soft=True, **kind)
        rows += _combined("iEC3, learned weights", clusterings, LEARNED(), test, soft=True, **kind)
        rows += _chosen(outputs, clusterings, case.seed)
    return rows


def _chosen(outputs: Outputs, clusterings: str, seed: int) -> list[Row]:
    """Let the labels that may be seen choose the method, and hold them while it is solved."""
    votes = outputs.votes(soft=True, clusterings=clusterings)
    choice = choose(votes, np.where(outputs.known, outputs.truth, -1), 5, seed)
    consensus = solved(choice.method, votes.hardened() if choice.hard else votes, outputs.known_labels)
    shifted = consensus.proba if choice.offsets is None else consensus.proba + choice.offsets
    test = ~outputs.known
    return scores("auto", clusterings, consensus.proba[test], outputs.test, shifted.argmax(axis=1)[test])


def parameters(case: Case) -> list[Row]:
    """Score iEC3 over the whole grid of alpha, beta, gamma and delta; and what the validation part would have chosen."""
    outputs = case.outputs()
    rows: list[Row] = []
    found: dict[str, Array] = {}
    settings = grid(paper.STEP)
    for name, part in (("test", outputs.test), ("validation", outputs.part(outputs.known))):
        votes = part.votes()
        everybody = np.ones(votes.n_rows, dtype=bool)
        fold = HeldOutFold(votes, membership(votes), votes.weights, np.full(votes.n_rows, -1), everybody)
        spread = slice(None) if votes.index is None else votes.index
        found[name] = np.array([mean_auc(fold.proba(setting)[spread], part.truth) for setting in settings])
    for setting, area in zip(settings, found["test"], strict=True):
        rows.append(("iEC3", "{:.2f} {:.2f} {:.2f} {:.2f}".format(*setting), "auc", float(area)))
    chosen = int(found["validation"].argmax())
    rows.append(("iEC3, tuned", "{:.2f} {:.2f} {:.2f} {:.2f}".format(*settings[chosen]), "auc", float(found["test"][chosen])))
    return rows


def epsilon(case: Case) -> list[Row]:
    """Stop the paper's loop sooner or later: AUC, rounds and time."""
    test = case.outputs().test
    votes = test.votes()
    rows: list[Row] = []
    for tol in paper.EPSILONS:
        method = EC3(solver="bcd", tol=tol, random_state=case.seed)
        consensus = solved(method, votes)
        seconds = best_time(lambda method=method: solved(method, votes), 3)  # type: ignore[misc]
        values = {"auc": mean_auc(consensus.proba, test.truth), "rounds": float(consensus.n_iter), "seconds": seconds}
        rows += [("iEC3", f"{tol:.3f}", metric, value) for metric, value in values.items()]
    return rows


# ---- which base models -----------------------------------------------------------------------------------------------


def drop_classifier(case: Case) -> list[Row]:
    """Leave out one classifier at a time."""
    test = case.outputs().test
    rows = _combined("iEC3", "none", EC3(), test)
    for name in test.proba:
        rows += _combined("iEC3", name, EC3(), test, classifiers=[other for other in test.proba if other != name])
    return rows


def add_classifier(case: Case) -> list[Row]:
    """Add classifiers, the one first whose absence costs most on the validation part."""
    outputs = case.outputs()
    known = outputs.part(outputs.known)
    without = {
        name: mean_auc(solved(EC3(), known.votes(classifiers=[n for n in known.proba if n != name])).proba, known.truth)
        for name in known.proba
    }
    order = sorted(without, key=without.__getitem__)
    rows: list[Row] = [("iEC3", name, "position", float(order.index(name) + 1)) for name in order]
    for step in range(1, len(order) + 1):
        rows += _combined("iEC3", str(step), EC3(), outputs.test, classifiers=order[:step])
    return rows


def clustering_nmi(case: Case) -> list[Row]:
    """Score what each clustering says about the classes of the test part: normalised mutual information; noise is a cluster."""
    test = case.outputs().test
    return [
        (name, kind, "nmi", float(normalized_mutual_info_score(test.truth, clusters)))
        for kind, found in (("paper", test.clusters), ("default", test.more_clusters))
        for name, clusters in found.items()
    ]


def drop_clustering(case: Case) -> list[Row]:
    """Leave out one clustering at a time."""
    test = case.outputs().test
    votes = test.votes()
    rows = _scored_votes("none", votes, test)
    for name in test.clusters:
        rows += _scored_votes(name, votes.drop(name), test)
    return rows


def add_clustering(case: Case) -> list[Row]:
    """Add clusterings, the one first whose absence costs most on the validation part."""
    outputs = case.outputs()
    known, test = outputs.part(outputs.known), outputs.test
    votes = known.votes()
    without = {name: mean_auc(solved(EC3(), votes.drop(name)).proba, known.truth) for name in known.clusters}
    order = sorted(without, key=without.__getitem__)
    rows: list[Row] = [("iEC3", name, "position", float(order.index(name) + 1)) for name in order]
    for step in range(len(order) + 1):
        rows += _scored_votes(str(step), test.votes().drop(*order[step:]) if step < len(order) else test.votes(), test)
    return rows


def _scored_votes(setting: str, votes: Votes, test: Outputs) -> list[Row]:
    consensus = solved(EC3(), votes)
    return scores("iEC3", setting, consensus.proba, test, labels_of(consensus))


def drop_term(case: Case) -> list[Row]:
    """Leave out one of the four pulls of the objective."""
    test = case.outputs().test
    rows: list[Row] = []
    for name, balanced in (("EC3", False), ("iEC3", True)):
        rows += _combined(name, "none", EC3(balanced=balanced), test)
        for term, weight in {"J1": "alpha", "J2": "beta", "J3": "gamma", "J4": "delta"}.items():
            rows += _combined(name, term, EC3(balanced=balanced).set_params(**{weight: 0.0}), test)
    return rows


# ---- how robust ------------------------------------------------------------------------------------------------------


def imbalance(case: Case) -> list[Row]:
    """Take a share of one class's rows out of the data set, and train everything anew."""
    rows: list[Row] = []
    for removed in paper.REMOVED:
        outputs = case.outputs(tuned=False, removed=removed)
        test = outputs.test
        for name, method in {
            "UPE": UPE(n_init=UPE_STARTS, random_state=case.seed),
            "EC3": EC3(balanced=False),
            "iEC3": EC3(),
            "majority vote": MajorityVote(),
        }.items():
            consensus = solved(method, test.votes())
            labels = labels_of(consensus)
            setting = f"{removed:.2f}"
            rows.append((name, setting, "auc", mean_auc(consensus.proba, test.truth)))
            rows.append((name, setting, "f_touched", f_of(outputs.touched, labels, test.truth)))
    return rows


def random_classifiers(case: Case) -> list[Row]:
    """Add classifiers that guess."""
    return _with_noise(case, _guesses, upe_with=(0, 5, 10))


def random_clusterings(case: Case) -> list[Row]:
    """Add clusterings that put objects anywhere, into any number of clusters.

    With thousands of clusters UPE takes half a minute for 500 objects, so it is run in the first repeat alone.
    """
    return _with_noise(case, _scatter, upe_with=(0, 10) if case.seed == 0 else ())


def _guesses(rng: np.random.Generator, test: Outputs) -> dict[str, Any]:
    return {"classifiers": rng.integers(test.n_classes, size=len(test.truth))}


def _scatter(rng: np.random.Generator, test: Outputs) -> dict[str, Any]:
    """Return clusters, as many as a number drawn from 1 .. N, none of them empty."""
    n_objects = len(test.truth)
    n_clusters = int(rng.integers(1, n_objects + 1))
    labels = np.concatenate([np.arange(n_clusters), rng.integers(n_clusters, size=n_objects - n_clusters)])
    return {"clusterings": rng.permutation(labels)}


def _with_noise(
    case: Case, draw: Callable[[np.random.Generator, Outputs], dict[str, Any]], upe_with: tuple[int, ...]
) -> list[Row]:
    test = case.outputs().test
    rng = np.random.default_rng([case.seed, 3])
    hard, soft = test.votes(), test.votes(soft=True)
    rows: list[Row] = []
    for n_random in range(paper.MOST_RANDOM + 1):
        if n_random:
            ((kind, column),) = draw(rng, test).items()
            added = {kind: {f"random {n_random}": column}}
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
            rows.append((name, str(n_random), "auc", mean_auc(solved(method, votes).proba, test.truth)))
    return rows


# ---- how fast --------------------------------------------------------------------------------------------------------


def runtime(case: Case) -> list[Row]:
    """Time combining a fifth of all objects of the data set, base outputs given, as in the paper."""
    outputs = case.outputs(tuned=False, everywhere=True).test
    n_objects = len(case.data.codes) // 5
    fifth = outputs.part(np.random.default_rng(case.seed).permutation(len(outputs.truth))[:n_objects])
    rows: list[Row] = [("", "", "n_objects", float(len(fifth.truth)))]
    votes = fifth.votes()
    for name, method in {"BGCM": BGCM(), "EC3": EC3(balanced=False), "iEC3": EC3()}.items():
        rows.append((name, "", "seconds", best_time(partial(solved, method, votes), 3)))
    few = votes[:MOST_UPE_OBJECTS]
    seconds = best_time(partial(solved, UPE(random_state=case.seed, n_init=1), few), 1)
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
    """Time 2 to 12 base models: one classifier and one clustering, then the other classifiers, then the others."""
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
    """Time the objects of 2 classes drawn at random, of 3, and so on; votes for others go to the most probable of these."""
    outputs = case.outputs(tuned=False, everywhere=True).test
    order = np.random.default_rng(case.seed).permutation(outputs.n_classes)
    rows: list[Row] = []
    for n_classes in range(2, outputs.n_classes + 1):
        chosen = np.sort(order[:n_classes])
        part = outputs.part(np.isin(outputs.truth, chosen))
        said = {name: proba[:, chosen].argmax(axis=1) for name, proba in part.proba.items()}
        votes = Votes.from_labels(said, part.clusters, classes=list(range(n_classes)))
        rows += _timed(str(n_classes), votes, len(part.truth))
    return rows


def _timed(setting: str, votes: Votes, size: int) -> Iterator[Row]:
    yield "iEC3", setting, "size", float(size)
    yield "iEC3", setting, "seconds", best_time(partial(solved, EC3(), votes), 3)
    yield "iEC3, the paper's loop", setting, "seconds", best_time(partial(solved, EC3(solver="bcd"), votes), 3)


def best_time(call: Callable[[], Any], n_times: int) -> float:
    """Return the seconds of the fastest of some calls."""
    seconds = []
    for _ in range(n_times):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


# ---- all of them -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Experiment:
    """An experiment: what it does, on which data sets (None: all it makes sense on), how many repeats are enough (None: all)."""

    study: Study
    title: str
    datasets: Sequence[str] | None = None
    repeats: int | None = None
    timed: bool = False

    def takes(self, name: str) -> bool:
        """Return whether a data set is among those it is run on unless it is asked for by name.

        Parameters
        ----------
        name : str
            The data set.

        Returns
        -------
        bool
        """
        return name in self.datasets if self.datasets is not None else self.timed or name not in TIMED_ONLY


TIMED_ONLY = ("sensor_3feat",)  # its features say too little to score anything
LARGEST = ("susy", "sensor", "magic", "sensor_sample")  # the paper's two, and two in their place where they are not at hand
SEVERAL = ("letter", "sensor", "sensor_3feat")  # the largest of many classes

EXPERIMENTS: dict[str, Experiment] = {
    "datasets": Experiment(lambda case: facts(case.data), "The data sets", repeats=1, timed=True),
    "accuracy": Experiment(accuracy, "Accuracy of all methods"),
    "labels_5": Experiment(partial(accuracy, labels=5), "Accuracy with 5 labels a class"),
    "labels_20": Experiment(partial(accuracy, labels=20), "Accuracy with 20 labels a class"),
    "parameters": Experiment(parameters, "The weights of the four pulls"),
    "epsilon": Experiment(epsilon, "When the paper's loop stops"),
    "drop_classifier": Experiment(drop_classifier, "One classifier left out"),
    "add_classifier": Experiment(add_classifier, "Classifiers one by one"),
    "clustering_nmi": Experiment(clustering_nmi, "What clusterings say about classes"),
    "drop_clustering": Experiment(drop_clustering, "One clustering left out"),
    "add_clustering": Experiment(add_clustering, "Clusterings one by one"),
    "drop_term": Experiment(drop_term, "One pull left out"),
    "imbalance": Experiment(imbalance, "A class made rare", LARGEST),
    "random_classifiers": Experiment(random_classifiers, "Classifiers that guess"),
    "random_clusterings": Experiment(random_clusterings, "Clusterings at random"),
    "runtime": Experiment(runtime, "Runtime of combining", timed=True),
    "growth_objects": Experiment(growth_objects, "Runtime and objects", SEVERAL),
    "growth_models": Experiment(growth_models, "Runtime and base models", SEVERAL),
    "growth_classes": Experiment(growth_classes, "Runtime and classes", SEVERAL),
}
