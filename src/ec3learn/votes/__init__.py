"""Votes: everything that can be a vote comes in here."""

from .votes import BaseModel, Kind, Votes, non_negative

__all__ = ["BaseModel", "Kind", "Votes", "non_negative"]
