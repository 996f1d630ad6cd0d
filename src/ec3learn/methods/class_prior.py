"""Known shares of the classes: the logarithms of each are shifted until the answer has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import softmax

from .._checks import InputError, InputTypeError, is_number, unknown_name
from .._text import arg, some
from .._typing import Array
from ..algebra.membership import normalised
from ..answer.mixtures import RegressionRule
from ..answer.notes import Note
from ..answer.rule import KnownLabels
from ..votes import Votes
from ..votes.shares import LEAST, log_shares
from .base import Answer
from .regression import corrected


def require_class_prior(name: str, given: Any) -> None:
    """Refuse what is not a dict of class -> share."""
    if not isinstance(given, Mapping) or not all(map(is_number, given.values())):
        raise InputTypeError(name, "must be a dict of class -> share", got=given)
    total = sum(given.values())
    if not all(0 < share < 1 for share in given.values()) or total > 1 + 1e-6:
        raise InputError(name, "must have shares above 0 that sum to 1 at most", got=dict(given))


def with_class_shares(
    answer: Answer, votes: Votes, given: Mapping[Any, float], known: KnownLabels | None
) -> Answer:
    """The answer with its logarithms shifted, alike for all objects, so that it has these shares.

    Classes that are not given share the rest as they did.
    """
    assert answer.rule is not None
    shares = _all_shares(given, votes, normalised(votes.counts @ answer.proba))
    logs, offsets = log_shares(answer.proba), np.zeros(votes.n_classes)
    counts = votes.counts
    if known is not None:  # the other objects make up for these
        counts = np.where(known.labelled, 0.0, counts)
        rest = shares * votes.counts.sum() - votes.counts @ known.one_hot(votes.n_classes)
        shares = normalised(np.maximum(rest, LEAST))
    for _ in range(200):  # a share may miss by 1e-9
        mean = normalised(counts @ softmax(logs + offsets, axis=1))
        offsets += np.log(shares / mean)
        if np.abs(mean - shares).max() < 1e-9:
            break
    none, table = np.empty(0, dtype=np.int64), np.empty((0, votes.n_classes))
    rule = RegressionRule(answer.rule, shares, offsets, 1.0, none, table, none)
    shifted = corrected(answer, rule, votes, known)
    return replace(shifted, notes=(*answer.notes, _note(shifted.proba[votes.counts > 0], votes)))


def _note(proba: Array, votes: Votes) -> Note:
    """What the shares did, and which classes no label names now."""
    text = "The answer was shifted to the class shares that you gave."
    unnamed = [str(z) for z in np.delete(votes.classes, np.unique(proba.argmax(axis=1)))]
    if unnamed:
        mass = 'labels(rule="mass") names each class as often as its share'
        text += f" No object is most likely to be of {some(unnamed)}: {mass}."
    return Note("class prior", text)


def _all_shares(given: Mapping[Any, float], votes: Votes, present: Array) -> Array:
    """The share of each class; those that are not given share the rest as they do at present."""
    code_of = {str(label): code for code, label in enumerate(votes.classes.tolist())}
    shares = np.full(votes.n_classes, np.nan)
    for label, share in given.items():
        if str(label) not in code_of:
            raise unknown_name("class", label, code_of, of=f" in {arg('class_prior')}")
        shares[code_of[str(label)]] = share
    left_out = np.isnan(shares)
    if not left_out.any() and abs(shares.sum() - 1) > 1e-3:
        came = f"shares that sum to {shares.sum():.4g}"
        raise InputError("class_prior", "must sum to 1 where it names every class", came=came)
    shares[left_out] = max(1 - np.nansum(shares), LEAST) * normalised(
        np.maximum(present[left_out], LEAST)
    )
    return normalised(shares)
