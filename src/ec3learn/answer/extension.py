"""Answers for new objects, without solving again: their votes are looked up among the groups of an outcome.

An answer depends on the object's own groups alone, so an object whose row was in the solved table
gets the answer it had there.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .._checks import InputError, InputTypeError
from .._text import arg, listed
from .._typing import Array
from ..algebra.membership import entries, membership_of
from ..votes import Prior, Votes, as_class_votes, hardened, n_alike
from ..votes.labels import kind_of
from ..votes.layout import frozen
from .solution import Solution, unanswered_notes


class ExtendWarning(UserWarning):
    """New votes name base models, classes or clusters that the consensus has never seen."""


def require_rule(
    outcome: Solution,
    what: str = "new objects",
    otherwise: str = "Solve old and new objects together",
) -> None:
    """Refuse methods that cannot answer for objects they have not solved."""
    if outcome.rule is None:
        raise InputError(
            "method",
            phrase=f"{outcome.settings['method']} cannot be extended to {what}",
            remedy=f"{otherwise}, or take a {arg('method')} that extends: EC3, voting, BGCM or Dawid-Skene.",
        )


def extended(outcome: Solution, votes: Votes, prior: Any = None) -> Solution:
    """The answer for new objects, by the rule of a solution."""
    if not isinstance(votes, Votes):
        raise InputTypeError(
            "votes",
            "must be a Votes",
            came=type(votes).__name__,
            remedy="Make one with Votes.from_labels.",
        )
    require_rule(outcome)
    votes = votes if prior is None else votes.with_prior(prior)
    votes = readable_votes(outcome, trusted_as_before(outcome, votes))
    assert outcome.rule is not None
    groups = membership_of(
        aligned_entries(outcome, votes), hard_entries(outcome, votes), votes.prior
    )
    proba, unanswered = outcome.rule.all_answers(groups)
    return Solution(
        classes=outcome.classes,
        models=outcome.models,
        weights=outcome.weights,
        settings=outcome.settings,
        made_by=outcome.made_by,
        rule=outcome.rule,
        group_table=outcome.group_means,
        votes=votes,
        solved_proba=frozen(proba),
        index=votes.index,
        object_ids=votes.object_ids,
        unanswered_rows=frozen(unanswered),
        notes=unanswered_notes(unanswered, votes, outcome.lacking),
        lacking=outcome.lacking,
        trust=outcome.trust,
        stored_mass=outcome.tie_mass,
    )


def readable_votes(outcome: Solution, votes: Votes) -> Votes:
    """Return new votes in the form that the old ones were solved in: answers on a scale may have been taken as class votes."""
    if any(model.kind == "grader" for model in outcome.models):
        return votes
    for model in votes.models:
        if not model.oriented:
            raise InputError(
                "scale",
                f"must say which end of the scale of {model.name!r} means which class",
                came=f"{arg('direction', 'learn')}, which needs known labels",
                remedy=f"Pass a scale with {arg('direction', 'up')} or {arg('direction', 'down')}.",
            )
    return as_class_votes(votes)


def trusted_as_before(outcome: Solution, votes: Votes) -> Votes:
    """Return new votes whose prior, if they have one, is trusted as far as the old one."""
    if votes.prior is None:
        return votes
    if outcome.trust is None:
        phrase = (
            "This consensus was solved without a prior, so it does not know how far to trust one"
        )
        raise InputError(
            "prior", phrase=phrase, remedy=f"Leave {arg('prior')} out, or solve with one."
        )
    return replace(votes, prior=Prior(votes.prior.proba, outcome.trust))


def hard_entries(outcome: Solution, votes: Votes) -> sparse.csr_array | None:
    """Return the membership of new rows with soft votes hardened, if a method asks for them; None: there is nothing to harden."""
    if outcome.rule is None or votes.stores.is_hard or not outcome.rule.takes_hard_votes:
        return None
    return aligned_entries(outcome, hardened(votes), warn=False)


def aligned_entries(outcome: Solution, votes: Votes, warn: bool = True) -> sparse.csr_array:
    """Return the membership of new rows in the outcome's groups: models are matched by name, groups by label."""
    offsets = outcome.group_offsets
    number = {(model.name, model.kind): m for m, model in enumerate(outcome.models)}
    target = np.full(votes.models.n_groups, -1, dtype=np.int64)
    places: dict[
        tuple[int, int], Array
    ] = {}  # classifiers have the same classes, and there may be thousands of them
    matrix = entries(votes)
    for m in np.unique(
        votes.models.group_model[matrix.indices]
    ).tolist():  # those who voted: in a crowd, few on any one object
        model = votes.models[m]
        ours = number.get((model.name, model.kind))
        if ours is not None:
            both = id(model.labels), id(outcome.models[ours].labels)
            if both not in places:
                places[both] = matching_labels(model.labels, outcome.models[ours].labels)
            matched = places[both]
            target[votes.models.offsets[m] : votes.models.offsets[m + 1]] = np.where(
                matched < 0, -1, matched + offsets[ours]
            )
    column, starts, data = target[matrix.indices], matrix.indptr, matrix.data
    seen = column >= 0
    if not seen.all():
        if warn:
            _warn_unseen(outcome, votes, matrix, target)
        row_of = np.repeat(np.arange(votes.n_rows), np.diff(starts))
        starts = np.concatenate([[0], np.cumsum(np.bincount(row_of[seen], minlength=votes.n_rows))])
        column, data = column[seen], data[seen]
    return sparse.csr_array((data, column, starts), shape=(votes.n_rows, int(offsets[-1])))


def matching_labels(labels: Array, ours: Array) -> Array:
    """Return the place of each label among ours, -1 for labels that are not; 1, True and "1" are three labels."""
    place = {(kind_of(label), label): j for j, label in enumerate(ours.tolist())}
    return np.array(
        [place.get((kind_of(label), label), -1) for label in labels.tolist()], dtype=np.int64
    )


def _warn_unseen(outcome: Solution, votes: Votes, matrix: sparse.csr_array, target: Array) -> None:
    """Warn of votes that are lost: those of base models, and for classes and clusters, that the outcome does not have."""
    row_of = np.repeat(np.arange(votes.n_rows), np.diff(matrix.indptr))
    unseen, n_models = target[matrix.indices] < 0, len(votes.models)
    entry = row_of[unseen] * n_models + votes.models.group_model[matrix.indices[unseen]]
    rows, owner = np.divmod(np.unique(entry), n_models)  # a soft vote is one vote
    lost = (
        np.bincount(owner, weights=n_alike(votes)[rows], minlength=n_models)
        .round()
        .astype(int)
        .tolist()
    )
    ours = {model.name: model.kind for model in outcome.models}
    parts, models, labels = [], [], {}
    for model, n in zip(votes.models, lost, strict=True):
        if n and ours.get(model.name) == model.kind:
            labels[model.name] = n
        elif n:
            models.append(f"{model.name} ({model.kind})" if model.name in ours else model.name)
    if models:
        parts.append(f"the consensus has no base model {listed(models)}, only {listed(list(ours))}")
    if labels:
        who, named = (
            "it" if models else "the consensus",
            ", ".join(f"{name!r} {n}" for name, n in labels.items()),
        )
        parts.append(f"{who} has never seen the class or cluster: {named}")
    missing = "1 vote is" if sum(lost) == 1 else f"{sum(lost):,} votes are"
    warnings.warn(
        f"{missing} treated as missing because {', and '.join(parts)}.", ExtendWarning, stacklevel=6
    )
