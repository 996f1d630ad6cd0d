"""The methods by name: what each does, and its parameters with their defaults."""

from __future__ import annotations

from functools import partial
from typing import Any

from . import METHODS
from .base import plain_parameters

WHAT = {  # for methods that are one class with different parameters
    "ec3": "Combine classifiers and clusterings by EC3: every group counts by its size",
    "iec3": "Combine classifiers and clusterings by iEC3: sizes are divided out, so that small groups and rare classes count",
    "auto": "Take the method that suits what there is: the panel, which uses clusterings too where there are some",
    "dawid-skene": "Combine voters by Dawid-Skene: estimate the true classes and each voter's confusion matrix",
    "dawid-skene-one-coin": "Combine voters by Dawid-Skene with one number per voter: how often it is right, whatever the class",
}


def describe_methods() -> list[dict[str, Any]]:
    """Return one dict per method: its name, what it does, and its parameters.

    Examples
    --------
    >>> next(row for row in describe_methods() if row["method"] == "majority")
    {'method': 'majority', 'what': 'Take the class most classifiers voted for', 'set': {}}
    """
    rows = []
    for name, make in METHODS.items():
        kind = make.func if isinstance(make, partial) else make
        what = WHAT.get(name, (kind.__doc__ or "").split("\n")[0].rstrip("."))
        rows.append({"method": name, "what": what, "set": plain_parameters(make().get_params())})
    return rows
