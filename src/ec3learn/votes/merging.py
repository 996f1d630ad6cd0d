"""Two crowds in one: votes on other objects, by other voters, or by the same voters on the same objects again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from .._checks import InputError, require_choice
from .._typing import Array
from .assembly import REPEATS, require_unique_names
from .derived import ones
from .labels import Label, kind_of, label_array, plain
from .layout import Stores
from .models import BaseModel, Models
from .reading import smallest_uint

if TYPE_CHECKING:
    from .votes import Votes


TAKEN = {
    "mean": (0.5, 0.5),
    "first": (1.0, 0.0),
    "last": (0.0, 1.0),
}  # how much counts of two votes by a voter on an object


def is_crowd(votes: Votes) -> bool:
    """Return whether votes came from a long table alone: their objects have names, and each vote is an entry of its own."""
    named = votes.object_ids is not None
    entered = votes.stores.sparse is not None and votes.stores.soft is None and votes.prior is None
    return named and entered and not any(votes.models[m].is_voter for m in votes.stores.hard)


def merged_fields(left: Votes, right: Votes, repeats: str) -> dict[str, Any]:
    """Return the fields of both crowds as one: first the objects, classes and voters of the left one, then what is new."""
    require_choice("repeats", repeats, REPEATS)
    objects = _Union.of("objects", left.object_ids, right.object_ids)
    classes = _Union.of("classes", left.classes, right.classes)
    models = _Union.of(
        "voters", *([model.name for model in votes.models] for votes in (left, right))
    )
    sample_weight = _sample_weight(left, right)
    bases = _bases(left, right, classes)
    entries, n_again = _entries((left, right), objects, classes, models, bases, repeats)
    n_repeated = left.stores.n_repeated + right.stores.n_repeated + n_again
    fresh = models.places[1] >= len(left.models)
    return {
        "classes": label_array(classes.labels),
        "models": Models(bases.values()),
        "n_objects": len(objects.labels),
        "weights": np.concatenate([left.weights, right.weights[fresh]]),
        "sample_weight": sample_weight,
        "object_ids": label_array(objects.labels),
        "counts": ones(len(objects.labels)) if sample_weight is None else sample_weight,
        "stores": Stores(_clusters((left, right), objects, models), None, entries, n_repeated),
    }


@dataclass(frozen=True)
class _Union:
    """The labels of two lists, each once, and where those of each list stand among them."""

    labels: list[Label]
    places: tuple[Array, Array]

    @classmethod
    def of(cls, what: str, left: Any, right: Any) -> Self:
        lists = [[plain(label) for label in labels] for labels in (left, right)]
        kinds = [kind_of(labels[0]) for labels in lists if labels]
        if len(set(kinds)) > 1:
            raise InputError(
                "other", f"must name {what} as these votes do, by {kinds[0]}", came=kinds[1]
            )
        place = {label: i for i, label in enumerate(dict.fromkeys([*lists[0], *lists[1]]))}
        first, second = (
            np.array([place[label] for label in labels], dtype=np.int64) for labels in lists
        )
        return cls(list(place), (first, second))


def _sample_weight(left: Votes, right: Votes) -> Array | None:
    """Return the weights of the objects; there are none, or those of the same objects are the same."""
    if left.sample_weight is None and right.sample_weight is None:
        return None
    described = [(votes.object_ids, votes.sample_weight) for votes in (left, right)]
    if any(not np.array_equal(one, other) for one, other in zip(*described, strict=True)):
        must = "must describe the same objects with the same sample_weight, or both votes have none"
        raise InputError("other", must, remedy="Set sample_weight when they are one.")
    return left.sample_weight


def _bases(left: Votes, right: Votes, classes: _Union) -> dict[str, BaseModel]:
    """Return the base models of both; a voter of both must vote in the same way, and a clustering be of one only."""
    require_unique_names(
        model.name for votes in (left, right) for model in votes.models if not model.is_voter
    )
    labels = label_array(classes.labels)
    bases: dict[str, BaseModel] = {}
    for model in (*left.models, *right.models):
        own = replace(model, labels=labels) if model.kind == "classifier" else model
        known = bases.setdefault(model.name, own)
        if known.kind != own.kind or known.labels.tolist() != own.labels.tolist():
            phrase = f"Base model {model.name!r} must be of one kind, with one scale, in both votes"
            raise InputError("other", phrase=phrase, remedy="Rename one of the two.")
    return bases


def _entries(
    both: tuple[Votes, Votes],
    objects: _Union,
    classes: _Union,
    models: _Union,
    bases: dict[str, BaseModel],
    repeats: str,
) -> tuple[sparse.csr_array, int]:
    """Return the votes of both, and how many voters voted on an object in both."""
    offsets = Models(bases.values()).offsets
    rows, groups, shares, pairs = [], [], [], []
    for side, votes in enumerate(both):
        own = votes.stores.sparse.tocoo()  # type: ignore[union-attr]
        model, row = votes.models.group_model[own.col], objects.places[side][own.row]
        code = own.col - votes.models.offsets[model]
        for_class = votes.models.is_classifier[model]
        code[for_class] = classes.places[side][code[for_class]]
        number = models.places[side][model]
        rows.append(row)
        groups.append(offsets[number] + code)
        shares.append(own.data.astype(np.float64))
        pairs.append(row * len(bases) + number)
    again = [np.isin(pairs[0], pairs[1]), np.isin(pairs[1], pairs[0])]
    n_repeated = len(np.unique(pairs[1][again[1]]))
    if n_repeated and repeats == "error":
        row, voter = divmod(int(pairs[1][again[1]][0]), len(bases))
        came = f"{n_repeated} more, the first by {list(bases)[voter]!r} on {objects.labels[row]!r}"
        raise InputError(
            "other", "must have no vote by a voter on an object that these votes have", came=came
        )
    for side in (0, 1) if n_repeated else ():
        shares[side][again[side]] *= TAKEN[repeats][side]
    share = np.concatenate(shares)
    kept = share > 0
    place = (np.concatenate(rows)[kept], np.concatenate(groups)[kept])
    merged = sparse.coo_array(
        (share[kept], place), shape=(len(objects.labels), int(offsets[-1]))
    ).tocsr()
    merged.sort_indices()
    return merged, n_repeated


def _clusters(both: tuple[Votes, Votes], objects: _Union, models: _Union) -> dict[int, Array]:
    """Return the clusters of all objects; one that the votes of a clustering did not describe has none."""
    columns: dict[int, Array] = {}
    for votes, places, numbers in zip(both, objects.places, models.places, strict=True):
        for m, codes in votes.stores.hard.items():
            n_groups = votes.models[m].n_groups
            column = np.full(len(objects.labels), n_groups, dtype=smallest_uint(n_groups + 1))
            column[places] = codes
            columns[int(numbers[m])] = column
    return dict(sorted(columns.items()))
