"""`python -m paper`: run the experiments, and make tables, figures and the page from their rows."""

import argparse
import sys
from pathlib import Path

from . import rows
from .registry import DATASETS
from .tables import EXHIBITS


def main(words=None):
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (action, about) in COMMANDS.items():
        command = commands.add_parser(name, help=about, description=about)
        command.set_defaults(action=action)
        command.add_argument("names", nargs="*", metavar="NAME", help="by default all")
        command.add_argument("--rows", type=Path, default=rows.RESULTS, help="folder of rows")
        command.add_argument("--out", type=Path, help="file or folder to write to")
        command.add_argument("--data", type=Path, help="folder of data sets as Parquet files")
        command.add_argument("--datasets", nargs="*", default=[], choices=[*DATASETS, []])
        command.add_argument("--repeats", type=int, default=20, help="number of random splits")
        command.add_argument("--jobs", type=int, default=1, help="number of processes")
    chosen = parser.parse_args(words)
    try:
        chosen.action(chosen)
    except (ModuleNotFoundError, ValueError) as error:
        parser.error(f"{error}")


def run(chosen):
    """Run experiments and write their rows."""
    from .experiments import EXPERIMENTS

    names = known(chosen.names, EXPERIMENTS)
    jobs, repeats = chosen.jobs, chosen.repeats
    n = rows.run(names, chosen.datasets, repeats, jobs, chosen.rows, chosen.data)
    print(f"{n} units run; all rows are in {chosen.rows}.")


def tables(chosen):
    """Print tables."""
    from .tables import exhibits

    for exhibit in exhibits(rows.read(chosen.rows), known(chosen.names, EXHIBITS)):
        print(f"## {exhibit.title}\n\n{exhibit.markdown()}\n")


def figures(chosen):
    """Draw figures."""
    from .figures import FIGURES, draw

    out, names = chosen.out or Path("figures"), known(chosen.names, FIGURES)
    for name in draw(rows.read(chosen.rows), out, names):
        print(f"Written: {out / name}.png")


def page(chosen):
    """Write the page with all tables and figures."""
    from .page import write

    write(rows.read(chosen.rows), chosen.out or Path("docs/paper.md"))


def known(names, allowed):
    """The names, by default all that are allowed; refuse others."""
    if unknown := [name for name in names if name not in allowed]:
        raise ValueError(f"Unknown name {unknown[0]!r}. Choose from: {', '.join(allowed)}.")
    return names or list(allowed)


COMMANDS = {
    "run": (run, "Run experiments and write their rows; what is there already is not run again."),
    "tables": (tables, "Print the tables."),
    "figures": (figures, "Draw the figures as PNG files."),
    "page": (
        page,
        "Write the page, its tables and its figures.",
    ),
}

if __name__ == "__main__":
    sys.exit(main())
