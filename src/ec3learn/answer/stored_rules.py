"""Rules from a file: the other half of `Rule.stored`. What no rule stores is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from .mixtures import LogPoolRule, PanelRule, PrecisionRule, SubtypeRule
from .rule import EvidenceRule, GroupRule, Rule, Term
from .stored import LOOSE, Stored, number, require, text

Facts = Mapping[str, Any]


def restored_rule(facts: Facts, stored: Stored, n_groups: int, n_classes: int) -> Rule:
    """Return the rule that was stored, for so many groups and classes."""
    readers = {
        GroupRule.kind: _means,
        EvidenceRule.kind: _means,
        SubtypeRule.kind: _subtypes,
        PrecisionRule.kind: _precisions,
        LogPoolRule.kind: _log_pool,
        PanelRule.kind: _panel,
    }
    require(facts["combine"] in readers, "the kind of a rule")
    return readers[facts["combine"]](facts, stored, n_groups, n_classes)


def _fallback(stored: Stored, n_classes: int) -> Any:
    return stored.take_distributions("fallback", n_classes, within=LOOSE)


def _means(facts: Facts, stored: Stored, n_groups: int, n_classes: int) -> Rule:
    require(isinstance(facts["hard_votes"], bool), "hard_votes")
    towards = None
    if "towards" in facts:
        inner = restored_rule(facts["towards"]["rule"], stored.under("towards_"), n_groups, n_classes)
        towards = (number(facts["towards"]["pull"], "pull", 0), inner)
    kind = EvidenceRule if facts["combine"] == EvidenceRule.kind else GroupRule
    terms = [
        _term(term, stored.under(f"term{t}_"), n_groups, n_classes, kind is EvidenceRule) for t, term in enumerate(facts["terms"])
    ]
    return kind(tuple(terms), _fallback(stored, n_classes), facts["hard_votes"], towards)


def _term(facts: Facts, stored: Stored, n_groups: int, n_classes: int, evidence: bool) -> Term:
    """Return a term; in one of evidence, groups have logarithms instead of distributions."""
    groups = stored.take_numbers_of("groups", n_groups)
    weight = stored.take("weight", "f", len(groups), low=0.0)
    if evidence:
        proba: Any = stored.take("proba", "f", len(groups), n_classes)
    elif "proba" in stored:
        proba = stored.take_distributions("proba", len(groups), n_classes, within=LOOSE)
    else:
        starts = stored.take("starts", "iu", len(groups) + 1, low=0)
        shares = stored.take("shares", "f", None, low=0.0)
        classes = stored.take("classes", "iu", len(shares), low=0, high=n_classes - 1)
        require(starts[0] == 0 and starts[-1] == len(shares) and (starts[1:] >= starts[:-1]).all(), "starts")
        proba = sparse.csr_array((shares, classes, starts), shape=(len(groups), n_classes))
        require(not len(groups) or np.abs(proba.sum(axis=1) - 1).max() <= LOOSE, "shares")
    require(isinstance(facts["by_total"], bool), "by_total")
    return Term(text(facts["name"]), number(facts["pull"], "pull", 0), groups, weight, proba, facts["by_total"])


def _subtypes(facts: Facts, stored: Stored, n_groups: int, n_classes: int) -> Rule:
    groups, prior = stored.take_numbers_of("groups", n_groups), stored.take("prior", "f", None)
    require(len(prior) and len(prior) % n_classes == 0, "prior")
    table = stored.take("table", "f", len(groups), len(prior))
    return SubtypeRule(groups, table, _fallback(stored, n_classes), prior, number(facts["correlation"], "correlation", 0, 1))


def _precisions(facts: Facts, stored: Stored, n_groups: int, n_classes: int) -> Rule:
    groups = stored.take_numbers_of("groups", n_groups)
    table = stored.take("table", "f", len(groups), 2 * n_classes, low=0.0)
    own = stored.take("own", "f", n_classes, low=0.0)
    ballast = number(facts["ballast"], "ballast", 0)
    require(ballast > 0, "ballast")
    precision = stored.take("prior_precision", "f", n_classes, low=0.0) if "prior_precision" in stored else None
    return PrecisionRule(groups, table, _fallback(stored, n_classes), own, ballast, precision)


def _log_pool(facts: Facts, stored: Stored, n_groups: int, n_classes: int) -> Rule:
    weights, groups = stored.take("voter_weights", "f", None), stored.take_numbers_of("groups", n_groups)
    voters = stored.take_numbers_of("voters", len(weights), len(groups), once=False)
    said = stored.take_numbers_of("said", n_classes, len(groups), once=False)
    return LogPoolRule(groups, voters, said, weights, _fallback(stored, n_classes))


def _panel(facts: Facts, stored: Stored, n_groups: int, n_classes: int) -> Rule:
    require(facts["members"] and isinstance(facts["members"], list), "members")
    members = tuple(
        (text(member["name"]), restored_rule(member["rule"], stored.under(f"member{place}_"), n_groups, n_classes))
        for place, member in enumerate(facts["members"])
    )
    shares = stored.take("shares", "f", len(members), low=0.0) if "shares" in stored else None
    require(shares is None or shares.any(), "shares")
    offsets = stored.take("offsets", "f", n_classes) if "offsets" in stored else None
    return PanelRule(members, _fallback(stored, n_classes), number(facts["slope"], "slope", 0), shares, offsets)
