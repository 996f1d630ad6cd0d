"""Options of the command as values of the library."""

from __future__ import annotations

import re
import shlex
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass, replace
from json import dumps, loads
from math import isfinite
from typing import TYPE_CHECKING, Any, TextIO

from .._checks import InputError, unknown_name
from .._table import Table
from .._text import UNSHOWN, arg, printable
from .options import ColumnOptions, LabelOptions, MethodOptions, ReadOptions

if TYPE_CHECKING:
    from ..methods import Method
    from ..tables.columns import Naming
    from ..tables.files import AnsweredFile

FLAGGED = (None, "True", "[...]")  # no value to write after the option
# Arguments that have another name in the command.
INSTEAD = {"folder": "data", "path": "out", "values": "scale"}


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
            models[name] = {
                label: column for label, _, column in (part.partition(":") for part in parts)
            }
        else:
            models[name] = parts[0] if len(parts) == 1 else parts
    return models


def scale_from(columns: ColumnOptions) -> Any:
    """Return the scale of all voters, or a dict of voter -> scale, with answers as text.

    Examples
    --------
    >>> scale_from(ColumnOptions(scale=["1-3"], unordered=["unsure"]))
    Scale(values=('1', '2', '3'), unordered=('unsure',), direction='up', outside='error')
    >>> list(scale_from(ColumnOptions(scale=["ann=low,medium,high", "bob=0-9"])))
    ['ann', 'bob']
    """
    from ..votes import Scale

    given: dict[str, Any] = {"direction": columns.direction, "outside": columns.outside}
    if columns.scale is None:
        for argument, default in (("unordered", None), ("outside", "error"), ("direction", "up")):
            if getattr(columns, argument) != default:
                raise InputError(argument, phrase=f"{arg(argument)} needs {arg('scale')}, got none")
        return None
    given["unordered"] = names(columns.unordered)
    parts = [("", word) if "=" not in word else _pair(word, "scale") for word in columns.scale]
    scales = {name: Scale(_answers(word), **given) for name, word in parts}
    if len(scales) < len(parts) or ("" in scales and len(scales) > 1):
        must = "must be one scale for all voters, or one for each as NAME=ANSWERS"
        raise InputError("scale", must, came=", ".join(columns.scale))
    return scales.get("", scales)


def _answers(word: str) -> list[str]:
    """Return the answers of a scale: all integers from one to another (1-9, 1..9), or those that are listed."""
    ends = re.fullmatch(r"(-?\d+) *(?:-|\.\.) *(-?\d+)", word.strip())
    if ends is None:
        listed = names([word])
        if len(listed) < 2:
            must, remedy = (
                "must name at least two answers, from low to high",
                "Write 0-9, or low,medium,high.",
            )
            raise InputError("scale", must, came=word, remedy=remedy)
        return listed
    low, high = int(ends[1]), int(ends[2])
    return [
        str(number)
        for number in (range(low, high + 1) if low <= high else range(low, high - 1, -1))
    ]


def naming_from(
    columns: ColumnOptions, how: LabelOptions | None = None, truth: str | None = None
) -> Naming:
    """Return how the columns of a table are named; without `how`, for a consensus that knows its base models by name."""
    from ..tables.columns import Naming

    models = soft_models(columns.soft)
    classifiers = (
        [*names(columns.classifiers), models] if models else list(names(columns.classifiers))
    )
    clusterings = names(columns.clusterings)
    given: dict[str, Any] = {
        "objects": columns.objects,
        "voters": columns.voters,
        "missing": names(columns.missing),
    }
    given |= {"scale": scale_from(columns), "repeats": columns.repeats}
    if how is None:
        return Naming(classifiers or None, clusterings or None, **given)
    classes = None if how.classes is None else names([how.classes])
    given |= {"classes": classes, "max_classes": how.max_classes, "truth": truth}
    known = how.known[0] if how.known and len(how.known) == 1 else how.known
    return Naming(classifiers, clusterings, known, **given)


def method_from(how: MethodOptions) -> Method:
    """Return the method with its parameters."""
    from ..methods import METHODS, method_of
    from ..methods.solving import with_class_prior

    method = method_of(how.method, "method")
    allowed = method.get_params()
    for name, value in (_pair(word, "settings") for word in how.settings or ()):
        if not allowed:
            others = [other for other, make in METHODS.items() if name in make().get_params()]
            remedy = (
                f"{name!r} is a parameter of {', '.join(others)}: pass {arg('method', others[0])}."
                if others
                else ""
            )
            phrase = f"The method {how.method} has no parameters, got {name!r}"
            raise InputError(
                "settings",
                phrase=phrase,
                remedy=remedy or f"Leave it out, or pass another {arg('method')}.",
            )
        if name not in allowed:
            raise unknown_name("parameter", name, allowed, of=f" of {how.method}")
        try:
            method.set_params(**{name: loads("Infinity" if value == "inf" else value)})
        except ValueError:
            method.set_params(**{name: value})
    if how.class_prior is not None:
        method = with_class_prior(method, class_shares(how.class_prior))
    return method


