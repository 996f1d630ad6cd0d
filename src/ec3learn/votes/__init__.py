"""Votes: everything that can be a vote comes in here, and is checked once."""

from .assembly import non_negative
from .layout import BaseModel, Kind
from .prior import Prior, Trust
from .scale import Scale
from .votes import Votes

__all__ = ["BaseModel", "Kind", "Prior", "Scale", "Trust", "Votes", "non_negative"]
