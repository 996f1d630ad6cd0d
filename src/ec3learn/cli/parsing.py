"""Options of the command as values of the library, and results as text or JSON."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import is_dataclass, replace
from json import dumps, loads
from math import isfinite
from typing import TYPE_CHECKING, Any, TextIO

from .._checks import InputError, unknown_name
from .._table import Table
from .._text import UNSHOWN, printable

if TYPE_CHECKING:
    from ..methods import Method
    from ..tables.columns import Naming
    from ..tables.files import AnsweredFile, FileTable

Options = Mapping[str, Any]  # the options of a command by name


def names(words: Sequence[str]) -> list[str]:
    """Names that are separated by commas or given one by one.

    Examples
    --------
    >>> names(["svm, tree", "clf_*"])
    ['svm', 'tree', 'clf_*']
    """
    return [name.strip() for word in words for name in word.split(",") if name.strip()]


def soft_models(words: Sequence[str]) -> dict[str, Any]:
    """Soft classifiers with their columns.

    Examples
    --------
    >>> soft_models(["svm=svm_*", "nn=spam:p1,ham:p2"])
    {'svm': 'svm_*', 'nn': {'spam': 'p1', 'ham': 'p2'}}
    """
    models: dict[str, Any] = {}
    for word in words:
        name, columns = _pair(word, "soft")
        parts = names([columns])
        if all(":" in part for part in parts):
            models[name] = dict(part.split(":", 1) for part in parts)
        else:
            models[name] = parts[0] if len(parts) == 1 else parts
    return models


def scale_from(options: Options) -> Any:
    """The scale of all voters, or a dict of voter -> scale, with answers as text.

    Examples
    --------
    >>> options = {"scale": ["1-3"], "unordered": ["unsure"], "direction": "up", "outside": "error"}
    >>> scale_from(options)
    Scale(values=(1, 2, 3), unordered=('unsure',), direction='up', outside='error')
    >>> list(scale_from(options | {"scale": ["ann=low,medium,high", "bob=0-9"]}))
    ['ann', 'bob']
    >>> scale_from(options | {"scale": ["0.0-1.0"]})
    Scale(values=0.0, unordered=1.0, direction='up', outside='error')
    """
    from ..tables.label_types import whole
    from ..votes import Scale

    how = {name: options[name] for name in ("direction", "outside")}
    how["unordered"] = list(map(whole, names(options["unordered"])))
    if not options["scale"]:
        for name, default in {"unordered": [], "outside": "error", "direction": "up"}.items():
            if how[name] != default:
                raise InputError(name, phrase=f"{name} needs a scale, got none")
        return None
    parts = [("", word) if "=" not in word else _pair(word, "scale") for word in options["scale"]]
    scales: dict[str, Scale] = {}
    for name, word in parts:
        ends = re.fullmatch(r"(-?\d*\.\d+) *(?:-|\.\.) *(-?\d*\.\d+)", word.strip())
        if ends is not None:  # numbers with a point: scores of any value between them
            scales[name] = Scale(**how | {"values": float(ends[1]), "unordered": float(ends[2])})
        else:
            scales[name] = Scale(_answers(word), **how)
    if len(scales) < len(parts) or ("" in scales and len(scales) > 1):
        must = "must be one scale for all voters, or one for each as NAME=ANSWERS"
        raise InputError("scale", must, came=", ".join(options["scale"]))
    return scales.get("", scales)


def _answers(word: str) -> list[Any]:
    """The answers of a scale: all integers from one to another (1-9, 1..9), or a list."""
    from ..tables.label_types import whole

    ends = re.fullmatch(r"(-?\d+) *(?:-|\.\.) *(-?\d+)", word.strip())
    if ends is not None:
        low, high = int(ends[1]), int(ends[2])
        return list(range(low, high + 1) if low <= high else range(low, high - 1, -1))
    listed = names([word])
    if len(listed) < 2:
        must = "must name at least two answers, from low to high"
        raise InputError("scale", must, came=word, remedy="Write 0-9, or low,medium,high.")
    return [whole(answer) for answer in listed]


def naming_from(options: Options) -> Naming:
    """The names of the columns; `apply` has no options for classes and known labels."""
    from ..tables.columns import Naming

    models = soft_models(options["soft"])
    classifiers = [*names(options["classifiers"]), *([models] if models else [])]
    clusterings = names(options["clusterings"])
    naming = Naming(
        classifiers,
        clusterings,
        objects=options["objects"],
        voters=options["voters"],
        missing=names(options["missing"]),
        scale=scale_from(options),
        repeats=options["repeats"],
        clean=options["clean"],
        exclude=names(options["exclude"]),
    )
    if "known" not in options:
        return replace(naming, classifiers=classifiers or None, clusterings=clusterings or None)
    known = list(options["known"])
    return replace(
        naming,
        known=known if len(known) > 1 else next(iter(known), None),
        classes=None if options["classes"] is None else names([options["classes"]]),
        truth=options.get("truth"),
    )


def method_from(options: Options) -> Method:
    """The method with its parameters."""
    from ..methods import method_of
    from ..methods.base import with_class_prior

    name = options["method"]
    method = method_of(name, "method")
    allowed = method.get_params()
    for parameter, value in (_pair(word, "settings") for word in options["settings"]):
        if parameter not in allowed:
            raise unknown_name("parameter", parameter, allowed, of=f" of {name}")
        try:
            method.set_params(**{parameter: loads("Infinity" if value == "inf" else value)})
        except ValueError:
            method.set_params(**{parameter: value})
    if options["class_prior"]:
        method = with_class_prior(method, class_shares(options["class_prior"]))
    return method


def class_shares(words: Sequence[str]) -> dict[str, float]:
    """The shares of classes.

    Examples
    --------
    >>> class_shares(["toxic=.1, other=.2"])
    {'toxic': 0.1, 'other': 0.2}
    """
    pairs = [_pair(word, "class_prior", "CLASS=SHARE") for word in names(words)]
    try:
        return {name: float(share) for name, share in pairs}
    except ValueError:
        must = "must be CLASS=SHARE with a number"
        raise InputError("class_prior", must, came=", ".join(words)) from None


def _pair(word: str, argument: str, form: str = "NAME=VALUE") -> tuple[str, str]:
    name, _, value = word.partition("=")
    if not name or not value:
        raise InputError(argument, f"must be {form}", got=word)
    return name.strip(), value.strip()


def opened(
    votes: str, options: Options, out: str | None = None
) -> AbstractContextManager[FileTable]:
    """The table of votes in a file; temporary files are beside the output."""
    from ..tables.files import open_file

    reading = ("format", "delimiter", "encoding", "sheet", "memory")
    how = {name: options[name] for name in reading}
    return open_file(votes, **how, beside=out, bar=not options.get("quiet"))


@contextmanager
def combined(
    votes: str, options: Options, *, unseen: bool = False, **details: Any
) -> Iterator[AnsweredFile]:
    """The combined votes of a file, which is open as long as this lasts.

    Known labels that are `unseen` by the method judge its answer. `details` are arguments of
    `combine_file`.
    """
    from ..answer.notes import DRAW_LABELS
    from ..consensus import changed
    from ..tables.files import combine_file

    method, naming = method_from(options), replace(naming_from(options), unseen=unseen)
    details |= {"max_rows": options["max_rows"], "id": options["id"]}
    with opened(votes, options, options.get("out")) as table:
        answered = combine_file(table, naming, method, **details)
        notes = answered.consensus.solution.notes
        drawn = "ec3learn ask --goal share -n 30"
        notes = tuple(replace(n, text=n.text.replace(DRAW_LABELS, drawn)) for n in notes)
        yield replace(answered, consensus=changed(answered.consensus, notes=notes))


def prepare(votes: str, outputs: Mapping[str, str | None], options: Options) -> None:
    """Refuse outputs that cannot be written, before any work; silence warnings if asked."""
    from ..tables.files import files_of, require_outputs

    for name in ("out_format", "per_object"):
        if options.get(name) and outputs["out"] is None:
            raise InputError(name, phrase=f"{name} needs a file to write, out, got none")
    read = files_of(votes)
    inputs = {"votes": read, "known": options.get("known"), "truth": options.get("truth")}
    whole = len(read) == 1 and "per_object" in options and not options["per_object"]
    require_outputs(outputs, options["overwrite"], inputs, whole)
    if options.get("quiet"):
        warnings.simplefilter("ignore")


# ---- what is printed -----------------------------------------------------------------------------


def tell_written(options: Options) -> None:
    """Say that the output is there."""
    if options["out"] not in (None, "-") and not options.get("quiet"):
        print(printable(f"Written: {options['out']}"), file=sys.stderr)


def show(result: Any, json: bool = False, file: TextIO | None = None) -> None:
    """Print a result, without anything that a terminal would obey."""
    if json:
        text = dumps(_plain(result), ensure_ascii=False)
        print(UNSHOWN.sub(lambda sign: f"\\u{ord(sign.group()):04x}", text), file=file)
    else:
        print(printable(str(result), lines=True), file=file)


def _plain(value: Any) -> Any:
    """Tables and objects as lists and dicts; infinity and NaN, which JSON lacks, as None."""
    if isinstance(value, Table):
        value = list(value.rows())
    elif hasattr(value, "as_dict"):
        value = value.as_dict()
    elif is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value
