"""Judging an answer and its voters: each function takes a `Consensus` and returns a table or a number."""

from .contested import close_calls, contested
from .explanation import Explanation, explain
from .voters import confusion_of, voters

__all__ = ["Explanation", "close_calls", "confusion_of", "contested", "explain", "voters"]
