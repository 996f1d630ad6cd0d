"""Judging an answer and its voters: one function per question, with a table, number or record."""

from .agreement import agreement, kappas, pairs
from .correlation import effective_voters, error_correlation
from .estimate import estimate
from .objects import ask, contested, explain
from .score import cross_validate, judge
from .voters import confusion_of, voter_checks, voters

__all__ = [
    "agreement",
    "ask",
    "confusion_of",
    "contested",
    "cross_validate",
    "effective_voters",
    "error_correlation",
    "estimate",
    "explain",
    "judge",
    "kappas",
    "pairs",
    "voter_checks",
    "voters",
]
