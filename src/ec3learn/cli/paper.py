"""`ec3learn paper` and `ec3learn datasets`: the paper's experiments, and the data they are run on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="The paper's experiments: run them, and make tables, figures and a report of their rows.", no_args_is_help=True
)

Rows = Annotated[Path, typer.Option("--rows", metavar="FOLDER", help="Rows that `ec3learn paper run` wrote.")]
Folder = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="Parquet files of data sets; by default the folder EC3LEARN_DATA names."),
]
Experiments = Annotated[
    list[str] | None,
    typer.Argument(metavar="EXPERIMENT", help="Of those `ec3learn paper experiments` lists; all by default.", show_default=False),
]
Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Which; all by default.", show_default=False)]


@app.command()
def run(
    names: Experiments = None,
    datasets: Annotated[
        list[str] | None,
        typer.Option("--datasets", metavar="NAMES", help="With commas between, or repeated; all at hand by default."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Random splits.")] = 20,
    jobs: Annotated[int, typer.Option(min=1, help="Splits at a time.")] = 1,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where rows go.")] = Path("results"),
    data: Folder = None,
    max_rows: Annotated[int, typer.Option(min=50, help="Rows of a data set to use at most.")] = 2500,
) -> None:
    """Run experiments into rows. Stopped at any time, it goes on where it was.

    Examples
    --------
      ec3learn paper run --repeats 5 --jobs 4

      ec3learn paper run accuracy labels_5 --datasets iris,magic --out mine
    """
    from ..paper.protocol import Protocol
    from ..paper.run import run as run_all

    n_units = run_all(
        names or (),
        _words(datasets),
        repeats=repeats,
        n_jobs=jobs,
        out=out,
        folder=data,
        protocol=Protocol(max_rows=max_rows),
    )
    print(f"{n_units} units run; all rows are in {out}." if n_units else f"Nothing left to run; all rows are in {out}.")


@app.command()
def experiments() -> None:
    """List the experiments.

    Examples
    --------
      ec3learn paper experiments
    """
    from .._text import Table
    from ..paper.studies import EXPERIMENTS

    about = EXPERIMENTS.values()
    columns = {
        "experiment": list(EXPERIMENTS),
        "what": [each.title for each in about],
        "data sets": [", ".join(each.datasets or ["all"]) for each in about],
        "repeats": ["all" if each.repeats is None else f"at most {each.repeats}" for each in about],
    }
    print(Table(columns))


@app.command()
def tables(
    names: Names = None,
    rows: Rows = Path("results"),
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Write a CSV file a table, in place of printing.")] = None,
) -> None:
    """Print the paper's tables: ours, the paper's, the difference, and whether its claims held.

    Examples
    --------
      ec3learn paper tables runtime

      ec3learn paper tables --out tables
    """
    from ..paper.tables import exhibits

    for exhibit in exhibits(_read(rows), names or ()):
        if out is None:
            print(f"## {exhibit.title}\n\n{exhibit.markdown()}\n")
        else:
            for path in exhibit.write(out):
                print(f"Written: {path}")


@app.command()
def figures(
    names: Names = None,
    rows: Rows = Path("results"),
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where PNG files go.")] = Path("figures"),
) -> None:
    """Draw the paper's figures.

    Examples
    --------
      ec3learn paper figures robustness --out .
    """
    from ..paper.figures import draw

    for path in draw(_read(rows), out, names or ()):
        print(f"Written: {path}")


@app.command()
def report(
    rows: Rows = Path("results"),
    out: Annotated[Path, typer.Option(metavar="FILE", help="The Markdown file; figures go into a folder beside it.")] = Path(
        "docs/paper.md"
    ),
) -> None:
    """Write all tables and figures as one page.

    Examples
    --------
      ec3learn paper report --out paper.md
    """
    from ..paper.report import report as write_report

    print(f"Written: {write_report(_read(rows), out)}")


def datasets(data: Folder = None) -> None:
    """List the data sets of the paper: what is at hand, beside what the paper says.

    Examples
    --------
      ec3learn datasets --data folder
    """
    from ..paper.tables import datasets_at_hand, differing_entropies

    table = datasets_at_hand(data)
    print(table)
    columns = (dict(zip(table["dataset"], table[head], strict=True)) for head in ("entropy", "paper: entropy"))
    ours, theirs = ({name: entropy for name, entropy in column.items() if entropy is not None} for column in columns)
    if note := differing_entropies(ours, theirs):
        print(f"{note[0].upper()}{note[1:]}")


def _read(folder: Path) -> object:
    from ..paper.rows import read

    return read(folder)


def _words(given: list[str] | None) -> list[str]:
    return [word.strip() for words in given or () for word in words.split(",") if word.strip()]
