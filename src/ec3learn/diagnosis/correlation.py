"""How much of what voters say is one opinion repeated: the correlation of their errors, with labels and without.

The errors of voters who see the same surface of an object correlate, and then n votes are worth
fewer. An answer made from all votes has absorbed what they have in common, so the errors of one
half of the voters are measured against the answer of the other. With few votes on an object that
answer is worse than it seems to be, and makes even independent errors look alike: what independent
voters would show is found by drawing their votes, and taken off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._checks import InputError, is_number
from .._text import arg
from .._typing import Array
from ..algebra.bayes import SubtypeModel
from ..algebra.em import ConfusionModel
from ..algebra.linear import normalised, sample_rows
from ..algebra.membership import entries, membership, votes_cast
from ..algebra.trust import agreement_by_voter
from ..answer.rule import mean_votes
from ..votes import (
    Models,
    Votes,
    hardened,
    has_graders,
    merge_equal_rows,
    only_rows,
    oriented,
    unweighted,
    votes_per_model,
)
from ..votes.encoding import known_codes
from ..votes.layout import Stores, entries_of_votes
from .labels import Labels
from .metrics import are_counts, counted_votes, require_votes, votes_per_row
from .voters import labelled_rows

SAMPLE = 3_000  # distinct rows that are enough to measure on
LEAST_VOTERS = 4  # two in each half
MOST_CLASSES = (
    20  # with more it takes long to measure, and much memory: the rarest are taken for one
)
FEW_VOTERS = 6  # there are up to ten splits of them into halves, and all are measured
FEWEST_SPLITS, MOST_SPLITS, DRAWN = 4, 12, 50  # of more voters, and how many are drawn for each
ENOUGH = 100  # voters in all splits: the more there are, the less do splits differ
LEAST_LABELS, MOST_LABELLED = 20, 50  # labels to measure by, and classes that they may have
TOLD_APART = 1e-4  # the least singular value of how an answer mixes the classes, which is 1 for a sure answer
PSEUDO_VOTES = 1.0  # of the average voter, added to each voter's own: a voter with three votes shows little of its errors


def error_correlation(votes: Votes, known: Any = None) -> float:
    """Return the mean correlation of two voters' errors on the same object.

    Parameters
    ----------
    votes : Votes
        The votes, for classes or on a scale. A soft vote counts for its most probable class;
        without labels, not at all on a tie.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Labels to measure errors by, those of 20 objects or more. They also show the errors that all
        voters share.

    Returns
    -------
    float
        At most 1, and about 0 for independent errors. Without labels, errors that all voters share
        cannot be told from the truth, so this is a lower bound: of the true correlation, simulated
        voters showed a quarter with six votes per object, a third with twelve and half of it with
        24; twelve real language models showed 42 %. It takes four voters; fewer show nothing, and 0
        is returned.
    """
    require_votes(votes)
    given, votes = votes, counted_votes(votes)
    if known is not None:
        codes = (
            known.codes
            if isinstance(known, Labels)
            else known_codes(known, votes.classes, votes.n_objects, votes.object_ids)
        )
        n_labels = count_labels(given, codes)
        if n_labels < LEAST_LABELS:
            remedy = f"Leave {arg('known')} out to measure without labels."
            raise InputError(
                "known", f"must have at least {LEAST_LABELS} labels", got=n_labels, remedy=remedy
            )
        labelled, row_codes = labelled_rows(oriented(votes, codes), codes)
        return _excess(_Cast.of(hardened(labelled)), np.eye(votes.n_classes)[row_codes])
    voters = erring_voters(votes)
    if len(voters) < LEAST_VOTERS or votes.n_classes < 2:
        return 0.0
    votes = unweighted(votes)
    if votes.prior is not None:
        votes = merge_equal_rows(replace(votes, prior=None))
    some, counts = sample_rows(votes.counts, SAMPLE)
    rows = _whole_votes(only_rows(votes, some))
    rows = replace(
        rows, sample_weight=counts, counts=counts
    )  # a row is one object that counts as often
    if not counts @ votes_per_row(rows, np.isin(rows.models.group_model, voters)):
        return 0.0  # all votes are tied
    if votes.n_classes > MOST_CLASSES and not has_graders(votes):
        return error_correlation(_with_fewer_classes(rows))
    ordered = _voters_in_own_order(votes, voters)
    splits, independent = _splits(ordered), _independent(rows, ordered)
    seen, by_chance = (_correlation_of_halves(own, splits) for own in (rows, independent))
    return seen - max(by_chance, 0.0)


def count_labels(votes: Votes, codes: Array) -> int:
    """Return how many objects have a known class (its number, -1 for none); a weight may say how often an object occurs."""
    weights = votes.sample_weight
    return round(
        float(
            (codes >= 0)
            @ (weights if weights is not None and are_counts(weights) else np.ones(len(codes)))
        )
    )


def shown_by_labels(votes: Votes, codes: Array) -> bool:
    """Return whether there are labels enough to measure errors by, and not too many classes."""
    return count_labels(votes, codes) >= LEAST_LABELS and votes.n_classes <= MOST_LABELLED


def erring_voters(votes: Votes) -> Array:
    """Return the voters whose errors could correlate: those with votes that count."""
    return np.flatnonzero(
        votes.models.is_voter & (votes_per_model(votes) > 0) & (votes.weights > 0)
    )


def shows_correlation(votes: Votes, by_labels: bool = False) -> bool:
    """Return whether there are enough voters to measure the correlation of their errors."""
    return len(erring_voters(votes)) >= (2 if by_labels else LEAST_VOTERS)


def _whole_votes(votes: Votes) -> Votes:
    """Return the votes as labels, without those that are tied between several.

    Shares of a vote leave half of the voters less sure of their answer than they can be, and what
    an unsure answer explains of the errors of the other half is then far too much.
    """
    votes = hardened(votes)
    if votes.stores.is_hard:
        return votes
    matrix = entries(votes).tocoo()
    (row, group), whole = matrix.coords, matrix.data == 1
    return replace(
        votes, stores=Stores(sparse=entries_of_votes(row[whole], group[whole], matrix.shape))
    )


def _with_fewer_classes(votes: Votes) -> Votes:
    """Return whole votes of classifiers, with the classes that get the fewest taken for one."""
    entered = entries(votes).tocoo()
    for_class = votes.models.group_class[entered.coords[1]]
    (row, group), for_class = (
        (place[for_class >= 0] for place in entered.coords),
        for_class[for_class >= 0],
    )
    cast = np.bincount(for_class, weights=votes.counts[row], minlength=votes.n_classes)
    number = np.empty(votes.n_classes, dtype=np.int64)
    number[np.argsort(-cast, kind="stable")] = np.minimum(
        np.arange(votes.n_classes), MOST_CLASSES - 1
    )
    own, classes = np.flatnonzero(votes.models.is_classifier), np.arange(MOST_CLASSES)
    models = Models(replace(votes.models[m], labels=classes) for m in own)
    groups = (
        np.searchsorted(own, votes.models.group_model[group]) * MOST_CLASSES + number[for_class]
    )
    stores = Stores(sparse=entries_of_votes(row, groups, (votes.n_rows, len(own) * MOST_CLASSES)))
    return replace(votes, classes=classes, models=models, weights=votes.weights[own], stores=stores)


def _splits(voters: Array) -> list[tuple[Array, Array]]:
    """Return all splits of up to six voters into halves; of more, such that any two are together in about half of the splits.

    Two splits with the signs s and t put as many pairs together in both as apart in one if s't = 0.
    So of some splits at random the one is taken whose s is closest to orthogonal to those before.
    Random splits alone would differ twice as much.
    """
    n, rng, signs = len(voters), np.random.default_rng(0), np.resize([1.0, -1.0], len(voters))
    if n <= FEW_VOTERS:
        halves = [
            list(half) for half in combinations(range(n), n // 2) if n % 2 or 0 in half
        ]  # an even n finds each split twice
        return [(voters[half], np.delete(voters, half)) for half in halves]
    chosen = np.empty((0, n))
    for _ in range(max(FEWEST_SPLITS, min(MOST_SPLITS, ENOUGH // n))):
        drawn = np.stack([rng.permutation(signs) for _ in range(DRAWN)])
        chosen = np.vstack([chosen, drawn[((drawn @ chosen.T) ** 2).sum(axis=1).argmin()]])
    return [(voters[split > 0], voters[split < 0]) for split in chosen]


def _voters_in_own_order(votes: Votes, voters: Array) -> Array:
    """Return voters ordered by how far they agree with the mean vote, whatever order they come in."""
    groups = membership(votes)
    mean = mean_votes(votes, groups, votes.weights, None)[0]
    by_voter = agreement_by_voter(votes, groups, mean)
    return np.asarray(voters[np.argsort(by_voter[voters].round(6), kind="stable")])


def _independent(votes: Votes, voters: Array) -> Votes:
    """Return votes of these voters on the same objects, as they would be if errors were independent.

    They are drawn from what Dawid-Skene finds: a class for each object, and for each vote an answer
    given that class. A row is drawn as often as it counts, but there are at most `SAMPLE` objects.
    Answers, rows and classes are put in an order of their own, so that the same votes in another
    order are drawn alike.
    """
    groups, rng = membership(votes), np.random.default_rng(0)
    fit = SubtypeModel(votes, groups).fit(
        mean_votes(votes, groups, votes.weights, None)[0], 1e-3, 50
    )
    classes = np.argsort(-(votes.counts @ fit.proba).round(6), kind="stable")
    answers, first, last = _ordered_answers(votes, voters, np.argsort(classes))
    lines = entries(votes)[:, answers]
    lines.sort_indices()
    rows = _ordered_rows(lines)
    total = float(votes.counts[rows].sum())
    n = min(SAMPLE, max(1, round(total)))
    objects = rows[np.searchsorted(np.cumsum(votes.counts[rows]), total * (np.arange(n) + 0.5) / n)]
    truth = (
        rng.random((n, 1)) > np.cumsum(normalised(fit.proba[objects][:, classes])[:, :-1], axis=1)
    ).sum(axis=1)
    row, answer = lines[objects].tocoo().coords
    drawn, chance = np.empty_like(answer), rng.random(len(answer))
    for k, of_class in enumerate(np.exp(fit.evidence[answers][:, classes]).T):
        ends = np.concatenate(
            [[0.0], np.cumsum(of_class)]
        )  # of the stretch that each answer takes up
        own = truth[row] == k
        begin, end = first[answer[own]], last[answer[own]]  # of the voter's answers
        place = ends[begin] + chance[own] * (ends[end] - ends[begin])
        drawn[own] = np.clip(np.searchsorted(ends, place, side="right") - 1, begin, end - 1)
    given = entries_of_votes(row, answers[drawn], (n, votes.models.n_groups))
    given.sort_indices()
    return replace(
        only_rows(votes, objects),
        stores=Stores(sparse=given),
        sample_weight=None,
        counts=np.ones(n),
    )


def _ordered_answers(votes: Votes, voters: Array, class_rank: Array) -> tuple[Array, Array, Array]:
    """Return the groups of some voters, one voter after the other, and where those of each one's voter begin and end."""
    rank = np.full(len(votes.models), len(voters))
    rank[voters] = np.arange(len(voters))
    within = np.where(
        votes.models.group_class >= 0,
        class_rank[votes.models.group_class],
        np.arange(votes.models.n_groups),
    )  # scales have an order
    of_voter = rank[votes.models.group_model]
    answers = np.lexsort((within, of_voter))[: int((of_voter < len(voters)).sum())]
    first, last = (
        np.searchsorted(of_voter[answers], of_voter[answers], side=side)
        for side in ("left", "right")
    )
    return answers, first, last


