"""Votes: everything that can be a vote comes in here, and is checked once."""

from .assembly import non_negative
from .layout import BaseModel, Kind
from .votes import Votes

__all__ = ["BaseModel", "Kind", "Votes", "non_negative"]
