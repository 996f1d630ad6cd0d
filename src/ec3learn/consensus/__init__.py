"""Consensus: the answer and everything one asks of it."""

from .consensus import Consensus, ExtendWarning

__all__ = ["Consensus", "ExtendWarning"]