def _ordered_rows(lines: sparse.csr_array) -> Array:
    """Return the rows that have entries, in the order of the columns that they have entries in."""
    starts = lines.indptr.tolist()
    rows = np.flatnonzero(np.diff(lines.indptr)).tolist()
    return np.array(
        sorted(rows, key=lambda i: lines.indices[starts[i] : starts[i + 1]].tolist()),
        dtype=np.int64,
    )


def _correlation_of_halves(rows: Votes, splits: Sequence[tuple[Array, Array]]) -> float:
    """Return the correlation of errors within each half of the voters, by the answer of the other half, over some splits."""
    names, cast = [model.name for model in rows.models], _Cast.of(rows)
    found = []
    for split in splits:
        answers = []
        for half in split:
            part = rows.drop(*(names[m] for m in set(range(len(names))).difference(half.tolist())))
            groups = membership(part)
            fitted = (
                ConfusionModel(part, groups)
                .fit(mean_votes(part, groups, part.weights, None)[0], 1e-3, 50)
                .proba
            )
            answers.append(
                fitted if part.index is None else fitted[part.index]
            )  # by row, as before equal ones were merged
        found += [
            _excess(cast.of_voters(half), answer)
            for half, answer in zip(split, reversed(answers), strict=True)
        ]
    return float(np.mean(found))


