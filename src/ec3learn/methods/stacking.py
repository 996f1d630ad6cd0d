"""Stacking: the regression that corrects an answer by known labels, for any answer."""

from __future__ import annotations

from dataclasses import dataclass

from ..answer.rule import KnownLabels
from ..votes import Votes
from .base import Answer, Method, method_of
from .regression import taught


@dataclass(eq=False, repr=False)
class StackedVote(Method):
    """Learn from known labels what an answer made without them and each vote say about the classes.

    Without known labels it is that answer. The default does the same with an answer of its own.

    Parameters
    ----------
    base : str or method
        Who answers without labels.

    Examples
    --------
    >>> from ec3learn import StackedVote, Votes
    >>> votes = Votes.from_labels({"good": [0, 1, 0, 1] * 5, "liar": [1, 0, 1, 0] * 5})
    >>> StackedVote().solve(votes, known={i: i % 2 for i in range(16)}).labels()[-4:]
    array([0, 1, 0, 1])
    """

    title = "Stacked vote"
    corrects = True

    base: str | Method = "soft-vote"

    @property
    def reads_grades(self) -> bool:  # type: ignore[override]
        """Whether the method that answers without labels reads answers on a scale."""
        return method_of(self.base, "base").reads_grades

    @property
    def admits_prior(self) -> bool:  # type: ignore[override]
        """Whether that method does."""
        return method_of(self.base, "base").admits_prior

    def _check(self) -> None:
        method_of(self.base, "base")._check()

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        answer = method_of(self.base, "base").answer(votes, None)
        return answer if known is None else taught(answer, votes, known)
