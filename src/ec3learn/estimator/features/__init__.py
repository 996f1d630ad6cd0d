"""From a raw table to numbers, the first step of every model of the pools."""

from .features import Features

__all__ = ["Features"]