def effective_voters(votes: Votes, correlation: float | None = None) -> float:
    """Return how many independent voters the voters on an object are worth: J / (1 + (J - 1) r).

    J is the mean number of votes per object with a vote, and r the correlation of the voters'
    errors (`error_correlation`). Errors that all voters share cannot be seen without labels, so the
    true number is lower if anything.

    Parameters
    ----------
    votes : Votes
        The votes, for classes or on a scale.
    correlation : float
        The correlation of errors: by default `error_correlation(votes)`; where labels are known,
        pass what it finds by them.

    Examples
    --------
    >>> import numpy as np
    >>> from ec3learn import Votes
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=3000)
    >>> opinions = [truth ^ (rng.random(3000) < 0.2) for _ in range(4)]
    >>> twice = {f"v{j}": opinions[j % 4] for j in range(8)}
    >>> print(f"{effective_voters(Votes.from_labels(twice)):.1f} of 8")
    3.9 of 8
    """
    require_votes(votes)
    if correlation is not None and not (is_number(correlation) and isfinite(correlation)):
        raise InputError(
            "correlation",
            "must be a finite number",
            got=correlation,
            remedy="Leave it out to measure it.",
        )
    per_row = votes_per_row(
        votes, (votes.models.is_voter & (votes.weights > 0))[votes.models.group_model]
    )
    covered = float(votes.counts @ (per_row > 0))
    if covered <= 0:
        return 0.0
    n = float(votes.counts @ per_row) / covered
    correlation = error_correlation(votes) if correlation is None else correlation
    return n / (1 + (n - 1) * min(max(correlation, 0.0), 1.0))


