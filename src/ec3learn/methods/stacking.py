"""Stacking: the regression that corrects an answer by known labels, for any answer."""

from __future__ import annotations

from dataclasses import dataclass

from .._checks import InputError
from .._text import arg
from ..answer.rule import KnownLabels
from ..votes import Votes
from .base import Answer, Method, method_of
from .regression import taught


@dataclass(eq=False, repr=False)
class StackedVote(Method):
    """Learn from known labels what an answer made without them and each vote say about the classes.

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

    base: str | Method = "auto"

    @property
    def reads_grades(self) -> bool:  # type: ignore[override]
        """Return whether the method that answers without labels reads answers on a scale."""
        return method_of(self.base, "base").reads_grades

    @property
    def admits_prior(self) -> bool:  # type: ignore[override]
        """Return whether that method does."""
        return method_of(self.base, "base").admits_prior

    def _check(self) -> None:
        method_of(self.base, "base")._check()

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        if known is None:
            raise InputError(
                "known",
                phrase=f"{self.title} needs known labels, got none",
                remedy=f"Pass {arg('known')}, or take a method that learns without labels.",
            )
        return taught(method_of(self.base, "base").answer(votes, None), votes, known)
