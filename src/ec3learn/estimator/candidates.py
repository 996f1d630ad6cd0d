"""The candidates of `consensus="auto"`, and their answers for labels that are hidden fold by fold.

A hidden label must not be guessed from what it had a part in. The votes on other rows are such
things: they come from models that were trained on it. So only rows with labels take part, each fold
is answered as new rows are, from the labels of the other folds, and EC3's delta, which pulls
clusters to the votes on their members, stays 0. One way is left, short of training all models again
for every fold: if votes are wrong more often than chance, as those out of fold are on random
labels, a regression learns from the other labels to turn them round. The freer it is, the more, so
that a strong penalty binds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import Array
from ..algebra.membership import SparseMembership, entries
from ..algebra.trust import learn_slope
from ..answer.mixtures import sharpened
from ..answer.rule import COMPANIONS, GROUPS, TOWARDS, GroupRule, KnownLabels
from ..methods.base import Method
from ..methods.ec3.ec3 import EC3
from ..methods.ec3.objective import Setting
from ..methods.ec3.system import SOFT_VOTE, grid
from ..methods.stacking import StackedVote, greedy_weights, simplex_weights, true_shares
from ..methods.voting import SoftVote, WeightedVote
from ..votes import Votes, hardened, only_rows, split_by

Variant = Callable[[Votes, KnownLabels], Method]

STACKED_C = (1.0, 10.0)
OUT_OF_FOLD_C = (0.1,)
POOLED_C = (0.01, 0.1)
GREEDY_ROUNDS = 100
EVIDENCE, MOST_EVIDENCE = (
    0.2,
    60.0,
)  # how much a label counts in the weights of `weigh_by_labels`, and all labels at most
LEAST_LOG_WEIGHT = -60.0  # there: as good as no weight, and large enough to reckon with
DOUBT = 0.1  # there, the share of equal probabilities in a vote: one that is sure and wrong does not settle everything
MOST_PRODUCTS = 100e6  # rows x votes x classes, beyond which a stacked vote takes too long
MOST_POOLED = 1_000  # votes per row, beyond which a pool of log-odds needs too much memory
SETTINGS = [setting for setting in grid(0.25) if setting.delta == 0 and setting != SOFT_VOTE]
ALL_PULLS = Setting(1.0, 1.0, 1.0, 0.0)


@dataclass(frozen=True)
class Candidate:
    """A way to combine votes, with one or more penalties to choose from.

    A `free` one learns a number for each vote and class from votes out of fold, and so turns them
    round most easily. EC3, which can do the same, does not refine it.
    """

    name: str
    variants: tuple[Variant, ...]
    free: bool = False


def make_candidates(
    votes: Votes, stacked: bool = True, out_of_fold: bool = True
) -> list[Candidate]:
    """Return the candidates, stacked or not, that these votes are not too many for; the first is plain soft voting.

    Votes `out_of_fold` are of models that were trained on the labels of other objects; all others
    have seen no label.
    """
    penalties = OUT_OF_FOLD_C if out_of_fold else STACKED_C
    candidates = [
        Candidate("soft vote", (lambda votes, known: SoftVote(),)),
        Candidate("weighted vote", (_weighted(simplex_weights),)),
        Candidate("greedy selection", (_weighted(_greedy),)),
    ]
    if not stacked:
        return candidates
    n_votes = int(votes.models.is_classifier.sum()) * votes.n_classes
    if votes.n_objects * n_votes * votes.n_classes <= MOST_PRODUCTS:
        candidates.append(
            Candidate(
                "stacked vote", tuple(_stacked(C, "votes") for C in penalties), free=out_of_fold
            )
        )
        if not votes.stores.is_hard:
            candidates.append(
                Candidate(
                    "stacked vote on labels", (_stacked(penalties[0], "labels"),), free=out_of_fold
                )
            )
    if n_votes <= MOST_POOLED:
        candidates.append(
            Candidate("stacked vote on log-odds", tuple(_stacked(C, "log-odds") for C in POOLED_C))
        )
    return candidates


def _stacked(C: float, on: Any) -> Variant:
    return lambda votes, known: StackedVote(C, on)


def _weighted(learn: Callable[[Array, Array], Array]) -> Variant:
    """Return a vote whose weights are learned from what each classifier gives to the true classes."""

    def make(votes: Votes, known: KnownLabels) -> Method:
        weights = learn(*true_shares(votes, known)) * votes.models.is_classifier.sum()
        names = [votes.models[m].name for m in np.flatnonzero(votes.models.is_classifier)]
        return WeightedVote(dict(zip(names, weights.tolist(), strict=True)))

    return make


def _greedy(shares: Array, counts: Array) -> Array:
    def log_loss(mean: Array, _: Array) -> float:
        return float(counts @ np.log(np.maximum(mean[:, 0], 1e-12)))

    return greedy_weights(shares[:, :, None], counts, log_loss, GREEDY_ROUNDS)[0]


def weigh_by_labels(votes: Votes, known: KnownLabels) -> dict[str, float]:
    """Return a weight per classifier: the likelihood that its votes give to the known labels, to a small power.

    Each is judged with the temperature that suits it: what it says counts, not how sure it is.
    """
    rows = np.flatnonzero(known.labelled)
    codes, counts, matrix = known.codes[rows], votes.counts[rows], entries(votes)[rows]
    if not counts.any():
        counts = np.ones(
            len(rows)
        )  # labels of objects that weigh nothing tell about the classifiers all the same
    fit = {}
    for m in np.flatnonzero(votes.models.is_classifier):
        shares = matrix[:, votes.models.offsets[m] : votes.models.offsets[m + 1]].toarray()
        shares = np.where(shares.any(axis=1, keepdims=True), shares, 1 / votes.n_classes)
        shares = (1 - DOUBT) * shares + DOUBT / votes.n_classes
        shares = sharpened(shares, learn_slope(shares, codes, counts))
        fit[votes.models[m].name] = float(
            counts @ np.log(shares[np.arange(len(rows)), codes]) / counts.sum()
        )
    power, best = min(EVIDENCE * float(counts.sum()), MOST_EVIDENCE), max(fit.values())
    return {
        name: float(np.exp(max(power * (own - best), LEAST_LOG_WEIGHT)))
        for name, own in fit.items()
    }


def refined(variant: Variant, setting: Setting) -> Variant:
    """Return a candidate's answer refined by EC3."""
    return lambda votes, known: EC3(*setting, towards=variant(votes, known))


