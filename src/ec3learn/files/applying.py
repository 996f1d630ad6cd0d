"""A saved model and a file must call a label the same: in a CSV file 1 is a text, in a model perhaps a number."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from ..consensus import Consensus
from ..frames.columns import columns_of_model, frame_of, label_columns
from ..labels import label_array
from .reading import FileTable

NOISE = "-1"


def like_model(
    table: FileTable, model: Consensus, missing: str | None, *, classifiers: Any, clusterings: Any, **roles: str | None
) -> tuple[FileTable, Consensus, Any]:
    """Return the table, the model and the label that means "no vote", all labels of CSV as text.

    Parameters
    ----------
    table, model
        What is to be answered, and by what.
    missing : str
        A label that means "no vote", in words.
    classifiers, clusterings, roles
        As in `extend`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `extend` tells what the table lacks
        chosen = columns_of_model(frame_of(table.relation), model, classifiers, clusterings, roles["objects"])
    votes, *clusters = label_columns(table.relation, *chosen, **roles)
    if not table.is_text:
        return table, model, None if missing is None else table.value(votes[0] if votes else "", missing)
    model = _in_words(model)
    noisy = any(NOISE in base.labels for base in model.models if base.kind == "clustering")
    table = table.with_text(votes, missing).with_text(
        [name for names in clusters for name in names], missing, None if noisy else NOISE
    )
    return table, model, None


def _in_words(model: Consensus) -> Consensus:
    """Return a model whose labels are text."""
    models = tuple(replace(base, labels=label_array([str(label) for label in base.labels.tolist()])) for base in model.models)
    return replace(model, classes=label_array([str(label) for label in model.classes.tolist()]), models=models)
