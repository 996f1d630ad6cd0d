"""Votes: everything that can be a vote comes in here, and is checked once."""

from .assembly import non_negative
from .derived import (
    hardened,
    merge_equal_rows,
    only_rows,
    split_by,
    spread_over,
    unweighted,
    without_clusterings,
)
from .graded import as_class_votes, group_ballot, group_meaning
from .models import BaseModel, Kind, Models, voter_noun
from .prior import Prior, Trust
from .queries import (
    has_clusterings,
    has_graders,
    n_alike,
    objects_per_row,
    soft_shares,
    votes_on,
    votes_per_model,
)
from .scale import Scale
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
    "soft_shares",
    "split_by",
    "spread_over",
    "unweighted",
    "voter_noun",
    "votes_on",
    "votes_per_model",
    "without_clusterings",
]