def class_shares(words: Sequence[str]) -> dict[str, float]:
    """Return the shares of classes.

    Examples
    --------
    >>> class_shares(["toxic=.1, other=.2"])
    {'toxic': 0.1, 'other': 0.2}
    """
    shares = {}
    for name, share in (_pair(word, "class_prior", "CLASS=SHARE") for word in names(words)):
        try:
            shares[name] = float(share)
        except ValueError:
            must = "must be CLASS=SHARE with a number"
            raise InputError("class_prior", must, got=f"{name}={share}") from None
    return shares


@contextmanager
def combined(
    votes: str,
    columns: ColumnOptions,
    how: MethodOptions,
    file: ReadOptions,
    *,
    unseen: bool = False,
    out: str | None = None,
    **options: Any,
) -> Iterator[AnsweredFile]:
    """Combine the votes in a file, which is open as long as this lasts; `options` are those of `combine_file`.

    Known labels that are `unseen` by the method judge its answer.
    """
    from ..tables.files import combine_file, open_file

    method, naming = method_from(how), replace(naming_from(columns, how), unseen=unseen)
    with open_file(votes, **asdict(file), beside=out, bar=True) as table:
        yield combine_file(table, naming, method, **options)


def _pair(word: str, argument: str, form: str = "NAME=VALUE") -> tuple[str, str]:
    name, sign, value = word.partition("=")
    if not sign or not name or not value:
        raise InputError(argument, f"must be {form}", got=word)
    return name.strip(), value.strip()


# ---- the other way round -------------------------------------------------------------------------


def show(found: Any, json: bool = False, file: TextIO | None = None) -> None:
    """Print what was found, with nothing in it that a terminal would obey."""
    if json:
        text = dumps(_for_json(found), ensure_ascii=False)
        print(UNSHOWN.sub(lambda sign: f"\\u{ord(sign.group()):04x}", text), file=file)
    else:
        print(printable(str(found), lines=True), file=file)


def _for_json(found: Any) -> Any:
    """Return tables and objects as lists and dicts, and null for numbers that JSON does not have: infinity and NaN."""
    if isinstance(found, Table):
        found = list(found.rows())
    elif hasattr(found, "as_dict"):
        found = found.as_dict()
    elif is_dataclass(found):
        found = vars(found)
    if isinstance(found, dict):
        return {key: _for_json(value) for key, value in found.items()}
    if isinstance(found, (list, tuple)):
        return [_for_json(value) for value in found]
    return None if isinstance(found, float) and not isfinite(found) else found


def spell_option(options: Mapping[str, str], name: str, value: str | None = None) -> str:
    """Return an argument of the library, and a value for it, as an option; a parameter of a method goes with `--set`.

    Examples
    --------
    >>> options = {"known": "--known", "max_rows": "--max-rows", "overwrite": "--overwrite"}
    >>> spell_option(options, "max_rows", "100"), spell_option(options, "weights", "agreement")
    ('--max-rows 100', '--set weights=agreement')
    """
    soft = re.fullmatch(r"classifiers\[(?P<quote>['\"])(.*)(?P=quote)\]", name)
    if soft:
        return f"--soft {soft[2]}"
    if name == "classifiers" and value is not None and value.startswith("{"):
        return "--soft NAME=CLASS:COLUMN,..."
    if name == "number":  # commands that name single rows ask for their numbers
        return "This command"
    given = "" if value in FLAGGED else _quoted(str(value))
    option = options.get(INSTEAD.get(name, name))
    if option is not None:
        return f"{option} {given}".rstrip()
    if _is_parameter(name):
        return f"--set {name}={given}" if given else f"--set {name}"
    return f"{name}={given}" if given else name


def _quoted(value: str) -> str:
    """Return a value as a shell takes it: a list separated by commas, control characters escaped."""
    value = ",".join(map(str, literal_eval(value))) if value.startswith("[") else value
    return shlex.quote(value if value.isprintable() else repr(value)[1:-1])


def _is_parameter(name: str) -> bool:
    """Return whether some method has a parameter of that name."""
    from ..methods import METHODS

    return any(name in method().get_params() for method in METHODS.values())
