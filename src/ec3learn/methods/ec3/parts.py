"""The parts of the paper's problem and of its solution, object by object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from ..._table import Table
from ..._typing import Array
from ...votes import Votes
from .objective import Minimum, Problem

MOST_DENSE = 2_000  # objects up to which K^c is an array


@dataclass(frozen=True, eq=False, repr=False)
class Parts:
    """What `EC3.parts` found, in the paper's order of objects and groups.

    Attributes
    ----------
    groups : list of (model, label)
        The groups, named by their base model and its class or cluster. A group without members, or
        that no vote reaches, is not among them.
    object_proba, group_proba : array
        F^o and F^g: the class probabilities of objects and of groups.
    object_votes, group_votes : array
        Y^o and Y^g: the mean vote on each object, and on the members of each group; zeros where
        nobody voted.
    membership_weights : sparse array
        K^m, objects x groups.
    terms : dict
        J1 to J4, as the paper defines them, of those that count: P is alpha/2 J1 + beta/2 J2 +
        gamma J3 + delta J4.
    objective : float
        P.
    history : Table
        One row per round of the paper's loop (`solver="bcd"`): P after it, and by how much F^o
        moved, which ends the loop once it is at most epsilon (`tol`).
    """

    groups: list[tuple[str, Any]]
    object_proba: Array
    group_proba: Array
    object_votes: Array
    group_votes: Array
    membership_weights: sparse.csr_array
    terms: dict[str, float]
    objective: float
    history: Table
    coupling: tuple[Any, Array, Array]  # A, w and d of K^c = diag(d) A diag(w) A' diag(d)

    @property
    def co_occurrence_weights(self) -> Any:
        """K^c: an array, or for more than 2,000 objects a linear operator (`K @ table`)."""
        matrix, w, d = self.coupling

        def product(table: Array) -> Array:
            d_, w_ = (values.reshape(-1, *[1] * (table.ndim - 1)) for values in (d, w))
            return np.asarray(d_ * (matrix @ (w_ * (matrix.T @ (d_ * table)))))

        if len(d) <= MOST_DENSE:
            return product(np.eye(len(d)))
        return LinearOperator((len(d), len(d)), product, product, product, dtype=np.float64)


def parts_of(votes: Votes, problem: Problem, minimum: Minimum) -> Parts:
    """The parts of a solved problem with one row per object and without known labels."""
    models, numbers = votes.models, problem.groups.order
    owners = models.group_model[numbers]
    groups = [
        (models[m].name, models[m].labels.tolist()[place])
        for m, place in zip(owners.tolist(), numbers - models.offsets[owners], strict=True)
    ]
    alpha, beta, gamma, delta = problem.setting
    values, weights = problem.terms(minimum), (alpha / 2, beta / 2, gamma, delta)
    terms = {
        f"J{k}": float(value / weight)
        for k, (value, weight) in enumerate(zip(values, weights, strict=True), start=1)
        if weight > 0
    }
    objective = float(values.sum())
    rounds = [*minimum.history[1:], objective][: minimum.n_iter if minimum.history else 0]
    matrix = problem.groups.matrix
    return Parts(
        groups,
        minimum.object_proba,
        minimum.group_proba,
        problem.targets,
        problem.group_votes,
        sparse.csr_array(matrix.multiply(problem.inverse_rho[:, None]).multiply(problem.u)),
        terms,
        objective,
        Table({"round": range(1, len(rounds) + 1), "P": rounds, "change": minimum.changes}),
        (matrix, problem.w, problem.d),
    )
