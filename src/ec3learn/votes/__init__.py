"""Votes: everything that can be a vote comes in here, and is checked once."""

from .assembly import non_negative
from .layout import BaseModel, Kind
from .scale import Scale
from .votes import Votes

__all__ = ["BaseModel", "Kind", "Scale", "Votes", "non_negative"]
