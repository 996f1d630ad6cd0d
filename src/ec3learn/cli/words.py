"""What stands on the command line, as values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..methods import Method


def names(words: Sequence[str] | None) -> list[str]:
    """Return names that stand with commas between or were given one by one.

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
    for name, columns in (_pair(word, "--soft") for word in words or ()):
        parts = names([columns])
        if all(":" in part for part in parts):
            models[name] = {label: column for label, _, column in (part.partition(":") for part in parts)}
        else:
            models[name] = parts[0] if len(parts) == 1 else parts
    return models


def choice(words: Sequence[str] | None, soft: Sequence[str] | None = None) -> list[Any]:
    """Return columns of labels and of soft models, as `combine` takes them."""
    models = soft_models(soft)
    return [*names(words), models] if models else list(names(words))


def method_from(name: str, settings: Sequence[str] | None) -> Method:
    """Return a method by its name, with parameters of one's own."""
    from ..methods import method_of

    method = method_of(name, "method")
    allowed = method.get_params()
    for key, value in (_pair(word, "--set") for word in settings or ()):
        if key not in allowed:
            raise ValueError(f"Unknown parameter {key!r} of {name}. Choose from: {', '.join(allowed) or 'none'}.")
        try:
            method.set_params(**{key: json.loads(value)})
        except ValueError:
            method.set_params(**{key: value})
    return method


def _pair(word: str, option: str) -> tuple[str, str]:
    name, sign, value = word.partition("=")
    if not sign or not name or not value:
        raise ValueError(f"{option} must be NAME=VALUE, got {word!r}.")
    return name.strip(), value.strip()
