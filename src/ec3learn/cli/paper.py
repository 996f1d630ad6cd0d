"""`ec3learn paper` and `ec3learn datasets`: the paper's experiments, and the data sets they run on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import PlainCommand, PlainGroup, Texts, argument, flatten_groups, option
from .parsing import names as names_in

app = typer.Typer(
    cls=PlainGroup,
    help="The paper's experiments: run them, and make tables, figures and a report from their rows.",
    no_args_is_help=True,
)

Experiments = Annotated[
    list[str] | None,
    argument("EXPERIMENT", "As listed by `ec3learn paper experiments`; all by default."),
]
Names = Annotated[list[str] | None, argument("NAME", "What to make; all by default.")]
ROWS = option(Path("results"), "FOLDER", "The folder that `ec3learn paper run` wrote rows to.")
DATA = option(
    None, "FOLDER", "Folder of data sets as Parquet files; by default the one in EC3LEARN_DATA."
)


@app.command(cls=PlainCommand)
@flatten_groups
def run(
    names: Experiments = None,
    datasets: Texts = option(
        None, "NAMES", "Comma-separated or repeated; by default all that need no download."
    ),
    repeats: int = option(20, "N", "Number of random splits.", least=1),
    jobs: int = option(1, "N", "Number of processes.", least=1),
    out: Path = option(Path("results"), "FOLDER", "Folder to write rows to."),
    data: Path | None = DATA,
    max_rows: int = option(2500, "N", "Maximum number of rows per data set.", least=50),
) -> None:
    """Run experiments and write their rows. A run that was interrupted continues where it stopped.

    For example:
    ec3learn paper run --repeats 5 --jobs 4

    ec3learn paper run accuracy labels_5 --datasets iris,magic --out mine
    """
    from ..paper.protocol import Protocol
    from ..paper.run import run as run_all

    protocol = Protocol(max_rows=max_rows)
    n_units = run_all(
        names or (),
        names_in(datasets),
        repeats=repeats,
        n_jobs=jobs,
        out=out,
        folder=data,
        protocol=protocol,
    )
    print(
        f"{n_units} units run; all rows are in {out}."
        if n_units
        else f"Nothing left to run; all rows are in {out}."
    )


@app.command(cls=PlainCommand)
def experiments() -> None:
    """List the experiments.

    For example:
    ec3learn paper experiments
    """
    from ..paper.run import list_experiments

    print(list_experiments())


@app.command(cls=PlainCommand)
@flatten_groups
def tables(
    names: Names = None,
    rows: Path = ROWS,
    out: Path | None = option(
        None, "FOLDER", "Write one CSV file per table here instead of printing."
    ),
) -> None:
    """Print the paper's tables: our numbers, the paper's, the difference, and whether its claims held.

    For example:
    ec3learn paper tables runtime

    ec3learn paper tables --out tables
    """
    from ..paper.run import read
    from ..paper.tables import exhibits

    for exhibit in exhibits(read(rows), names or ()):
        if out is None:
            print(f"## {exhibit.title}\n\n{exhibit.markdown()}\n")
        else:
            _report_written(exhibit.write(out))


@app.command(cls=PlainCommand)
@flatten_groups
def figures(
    names: Names = None,
    rows: Path = ROWS,
    out: Path = option(Path("figures"), "FOLDER", "Folder to write PNG files to."),
) -> None:
    """Draw the paper's figures.

    For example:
    ec3learn paper figures robustness --out .
    """
    from ..paper.figures import draw
    from ..paper.run import read

    _report_written(draw(read(rows), out, names or ()))


@app.command(cls=PlainCommand)
@flatten_groups
def report(
    rows: Path = ROWS,
    out: Path = option(
        Path("docs/paper.md"), "FILE", "The Markdown file; figures go to a folder next to it."
    ),
) -> None:
    """Write all tables and figures as one Markdown page.

    For example:
    ec3learn paper report --out paper.md
    """
    from ..paper.report import report as write_report
    from ..paper.run import hours, read

    _report_written([write_report(read(rows), out, hours(rows))])


@flatten_groups
def datasets(data: Path | None = DATA) -> None:
    """List the paper's data sets, with the paper's figures and ours.

    For example:
    ec3learn datasets --data folder
    """
    from ..paper.tables import datasets_at_hand, entropy_note

    table = datasets_at_hand(data)
    print(table)
    if note := entropy_note(table):
        print(note)


def _report_written(paths: list[Path]) -> None:
    for path in paths:
        print(f"Written: {path}")
