"""Options of the command as values of the library."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._checks import InputError, unknown_name
from .options import ColumnOptions, MethodOptions

if TYPE_CHECKING:
    from ..methods import Method
    from ..tables.columns import Naming


def names(words: Sequence[str] | None) -> list[str]:
    """Return names that are separated by commas or given one by one.

    Examples
    --------
    >>> names(["svm, tree", "clf_*"])
    ['svm', 'tree', 'clf_*']
    """
    return [name.strip() for word in words or () for name in word.split(",") if name.strip()]


def soft_models(words: Sequence[str] | None) -> dict[str, Any]:
    """Return soft classifiers with their columns.

    Examples
    --------
    >>> soft_models(["svm=svm_*", "nn=spam:p1,ham:p2"])
    {'svm': 'svm_*', 'nn': {'spam': 'p1', 'ham': 'p2'}}
    """
    models: dict[str, Any] = {}
    for name, columns in (_pair(word, "soft") for word in words or ()):
        parts = names([columns])
        if all(":" in part for part in parts):
            models[name] = {label: column for label, _, column in (part.partition(":") for part in parts)}
        else:
            models[name] = parts[0] if len(parts) == 1 else parts
    return models


def naming_from(columns: ColumnOptions, how: MethodOptions | None = None) -> Naming:
    """Return how the columns of a table are named; without `how`, for a consensus that knows its base models by name."""
    from ..tables.columns import Naming

    models = soft_models(columns.soft)
    classifiers = [*names(columns.classifiers), models] if models else list(names(columns.classifiers))
    clusterings = names(columns.clusterings)
    given: dict[str, Any] = {"objects": columns.objects, "voters": columns.voters, "missing": names(columns.missing)}
    if how is None:
        return Naming(classifiers or None, clusterings or None, **given)
    classes = None if how.classes is None else names([how.classes])
    return Naming(classifiers, clusterings, how.known, **given, classes=classes, max_classes=how.max_classes)


def method_from(how: MethodOptions) -> Method:
    """Return the method with its parameters."""
    from ..methods import method_of

    method = method_of(how.method, "method")
    allowed = method.get_params()
    for name, value in (_pair(word, "settings") for word in how.settings or ()):
        if name not in allowed:
            raise unknown_name("parameter", name, allowed, of=f" of {how.method}")
        try:
            method.set_params(**{name: json.loads("Infinity" if value == "inf" else value)})
        except ValueError:
            method.set_params(**{name: value})
    return method


def _pair(word: str, argument: str) -> tuple[str, str]:
    name, sign, value = word.partition("=")
    if not sign or not name or not value:
        raise InputError(argument, "must be NAME=VALUE", got=word)
    return name.strip(), value.strip()
