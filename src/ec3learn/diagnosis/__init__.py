"""Judging an answer and its voters: each function takes a `Consensus` and returns a table, a number or a small record of them.

`metrics` has the measures themselves, on plain arrays.
"""

from .contested import close_calls, contested
from .doubts import doubts
from .explanation import Explanation, explain
from .held_out import HeldOut, Judgement, held_out, judge
from .majority import Majority, majority
from .pairs import Pairs, pairs
from .summary import Summary, summarise
from .voters import confusion_of, voters

__all__ = [
    "Explanation",
    "HeldOut",
    "Judgement",
    "Majority",
    "Pairs",
    "Summary",
    "close_calls",
    "confusion_of",
    "contested",
    "doubts",
    "explain",
    "held_out",
    "judge",
    "majority",
    "pairs",
    "summarise",
    "voters",
]
