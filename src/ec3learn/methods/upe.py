"""UPE-style: objects, classes and clusters are points, near to each other if they belong together.

This is our reconstruction of unsupervised probabilistic embedding: only the abstract and the first
page of the paper were available, not its full text. All classifiers share one point per class
(phi), every clustering has one point per cluster (psi). A model puts object i into group g with a
probability that falls with the squared distance of their points, normalised within the model:

    P(g | i) = exp(-|x_i - theta_g|^2 / 2) / sum_h exp(-|x_i - theta_h|^2 / 2)

The points minimise the negative logarithm of the votes' probability plus gamma/2 sum_i |x_i|^2 +
eta n/2 sum_g |theta_g|^2, by L-BFGS from several random starts; the answer is P(class | i). Given
the groups' points the problem is convex in x_i, so objects with equal rows have equal points and
distinct rows are enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import softmax

from .._checks import require_seed
from .._typing import Array
from ..algebra.membership import chunks, membership
from ..algebra.scaling import inverse
from ..answer.rule import KnownLabels, mean_votes
from ..votes import Votes
from .base import Answer, Method
from .parameters import AT_LEAST_ONE, POSITIVE


@dataclass(eq=False, repr=False)
class UPE(Method):
    """Combine classifiers and clusterings by an embedding (UPE-style: our reconstruction).

    It does not support known labels, and its answer cannot be extended to new objects.

    Parameters
    ----------
    n_components : int or None
        The dimension of the space; None takes the number of classes minus 1, the fewest that can
        express every answer.
    gamma : float
        How hard objects are pulled to the origin.
    eta : float
        How hard classes and clusters are pulled to the origin, per object.
    n_init : int
        How many random starts; the best is kept, since the problem is not convex.
    tol : float
        L-BFGS stops when no entry of the gradient, over the root of the number of objects, is
        larger, or when the cost falls by less than a thousandth of it, relatively.
    max_iter : int
        The most rounds of L-BFGS per start.
    random_state : int, Generator or None
        Seeds the starts.

    Examples
    --------
    >>> from ec3learn import UPE, Votes
    >>> said = {"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}
    >>> votes = Votes.from_labels(said, {"kmeans": [0, 0, 1]})
    >>> UPE(random_state=0).solve(votes).labels()
    array(['a', 'a', 'b'], dtype=object)
    """

    title = "UPE-style"
    admits_known = False
    allowed: ClassVar = {
        "n_components": AT_LEAST_ONE,
        "gamma": POSITIVE,
        "eta": POSITIVE,
        "n_init": AT_LEAST_ONE,
        "tol": POSITIVE,
        "max_iter": AT_LEAST_ONE,
        "random_state": require_seed,
    }

    n_components: int | None = None
    gamma: float = 0.1
    eta: float = 0.1
    n_init: int = 5
    tol: float = 1e-5
    max_iter: int = 1000
    random_state: Any = None

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        n_components = (
            max(1, votes.n_classes - 1) if self.n_components is None else self.n_components
        )
        embedding = Embedding(votes, n_components, float(self.gamma), float(self.eta))
        rng = np.random.default_rng(self.random_state)
        limits = {
            "maxiter": self.max_iter,
            "maxfun": 2 * self.max_iter,
            "maxcor": 20,
            "ftol": 1e-3 * self.tol,
            "gtol": self.tol * float(np.sqrt(embedding.total)),
        }
        starts = 0.1 * rng.normal(size=(self.n_init, embedding.n_unknown))
        solve = partial(minimize, embedding.cost, jac=True, method="L-BFGS-B", options=limits)
        best = min(map(solve, starts), key=lambda found: found.fun)
        proba, unanswered = embedding.class_proba(best.x), embedding.total_of_rows <= 0
        mean, _, votes_alone = mean_votes(votes, membership(votes), votes.weights, known)
        weightless = votes.counts <= 0  # they have no point: their votes answer
        proba[weightless] = mean[weightless]
        proba[unanswered] = votes_alone.fallback
        return Answer(
            proba,
            unanswered,
            objective=float(best.fun),
            n_iter=int(best.nit),
            # 2: no step can improve it in floating point
            converged=bool(best.success) or best.status == 2,
            lacking="no vote and no cluster, and got the mean vote of all",
        )


class Embedding:
    """The cost of points for the objects and groups of some votes, and its gradient.

    The unknowns are sqrt(counts) x for the rows, then theta for classes and clusters. On this scale
    the cost is no steeper for rows that stand for many objects.
    """

    def __init__(self, votes: Votes, n_components: int, gamma: float, eta: float) -> None:
        self.n_components, self.gamma = n_components, gamma
        self.counts, self.total = votes.counts, float(votes.counts.sum())
        self.eta = eta * self.total
        self.root = np.sqrt(votes.counts)
        # All classifiers are pooled into one block of points, one per class; then comes one block
        # of clusters per clustering.
        offsets, column = votes.models.offsets, votes.models.group_class.astype(np.int64)
        self.blocks = [slice(0, votes.n_classes)]
        for m in np.flatnonzero(~votes.models.is_voter & (votes.weights > 0)):
            first = self.blocks[-1].stop
            block = slice(first, first + votes.models[m].n_groups)
            column[offsets[m] : offsets[m + 1]] = np.arange(block.start, block.stop)
            if block.stop > first:
                self.blocks.append(block)
        self.n_rows, self.n_points = votes.n_rows, self.blocks[-1].stop
        self.n_unknown = (self.n_rows + self.n_points) * n_components
        placed = np.flatnonzero(column >= 0)
        weight = votes.weights[votes.models.group_model[placed]]
        to_points = sparse.csr_array(
            (weight, (placed, column[placed])), shape=(len(column), self.n_points)
        )
        groups = membership(votes)
        self.pooled = np.vstack([sums for _, sums in groups.gather_parts(to_points[groups.order])])
        self.n_votes = [self.pooled[:, block].sum(axis=1) for block in self.blocks]
        self.total_of_rows = self.pooled.sum(axis=1)

    def split(self, unknown: Array) -> tuple[Array, Array]:
        """The points x and theta."""
        points = unknown.reshape(-1, self.n_components)
        return inverse(self.root)[:, None] * points[: self.n_rows], points[self.n_rows :]

    def cost(self, unknown: Array) -> tuple[float, Array]:
        """The cost and its gradient."""
        x, theta = self.split(unknown)
        total = self.gamma / 2 * float(self.counts @ (x**2).sum(axis=1)) + self.eta / 2 * float(
            (theta**2).sum()
        )
        gradient = np.empty((self.n_rows + self.n_points, self.n_components))
        pull, reach = np.zeros_like(theta), np.zeros(self.n_points)
        for rows in chunks(self.n_rows):
            pooled, counts, here = self.pooled[rows], self.counts[rows], x[rows]
            # |x_i|^2 is the same for all groups of a model and drops out.
            near = here @ theta.T - (theta**2).sum(axis=1) / 2
            rest = pooled.copy()
            for block, n_votes in zip(self.blocks, self.n_votes, strict=True):
                proba = near[:, block] - near[:, block].max(axis=1, keepdims=True)
                total -= float(counts @ np.einsum("ig,ig->i", pooled[:, block], proba))
                np.exp(proba, out=proba)
                mass = proba.sum(axis=1)
                total += float((counts * n_votes[rows]) @ np.log(mass))
                rest[:, block] -= (n_votes[rows] / mass)[:, None] * proba
            gradient[rows] = self.root[rows, None] * (self.gamma * here - rest @ theta)
            weighted = counts[:, None] * rest
            pull += weighted.T @ here
            reach += weighted.sum(axis=0)
        gradient[self.n_rows :] = self.eta * theta + reach[:, None] * theta - pull
        return total, gradient.ravel()

    def class_proba(self, unknown: Array) -> Array:
        """P(class | i)."""
        x, theta = self.split(unknown)
        classes = self.blocks[0]
        return softmax(x @ theta[classes].T - (theta[classes] ** 2).sum(axis=1) / 2, axis=1)
