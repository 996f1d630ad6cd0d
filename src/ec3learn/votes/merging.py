"""Two crowds in one: votes on other objects, by other voters, or by the same voters again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._checks import InputError, require_choice
from .._typing import Array
from .assembly import REPEATS, repeated_error
from .derived import ones
from .labels import Label, kind_of, label_array, plain
from .layout import Stores, whole_votes
from .models import BaseModel, Models
from .reading import smallest_uint

if TYPE_CHECKING:
    from .votes import Votes


def is_crowd(votes: Votes) -> bool:
    """Whether votes came from a long table alone: objects have names, and votes are entries."""
    stores = votes.stores
    plainly = stores.soft is None and votes.prior is None and votes.sample_weight is None
    named = votes.object_ids is not None and stores.sparse is not None
    return named and plainly and not any(votes.models[m].is_voter for m in stores.hard)


def merged_fields(left: Votes, right: Votes, repeats: str) -> dict[str, Any]:
    """The fields of both crowds as one: what is new in the right one comes after the left one's.

    Both have one row per object, and the right one has no clusterings.
    """
    require_choice("repeats", repeats, REPEATS)
    objects = _union("objects", left.object_ids, right.object_ids)
    classes = label_array(_union("classes", left.classes, right.classes))
    models = _models_of_both(left, right, classes)
    one, other = (_placed(votes, objects, models) for votes in (left, right))
    # Which model each group belongs to, and who voted on which object in both.
    owner = sparse.csr_array(np.eye(len(models))[models.group_model])
    again = ((one @ owner) * (other @ owner)).astype(bool).tocoo()
    if again.nnz and repeats == "error":
        item, voter = (place[0] for place in again.coords)
        raise repeated_error(again.nnz, models[voter].name, objects[item])
    left_out = again @ owner.T
    if repeats == "last":
        one = one - one * left_out
    if repeats == "first":
        other = other - other * left_out
    entries = sparse.csr_array(one + other)
    entries.eliminate_zeros()
    hard = {}
    for m, codes in left.stores.hard.items():
        size = left.models[m].n_groups
        hard[m] = np.full(len(objects), size, dtype=smallest_uint(size + 1))
        hard[m][: len(codes)] = codes
    n_earlier = left.stores.n_repeated + right.stores.n_repeated
    return {
        "classes": classes,
        "models": models,
        "n_objects": len(objects),
        "weights": np.concatenate([left.weights, np.ones(len(models) - len(left.models))]),
        "object_ids": label_array(objects),
        "counts": ones(len(objects)),
        "stores": Stores(hard, None, whole_votes(entries, models), n_earlier + again.nnz),
    }


def _union(what: str, left: Any, right: Any) -> list[Label]:
    """The labels of two lists, each once."""
    labels = list(dict.fromkeys(plain(label) for part in (left, right) for label in part))
    kinds = list(dict.fromkeys(map(kind_of, labels)))
    if len(kinds) > 1:
        raise InputError(
            "other", f"must name {what} as these votes do, by {kinds[0]}", came=kinds[1]
        )
    return labels


def _models_of_both(left: Votes, right: Votes, classes: Array) -> Models:
    """The base models of both; a voter of both must vote in the same way."""
    models: dict[str, BaseModel] = {}
    for model in (*left.models, *right.models):
        if model.kind == "classifier":
            model = BaseModel(model.name, "classifier", classes)
        same = models.setdefault(model.name, model)
        if same.kind != model.kind or same.labels.tolist() != model.labels.tolist():
            must_be = "must be of one kind, with one scale, in both votes"
            raise InputError(
                "other",
                phrase=f"Base model {model.name!r} {must_be}",
                remedy="Rename one of the two.",
            )
    return Models(models.values())


def _placed(votes: Votes, objects: list[Label], models: Models) -> sparse.csr_array:
    """The entries of votes, at the places of their objects and groups among those of both."""
    row = {item: i for i, item in enumerate(objects)}
    names = [(model.name, plain(label)) for model in models for label in model.labels]
    group = {name: g for g, name in enumerate(names)}
    rows = np.array([row[plain(item)] for item in votes.object_ids])  # type: ignore[union-attr]
    groups = np.array(
        [group[model.name, plain(label)] for model in votes.models for label in model.labels]
    )
    entries = votes.stores.sparse.tocoo()  # type: ignore[union-attr]
    places = (rows[entries.coords[0]], groups[entries.coords[1]])
    return sparse.coo_array((entries.data, places), shape=(len(objects), len(names))).tocsr()
