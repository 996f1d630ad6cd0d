"""Votes: everything that can be a vote comes in here, and is checked once."""

from .assembly import non_negative
from .labels import Scale
from .layout import BaseModel, Kind, Models, voter_noun
from .operations import (
    as_class_votes,
    group_ballot,
    group_meaning,
    hardened,
    has_clusterings,
    has_graders,
    merge_equal_rows,
    n_alike,
    objects_per_row,
    only_rows,
    relative_weights,
    soft_shares,
    split_by,
    spread_over,
    unweighted,
    votes_on,
    votes_per_model,
    votes_per_voter,
    without_clusterings,
)
from .shares import Prior, Trust
from .votes import Votes

__all__ = [
    "BaseModel",
    "Kind",
    "Models",
    "Prior",
    "Scale",
    "Trust",
    "Votes",
    "as_class_votes",
    "group_ballot",
    "group_meaning",
    "hardened",
    "has_clusterings",
    "has_graders",
    "merge_equal_rows",
    "n_alike",
    "non_negative",
    "objects_per_row",
    "only_rows",
    "relative_weights",
    "soft_shares",
    "split_by",
    "spread_over",
    "unweighted",
    "voter_noun",
    "votes_on",
    "votes_per_model",
    "votes_per_voter",
    "without_clusterings",
]
