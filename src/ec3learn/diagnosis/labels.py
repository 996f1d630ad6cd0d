"""Labels to judge by: what they say, and how far the labelled objects stand for all others.

Only objects that were drawn at random say how often an answer is right. Those that `ask` chose,
because they were hard, correct the answer and measure nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._checks import InputError
from .._text import arg
from .._typing import Array
from ..answer.extension import aligned_membership
from ..answer.mixtures import RegressionRule
from ..answer.rule import Rule
from ..answer.solution import Solution, margin_of
from ..votes import Votes, only_rows, split_by
from ..votes.encoding import draw_of, known_codes, rows_by_name
from .metrics import object_weights

HARD = (
    "These labels were chosen because they were hard: they correct the answer but do not measure it"
)


@dataclass(frozen=True, eq=False)
class Labels:
    """The class of each object, -1 without a label, and the chance of each label to be there.

    The chance is 0 for an object that was chosen, and NaN where nobody says how it was found.
    """

    codes: Array
    chances: Array

    @property
    def n(self) -> int:
        """How many objects have a label."""
        return int((self.codes >= 0).sum())

    def only(self, objects: Array) -> Labels:
        """The labels of some of the objects."""
        return replace(self, codes=np.where(objects, self.codes, -1))


def read_labels(solution: Solution, known: Any, argument: str = "known") -> Labels:
    """Read labels for the objects of an answer, in any of the forms that `solve` takes."""
    if known is not None and not solution.has_objects:
        raise InputError(
            argument,
            phrase=f"{arg(argument)} needs objects to judge, and this consensus was loaded from a "
            "file without them",
            remedy="Save it with objects=True, or judge the answer of extend(votes).",
        )
    return labels_of(known, solution.classes, solution.n_objects, solution.object_ids, argument)


def labels_of(
    known: Any, classes: Array, n: int, ids: Array | None, argument: str = "known"
) -> Labels:
    """Read labels for n objects, which may have names."""
    if isinstance(known, Labels):
        return known
    if known is None:
        return Labels(np.full(n, -1), np.full(n, np.nan))
    return Labels(known_codes(known, classes, n, ids, argument), label_chances(known, n, ids))


def taught_labels(solution: Solution) -> Labels:
    """The labels that the method was given."""
    if solution.known is None:
        return read_labels(solution, None)
    chances = solution.label_chances
    nothing = np.full(solution.n_objects, np.nan)
    return Labels(solution.expand(solution.known.codes), nothing if chances is None else chances)


def given_labels(solution: Solution) -> Array:
    """Which objects' labels the method was given."""
    return taught_labels(solution).codes >= 0


def label_chances(known: Any, n_objects: int, object_ids: Array | None) -> Array:
    """The chance of each object to be labelled, as in `Labels`.

    An object may be there twice. It was drawn if either row says so.
    """
    draw = draw_of(known)
    if draw is None:
        return np.full(n_objects, np.nan)
    names, chances = draw[0], np.array(draw[2], dtype=np.float64)
    order = np.argsort(np.nan_to_num(-chances, nan=-1e-9), kind="stable")
    row = rows_by_name([names[i] for i in order], n_objects, object_ids, "known")
    return np.append(chances[order], np.nan)[row]  # -1 for those that are not there


def measuring(solution: Solution, labels: Labels) -> Labels | None:
    """The labels by which an answer may be judged: those of a random draw; None if none are.

    Labels of unknown origin count as drawn, unless they lie far more among contested objects than a
    draw would.
    """
    labelled, counted = labels.codes >= 0, labels.chances > 0
    unknown = labelled & np.isnan(labels.chances)
    # Others could not have been drawn.
    candidates = object_weights(solution) * (labelled | ~given_labels(solution))
    if unknown.any() and not _among_contested(solution, unknown, candidates):
        counted |= unknown
    drawn = labels.only(counted)
    return drawn if drawn.n or not labels.n else None


def _among_contested(solution: Solution, labelled: Array, times: Array) -> bool:
    """Whether the margins of labelled objects rank lower than those of a draw (rank sum test)."""
    from scipy.stats import mannwhitneyu  # it takes longer to load than a small answer

    margin = solution.expand(solution.row_margin)
    if solution.known is not None and solution.rule is not None:  # its own label left aside
        margin = margin_of(proba_without_labels(solution, solution.rule))
    margin, times = margin.round(9), times.round().astype(np.int64)
    ours, others = (np.repeat(margin[who], times[who]) for who in (labelled, ~labelled))
    if not (len(ours) and len(others)):
        return False
    return bool(mannwhitneyu(ours, others, alternative="less", use_continuity=False).pvalue < 0.001)


def proba_without_labels(solution: Solution, rule: Rule) -> Array:
    """The class probabilities of each object by a rule, without corrections by known labels."""
    groups = aligned_membership(solution, solution.require_votes("labels"), warn=False)
    return solution.expand(uncorrected(rule).answers(groups)[0])


def uncorrected(rule: Rule) -> Rule:
    """The rule that was made without labels, where one is corrected; else the rule itself."""
    while isinstance(rule, RegressionRule):
        rule = rule.base
    return rule


def labelled_rows(votes: Votes, codes: Array) -> tuple[Votes, Array]:
    """The votes on objects with a label, and the number of the class of each of their rows."""
    split, row_codes = split_by(votes, codes)
    rows = np.flatnonzero(row_codes >= 0)
    return only_rows(split, rows), row_codes[rows]
