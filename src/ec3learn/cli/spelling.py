"""How the command writes: arguments of the library as options, and what was found as text or JSON."""

from __future__ import annotations

import re
import shlex
from ast import literal_eval
from collections.abc import Mapping
from json import dumps
from math import isfinite
from typing import Any, TextIO

from .._text import UNSHOWN, printable

FLAGGED = (None, "True", "[...]")  # no value to write after the option
# Arguments that have another name in the command.
INSTEAD = {"folder": "data", "path": "out", "values": "scale"}


def show(found: Any, json: bool = False, file: TextIO | None = None) -> None:
    """Print what was found, with nothing in it that a terminal would obey."""
    if json:
        text = dumps(_finite(found), ensure_ascii=False)
        print(UNSHOWN.sub(lambda sign: f"\\u{ord(sign.group()):04x}", text), file=file)
    else:
        print(printable(str(found), lines=True), file=file)


def _finite(found: Any) -> Any:
    """Return the same with null for numbers that JSON does not have: infinity, and what is undefined."""
    if isinstance(found, dict):
        return {key: _finite(value) for key, value in found.items()}
    if isinstance(found, (list, tuple)):
        return [_finite(value) for value in found]
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
    given = "" if value in FLAGGED else _quoted(_as_written(str(value)))
    option = options.get(INSTEAD.get(name, name))
    if option is not None:
        return f"{option} {given}".rstrip()
    if _is_parameter(name):
        return f"--set {name}={given}" if given else f"--set {name}"
    return f"{name}={given}" if given else name


def _as_written(value: str) -> str:
    """Return a value as the command reads it: a list is separated by commas."""
    return ",".join(map(str, literal_eval(value))) if value.startswith("[") else value


def _quoted(value: str) -> str:
    """Return a value as a shell takes it, with control characters escaped."""
    return shlex.quote(value if value.isprintable() else repr(value)[1:-1])


def _is_parameter(name: str) -> bool:
    """Return whether some method has a parameter of that name."""
    from ..methods import METHODS

    return any(name in method().get_params() for method in METHODS.values())
