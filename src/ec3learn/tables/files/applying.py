"""A saved model and a file must call a label the same: in a CSV file 1 is a text, in a model perhaps a number."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...consensus import Consensus
from ...votes.labels import label_array
from ..columns import columns_of_model, frame_of, label_columns
from .reading import FileTable

NOISE = "-1"


def like_model(
    table: FileTable, model: Consensus, missing: Sequence[str], *, classifiers: Any, clusterings: Any, **roles: str | None
) -> tuple[FileTable, Consensus]:
    """Return the table and the model, all labels of CSV as text.

    Parameters
    ----------
    table, model
        What is to be answered, and by what.
    missing : sequence of str
        What means "no vote", in words.
    classifiers, clusterings, roles
        As in `extend`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `extend` tells what the table lacks
        chosen = columns_of_model(frame_of(table.relation), model, classifiers, clusterings, roles["objects"])
    votes, *clusters = label_columns(table.relation, *chosen, **roles)
    if not table.is_text:
        return table.with_labels([votes, *clusters], missing), model
    table = table.with_text(votes, missing, numbers=_numbers(model.classes))
    found = {base.name: base.labels for base in model.models if base.kind == "clustering"}
    for (name,) in clusters:
        labels = found.get(name, model.classes[:0])
        none = missing if NOISE in labels.tolist() else [*missing, NOISE]
        table = table.with_text([name], none, numbers=_numbers(labels))
    return table, _in_words(model)


def _numbers(labels: Any) -> bool:
    return labels.dtype.kind in "iu"


def _in_words(model: Consensus) -> Consensus:
    """Return a model whose labels are text."""
    models = tuple(replace(base, labels=label_array([str(label) for label in base.labels.tolist()])) for base in model.models)
    return replace(model, classes=label_array([str(label) for label in model.classes.tolist()]), models=models)
