"""How much of the voters' agreement is one opinion repeated: the correlation of their errors, without labels.

The errors of voters who see the same surface of an object correlate, and then n votes are worth fewer. An answer made from all
votes has absorbed what they have in common, so the errors of one half of the voters are measured against the answer of the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._checks import InputError
from .._text import arg
from .._typing import Array
from ..algebra.em import ConfusionModel
from ..algebra.linear import normalised
from ..algebra.membership import entries, membership
from ..answer.rule import mean_votes
from ..votes import Votes
from ..votes.encoding import known_codes

SAMPLE = 20_000  # distinct rows that are enough to measure on
SPLITS = 4  # into halves, at random: copies that fall into different halves are not seen
LEAST_LABELS = 20  # to measure by
PSEUDO_VOTES = 1.0  # of the average voter, added to each voter's own: a voter with three votes shows little of its errors


def error_correlation(votes: Votes, known: Any = None) -> float:
    """Return the mean correlation of two voters' errors on the same object.

    Parameters
    ----------
    votes : Votes
        The votes, for classes or on a scale.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Labels to measure errors by, those of 20 objects or more. They also show the errors that all voters share.

    Returns
    -------
    float
        At most 1, and 0 for independent errors. Without labels, errors that all voters share cannot be told from the truth, so
        this is a lower bound: of the true correlation, simulated voters showed a quarter with six votes per object, a third with
        twelve and half of it with 24; twelve real language models showed 42 %.

    Examples
    --------
    >>> import numpy as np
    >>> from ec3learn import Votes
    >>> rng = np.random.default_rng(0)
    >>> truth, hard = rng.integers(2, size=2000), rng.random(2000) < 0.3
    >>> alone = {f"v{j}": truth ^ (rng.random(2000) < 0.1) for j in range(12)}
    >>> together = {f"v{j}": truth ^ (rng.random(2000) < np.where(hard, 0.6, 0.05)) for j in range(12)}
    >>> [round(abs(error_correlation(Votes.from_labels(votes))), 1) for votes in (alone, together)]
    [0.0, 0.1]
    """
    if known is not None:
        return _correlation_by_labels(votes, known)
    n_rows = min(votes.n_rows, SAMPLE)
    rows = votes.only_rows(np.linspace(0, votes.n_rows - 1, n_rows).astype(np.int64))
    rows = replace(rows, sample_weight=rows.counts)  # each distinct row as one object that counts as often as it occurs
    voters = np.flatnonzero(votes.is_voter & (votes.n_votes > 0) & (votes.weights > 0))
    if len(voters) < 4 or votes.n_classes < 2:
        return 0.0
    rng = np.random.default_rng(0)
    return float(np.mean([_correlation_of_halves(rows, rng.permutation(voters)) for _ in range(SPLITS)]))


def _correlation_by_labels(votes: Votes, known: Any) -> float:
    codes = known_codes(known, votes.classes, votes.n_objects, votes.object_ids)
    n_labels = int((codes >= 0).sum())
    if n_labels < LEAST_LABELS:
        remedy = f"Leave {arg('known')} out to measure without labels."
        raise InputError("known", f"must have at least {LEAST_LABELS} labels", got=n_labels, remedy=remedy)
    split, row_codes = votes.split_by(codes)
    rows = np.flatnonzero(row_codes >= 0)
    return _excess(split.only_rows(rows), np.eye(votes.n_classes)[row_codes[rows]])


def _correlation_of_halves(rows: Votes, voters: Array) -> float:
    """Return the correlation of errors within each half of the voters, who come in random order, by the answer of the other."""
    halves = [set(voters[0::2].tolist()), set(voters[1::2].tolist())]
    names = [model.name for model in rows.models]
    parts = [rows.drop(*(name for m, name in enumerate(names) if m not in half)) for half in halves]
    answers = []
    for part in parts:
        groups = membership(part)
        fitted = ConfusionModel(part, groups).fit(mean_votes(part, groups, part.weights, None)[0], 1e-3, 50).proba
        answers.append(fitted if part.index is None else fitted[part.index])
    # Both halves over the same rows again, as they were before equal rows were merged.
    apart = [part if part.index is None else replace(part.only_rows(part.index), counts=rows.counts) for part in parts]
    return float(np.mean([_excess(apart[0], answers[1]), _excess(apart[1], answers[0])]))


def effective_voters(votes: Votes, correlation: float | None = None) -> float:
    """Return how many independent voters the voters on an object are worth: J / (1 + (J - 1) r).

    J is the mean number of votes per object with a vote, and r the correlation of the voters' errors (`error_correlation`).
    Errors that all voters share cannot be seen without labels, so the true number is lower if anything.

    Parameters
    ----------
    votes : Votes
        The votes, for classes or on a scale.
    correlation : float
        The correlation of errors: by default `error_correlation(votes)`; where labels are known, pass what it finds by them.

    Examples
    --------
    >>> import numpy as np
    >>> from ec3learn import Votes
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=3000)
    >>> opinions = [truth ^ (rng.random(3000) < 0.2) for _ in range(4)]
    >>> twice = {f"v{j}": opinions[j % 4] for j in range(8)}
    >>> print(f"{effective_voters(Votes.from_labels(twice)):.1f} of 8")
    4.0 of 8
    """
    matrix = entries(votes)
    voting = votes.is_voter[votes.group_model[matrix.indices]]
    row = np.repeat(np.arange(votes.n_rows), np.diff(matrix.indptr))
    per_row = np.bincount(row[voting], weights=matrix.data[voting], minlength=votes.n_rows)
    covered = float(votes.counts @ (per_row > 0))
    if covered <= 0:
        return 0.0
    n = float(votes.counts @ per_row) / covered
    correlation = error_correlation(votes) if correlation is None else correlation
    return n / (1 + (n - 1) * min(max(correlation, 0.0), 1.0))


def _excess(votes: Votes, proba: Array) -> float:
    """Return the mean correlation of residuals given an answer, less what the uncertainty of that answer explains.

    The residual of voter j on object i is e_ij = y_ij - sum_k z_ik mu_jk, with y the vote over classes and mu_jk the mean vote of
    j on class k, divided by its root mean square. Both are drawn to those of all voters by a pseudo-vote: otherwise the residuals
    of a voter with one vote per class are all 0. Sums over pairs follow from sums over objects:
    sum_{j != h} e_j e_h = (sum_j e_j)^2 - sum_j e_j^2.
    """
    matrix = entries(votes).tocoo()
    (row, group), share = matrix.coords, matrix.data
    n_models, n_classes = len(votes.models), votes.n_classes
    pair, vote = np.unique(row * n_models + votes.group_model[group], return_inverse=True)
    rows, voters = np.divmod(pair, n_models)
    said = np.zeros((len(pair), n_classes))
    np.add.at(said, vote, share[:, None] * votes.group_meaning[group].toarray())
    weight = votes.counts[rows]
    mean = np.zeros((n_models, n_classes, n_classes))  # mu: voters x classes x what they say
    total = np.zeros((n_models, n_classes))
    for k in range(n_classes):
        mass = weight * proba[rows, k]
        np.add.at(mean[:, k], voters, mass[:, None] * said)
        np.add.at(total[:, k], voters, mass)
    pooled = mean.sum(axis=0) / np.maximum(total.sum(axis=0), 1e-12)[:, None]
    mean = (mean + PSEUDO_VOTES * pooled) / (total + PSEUDO_VOTES)[:, :, None]
    # Averages weighted by unsure answers mix the classes, by the shares z'z; its inverse takes that out (least squares).
    mixed = normalised(proba.T @ (votes.counts[:, None] * proba) + 1e-6 * np.eye(n_classes))
    mean = np.einsum("kl,jlc->jkc", np.linalg.inv(mixed), mean)
    expected = np.einsum("vk,vkc->vc", proba[rows], mean[voters])
    residual = said - expected
    size = np.bincount(voters, weights=weight * (residual**2).sum(axis=1), minlength=n_models)
    cast = np.bincount(voters, weights=weight, minlength=n_models)
    typical = float(size.sum()) / max(float(cast.sum()), 1e-300)
    if typical < 1e-18:
        return 0.0  # nobody ever errs
    scale = np.sqrt((size + PSEUDO_VOTES * typical) / (cast + PSEUDO_VOTES))[voters][:, None]

    def products(values: Array) -> Array:
        """Return for each object the sum of products of two voters' values."""
        sums = np.zeros((votes.n_rows, n_classes))
        np.add.at(sums, rows, values)
        return (sums**2).sum(axis=1) - np.bincount(rows, weights=(values**2).sum(axis=1), minlength=votes.n_rows)

    found = products(residual / scale)
    for k in range(n_classes):
        found -= proba[:, k] * products((mean[voters, k] - expected) / scale)
    n_votes = np.bincount(rows, minlength=votes.n_rows).astype(np.float64)
    pairs = float(votes.counts @ (n_votes * (n_votes - 1)))
    return float(votes.counts @ found) / pairs if pairs > 0 else 0.0
