"""Labels as the user gave them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._checks import InputTypeError
from .._typing import Array

Label = Any  # an int, a bool or a str, as the user gave it
KINDS = {"int", "bool", "str"}
Missing = frozenset[tuple[str, Label]]  # kinds and labels that mean "no vote"


def kind_of(label: Label) -> str:
    """'bool', 'int' or 'str', or the type's own name for what is no label."""
    if isinstance(label, (bool, np.bool_)):
        return "bool"
    if isinstance(label, (int, np.integer)) and not isinstance(label, np.timedelta64):
        return "int"
    return "str" if isinstance(label, str) else type(label).__name__


def is_missing(value: object) -> bool:
    """Whether a value stands for no vote: None, NaN, pandas' NA, NaT, numpy's masked."""
    if isinstance(value, (float, np.floating, np.datetime64, np.timedelta64)):
        return bool(value != value)  # NaN and NaT
    return value is None or type(value).__name__ in {"NAType", "NaTType", "MaskedConstant"}


def labels_for_missing(missing: Any) -> Missing:
    """The labels that mean "no vote", of which the user may name one or several."""
    several = missing if isinstance(missing, (list, tuple, set, frozenset)) else [missing]
    labels = [(kind_of(label), plain(label)) for label in several if not is_missing(label)]
    if any(kind not in KINDS for kind, _ in labels):
        raise InputTypeError(
            "missing",
            "must be a label (an int, a bool or a string), or a list of labels",
            got=missing,
        )
    return frozenset(labels)


def label_list(argument: str, labels: Any) -> list[Label]:
    """A list of different labels of one kind, as the user passed it."""
    names = [plain(label) for label in labels] if hasattr(labels, "__iter__") else []
    kinds = {kind_of(label) for label in names}
    is_one_kind = len(kinds) == 1 and kinds <= KINDS and not isinstance(labels, str)
    if not is_one_kind or len(set(names)) < len(names):
        raise InputTypeError(
            argument,
            "must be a list of different labels: all ints, all bools or all strings",
            got=labels,
        )
    return names


def label_array(labels: Sequence[Label] | Array) -> Array:
    """Labels of one kind as an array that gives them back as they were (strings as `str`)."""
    array = object_array(labels)
    is_text = not len(labels) or kind_of(labels[0]) == "str"
    numbers = array if is_text else np.array(list(labels))
    return numbers if numbers.dtype.kind in "iub" else array  # integers of any size are objects


def object_array(items: Iterable[Any]) -> Array:
    """Items of any kind as an array, each as it is."""
    listed = list(items)
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def plain(label: Any) -> Label:
    """Scalars of numpy as Python's own; dates stay, for those of nanoseconds would be integers."""
    return label.item() if isinstance(label, np.generic) and label.dtype.kind not in "mM" else label


def cleaned(label: Label) -> Label:
    """Text without spaces around it, in lower case and in one form of Unicode."""
    if not isinstance(label, str):
        return label
    return unicodedata.normalize("NFC", label.strip().casefold())
