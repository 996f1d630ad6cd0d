"""What stands on the command line, as values; and what the library says, in the words of the command line."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..methods import Method

OPTIONS = ["classes", "known", "max_classes", "max_patterns", "missing", "objects", "prefix", "rule", "voters"]
PHRASES = {  # what only Python can do, or says in another way
    "Pass classifiers={'name': 'column'} if": "Rename them if",
    "overwrite=True": "--overwrite",
    "DawidSkene()": "--method dawid-skene",
    "Votes.from_probabilities": "--soft",
    "numpy.inf": "inf",
}
QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
ARGUMENT = re.compile(
    rf"(?<!\w)(?:{QUOTED})"  # a label or a column, which stays as it is
    rf"|(?<![^\s(])(?P<name>{'|'.join(OPTIONS)}|weights)=(?P<value>{QUOTED}|\[\.\.\.\]|[\w,-]*\w|)(?=[,.;]?(?:\s|$))"
    r"|(?<![^\s(])(?P<bare>max_classes|max_patterns)\b"
)


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
            method.set_params(**{key: json.loads("Infinity" if value == "inf" else value)})
        except ValueError:
            method.set_params(**{key: value})
    return method


def _pair(word: str, option: str) -> tuple[str, str]:
    name, sign, value = word.partition("=")
    if not sign or not name or not value:
        raise ValueError(f"{option} must be NAME=VALUE, got {word!r}.")
    return name.strip(), value.strip()


# ---- the other way ---------------------------------------------------------------------------------------------------


def in_words(sentence: str) -> str:
    """Return a sentence of the library with options where it has arguments of Python.

    Examples
    --------
    >>> in_words("weights='labels' needs known labels, got none. Pass known=, or take weights='agreement'.")
    '--set weights=labels needs known labels, got none. Pass --known, or take --set weights=agreement.'
    """
    for python, command in PHRASES.items():
        sentence = sentence.replace(python, command)
    return ARGUMENT.sub(_option, sentence)


def _option(found: re.Match[str]) -> str:
    name, value = found["name"] or found["bare"], found["value"]
    if name is None:
        return found[0]
    if value == "None":
        return f"no --{name}"
    said = "" if value in (None, "[...]") else shlex.quote(ast.literal_eval(value)) if value[:1] in ("'", '"') else value
    return f"--set {name}={said}" if name == "weights" else f"--{name.replace('_', '-')} {said}".strip()
