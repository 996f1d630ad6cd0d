"""Consensus: the answer and everything one asks of it."""

from .consensus import Consensus, changed

__all__ = ["Consensus", "changed"]
