"""The page: facts are filled into the template, and the result is written as one file."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from .._checks import require_library
from .._files import place_for, whole_file
from .._text import number, percent, shown, signed
from ..answer.solution import Solved
from .answers import Facts
from .facts import facts_of

CONTESTED = ("object", "label", "confidence", "runner_up", "margin", "votes", "alike", "why")
ASKED = ("object", "label", "confidence", "votes", "gain")


def write_report(
    consensus: Solved, path: str | os.PathLike[str], *, overwrite: bool = False, **options: Any
) -> None:
    """Write the report; for the options see `Consensus.report`."""
    target = place_for(path, overwrite)
    require_jinja2()
    page = page_of(facts_of(consensus, **options))
    with whole_file(target) as file:
        file.write(page)


def page_of(facts: Facts) -> bytes:
    """The page that shows the facts."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    style, script = _file("style.css"), _file("script.js")
    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_unbroken,
    )
    environment.filters |= {
        "name": _name,
        "text": shown,
        "percent": percent,
        "number": number,
        "signed": signed,
    }
    page = environment.get_template("template.html").render(
        facts,
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        csv_link=_csv_link(facts["contested"]["rows"], CONTESTED) if facts["contested"] else None,
        ask_link=_csv_link(facts["trust"]["ask"], ASKED) if facts["trust"] else None,
    )
    return page.encode("utf-8", "replace")


def _file(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


def _name(text: Any) -> Any:
    """A name as an element of its own; isolates bidirectional text."""
    from markupsafe import Markup

    if text is None:
        return ""
    short, long = shown(text), shown(text, 300)
    hint = Markup(' title="{}"').format(long) if long != short else ""
    return Markup("<bdi{}>{}</bdi>").format(hint, short)


def _unbroken(value: Any) -> Any:
    """A text in which the percent sign stays on the line of its number; names stay as they are."""
    return value if hasattr(value, "__html__") else str(value).replace(" %", "\N{NO-BREAK SPACE}%")


def _hash(content: str) -> str:
    """The hash by which the page's security policy allows this content to run, and nothing else."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _csv_link(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Objects as a CSV file in a link.

    A cell that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(columns)
    writer.writerows([[_safe_cell(row[name]) for name in columns] for row in rows])
    content = base64.b64encode(file.getvalue().encode("utf-8-sig", "replace")).decode()
    return f"data:text/csv;charset=utf-8;base64,{content}"


def _safe_cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return ("'" if value.lstrip()[:1] in tuple("=+-@|%") or value[:1] in "\t\r\n" else "") + value[
        :1000
    ]


def require_jinja2() -> None:
    """Say what to install where jinja2 is missing."""
    require_library("A report", "jinja2", "report")
