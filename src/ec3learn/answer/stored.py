"""What a file stored, taken back array by array: nothing is believed that `save` would not have written.

`restored_rule` is the other half of `Rule.stored`; what no rule stores is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from .._typing import Array
from ..votes.layout import frozen
from .mixtures import LogPoolRule, PanelRule, PrecisionRule, RegressionRule, SubtypeRule
from .rule import GroupRule, Rule, Term
from .solution import are_distributions

LOOSE = 1e-6  # by how much the sums of distributions of groups may miss 1
Facts = Mapping[str, Any]


def require(holds: Any, what: str) -> None:
    """Refuse a file of which this does not hold; `what` is wrong then."""
    if not holds:
        raise ValueError(f"{what} is not what ec3learn writes")


def number(value: Any, what: str, low: float = -np.inf, high: float = np.inf) -> float:
    """Return a finite number between two bounds."""
    require(type(value) in (int, float) and np.isfinite(value) and low <= value <= high, what)
    return float(value)


def flag(facts: Facts, what: str) -> bool:
    """Return a fact that is true or false."""
    require(isinstance(facts[what], bool), what)
    return bool(facts[what])


def text(value: Any) -> str:
    """Return a text."""
    require(isinstance(value, str), "a name")
    return str(value)


class Stored:
    """The arrays of a file. Each is taken once, with what it must be; `require_empty` refuses what nobody has asked for."""

    def __init__(self, arrays: dict[str, Array], prefix: str = "") -> None:
        self._left = arrays
        self._prefix = prefix

    def under(self, prefix: str) -> Stored:
        """Return the arrays whose names begin like this, without that beginning."""
        return Stored(self._left, self._prefix + prefix)

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._left

    def take(
        self, name: str, kinds: str, *shape: int | None, low: float = -np.inf, high: float = np.inf
    ) -> Array:
        """Return an array of these kinds and this shape (None: of any length) whose numbers are finite and within bounds."""
        name = self._prefix + name
        array = self._left.pop(name)
        require(array.dtype.kind in kinds and array.ndim == len(shape), name)
        require(
            all(
                want is None or want == have for want, have in zip(shape, array.shape, strict=True)
            ),
            name,
        )
        require(
            not array.size
            or (array.min() >= low and array.max() <= high and np.isfinite(array).all()),
            name,
        )
        return frozen(array)

    def take_nullable(self, name: str, n: int, low: float, high: float) -> Array:
        """Return numbers within bounds, some of which may be NaN for none."""
        array = self._left[self._prefix + name]
        self._left[self._prefix + name] = np.nan_to_num(array) if array.dtype.kind == "f" else array
        self.take(name, "f", n, low=low, high=high)
        return frozen(array)

    def take_distributions(self, name: str, *shape: int | None, within: float = 1e-9) -> Array:
        """Return an array whose rows are distributions."""
        array = self.take(name, "f", *shape, low=0.0)
        require(are_distributions(np.atleast_2d(array), within), self._prefix + name)
        return array

    def take_numbers_of(self, name: str, n_things: int, once: bool = True) -> Array:
        """Return the numbers of some of `n_things`, none of them twice if each occurs `once`."""
        array = self.take(name, "i" if once else "iu", None, low=0, high=n_things - 1)
        require(not once or len(np.unique(array)) == len(array), self._prefix + name)
        return (
            array.astype(np.int64) if array.dtype == np.uint64 else array
        )  # which older numpy does not index by

    def require_empty(self) -> None:
        """Refuse arrays that were not taken."""
        require(not self._left, next(iter(self._left), ""))


# ---- rules ---------------------------------------------------------------------------------------


def restored_rule(facts: Facts, stored: Stored, n_groups: int, n_classes: int) -> Rule:
    """Return the rule that was stored, for so many groups and classes."""
    readers = {
        GroupRule.kind: _means,
        SubtypeRule.kind: _subtypes,
        PrecisionRule.kind: _precisions,
        LogPoolRule.kind: _log_pool,
        PanelRule.kind: _panel,
        RegressionRule.kind: _regression,
    }
    require(facts["combine"] in readers, "the kind of a rule")
    return readers[facts["combine"]](facts, stored, n_groups, n_classes)


def _fallback(stored: Stored, n_classes: int) -> Any:
    return stored.take_distributions("fallback", n_classes, within=LOOSE)


def _means(facts: Facts, stored: Stored, n_groups: int, n_classes: int) -> Rule:
    towards = None
    if "towards" in facts:
        inner = restored_rule(
            facts["towards"]["rule"], stored.under("towards_"), n_groups, n_classes
        )
        towards = (number(facts["towards"]["pull"], "pull", 0), inner)
    terms = [
        _term(term, stored.under(f"term{t}_"), n_groups, n_classes)
        for t, term in enumerate(facts["terms"])
    ]
    return GroupRule(tuple(terms), _fallback(stored, n_classes), flag(facts, "hard_votes"), towards)


def _term(facts: Facts, stored: Stored, n_groups: int, n_classes: int) -> Term:
    groups = stored.take_numbers_of("groups", n_groups)
    weight = stored.take("weight", "f", len(groups), low=0.0)
    if "proba" in stored:
        proba: Any = stored.take_distributions("proba", len(groups), n_classes, within=LOOSE)
    else:
        starts = stored.take("starts", "iu", len(groups) + 1, low=0)
        shares = stored.take("shares", "f", None, low=0.0)
        classes = stored.take("classes", "iu", len(shares), low=0, high=n_classes - 1)
        require(
            starts[0] == 0 and starts[-1] == len(shares) and (starts[1:] >= starts[:-1]).all(),
            "starts",
        )
        proba = sparse.csr_array((shares, classes, starts), shape=(len(groups), n_classes))
        require(not len(groups) or np.abs(proba.sum(axis=1) - 1).max() <= LOOSE, "shares")
    return Term(
        text(facts["name"]),
        number(facts["pull"], "pull", 0),
        groups,
        weight,
        proba,
        flag(facts, "by_total"),
    )


def _subtypes(facts: Facts, stored: Stored, n_groups: int, n_classes: int) -> Rule:
    groups, prior = stored.take_numbers_of("groups", n_groups), stored.take("prior", "f", None)
    require(len(prior) and len(prior) % n_classes == 0, "prior")
    table = stored.take("table", "f", len(groups), len(prior))
    correlation = number(facts["correlation"], "correlation", 0, 1)
    return SubtypeRule(
        groups, table, _fallback(stored, n_classes), prior, correlation, flag(facts, "hard_votes")
    )


def _precisions(facts: Facts, stored: Stored, n_groups: int, n_classes: int) -> Rule:
    groups = stored.take_numbers_of("groups", n_groups)
    table = stored.take("table", "f", len(groups), 2 * n_classes, low=0.0)
    own = stored.take("own", "f", n_classes, low=0.0)
    ballast = number(facts["ballast"], "ballast", 0)
    require(ballast > 0, "ballast")
    precision = (
        stored.take("prior_precision", "f", n_classes, low=0.0)
        if "prior_precision" in stored
        else None
    )
    return PrecisionRule(groups, table, _fallback(stored, n_classes), own, ballast, precision)


def _log_pool(facts: Facts, stored: Stored, n_groups: int, n_classes: int) -> Rule:
    weights, groups = (
        stored.take("voter_weights", "f", None),
        stored.take_numbers_of("groups", n_groups),
    )
    require(
        len(groups) == len(weights) * n_classes, "groups"
    )  # each voter says each class, one after the other
    return LogPoolRule(groups, np.eye(len(groups)), _fallback(stored, n_classes), weights)


def _panel(facts: Facts, stored: Stored, n_groups: int, n_classes: int) -> Rule:
    require(facts["members"] and isinstance(facts["members"], list), "members")
    members = tuple(
        (
            text(member["name"]),
            restored_rule(member["rule"], stored.under(f"member{place}_"), n_groups, n_classes),
        )
        for place, member in enumerate(facts["members"])
    )
    shares = stored.take("shares", "f", len(members), low=0.0) if "shares" in stored else None
    require(shares is None or shares.any(), "shares")
    return PanelRule(members, _fallback(stored, n_classes), shares)


def _regression(facts: Facts, stored: Stored, n_groups: int, n_classes: int) -> Rule:
    base = restored_rule(facts["base"], stored.under("base_"), n_groups, n_classes)
    offsets, groups = (
        stored.take("offsets", "f", n_classes),
        stored.take_numbers_of("groups", n_groups),
    )
    table = stored.take("table", "f", len(groups), n_classes)
    return RegressionRule(
        base, _fallback(stored, n_classes), offsets, number(facts["slope"], "slope"), groups, table
    )
