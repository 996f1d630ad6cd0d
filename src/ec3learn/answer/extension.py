"""Answers for new objects, without solving again: their votes are looked up among known groups.

An answer depends on the object's own groups alone, so an object whose row was in the solved table
gets the answer it had there.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .._checks import InputError, require_kind
from .._text import arg, count
from .._typing import Array
from ..algebra.membership import Membership, entries, membership_of
from ..votes import Prior, Votes, as_class_votes, hardened, n_alike
from ..votes.labels import kind_of
from ..votes.layout import frozen
from .solution import Solution, matching_labels, unanswered_notes

KINDS = {"int": "whole numbers", "str": "texts", "bool": "True and False"}  # of labels


class ExtendWarning(UserWarning):
    """New votes name base models, classes or clusters that the consensus has never seen."""


def require_rule(
    solution: Solution,
    what: str = "new objects",
    otherwise: str = "Solve old and new objects together",
) -> None:
    """Refuse methods that cannot answer for objects they have not solved."""
    if solution.rule is None:
        raise InputError(
            "method",
            phrase=f"{solution.settings['method']} cannot be extended to {what}",
            remedy=f"{otherwise}, or take a {arg('method')} that extends: EC3, voting, BGCM or "
            "Dawid-Skene.",
        )


def extended(solution: Solution, votes: Votes, prior: Any = None) -> Solution:
    """The answer for new objects, by the rule of a solution."""
    require_kind("votes", votes, Votes, "Make one with Votes.from_labels.")
    require_rule(solution)
    assert solution.rule is not None
    votes = votes if prior is None else votes.with_prior(prior)
    if votes.prior is not None and solution.trust is None:
        phrase = (
            "This consensus was solved without a prior, so it does not know how far to trust one"
        )
        remedy = f"Leave {arg('prior')} out, or solve with one."
        raise InputError("prior", phrase=phrase, remedy=remedy)
    if votes.prior is not None:
        votes = replace(votes, prior=Prior(votes.prior.proba, solution.trust))
    if not any(model.kind == "grader" for model in solution.models):
        votes = as_class_votes(votes)  # as the old ones were solved
    _warn_of_solved(solution, votes)
    proba, unanswered = solution.rule.answers(aligned_membership(solution, votes))
    return Solution(
        classes=solution.classes,
        models=solution.models,
        weights=solution.weights,
        settings=solution.settings,
        made_by=solution.made_by,
        rule=solution.rule,
        group_table=solution.group_means,
        votes=votes,
        solved_proba=frozen(proba),
        index=votes.index,
        object_ids=votes.object_ids,
        unanswered_rows=frozen(unanswered),
        notes=unanswered_notes(unanswered, votes, solution.lacking),
        lacking=solution.lacking,
        trust=solution.trust,
        stored_mass=solution.tie_mass,
    )


def _warn_of_solved(solution: Solution, votes: Votes) -> None:
    """Warn of objects that were solved before: their answers forget their old votes."""
    if solution.object_ids is None or votes.object_ids is None:
        return
    solved = set(map(str, solution.object_ids))  # a file may have 1 as text
    n_again = sum(str(name) in solved for name in votes.object_ids)
    # Those of 0, 1, ... are places in a table, which other tables have too.
    if n_again and solved != set(map(str, range(len(solved)))):
        warnings.warn(
            f"{count(n_again, 'object was', 'objects were')} solved before; the answers follow "
            "from the new votes alone. To use the old votes too, append the new ones to them and "
            "solve again.",
            ExtendWarning,
            stacklevel=3,
        )


def aligned_membership(solution: Solution, votes: Votes, warn: bool = True) -> Membership:
    """The membership of new rows in known groups; also of hardened votes if the rule asks."""
    hard = None
    if solution.rule is not None and solution.rule.takes_hard_votes and not votes.stores.is_hard:
        hard = _aligned_entries(solution, hardened(votes), warn=False)
    return membership_of(_aligned_entries(solution, votes, warn), hard, votes.prior)


def _aligned_entries(solution: Solution, votes: Votes, warn: bool) -> sparse.csr_array:
    """A^m of new rows: models are matched by name, groups by label."""
    offsets, matrix = solution.group_offsets, entries(votes)
    number = {(model.name, model.kind): m for m, model in enumerate(solution.models)}
    target = np.full(votes.models.n_groups, -1, dtype=np.int64)
    places: dict[tuple[int, int], Array] = {}  # thousands of annotators have the same classes
    voted = np.unique(votes.models.group_model[matrix.indices])
    for m in voted.tolist():
        model = votes.models[m]
        labels, ours = model.labels, number.get((model.name, model.kind))
        if ours is not None:
            both = id(labels), id(solution.models[ours].labels)
            if both not in places:
                places[both] = matching_labels(labels, solution.models[ours].labels)
            begin = votes.models.offsets[m]
            matched = np.where(places[both] < 0, -1, places[both] + offsets[ours])
            target[begin : begin + len(labels)] = matched
    if warn and (target[matrix.indices] < 0).any():
        _warn_unseen(solution, votes, target)
    seen = np.flatnonzero(target >= 0)
    shape = (len(target), int(offsets[-1]))
    return matrix @ sparse.csr_array((np.ones(len(seen)), (seen, target[seen])), shape=shape)


def _warn_unseen(solution: Solution, votes: Votes, target: Array) -> None:
    """Warn of votes that are lost: those of unknown base models, classes and clusters."""
    theirs, ours = (KINDS[kind_of(classes[0])] for classes in (votes.classes, solution.classes))
    if theirs != ours:
        phrase = f"The classes are {ours}, the votes are {theirs}"
        raise InputError("votes", phrase=phrase, remedy="Convert the votes first.")
    unseen = np.flatnonzero(target < 0)
    owner, shape = votes.models.group_model[unseen], (len(target), len(votes.models))
    of_model = sparse.csr_array((np.ones(len(unseen)), (unseen, owner)), shape=shape)
    lost = (n_alike(votes) @ (entries(votes) @ of_model > 0)).round().astype(int).tolist()
    missing = "1 vote is" if sum(lost) == 1 else f"{sum(lost):,} votes are"
    whose = ", ".join(
        f"{model.name!r} {n}" for model, n in zip(votes.models, lost, strict=True) if n
    )
    warnings.warn(
        f"{missing} treated as missing, because the consensus has no such base model, class or "
        f"cluster: {whose}.",
        ExtendWarning,
        stacklevel=6,
    )
