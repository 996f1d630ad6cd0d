"""Judging an answer and its voters: each function takes a `Consensus` and returns a table, a number or a small record of them.

The measures at the end take plain arrays.
"""

from .agreement import agreement, alpha, fleiss_kappa, kappas
from .contested import ask, close_calls, contested
from .correlation import effective_voters, error_correlation
from .doubts import bias_of, by_trouble, doubts
from .estimate import estimate
from .explanation import Explanation, explain
from .metrics import (
    cohen_kappa,
    kappa,
    macro_f,
    majority,
    mean_auc,
    normalised_mutual_information,
    quality,
)
from .pairs import pairs, without
from .score import cross_validate, judge
from .summary import summarise
from .voters import confusion_of, skills, voters

__all__ = [
    "Explanation",
    "agreement",
    "alpha",
    "ask",
    "bias_of",
    "by_trouble",
    "close_calls",
    "cohen_kappa",
    "confusion_of",
    "contested",
    "cross_validate",
    "doubts",
    "effective_voters",
    "error_correlation",
    "estimate",
    "explain",
    "fleiss_kappa",
    "judge",
    "kappa",
    "kappas",
    "macro_f",
    "majority",
    "mean_auc",
    "normalised_mutual_information",
    "pairs",
    "quality",
    "skills",
    "summarise",
    "voters",
    "without",
]
