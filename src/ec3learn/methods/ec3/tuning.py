"""The weights of EC3's terms, chosen by cross-validation on known labels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np

from ..._checks import InputError, require_choice, require_integer, require_number
from ..._table import Table
from ..._typing import Array
from ...algebra.membership import membership
from ...votes import Votes
from ...votes.encoding import known_codes
from ...votes.operations import row_of_objects
from .ec3 import EC3
from .objective import Problem, Setting
from .solvers import solve_over_groups

NAMES = ("alpha", "beta", "gamma", "delta")
PAPER = tuple(getattr(EC3(), name) for name in NAMES)


def tune_weights(
    votes: Votes,
    known: Any,
    scoring: str = "auc",
    *,
    balanced: bool = True,
    step: float = 0.05,
    folds: int = 5,
) -> tuple[EC3, Table]:
    """The best weights of the terms of EC3 by cross-validation, and the score of every setting.

    All weights are tried whose sum is 1 and which tie the answer to the votes: 1,730 settings, as
    in the paper. A fold's labels are hidden, the others are known to the method. The matrices of a
    fold are made once for all settings.

    Parameters
    ----------
    votes : Votes
        What the base models said.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Labels of some objects.
    scoring : "auc", "accuracy" or "log_loss"
        What is best: the largest area under the curve of a class against all others, averaged, as
        in the paper; the most right labels; or the smallest log loss.
    balanced : bool
        Whether to tune iEC3 or EC3.
    step : float
        By how much neighbouring weights differ. The time grows with 1 / step^3.
    folds : int
        Into how many parts the known labels are cut.

    Returns
    -------
    EC3, Table
        The method with the best weights; and one row per setting, the best first, and of equals the
        nearest to the paper's defaults. The note has the range of each weight in the best tenth.

    Examples
    --------
    >>> from ec3learn import Votes
    >>> from ec3learn.methods import tune_weights
    >>> said = {"a": [0, 1] * 10, "b": [0, 1] * 8 + [1, 0] * 2, "c": [0] * 20}
    >>> best, table = tune_weights(Votes.from_labels(said), [0, 1] * 10, step=0.25)
    >>> len(table)
    26
    """
    require_choice("scoring", scoring, tuple(SCORINGS))
    require_number("step", step, above=0)
    require_integer("folds", folds, 2)
    codes = known_codes(known, votes.classes, votes.n_objects, votes.object_ids)
    labelled = np.random.default_rng(0).permutation(np.flatnonzero(codes >= 0))
    truth = codes[labelled]
    if len(labelled) < folds or len(np.unique(truth)) < 2:
        allowed = f"must have labels of at least two classes, and at least {folds} of them"
        raise InputError("known", allowed, got=len(labelled))
    tried = [Fold(votes, codes, labelled[k::folds], balanced) for k in range(folds)]
    # Of equally good settings the one nearest to the paper's comes first.
    settings = sorted(grid(step), key=lambda setting: np.square(np.subtract(setting, PAPER)).sum())
    scores, proba = [], np.empty((len(labelled), votes.n_classes))
    for setting in settings:
        for k, fold in enumerate(tried):
            proba[k::folds] = fold.proba(setting)
        scores.append(SCORINGS[scoring](proba, truth))
    best = np.argsort(scores if scoring == "log_loss" else -np.array(scores), kind="stable")
    weights = np.array(settings)[best]
    columns = dict(zip(NAMES, weights.T.tolist(), strict=True))
    top = weights[: max(len(weights) // 10, 1)]
    ranges = [
        f"{name} {low:.2f} to {high:.2f}"
        for name, low, high in zip(NAMES, top.min(axis=0), top.max(axis=0), strict=True)
    ]
    table = Table(columns | {scoring: np.array(scores)[best].tolist()}, f"{', '.join(ranges)}.")
    return EC3(*weights[0].tolist(), balanced=balanced), table


def grid(step: float) -> Iterator[Setting]:
    """All weights with the sum 1 in these steps that tie the answer to the votes."""
    n = max(round(1 / step), 1)
    for a, b, c in product(range(n + 1), repeat=3):
        d = n - a - b - c
        if d >= 0 and (c > 0 or (a > 0 and d > 0)):
            yield a / n, b / n, c / n, d / n


class Fold:
    """The answers for hidden objects, with the dense system made of parts that no weight changes.

    The Gram matrices of `solve_over_groups` are sums over kinds of rows, each times its share.
    """

    def __init__(self, votes: Votes, codes: Array, hidden: Array, balanced: bool) -> None:
        shown = codes.copy()
        shown[hidden] = -1
        votes, known = EC3()._split_known(votes, shown)
        groups = membership(votes)
        problem = Problem(votes, groups, votes.weights, (1, 1, 1, 1), balanced, known)
        f = {x: one.f for x, one in problem.couplings.items()}
        self.names, self.pairs = list(f), list(combinations_with_replacement(f, 2))
        self.kinds, live = np.unique(problem.kind), problem.live
        counts = [problem.counts * (problem.kind == kind) for kind in self.kinds]
        pairs = [[s * f[a] * f[b] for a, b in self.pairs] for s in counts]
        self.grams = np.array([groups.grams(of) for of in pairs])[:, :, live[:, None], live]
        single = [[s * own for own in f.values()] for s in counts]
        scatter = problem.groups.scatter_weighted
        self.rights = np.array([scatter(of, problem.targets) for of in single])
        rows, self.index = np.unique(row_of_objects(votes)[hidden], return_inverse=True)
        self.hidden = problem.only_rows(rows)

    def proba(self, setting: Setting) -> Array:
        """The class probabilities of the hidden objects."""
        hidden = self.hidden
        hidden.pull(setting)
        _, _, share, pulled = hidden.by_kind[:, self.kinds]
        of_pairs = zip(self.pairs, np.tensordot(share, self.grams, 1), strict=True)
        grams = [gram for pair, gram in of_pairs if set(pair) <= set(hidden.couplings)]
        of_names = zip(self.names, np.tensordot(pulled, self.rights, 1), strict=True)
        rights = [right for name, right in of_names if name in hidden.couplings]
        proba = hidden.update_objects(solve_over_groups(hidden, grams, rights))
        proba[hidden.unanswered] = hidden.mean_target
        return proba[self.index]


# ---- scores --------------------------------------------------------------------------------------


def _auc(proba: Array, truth: Array) -> float:
    areas, classes = [], np.unique(truth)
    for z in classes[len(classes) == 2 :]:  # of two classes one tells all
        inside, outside = (np.sort(proba[chosen, z]) for chosen in (truth == z, truth != z))
        below = [np.searchsorted(outside, inside, side).mean() for side in ("left", "right")]
        areas.append(np.mean(below) / len(outside))
    return float(np.mean(areas))


def _accuracy(proba: Array, truth: Array) -> float:
    return float(np.mean(proba.argmax(axis=1) == truth))


def _log_loss(proba: Array, truth: Array) -> float:
    return float(-np.log(np.maximum(proba[np.arange(len(truth)), truth], 1e-12)).mean())


SCORINGS = {"auc": _auc, "accuracy": _accuracy, "log_loss": _log_loss}
