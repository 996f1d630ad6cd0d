"""What each base model adds: the AUC on held-out labels with and without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from .._typing import Array
from ..votes import Votes
from .held_out import held_out_answers
from .metrics import mean_auc


def drop_one_auc(method: Any, votes: Votes, codes: Array, fold_of: Array) -> list[float | None]:
    """Return by how much the AUC on held-out labels falls when a base model is left out, for each of them.

    Parameters
    ----------
    method : Method
        What to solve with, once per fold for all base models and for all but each one.
    votes : Votes
        The votes on all objects.
    codes : array of shape (n_objects,)
        The number of each object's class, -1 where its label is not known.
    fold_of : array of shape (n_objects,)
        The fold in which each label is hidden, -1 for objects without one.

    Returns
    -------
    list of float or None
        None for the only classifier, which cannot be left out.

    Examples
    --------
    >>> import numpy as np
    >>> from ec3learn import SoftVote, Votes
    >>> truth = np.array([0, 1, 0, 1])
    >>> votes = Votes.from_labels({"good": truth, "liar": 1 - truth, "fair": [0, 1, 0, 0]})
    >>> drop_one_auc(SoftVote(), votes, truth, np.array([0, 0, 1, 1]))
    [0.5, -0.25, 0.25]
    """
    with_all = _held_out_auc(method, votes, codes, fold_of)
    classifiers = [model.name for model, votes_for in zip(votes.models, votes.is_classifier, strict=True) if votes_for]
    adds: list[float | None] = []
    for model in votes.models:
        if [model.name] == classifiers:
            adds.append(None)
        else:
            others = _without(method, model.name, classifiers)
            adds.append(with_all - _held_out_auc(others, votes.drop(model.name), codes, fold_of))
    return adds


def _held_out_auc(method: Any, votes: Votes, codes: Array, fold_of: Array) -> float:
    proba = np.empty((len(codes), votes.n_classes))
    for hidden, answer in held_out_answers(method, votes, codes, fold_of):
        proba[hidden] = answer.proba[hidden]
    labelled = np.flatnonzero(fold_of >= 0)
    return mean_auc(proba[labelled], codes[labelled])


def _without(method: Any, name: str, classifiers: Sequence[str]) -> Any:
    """Return the method, and those it asks, without the weight of one base model; if no other had one, all others are equal."""
    params = method.get_params(deep=False)
    changes: dict[str, Any] = {}
    for asked in ("members", "towards"):
        if isinstance(params.get(asked), list):
            changes[asked] = [_without(member, name, classifiers) for member in params[asked]]
        elif hasattr(params.get(asked), "get_params"):
            changes[asked] = _without(params[asked], name, classifiers)
    weights = params.get("weights")
    if weights is not None and not isinstance(weights, str):
        given = weights if isinstance(weights, Mapping) else dict(zip(classifiers, weights, strict=True))
        rest = {own: weight for own, weight in given.items() if own != name}
        changes["weights"] = rest if any(rest.values()) else "equal"
    return clone(method).set_params(**changes) if changes else method
