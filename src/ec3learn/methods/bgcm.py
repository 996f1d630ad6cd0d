"""BGCM: objects and groups are the two sides of a graph, and probabilities flow along its edges.

Over the class distributions of objects (U) and of groups (Q) it minimises

    f = sum_ij a_ij |u_i - q_j|^2 + alpha sum_j k_j |q_j - y_j|^2 + beta sum_i h_i |u_i - f_i|^2

where k_j is 1 for the groups of classifiers, with class y_j, and h_i is 1 for objects with a known
label f_i (BGCM-L). Given Q each u_i is a weighted mean; putting that in leaves one positive
definite system over groups, which is solved exactly.

The published loop goes back and forth between U and Q from a random start. A round shrinks its
slowest error only by a factor of about 1 - alpha r c / (n M), for n objects, M models, r
classifiers among them, and c classes. So the rounds it needs grow like n, and its stopping rule
fires long before: beyond a few hundred objects it returns noise. `solver="loop"` is that loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import linalg, sparse

from .._checks import require_bool, require_seed
from .._typing import Array
from ..algebra.membership import Membership, Table, membership, reached_groups
from ..algebra.scaling import conjugate_gradients, inverse
from ..answer.rule import GROUPS, GroupRule, KnownLabels, Term, mean_votes, one_hot
from ..votes import Votes
from .base import Answer, Method, require_few_groups
from .parameters import AT_LEAST_ONE, POSITIVE, one_of, require_pull

MOST_DENSE = 3_000  # groups; a dense system of them takes a second


@dataclass(eq=False, repr=False)
class BGCM(Method):
    """Combine classifiers and clusterings by BGCM, bipartite graph-based consensus maximisation.

    Parameters
    ----------
    alpha : float
        How hard a classifier's group is pulled to its class.
    beta : float
        How hard a known label pulls its object (BGCM-L); infinity keeps it fixed.
    normalize : bool
        Divide each group's edges by its size first, so that small groups count as much as large
        ones. This is a different objective: its probabilities are spread out, whereas the plain
        ones approach 1 / number of classes as objects get more.
    solver : "auto", "direct", "cg" or "loop"
        "direct" factors the system over groups, "cg" uses conjugate gradients, "auto" the first up
        to 3,000 groups. "loop" is the published loop from a random start, with its stopping rule:
        it fails beyond a few hundred objects.
    tol : float or None
        When to stop: for "cg" the relative residual (None: 1e-12), for "loop" the largest change in
        U (None: 1e-3).
    max_iter : int
        The most rounds of "cg" and "loop".
    random_state : int, Generator or None
        Seeds the start of "loop".

    Examples
    --------
    >>> from ec3learn import BGCM, Votes
    >>> said = {"svm": ["a", "b", "b"], "knn": ["a", "a", "b"]}
    >>> votes = Votes.from_labels(said, {"kmeans": [0, 0, 1]})
    >>> BGCM().solve(votes).labels()
    array(['a', 'a', 'b'], dtype=object)
    """

    title = "BGCM"
    allowed: ClassVar = {
        "alpha": POSITIVE,
        "beta": require_pull,
        "normalize": require_bool,
        "solver": one_of("auto", "cg", "direct", "loop"),
        "tol": POSITIVE,
        "max_iter": AT_LEAST_ONE,
        "random_state": require_seed,
    }

    alpha: float = 2.0
    beta: float = 8.0
    normalize: bool = False
    solver: Literal["auto", "cg", "direct", "loop"] = "auto"
    tol: float | None = None
    max_iter: int = 1000
    random_state: Any = None

    def _known_pull(self) -> float:
        return self.beta

    def _title(self, known: KnownLabels | None) -> str:
        return self.title if known is None else "BGCM-L"

    def _tolerance(self) -> float:
        return (1e-3 if self.solver == "loop" else 1e-12) if self.tol is None else self.tol

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        groups = membership(votes)
        graph = Graph(votes, groups, known, float(self.alpha), bool(self.normalize))
        n_groups, n_iter, converged = graph.groups.n_groups, 0, True
        solver = self.solver
        if solver == "auto":
            solver = "direct" if n_groups <= MOST_DENSE else "cg"
        if solver == "direct":
            require_few_groups(n_groups)
            group_proba = graph.solve_directly()
        elif solver == "cg":
            group_proba, n_iter, converged = graph.solve_by_conjugate_gradients(
                self._tolerance(), self.max_iter
            )
        else:
            start = np.random.default_rng(self.random_state).dirichlet(
                np.ones(votes.n_classes), votes.n_rows
            )
            group_proba, n_iter, converged = graph.run_loop(start, self._tolerance(), self.max_iter)
        group_proba = np.maximum(group_proba, 0.0)
        _, _, votes_alone = mean_votes(votes, groups, votes.weights, known)
        rule = graph.rule(votes, group_proba, votes_alone.fallback)
        proba, unanswered = rule.answers(groups, known)
        return Answer(
            proba,
            unanswered,
            rule,
            group_table=(graph.groups.order, group_proba),
            n_iter=n_iter,
            converged=converged,
        )


class Graph:
    """The edges a_ij v_j between rows and groups that a vote reaches, and labels on both sides.

    By group, `weight` is v_j, the weight of its edges: that of its model, divided by its size if
    groups are normalised; `from_labels` is alpha k_j y_j, likewise weighted, and `diagonal`
    is Dv + alpha K. By row, `share` is 1 / (Dn + beta H), 0 for rows that are fixed, or
    have no edge and no label, and `labels` is what known labels give to U, whatever Q is.
    """

    def __init__(
        self,
        votes: Votes,
        groups: Membership,
        known: KnownLabels | None,
        alpha: float,
        normalize: bool,
    ) -> None:
        self.counts = votes.counts
        weight = votes.weights[votes.models.group_model[groups.order]]
        group_class = votes.models.group_class[groups.order]
        sizes = groups.scatter(votes.counts)
        live = (sizes > 0) & (weight > 0)
        labelled = np.zeros(votes.n_rows, dtype=bool) if known is None else known.labelled
        if (live & (group_class < 0)).any():
            live &= reached_groups(groups, votes.counts, live, live & (group_class >= 0), labelled)
        self.live, self.all_groups = np.flatnonzero(live), groups
        self.groups = groups if live.all() else groups.only(self.live)
        self.weight = weight[live] / (sizes[live] if normalize else 1.0)
        label_pull = np.where(group_class >= 0, alpha * weight, 0.0)[live]
        label = group_class[live][:, None] == np.arange(votes.n_classes)
        self.from_labels = label_pull[:, None] * label
        self.diagonal = self.weight * sizes[live] + label_pull

        total = self.groups.gather(self.weight)
        self.labels = np.zeros((votes.n_rows, votes.n_classes))
        if known is not None:
            total[labelled] += known.pull
            self.labels = known.one_hot(votes.n_classes)
        self.share = inverse(total)
        if known is not None and not known.fixed:
            self.labels *= known.pull * self.share[:, None]

    # ---- one side, given the other ---------------------------------------------------------------

    def update_objects(self, group_proba: Array) -> Array:
        """The best U given Q, rows of zeros where a row has no edge."""
        means = self.groups.gather(self.weight[:, None] * group_proba)
        return self.share[:, None] * means + self.labels

    def update_groups(self, object_proba: Array) -> Array:
        """The best Q given U."""
        return (self._from_objects(object_proba) + self.from_labels) / self.diagonal[:, None]

    def _from_objects(self, object_proba: Array) -> Array:
        return self.weight[:, None] * self.groups.scatter(self.counts[:, None] * object_proba)

    # ---- the system over groups ------------------------------------------------------------------

    def right(self) -> Array:
        """The right-hand side: the classes of groups, and the known labels of their members."""
        return self.from_labels + self._from_objects(self.labels)

    def solve_directly(self) -> Array:
        """Q by a dense Cholesky factorisation."""
        (gram,) = self.all_groups.grams([self.counts * self.share])
        gram = gram[np.ix_(self.live, self.live)]
        system = np.diag(self.diagonal) - self.weight[:, None] * gram * self.weight
        return np.asarray(linalg.solve(system, self.right(), assume_a="pos"))

    def solve_by_conjugate_gradients(self, tol: float, max_iter: int) -> tuple[Array, int, bool]:
        """Q, the most rounds a class took, and whether all converged."""

        def apply(columns: Array) -> Array:
            means = self.share[:, None] * self.groups.gather(weight * columns)
            gathered = self.groups.scatter(self.counts[:, None] * means)
            return self.diagonal[:, None] * columns - weight * gathered

        weight = self.weight[:, None]
        return conjugate_gradients(apply, self.diagonal, self.right(), tol, max_iter)

    def run_loop(self, object_proba: Array, tol: float, max_iter: int) -> tuple[Array, int, bool]:
        """Q where the published loop stops, after how many rounds, and whether it converged."""
        change, n_iter = np.inf, 0
        while change > tol and n_iter < max_iter:
            n_iter += 1
            group_proba, before = self.update_groups(object_proba), object_proba
            object_proba = self.update_objects(group_proba)
            change = float(np.abs(object_proba - before).max(initial=0.0))
        return group_proba, n_iter, change <= tol

    # ---- the answer ------------------------------------------------------------------------------

    def rule(self, votes: Votes, group_proba: Array, fallback: Array) -> GroupRule:
        """How an object's answer follows from its groups.

        An empty group of a classifier is its class, for votes to come.
        """
        classes, weights = votes.models.group_class, votes.weights[votes.models.group_model]
        order = self.groups.order
        empty = np.setdiff1d(np.flatnonzero((classes >= 0) & (weights > 0)), order)
        proba: Table = group_proba
        if len(empty):
            ones = one_hot(classes[empty], votes.n_classes)
            proba = sparse.csr_array(sparse.vstack([group_proba, ones]))
        weight = np.concatenate([self.weight, weights[empty]])
        term = Term(GROUPS, 1.0, np.concatenate([order, empty]), weight, proba, by_total=True)
        return GroupRule((term,), fallback)
