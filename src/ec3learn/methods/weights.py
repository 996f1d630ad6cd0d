"""How much each classifier counts: as given, or learned from the consensus or known labels.

A learned weight is the log-odds of being right over chance, log((l - 1) q / (1 - q)) for l classes
and the share q of votes that are right: the best weight for classifiers that err independently and
without bias.

Weights that the user gave count in the answer, not in what is learned of voters. There, a voter of
weight 2 would be two who always agree, and as agreement is all that shows who is good, it would
soon decide alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from .._checks import InputError, unknown_name
from .._text import arg, count, some
from .._typing import Array
from ..algebra.membership import Membership, count_classes, membership
from ..answer.notes import Note
from ..answer.rule import KnownLabels
from ..answer.solution import top_classes
from ..diagnosis.correlation import notes_on_bias
from ..votes import Votes, hardened, only_rows, relative_weights
from ..votes.assembly import model_weights

ModelWeights = (
    Literal["equal", "agreement", "labels"] | Sequence[float] | Mapping[str, float] | Array
)
Found = TypeVar("Found")

LEARNED = ("agreement", "equal", "labels")


class ReliabilityWarning(UserWarning):
    """An answer should not be trusted: learned weights went wrong, or voters are biased."""


@dataclass(frozen=True)
class Learned:
    """Weights of base models, and the notes on how they were learned."""

    weights: Array
    notes: tuple[Note, ...] = ()
    worse_than_chance: tuple[str, ...] = ()


def first_weights(asked: ModelWeights, votes: Votes, known: KnownLabels | None) -> Array:
    """One weight per base model before any is learned; clusterings have 1."""
    weights = np.ones(len(votes.models))
    if isinstance(asked, str):
        if asked not in LEARNED:
            raise unknown_name("weights", asked, LEARNED, "or pass one number per classifier")
        if asked == "labels" and known is None:
            raise InputError(
                "weights",
                phrase=f"{arg('weights', 'labels')} needs known labels, got none",
                remedy=f"Pass {arg('known')}, or take {arg('weights', 'agreement')}.",
            )
        return weights
    classifiers = np.flatnonzero(votes.models.is_classifier)
    names = [votes.models[m].name for m in classifiers]
    weights[classifiers] = model_weights(asked, names)
    return weights


def learn_weights(
    asked: ModelWeights,
    votes: Votes,
    groups: Membership,
    start: Array,
    known: KnownLabels | None,
    rounds: int,
    solve: Callable[[Array], tuple[Array, Found]],
    judge: bool = True,
) -> tuple[Learned, Found]:
    """Solve with the weights asked for; those from agreement are learned until they settle.

    `solve` takes what the weights of base models are multiplied by, and returns the class
    probabilities by row and whatever else it found, which is returned for the last weights. With
    `judge` it is checked whether weights from agreement should be trusted.
    """
    learned = Learned(start)
    if isinstance(asked, str) and asked == "labels":
        assert known is not None
        learned = weights_from_labels(votes, known, start)
    if not isinstance(asked, str) or asked != "agreement" or rounds == 0:
        return learned, solve(learned.weights)[1]
    relative = relative_weights(votes)
    heavy = votes.models.is_voter & (relative > 0)
    level = np.divide(1.0, relative, out=np.ones(len(relative)), where=heavy)  # all weigh alike
    hard = hardened(votes)
    hard_groups = groups if hard is votes else membership(hard)
    for n_rounds in range(rounds + 1):
        proba, found = solve(level * learned.weights)
        codes = top_classes(proba, votes.counts @ proba)
        taught = _weights(votes, start, *_shares_right(hard, hard_groups, codes))
        settled = np.allclose(taught.weights, learned.weights, rtol=1e-3, atol=1e-3)
        if settled or n_rounds == rounds:
            break
        learned = taught
    moved = 0.0 if settled else float(np.abs(taught.weights - learned.weights).max())
    if settled:
        learned = replace(taught, weights=learned.weights)
    if (level != 1).any():
        _, found = solve(learned.weights)
    doubts = _doubts(votes, known, rounds, moved, proba) if judge else []
    for doubt in doubts:
        warnings.warn(str(doubt), ReliabilityWarning, stacklevel=5)
    return replace(learned, notes=(*learned.notes, *doubts)), found


def weights_from_labels(votes: Votes, known: KnownLabels, start: Array) -> Learned:
    """The weights that known labels teach; who has no vote on them keeps that of `start`."""
    rows = np.flatnonzero(known.labelled)
    labelled = hardened(only_rows(votes, rows))
    return _weights(votes, start, *_shares_right(labelled, membership(labelled), known.codes[rows]))


# ---- how often a classifier is right -------------------------------------------------------------


def _shares_right(votes: Votes, groups: Membership, codes: Array) -> tuple[Array, Array]:
    """How often each base model is right if these are the classes, and how many votes it has.

    It is the mean over classes of the share of votes on objects of the class that name it. Averaged
    over classes, an annotator who always says the same is right as often as chance. Averaged over
    votes it would be right as often as that class is common, and pull the consensus further its way
    in each round. One vote's worth of chance is added to each class, so that a few votes in
    agreement make nobody infallible. Soft votes must be hardened before: counted by shares, who is
    unsure of everything would be right no more often than who guesses.
    """
    found = count_classes(votes, groups, codes, votes.counts, votes.n_classes).tocoo()
    (group, of_class), counts = found.coords, found.data
    n_models = len(votes.models)
    numbers = votes.models.group_model[group].astype(np.int64) * votes.n_classes + of_class
    pair, place = np.unique(numbers, return_inverse=True)
    model = pair // votes.n_classes
    # Votes of a model on objects of a class, where there are any.
    cast = np.bincount(place, counts, len(pair))
    right = np.bincount(place, counts * (votes.models.group_class[group] == of_class), len(pair))
    share = np.where(cast > 0, (right + 1 / votes.n_classes) / (cast + 1), 0.0)
    n_seen = np.bincount(model, cast > 0, n_models)
    mean = np.bincount(model, share, n_models) / np.maximum(n_seen, 1)
    return mean, np.bincount(model, cast, n_models)


def _weights(votes: Votes, start: Array, shares: Array, n_votes: Array) -> Learned:
    """The log-odds of being right over chance, 1 on average over votes."""
    n_classes = votes.n_classes
    n_votes = n_votes * votes.weights  # a classifier of weight 2 is two of them
    judged = votes.models.is_classifier & (n_votes > 0)
    if n_classes < 2 or not judged.any():
        return Learned(start)
    odds = np.log(np.maximum((n_classes - 1) * shares, 1e-300) / np.maximum(1 - shares, 1e-300))
    gained = np.maximum(odds, 0.0)
    if not gained[judged].any():
        text = "No classifier is better than chance, so all were weighted equally."
        return Learned(start, (Note("worse than chance", text),))
    worse = tuple(votes.models[m].name for m in np.flatnonzero(judged & (odds < -1e-12)))
    note = Note("worse than chance", f"Worse than chance and left out: {some(worse)}.")
    weights = start.copy()
    weights[judged] = gained[judged] * n_votes[judged].sum() / (n_votes[judged] @ gained[judged])
    return Learned(weights, (note,) if worse else (), worse)


# ---- when not to trust it ------------------------------------------------------------------------


def _doubts(
    votes: Votes, known: KnownLabels | None, rounds: int, moved: float, proba: Array
) -> list[Note]:
    """Why learned weights should not be trusted; they `moved` in the last round."""
    doubts = []
    if moved > 0.05:
        text = (
            f"Weights from agreement did not settle in {count(rounds, 'round')}. Raise "
            f"{arg('reweight_rounds')}, or compare with {arg('weights', 'equal')} and "
            f"{arg('method', 'dawid-skene')}."
        )
        doubts.append(Note("weights", text))
    return [*doubts, *notes_on_bias(votes, known, proba)]
