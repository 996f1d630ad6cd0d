"""Consensus: the answer and everything one asks of it."""

from .consensus import Consensus

__all__ = ["Consensus"]
