"""`ec3learn methods` and `ec3learn demo`: what there is, and what it does on data that comes with it."""

from __future__ import annotations

from functools import partial
from json import dumps
from textwrap import fill
from typing import Annotated, Any

import typer

from . import options as o

WIDTH, INDENT = 100, " " * 4
WHAT = {  # of methods that are one class with different parameters
    "ec3": "Combine classifiers and clusterings by EC3: every group counts by its size",
    "iec3": "Combine classifiers and clusterings by iEC3: sizes are divided out, so that small groups and rare classes are heard",
    "dawid-skene": "Combine voters by Dawid-Skene: find the true classes and how often each voter takes one class for another",
    "dawid-skene-one-coin": "Combine voters by Dawid-Skene with one number a voter: how often it is right, whatever the class",
}
VOTES_FILE = typer.Option("--votes", metavar="FILE", help="Only write the table of votes, as CSV.")


def methods(json: o.Json = False) -> None:
    """List the methods by name, with their parameters for --set and the defaults.

    Examples
    --------
      ec3learn methods
    """
    from ..methods import METHODS
    from ..methods.base import plain_parameters

    rows: list[dict[str, Any]] = []
    for name, make in METHODS.items():
        kind = make.func if isinstance(make, partial) else make
        rows.append(
            {
                "method": name,
                "what": WHAT.get(name, (kind.__doc__ or "").split("\n")[0].rstrip(".")),
                "set": plain_parameters(make().get_params()),
            }
        )
    if json:
        print(dumps(rows, ensure_ascii=False))
    else:
        width = max(map(len, METHODS)) + 2
        for row in rows:
            print(f"{row['method']:{width}}{row['what']}")
            said = " ".join(f"{name}={value if isinstance(value, str) else dumps(value)}" for name, value in row["set"].items())
            if said:
                print(fill(said, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT, break_on_hyphens=False))


def demo(
    votes: Annotated[str | None, VOTES_FILE] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace that file if it exists.")] = False,
) -> None:
    """Combine what five classifiers and two clusterings said about 600 emails, all made up, and show what there is to see.

    Examples
    --------
      ec3learn demo

      ec3learn demo --votes votes.csv
    """
    from .made_up import solve_demo, write_demo

    if votes is not None:
        write_demo(votes, overwrite)
        print(f"Written: {votes}. Try: ec3learn combine {votes} -c svm,tree,bayes,knn,rules -k kmeans,dbscan --known gold")
        return
    right, consensus = solve_demo()
    print(f"How often each is right about emails without a known label:\n{right}\n")
    print(f"Who drove the answer:\n{consensus.voters()}\n")
    print(f"Look at these first:\n{consensus.contested(5)}\n")
    print("To try it on a file: ec3learn demo --votes votes.csv")
