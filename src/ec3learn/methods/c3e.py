"""C3E: the mean vote, smoothed over objects that clusterings put together.

pi_i is the mean vote on object i and s_ij the share of clusterings, of those that cover both
objects, which put i and j together. With the squared loss (C3E-SL) the answer y minimises

    1/2 sum_i |y_i - pi_i|^2 + alpha/2 sum_(i != j) s_ij |y_i - y_j|^2

which is one positive definite system over objects. It is solved exactly; the published passes over
the objects, one after the other, end there too. With the generalised I-divergence d(p, q) = sum p
log(p/q) - p + q (C3E-KL) each object has two copies, l and r, and

    sum_j d(pi_j, r_j) + alpha sum_(i != j) s_ij d(l_i, r_j) + lambda sum_i d(l_i, r_i)

falls with every exact step: r is an arithmetic mean given l, and l a geometric mean given r.

S is never formed: it is a product of memberships, divided by the number of clusterings that cover
both objects, which depends on the gaps of the two objects only. alpha is divided by the mean degree
sum_j s_ij, which grows with the number of objects, so that the same alpha means the same at any
size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from .._checks import InputError
from .._typing import Array
from ..algebra.membership import entries, membership, normalised, reached_groups
from ..algebra.scaling import inverse, solve_free_rows
from ..answer.rule import KnownLabels, log_of, mean_votes, one_hot
from ..votes import Votes
from ..votes.operations import row_of_objects
from .base import Answer, Method
from .parameters import AT_LEAST_ONE, NOT_NEGATIVE, POSITIVE

FLOOR = 1e-9  # added to each class, so that the logarithm of a class without votes exists
Smoothing = Callable[["CoAssociation", Array, Array], tuple[Array, int, bool]]

MOST_GAPS = 4_096  # a dense table has one row and one column per distinct row of gaps


@dataclass(eq=False, repr=False)
class C3ESL(Method):
    """Combine classifiers and clusterings by C3E with the squared loss, exactly.

    Parameters
    ----------
    alpha : float
        How hard objects in the same clusters pull on each other, divided by the mean degree: at 1
        the companions of an average object weigh about twice as much as its own votes. Large values
        give every object the majority class.
    tol : float
        The relative residual at which conjugate gradients stop.
    max_iter : int
        The most rounds of conjugate gradients.

    Examples
    --------
    >>> from ec3learn import C3ESL, Votes
    >>> said = {"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}
    >>> votes = Votes.from_labels(said, {"kmeans": [0, 0, 1]})
    >>> C3ESL().solve(votes).labels()
    array(['a', 'a', 'b'], dtype=object)
    """

    title = "C3E-SL"
    allowed: ClassVar = {"alpha": NOT_NEGATIVE, "tol": POSITIVE, "max_iter": AT_LEAST_ONE}

    alpha: float = 0.25
    tol: float = 1e-12
    max_iter: int = 1000

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        return CoAssociation(votes).answer(self._smooth, known)

    def _smooth(self, similar: CoAssociation, pi: Array, fixed: Array) -> tuple[Array, int, bool]:
        """Solve (I + 2 alpha L) Y = Pi with fixed rows; also says how it went.

        L is the Laplacian of S, diag(S 1) - S, in which the diagonal of S cancels.
        """
        alpha = similar.scale(float(self.alpha))
        whole = similar.whole_product(np.ones((len(pi), 1)))[:, 0]
        free = ~fixed & (similar.counts > 0)

        def apply(columns: Array) -> Array:
            return columns * (1 + 2 * alpha * whole[:, None]) - 2 * alpha * similar.whole_product(
                columns
            )

        proba = np.where(fixed[:, None], pi, 0.0)
        diagonal = 1 + 2 * alpha * (whole - similar.counts * similar.own)
        n_iter, converged = solve_free_rows(
            apply,
            diagonal,
            lambda part: pi[:, part],
            similar.counts,
            free,
            proba,
            self.tol,
            self.max_iter,
        )
        weightless = np.flatnonzero(~fixed & ~free)
        if len(weightless):
            pulled = pi + 2 * alpha * similar.whole_product(proba)
            proba[weightless] = pulled[weightless] / (1 + 2 * alpha * whole[weightless, None])
        return np.maximum(proba, 0.0), n_iter, converged


@dataclass(eq=False, repr=False)
class C3EKL(Method):
    """Combine classifiers and clusterings by C3E with the I-divergence.

    Parameters
    ----------
    alpha : float
        How hard objects in the same clusters pull on each other, divided by the mean degree.
    agreement : float
        Lambda: how hard the two copies of an object pull on each other.
    tol : float
        Stop when no probability of the right copy moves by more.
    max_iter : int
        The most rounds.

    Examples
    --------
    >>> from ec3learn import C3EKL, Votes
    >>> said = {"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}
    >>> votes = Votes.from_labels(said, {"kmeans": [0, 0, 1]})
    >>> C3EKL().solve(votes).labels()
    array(['a', 'a', 'b'], dtype=object)
    """

    title = "C3E-KL"
    allowed: ClassVar = {
        "alpha": NOT_NEGATIVE,
        "agreement": POSITIVE,
        "tol": POSITIVE,
        "max_iter": AT_LEAST_ONE,
    }

    alpha: float = 0.25
    agreement: float = 0.1
    tol: float = 1e-6
    max_iter: int = 1000

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        return CoAssociation(votes).answer(self._copies, known)

    def _copies(self, similar: CoAssociation, pi: Array, fixed: Array) -> tuple[Array, int, bool]:
        """The mean of the copies l and r, some rows fixed; also says how it went."""
        alpha, agreement = similar.scale(float(self.alpha)), float(self.agreement)
        pi, fixed = normalised(pi + FLOOR), fixed[:, None]
        left = right = np.where(fixed, pi, 1 / pi.shape[1])
        degree = similar.degree[:, None]
        converged, n_iter = False, 0
        while not converged and n_iter < self.max_iter:
            n_iter += 1
            before = right
            pulled = pi + alpha * similar.product(left) + agreement * left
            right = np.where(fixed, pi, pulled / (1 + alpha * degree + agreement))
            logs = log_of(right)
            pulled = alpha * similar.product(logs) + agreement * logs
            left = np.where(fixed, pi, np.exp(pulled / (alpha * degree + agreement)))
            converged = float(np.abs(right - before).max(initial=0.0)) < self.tol
        return (normalised(left) + normalised(right)) / 2, n_iter, converged


class CoAssociation:
    """S, without its diagonal, over distinct rows.

    How many clusterings cover two rows depends on their gaps only, which is where clusterings are
    missing. So a product with S sums a table over clusters, separately for rows with different
    gaps, divides by the number of clusterings that cover both sides, and sums over each row's
    clusters:

        (S v)_i = sum_(g in clusters of i) w_g sum_h 1 / (clusterings that cover gaps of i and h)
        sum_(j in g with gaps h) s_j v_j
    """

    def __init__(self, votes: Votes) -> None:
        self.votes = votes
        group_model = votes.models.group_model
        clusterings = np.flatnonzero(~votes.models.is_voter & (votes.weights > 0))
        columns = np.flatnonzero(np.isin(group_model, clusterings))
        owner = np.searchsorted(clusterings, group_model[columns])
        matrix = entries(votes)[:, columns]
        self.weight = votes.weights[group_model[columns]]
        gaps, self.gap = _sets_of_gaps(matrix @ one_hot(owner, len(clusterings)))
        both = (gaps * votes.weights[clusterings]) @ gaps.T
        self.per_cover = inverse(both)
        # A column for each set of gaps and each cluster.
        place = np.repeat(self.gap, np.diff(matrix.indptr)) * len(columns) + matrix.indices
        self.clusters = sparse.csr_array(
            (matrix.data, place, matrix.indptr), shape=(votes.n_rows, len(gaps) * len(columns))
        )
        weights = np.tile(self.weight, len(gaps))
        # s_ii
        self.own = (self.clusters.power(2) @ weights) * self.per_cover[self.gap, self.gap]
        self.counts = votes.counts
        self.itself = _self_weight(votes)
        self.degree = np.maximum(self.product(np.ones((votes.n_rows, 1)))[:, 0], 0.0)

    def whole_product(self, values: Array) -> Array:
        """S (counts values), the diagonal included, as if every object occurred once more."""
        sums = self.clusters.T @ (self.counts[:, None] * values)
        by_gap = sums.reshape(len(self.per_cover), len(self.weight), values.shape[1])
        spread = np.einsum("gh,hcz->gcz", self.per_cover, by_gap) * self.weight[:, None]
        return self.clusters @ spread.reshape(sums.shape)

    def product(self, values: Array) -> Array:
        """sum_(j != i) s_ij values_j; other objects of the same row count."""
        return self.whole_product(values) - (self.itself * self.own)[:, None] * values

    def scale(self, alpha: float) -> float:
        """The weight alpha, divided by the mean degree."""
        mean = float(self.counts @ self.degree / self.counts.sum())
        return alpha / mean if mean > 0 else 0.0

    def answer(self, smooth: Smoothing, known: KnownLabels | None) -> Answer:
        """The answer of a form of C3E: the mean vote, smoothed; known labels stay.

        An object without votes starts uniform; it is answered if clusters tie it to one with votes.
        """
        votes, groups = self.votes, membership(self.votes)
        pi, unanswered, rule = mean_votes(votes, groups, votes.weights, known)
        pi[unanswered] = 1 / votes.n_classes
        if unanswered.any():
            live = votes.weights[votes.models.group_model[groups.order]] > 0
            live &= votes.models.group_class[groups.order] < 0
            voted = groups.scatter(votes.counts * ~unanswered) > 0
            live &= reached_groups(groups, votes.counts, live, voted & live, ~unanswered)
            unanswered = unanswered & (groups.gather(live.astype(np.float64)) <= 0)
        fixed = np.zeros(votes.n_rows, dtype=bool) if known is None else known.labelled
        proba, n_iter, converged = smooth(self, pi, fixed)
        proba[fixed], proba[unanswered] = pi[fixed], rule.fallback
        return Answer(proba, unanswered, n_iter=n_iter, converged=converged)


def _self_weight(votes: Votes) -> Array:
    """How much of a row is the object itself, not others like it.

    That is its weight, at most 1, averaged over the objects of the row.
    """
    weight = np.ones(votes.n_objects) if votes.sample_weight is None else votes.sample_weight
    own = weight * np.minimum(weight, 1.0)
    return np.bincount(row_of_objects(votes), own, votes.n_rows) * inverse(votes.counts)


def _sets_of_gaps(covered: sparse.csr_array) -> tuple[Array, Array]:
    """Which clusterings cover the rows with each set of gaps, and the number of each row's set."""
    gaps, number = np.unique(covered.toarray() > 0.5, axis=0, return_inverse=True)
    if len(gaps) > MOST_GAPS:
        raise InputError(
            "votes",
            phrase=f"C3E supports at most {MOST_GAPS:,} different sets of clusterings that objects "
            f"are missing from, got {len(gaps):,}",
            remedy="Give the missing objects a cluster of their own, or leave out the clusterings "
            "with most gaps.",
        )
    return gaps, number.ravel()