class _Cast(NamedTuple):
    """Votes one by one: the row, the voter and what it gives to each class; and how often each row counts."""

    rows: Array
    voters: Array
    said: Array
    counts: Array

    @classmethod
    def of(cls, votes: Votes) -> _Cast:
        return cls(*votes_cast(votes), votes.counts)

    def of_voters(self, voters: Array) -> _Cast:
        own = np.isin(self.voters, voters)
        return _Cast(self.rows[own], self.voters[own], self.said[own], self.counts)


def _excess(votes: _Cast, proba: Array) -> float:
    """Return the mean correlation of residuals given an answer, less what the uncertainty of that answer explains.

    The residual of voter j on object i is e_ij = y_ij - sum_k z_ik mu_jk, with y the vote over
    classes and mu_jk the mean vote of j on class k, divided by its root mean square. Both are drawn
    to those of all voters by a pseudo-vote: otherwise the residuals of a voter with one vote per
    class are all 0. Sums over pairs follow from sums over objects: sum_{j != h} e_j e_h = (sum_j
    e_j)^2 - sum_j e_j^2.
    """
    rows, voters, said, counts = votes
    n_classes, weight = said.shape[1], counts[rows]
    by_row, by_voter = (
        _sums_over(key, n) for key, n in ((rows, len(counts)), (voters, voters.max(initial=-1) + 1))
    )
    mass = weight[:, None] * proba[rows]
    mean = np.stack(
        [by_voter @ (mass[:, k, None] * said) for k in range(n_classes)], axis=1
    )  # mu: voters x classes x answers
    total = by_voter @ mass
    pooled = mean.sum(axis=0) / np.maximum(total.sum(axis=0), 1e-12)[:, None]
    mean = (mean + PSEUDO_VOTES * pooled) / (total + PSEUDO_VOTES)[:, :, None]
    # Averages weighted by unsure answers mix the classes, by the shares z'z; its inverse takes that
    # out (least squares).
    n_votes = by_row @ np.ones(len(rows))
    mixed = normalised(
        proba.T @ ((counts * (n_votes > 0))[:, None] * proba) + 1e-6 * np.eye(n_classes)
    )
    if np.linalg.norm(mixed, -2) < TOLD_APART:
        return 0.0  # the answer is the same for all objects
    mean = np.einsum("kl,jlc->jkc", np.linalg.inv(mixed), mean)
    expected = np.zeros_like(said)
    for k in range(n_classes):
        expected += proba[rows, k, None] * mean[voters, k]
    residual = said - expected
    size, cast = by_voter @ (weight * (residual**2).sum(axis=1)), by_voter @ weight
    typical = float(size.sum()) / max(float(cast.sum()), 1e-300)
    if typical < 1e-18:
        return 0.0  # nobody ever errs
    scale = np.sqrt((size + PSEUDO_VOTES * typical) / (cast + PSEUDO_VOTES))[voters][:, None]

    def products(values: Array) -> Array:
        """Return for each object the sum of products of two voters' values."""
        return np.asarray(((by_row @ values) ** 2).sum(axis=1) - by_row @ (values**2).sum(axis=1))

    found = products(residual / scale)
    for k in range(n_classes):
        found -= proba[:, k] * products((mean[voters, k] - expected) / scale)
    pairs = float(counts @ (n_votes * (n_votes - 1)))
    if pairs <= 0:
        return 0.0
    return min(
        max(float(counts @ found) / pairs, -1.0), 1.0
    )  # answers on few objects may tell the classes hardly apart


def _sums_over(key: Array, n: int) -> sparse.csc_array:
    """Return the matrix that sums a table over the rows that have the same key."""
    return sparse.csc_array((np.ones(len(key)), key, np.arange(len(key) + 1)), shape=(n, len(key)))