# ---- folds ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """Votes split into distinct rows that have one class and one fold each."""

    rows: Votes
    codes: Array  # of each row
    fold: Array  # of each row
    fold_of: Array  # of each object

    @classmethod
    def of(cls, votes: Votes, codes: Array, fold_of: Array) -> Split:
        """Split votes by the classes and folds of their objects."""
        n_folds = int(fold_of.max()) + 1
        rows, both = split_by(votes, codes * n_folds + fold_of)
        return cls(rows, both // n_folds, both % n_folds, fold_of)

    @cached_property
    def folds(self) -> list[Array]:
        """Which objects are in each fold."""
        return [self.fold_of == f for f in range(int(self.fold_of.max()) + 1)]

    @property
    def row_of(self) -> Array:
        """The distinct row of each object."""
        return np.arange(len(self.fold_of)) if self.rows.index is None else self.rows.index

    def held_out(self, variant: Variant) -> Array:
        """Return the class probabilities of the objects, each with the labels of its own fold hidden."""
        out = np.empty((len(self.fold_of), self.rows.n_classes))
        for f, own in enumerate(self.folds):
            known = KnownLabels(np.where(self.fold == f, -1, self.codes), np.inf)
            out[own] = variant(self.rows, known).answer(self.rows, known).proba[self.row_of[own]]
        return out

    def held_out_refined(self, by_fold: Sequence[Variant]) -> Array:
        """Return the same refined by EC3 with each of the settings, settings x objects x classes, given a variant per fold.

        EC3 is solved on the other folds alone, where all labels are known, and extended. So the
        means that an object is pulled to are the same for all settings.
        """
        out = np.empty((len(SETTINGS), len(self.fold_of), self.rows.n_classes))
        for f, variant in enumerate(by_fold):
            hidden, others = np.flatnonzero(self.fold == f), np.flatnonzero(self.fold != f)
            known = KnownLabels(self.codes[others], np.inf)
            rule = (
                refined(variant, ALL_PULLS)(votes := only_rows(self.rows, others), known)
                .answer(votes, known)
                .rule
            )
            assert isinstance(rule, GroupRule)
            rows = only_rows(self.rows, hidden)
            objects, places = np.flatnonzero(self.folds[f]), self.row_of[self.folds[f]]
            for part, pulls in rule.pulls(SparseMembership(entries(rows), entries(hardened(rows)))):
                inside = np.isin(places, hidden[part])
                at = np.searchsorted(hidden[part], places[inside])
                for s, (alpha, beta, gamma, _) in enumerate(SETTINGS):
                    share = {GROUPS: alpha, COMPANIONS: beta, TOWARDS: gamma}
                    scaled = [
                        replace(pull, strength=share[pull.name] * pull.strength) for pull in pulls
                    ]
                    out[s, objects[inside]] = rule.answer(scaled)[0][at]
        return out
