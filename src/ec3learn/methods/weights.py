"""How much each classifier counts: as given, or learned from how often it agrees with the consensus or with known labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ..algebra.membership import Membership, membership, scatter_to_votes
from ..answer.labelling import top_classes
from ..answer.notes import WEIGHTS, WORSE_THAN_CHANCE, Note
from ..answer.rule import KnownLabels
from ..votes import Votes, non_negative
from .dawid_skene import DawidSkene

Array = npt.NDArray[Any]
ModelWeights = Literal["equal", "agreement", "labels"] | Sequence[float] | Mapping[str, float] | Array
Solved = TypeVar("Solved")

LEARNED = ("agreement", "equal", "labels")
SAMPLE = 20_000  # rows that are enough to tell whether classifiers are biased
MOST_CLASSES = 30  # of which a table a classifier is quickly learned
MUCH_APART = 0.1  # a share of objects, or of votes, that can't be passed over


class ReliabilityWarning(UserWarning):
    """Weights learned from agreement should not be believed.

    Examples
    --------
    >>> import warnings
    >>> from ec3learn import EC3, ReliabilityWarning, Votes
    >>> votes = Votes.from_labels({"svm": [0, 1, 1], "knn": [0, 1, 0], "tree": [0, 1, 1]})
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ReliabilityWarning)  # stop instead of going on with weights in doubt
    ...     EC3(weights="agreement").solve(votes).labels()
    array([0, 1, 1])
    """


@dataclass(frozen=True)
class Learned:
    """Weights of base models, and what there is to say about how they were learned."""

    weights: Array
    notes: tuple[Note, ...] = ()
    worse_than_chance: tuple[str, ...] = ()


def first_weights(asked: ModelWeights, votes: Votes, known: KnownLabels | None) -> Array:
    """Return one weight a base model before any is learned; clusterings have 1."""
    weights = np.ones(len(votes.models))
    if isinstance(asked, str):
        if asked not in LEARNED:
            raise ValueError(f"Unknown weights {asked!r}. Choose from: {', '.join(LEARNED)}, or pass one number a classifier.")
        if asked == "labels" and known is None:
            raise ValueError("weights='labels' needs known labels, got none. Pass known=, or take weights='agreement'.")
        return weights
    classifiers = np.flatnonzero(votes.is_classifier)
    given: Any = asked
    if isinstance(asked, Mapping):
        names = [votes.models[m].name for m in classifiers]
        for name in asked:
            if name not in names:
                raise ValueError(f"weights names the unknown classifier {name!r}. Choose from: {', '.join(names)}.")
        given = [asked.get(name, 1.0) for name in names]
    weights[classifiers] = non_negative(given, "weights", len(classifiers), "classifiers")
    return weights


def settled(
    asked: ModelWeights,
    votes: Votes,
    groups: Membership,
    start: Array,
    known: KnownLabels | None,
    rounds: int,
    solve: Callable[[Array], tuple[Array, Solved]],
) -> tuple[Learned, Array, Solved]:
    """Solve with the weights asked for; weights from agreement are learned and used again until they settle.

    `solve` takes the weights and returns the class probabilities by row, and whatever else it found; both are returned for the
    last weights.
    """
    learned = Learned(start)
    if isinstance(asked, str) and asked == "labels":
        learned = _learned_weights(votes, start, *_agreement_with_known(votes, known))
    proba, solved = solve(learned.weights)
    equal_proba = proba
    if not isinstance(asked, str) or asked != "agreement" or rounds == 0:
        return learned, proba, solved
    said = votes.hardened()
    said_by = groups if said is votes else membership(said)
    tried: list[Learned] = []
    quiet = False
    while not quiet and len(tried) <= rounds:
        updated = _learned_weights(votes, start, *_agreement_with_consensus(said, said_by, proba))
        tried.append(updated)
        quiet = np.allclose(updated.weights, learned.weights, rtol=1e-3, atol=1e-3)
        if quiet:
            learned = replace(updated, weights=learned.weights)
        if quiet or len(tried) > rounds:
            break
        learned = updated
        proba, solved = solve(learned.weights)
    doubts = _doubts(votes, known, tried, quiet, (equal_proba, proba))
    for doubt in doubts:
        warnings.warn(doubt, ReliabilityWarning, stacklevel=5)
    return replace(learned, notes=(*learned.notes, *(Note(WEIGHTS, doubt) for doubt in doubts))), proba, solved


def learned_from_labels(votes: Votes, known: KnownLabels) -> Array:
    """Return the weights that known labels teach."""
    return _learned_weights(votes, np.ones(len(votes.models)), *_agreement_with_known(votes, known)).weights


# ---- how often a classifier is right ---------------------------------------------------------------------------------


def _agreement_with_consensus(votes: Votes, groups: Membership, proba: Array) -> tuple[Array, Array]:
    """Return for each base model how often its votes agree with the consensus, and how many votes there are."""
    return _agreement_with(votes, groups, top_classes(proba, votes.counts @ proba))


def _agreement_with_known(votes: Votes, known: KnownLabels | None) -> tuple[Array, Array]:
    """Return the same for the known labels."""
    assert known is not None
    rows = np.flatnonzero(known.labelled)
    labelled = votes.only_rows(rows).hardened()
    return _agreement_with(labelled, membership(labelled), known.codes[rows])


def _agreement_with(votes: Votes, groups: Membership, codes: Array) -> tuple[Array, Array]:
    """Return the mean over classes of the share of votes on objects of the class that name it.

    Soft votes are to be hardened before: counted by shares, who is unsure of all would be right no more often than who guesses.
    Counted by class, an annotator who always says the same is right as often as chance; counted by vote it would be right as
    often as that class is common, and carry the consensus further its way in each round. One vote's worth of chance is added to
    each class, so that a few votes in agreement don't make anybody infallible.
    """
    one_hot = np.zeros((votes.n_rows, votes.n_classes))
    one_hot[np.arange(votes.n_rows), codes] = votes.counts
    contingency = scatter_to_votes(votes, groups, one_hot)
    by_model = np.zeros((len(votes.models), votes.n_classes))
    np.add.at(by_model, votes.group_model, contingency)
    named = np.flatnonzero(votes.group_class >= 0)
    right = np.zeros_like(by_model)
    own_class = votes.group_class[named]
    right[votes.group_model[named], own_class] = contingency[named, own_class]
    seen = by_model > 0
    share = (right + 1 / votes.n_classes) / (by_model + 1)
    mean = np.divide((share * seen).sum(axis=1), seen.sum(axis=1), out=np.zeros(len(seen)), where=seen.any(axis=1))
    return mean, by_model.sum(axis=1)


def _learned_weights(votes: Votes, start: Array, shares: Array, n_votes: Array) -> Learned:
    """Return log-odds of being right over chance, with mean 1 over votes so that clusterings count as before."""
    n_classes = votes.n_classes
    judged = votes.is_classifier & (n_votes > 0)
    if n_classes < 2 or not judged.any():
        return Learned(start)
    odds = np.log(np.maximum((n_classes - 1) * shares, 1e-300) / np.maximum(1 - shares, 1e-300))
    gained = np.maximum(odds, 0.0)
    if not gained[judged].any():
        return Learned(start, (Note(WORSE_THAN_CHANCE, "No classifier is better than chance, so all were weighted equally."),))
    worse = tuple(votes.models[m].name for m in np.flatnonzero(judged & (odds < -1e-12)))
    notes = (Note(WORSE_THAN_CHANCE, f"Worse than chance and left out: {_some(worse)}."),) if worse else ()
    weights = start.copy()
    weights[judged] = gained[judged] * n_votes[judged].sum() / (n_votes[judged] @ gained[judged])
    return Learned(weights, notes, worse)


# ---- when not to believe it ------------------------------------------------------------------------------------------


def _doubts(
    votes: Votes, known: KnownLabels | None, tried: Sequence[Learned], quiet: bool, answers: tuple[Array, Array]
) -> tuple[str, ...]:
    """Return why the learned weights should not be believed, if there is a reason.

    `tried` are the weights of all rounds; `answers` those with equal weights and with the learned ones. Dawid-Skene is the judge,
    since it allows for bias: a sample of the rows is enough to hear it.
    """
    doubts = []
    last_move = float(np.abs(tried[-1].weights - tried[-2].weights).max()) if len(tried) > 1 else 0.0
    if not quiet and last_move > 0.05:
        doubts.append(
            f"Weights from agreement did not settle in {len(tried) - 1} rounds. Raise reweight_rounds, or compare with "
            "weights='equal' and DawidSkene()."
        )
    if votes.is_classifier.sum() < 3 or votes.n_classes < 2:
        return tuple(doubts)
    biased, apart = _judged(votes, known, answers)
    turned = _turned(votes, tried)
    if apart[1] > apart[0] + 0.02 or (turned and apart[1] >= max(apart[0], 0.01)):
        flipped = f", and turned around for {_some(turned)}" if turned else ""
        doubts.append(
            f"Weights from agreement brought the answer no nearer to that of Dawid-Skene{flipped}: {apart[1]:.0%} of the objects "
            f"differ, {apart[0]:.0%} with equal weights. Compare with weights='equal' and with DawidSkene()."
        )
    if biased and apart[1] >= MUCH_APART:
        doubts.append(_bias_doubt(apart[1]))
    return tuple(doubts)


def bias_of(votes: Votes, known: KnownLabels | None, proba: Array) -> str | None:
    """Say so if the classifiers look biased and the answer suffers from it, whatever method made it."""
    if votes.is_classifier.sum() < 3 or not 2 <= votes.n_classes <= MOST_CLASSES:
        return None
    biased, (apart,) = _judged(votes, known, [proba])
    return _bias_doubt(apart) if biased and apart >= MUCH_APART else None


def _bias_doubt(apart: float) -> str:
    return (
        "The classifiers look biased, not only unreliable, and one weight each can't mend that: Dawid-Skene explains the votes "
        f"better and answers otherwise for {apart:.0%} of the objects. Check some of them, and compare with DawidSkene() or "
        "EC3(towards='dawid-skene')."
    )


def _turned(votes: Votes, tried: Sequence[Learned]) -> list[str]:
    """Return the classifiers that went from counting to being left out or back, if they have many of the votes."""
    changed = set(tried[0].worse_than_chance) ^ set(tried[-1].worse_than_chance)
    counted = np.maximum(tried[0].weights, tried[-1].weights) > 0.5  # who is near chance may well cross it
    turned = [m for m, model in enumerate(votes.models) if model.name in changed and counted[m]]
    many = votes.n_votes[turned].sum() > MUCH_APART * votes.n_votes[votes.is_classifier].sum()
    return [votes.models[m].name for m in turned] if many else []


def _judged(votes: Votes, known: KnownLabels | None, answers: Sequence[Array]) -> tuple[bool, list[float]]:
    """Return whether a table a classifier explains the votes better than one number each, and who else answers how differently.

    Better is meant by the Bayesian information criterion; the differences are shares of objects, one for each of the answers.
    """
    if votes.n_rows > SAMPLE:
        rows = np.linspace(0, votes.n_rows - 1, SAMPLE).astype(np.int64)
        votes, answers = votes.only_rows(rows), [answer[rows] for answer in answers]
        known = None if known is None else KnownLabels(known.codes[rows], known.pull)
    known = None if known is None or not known.labelled.any() else KnownLabels(known.codes, np.inf)
    judge = DawidSkene(clusterings="voters", tol=1e-6, max_iter=100)
    tables, coins = (judge.set_params(one_coin=coin)._answer(votes, known) for coin in (False, True))
    assert tables.objective is not None
    assert coins.objective is not None
    total = float(votes.counts.sum())
    more_numbers = int(votes.is_classifier.sum()) * (votes.n_classes * (votes.n_classes - 1) - 1)
    better = 2 * (coins.objective - tables.objective) > more_numbers * np.log(max(total, 2.0))
    theirs, *ours = (top_classes(answer, votes.counts @ answer) for answer in (tables.proba, *answers))
    return better, [float(votes.counts @ (own != theirs)) / max(total, 1e-300) for own in ours]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
