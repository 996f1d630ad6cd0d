"""`ec3learn methods` and `ec3learn demo`: what there is, and what it does on data that comes with it."""

from __future__ import annotations

import json as json_format
from functools import partial
from typing import Annotated

import typer

from . import options as o

VOTES_FILE = typer.Option("--votes", metavar="FILE", help="Only write the table of votes, as CSV.")


def methods(json: o.Json = False) -> None:
    """List the methods by name, with their parameters.

    Examples
    --------
      ec3learn methods
    """
    from ..methods import METHODS
    from ..methods.base import plain_parameters
    from ..table import Table

    rows = []
    for name, make in METHODS.items():
        kind = make.func if isinstance(make, partial) else make
        rows.append(
            {
                "method": name,
                "what": (kind.__doc__ or "").split("\n")[0].rstrip("."),
                "set": plain_parameters(make().get_params()),
            }
        )
    if json:
        print(json_format.dumps(rows, ensure_ascii=False))
    else:
        print(Table({key: [row[key] for row in rows] for key in ("method", "what")}))


def demo(votes: Annotated[str | None, VOTES_FILE] = None) -> None:
    """Combine what five classifiers and two clusterings said about 600 emails, all made up, and show what there is to see.

    Examples
    --------
      ec3learn demo

      ec3learn demo --votes votes.csv
    """
    from ..demo import solve_demo, write_demo

    if votes is not None:
        write_demo(votes)
        print(f"Written: {votes}. Try: ec3learn combine {votes} -c svm,tree,bayes,knn,rules -k kmeans,dbscan --known gold")
        return
    right, consensus = solve_demo()
    print(f"How often each is right about emails without a known label:\n{right}\n")
    print(f"Who drove the answer:\n{consensus.voters()}\n")
    print(f"Look at these first:\n{consensus.contested(5)}\n")
    print("To try it on a file: ec3learn demo --votes votes.csv")
