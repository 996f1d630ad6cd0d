"""All commands of `ec3learn`."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from . import paper
from .looking import explain, voters
from .showing import demo, methods
from .tables import apply, combine

app = typer.Typer(
    name="ec3learn",
    help="One answer from many models: combine the outputs of classifiers, annotators and clusterings into one classification.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        print(f"ec3learn {__version__}")
        raise typer.Exit


@app.callback()
def ec3learn(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """One answer from many models: combine the outputs of classifiers, annotators and clusterings into one classification."""


for command in (combine, apply, explain, voters, methods, demo, paper.datasets):
    app.command()(command)
app.add_typer(paper.app, name="paper")
