"""A share or an accuracy with an interval, from few labels and many answers (prediction-powered inference, PPI++).

With y what the labels say of n objects, and f what the answer says of the same kind, on these and on N others:

    theta = w mean(f_N) + mean(y_n - w f_n)      variance = w^2 Var(f) / N + Var(y - w f) / n

It is unbiased whatever f is, and w = Cov(y, f) / ((1 + n / N) Var f), held between 0 and 1, makes it never worse than the labels
alone but for noise. Angelopoulos, Duchi and Zrnic, "PPI++: Efficient Prediction-Powered Inference" (2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from .._checks import InputError, unknown_name
from .._text import Table
from ..answer.outcome import Outcome
from ..votes.encoding import known_codes
from ..votes.labels import Label
from .held_out import given_labels
from .metrics import wilson_interval

Array = npt.NDArray[Any]

LEAST_LABELS = 10
Z95 = float(norm.ppf(0.975))


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, and how many labels alone would give an interval as short."""

    value: float
    low: float
    high: float
    worth: float


def estimate(outcome: Outcome, label: Label, known: Any) -> Table:
    """Return the share of a class among all objects, and how often the answer is right, from a few labels drawn at random.

    Parameters
    ----------
    outcome : Consensus
        The answer, made without these labels.
    label : label
        The class.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        True labels of objects that were drawn at random.

    Returns
    -------
    Table
        For the share of the class and the accuracy of the answer: the value with its 95 % interval (low, high), the estimate from
        the labels alone (plain, with plain_low and plain_high), the number of labels, and how many labels alone would do as well
        (worth).

    Examples
    --------
    >>> import numpy as np
    >>> from ec3learn import MajorityVote, Votes
    >>> rng = np.random.default_rng(0)
    >>> truth = (rng.random(2000) < 0.2).astype(int)
    >>> judges = {f"j{j}": np.where(rng.random(2000) < 0.85, truth, 1 - truth) for j in range(5)}
    >>> consensus = MajorityVote().solve(Votes.from_labels(judges))
    >>> table = estimate(consensus, 1, known={i: truth[i] for i in range(100)})
    >>> table["measure"], bool(table["low"][0] < truth.mean() < table["high"][0]), bool(table["worth"][0] > 200)
    (['share of 1', 'accuracy of the answer'], True, True)
    """
    names = outcome.classes.tolist()
    if label not in names:
        raise unknown_name("label", label, map(str, names))
    codes = known_codes(known, outcome.classes, outcome.n_objects, outcome.object_ids)
    labelled = np.flatnonzero(codes >= 0)
    if len(labelled) < LEAST_LABELS:
        raise InputError("known", f"must have at least {LEAST_LABELS} labels", got=len(labelled))
    if given_labels(outcome)[labelled].any():
        raise InputError(
            "known",
            "must be labels that the answer was made without",
            came="some that it was given",
            remedy="Solve without them, or pass others.",
        )
    rest = np.setdiff1d(np.arange(outcome.n_objects), labelled)
    proba, answers = outcome.proba, outcome.expand(outcome.row_classes)
    share, right = codes[labelled] == names.index(label), codes[labelled] == answers[labelled]
    columns: dict[str, list[Any]] = {"measure": [f"share of {label}", "accuracy of the answer"]}
    rows = [(share, proba[:, names.index(label)]), (right, proba.max(axis=1))]
    found = [prediction_powered(y.astype(np.float64), f[labelled], f[rest]) for y, f in rows]
    for name in ("value", "low", "high"):
        columns[name] = [getattr(one, name) for one in found]
    columns["plain"] = [float(y.mean()) for y, _ in rows]
    intervals = [wilson_interval(float(y.sum()), len(y)) for y, _ in rows]
    columns["plain_low"], columns["plain_high"] = ([one[i] for one in intervals] for i in (0, 1))
    columns["labels"] = [len(labelled)] * len(rows)
    columns["worth"] = [round(one.worth) for one in found]
    return Table(columns)


def prediction_powered(y: Array, f: Array, rest: Array) -> Estimate:
    """Return the mean of y over all objects.

    Parameters
    ----------
    y, f : arrays
        What the labels and the answer say of the labelled objects.
    rest : array
        What the answer says of all others; there may be none.

    Examples
    --------
    >>> import numpy as np
    >>> prediction_powered(np.array([0.0, 1.0] * 50), np.array([0.1, 0.9] * 50), np.array([0.1, 0.9] * 5000)).worth > 1000
    True
    """
    n, n_rest = len(y), len(rest)
    spread = float(np.var(np.concatenate([f, rest]), ddof=1)) if n + n_rest > 1 else 0.0
    trust = 0.0
    if n_rest and spread > 0:
        trust = float(np.clip(np.cov(y, f)[0, 1] / ((1 + n / n_rest) * spread), 0.0, 1.0))
    value = float(np.mean(y - trust * f)) + (trust * float(rest.mean()) if n_rest else 0.0)
    variance = float(np.var(y - trust * f, ddof=1)) / n + (trust**2 * spread / n_rest if n_rest else 0.0)
    half = Z95 * np.sqrt(variance)
    worth = float(np.var(y, ddof=1)) / variance if variance > 0 else float(n)
    return Estimate(value, max(value - half, 0.0), min(value + half, 1.0), worth)
