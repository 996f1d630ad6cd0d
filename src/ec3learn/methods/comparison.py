"""All methods side by side: how often they differ, and how often each is right."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from .._checks import InputError, InputTypeError, require_kind
from .._table import Table
from .._text import count, listed, percent
from .._typing import Array
from ..consensus import Consensus
from ..diagnosis import cross_validate, judge
from ..diagnosis.labels import HARD, given_labels, measuring, read_labels
from ..diagnosis.metrics import LEAST_LABELS, object_weights
from ..diagnosis.score import Score
from ..votes import Votes
from .base import METHODS, Method, method_of

Found = tuple[Consensus, float, Score | None]  # an answer, its seconds, how often it is right

HEADS = ("method", "differs", "confidence", "correct", "low", "high", "log_loss", "seconds")


def compare(
    votes: Votes,
    known: Any = None,
    methods: Sequence[str | Method] | Mapping[str, str | Method] | None = None,
    *,
    truth: Any = None,
    fast: bool = False,
) -> Table:
    """Let several methods answer for the same votes, and compare their answers.

    Parameters
    ----------
    votes : Votes
        What classifiers, annotators or judges said, and clusterings if there are any.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Labels of a few objects. From 20 of them on, each method is cross-validated: it solves five
        times more, each time with a fifth of these labels hidden. Methods that do not support known
        labels are judged by all of them.
    methods : sequence of methods or their names, or dict of name -> method
        By default all in `METHODS`.
    truth : as `known`
        True labels, which no method sees, to judge all of them by.
    fast : bool
        Leave out cross-validation.

    Returns
    -------
    Table
        One row per method, the best or else the most usual first. method; differs, the share of
        objects on which it differs from what most methods say (the first of them on a tie);
        confidence, its mean; correct, low and high, how often it is right, with a 95 % interval;
        log_loss, by which the better of two probabilities is told; and seconds. The note says on
        how many objects the methods disagree, and why a method is left out.

    Examples
    --------
    >>> from ec3learn import Votes
    >>> from ec3learn.methods import compare
    >>> said = {"ann": list("aabbab"), "bob": list("aabbba"), "cy": list("abbaab")}
    >>> votes = Votes.from_labels(said)
    >>> compare(votes, methods=["majority", "dawid-skene"]).select("method", "differs")
    method       differs
    majority       0.000
    dawid-skene    0.000
    The methods disagree on 0.0 % of 6 objects.
    """
    require_kind("votes", votes, Votes, "Make one with Votes.from_labels.")
    found: dict[str, Found] = {}
    refused: dict[str, InputError] = {}
    for name, method in _asked(methods).items():
        begun = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of methods one by one, beside their answers
                answer = method.solve(votes, known if method.admits_known else None)
        except InputError as error:
            if error.argument in ("known", "truth"):
                raise
            refused[name] = error
            continue
        seconds = perf_counter() - begun
        found[name] = answer, seconds, _score(answer, method, known, truth, fast)
    if not found:
        raise next(iter(refused.values()))
    table = _table(found, refused)
    judging = known if truth is None else truth
    if judging is None or fast or "correct" in table.columns:
        return table
    solution = next(iter(found.values()))[0].solution
    labels = read_labels(solution, judging, "known" if truth is None else "truth")
    hard = labels.n and measuring(solution, labels) is None
    return replace(table, note=f"{table.note}\n{HARD}.") if hard else table


def _table(found: Mapping[str, Found], refused: Mapping[str, InputError]) -> Table:
    solutions = [answer.solution for answer, _, _ in found.values()]
    scores = [score for _, _, score in found.values() if score]
    known = np.any([given_labels(solution) for solution in solutions], axis=0)
    weight = object_weights(solutions[0])
    weight = weight if known.all() else np.where(known, 0.0, weight)
    total = max(float(weight.sum()), 1e-300)
    codes = np.stack([solution.expand(solution.row_classes) for solution in solutions])
    differs = (codes != _usual(codes, len(solutions[0].classes))) @ weight / total
    rows = []
    for i, (name, (answer, seconds, score)) in enumerate(found.items()):
        correct = score and (score.accuracy, *score.interval, score.consensus.log_loss)
        sure = float(weight @ answer.confidence) / total
        rows.append((name, float(differs[i]), sure, *(correct or (None,) * 4), seconds))
    rows.sort(key=lambda row: (-(row[3] or 0.0), row[1]))

    apart = percent(float(weight @ (codes != codes[0]).any(axis=0)) / total)
    without = " without a known label" if known.any() else ""
    notes = [f"The methods disagree on {apart} of {count(round(total), 'object')}{without}."]
    notes += [f"{score.basis}, with 95 % intervals." for score in scores[:1]]
    notes += [f"Left out: {name}. {error}" for name, error in refused.items()]
    table = Table.of(HEADS, rows, "\n".join(notes))
    return table if scores else table.select("method", "differs", "confidence", "seconds")


def _usual(codes: Array, n_classes: int) -> Array:
    """The class that most methods give each object, on a tie that of the first method."""
    tally = np.stack([(codes == z).sum(axis=0) for z in range(n_classes)]).astype(np.float64)
    tally[codes[0], np.arange(tally.shape[1])] += 0.5
    return tally.argmax(axis=0)


def _asked(methods: Any) -> dict[str, Method]:
    """The methods by name; by default all."""
    if methods is None:
        return {name: make() for name, make in METHODS.items()}
    if isinstance(methods, Mapping):
        return {str(name): method_of(method, "methods") for name, method in methods.items()}
    if isinstance(methods, str) or not isinstance(methods, Sequence):
        raise InputTypeError("methods", "must be a list of methods or of their names", got=methods)
    names = [each if isinstance(each, str) else " ".join(repr(each).split()) for each in methods]
    if not names:
        raise InputError("methods", "must name at least one method", came="none")
    if len(set(names)) < len(names):
        raise InputError("methods", "must not repeat", came=listed(names))
    return {name: method_of(each, "methods") for name, each in zip(names, methods, strict=True)}


def _score(answer: Consensus, method: Method, known: Any, truth: Any, fast: bool) -> Score | None:
    """How often a method is right by true labels, or by known labels that were hidden from it."""
    if truth is not None:
        return judge(answer, truth)
    if known is None or fast:
        return None
    if method.admits_known:
        return cross_validate(answer, method)
    by_all = judge(answer, known)
    return by_all if by_all is not None and by_all.n_labels >= LEAST_LABELS else None
