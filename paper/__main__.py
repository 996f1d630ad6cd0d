"""`python -m paper`: run the experiments, and make tables, figures and the page from their rows."""

import argparse
import sys
from pathlib import Path

from . import rows
from .datasets import DATASETS
from .exhibits import long, markdown
from .protocol import Protocol
from .published import METHODS


def main(words=None):
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (action, about) in COMMANDS.items():
        command = commands.add_parser(name, help=about, description=about)
        command.set_defaults(action=action)
        folder = rows.OWN if name == "compare" else rows.RESULTS
        command.add_argument("--rows", type=Path, default=folder, help="folder of rows to read")
        for word, options in OPTIONS.items():
            command.add_argument(word, **options)
    chosen = parser.parse_args(words)
    try:
        chosen.action(chosen)
    except (ModuleNotFoundError, OSError, ValueError) as error:
        parser.error(f"{error}")


def run(chosen):
    """Run experiments and write their rows into a folder of their own."""
    from .experiments import EXPERIMENTS
    from .training import CLASSIFIERS, CLUSTERINGS

    names, out = known(chosen.names, EXPERIMENTS), chosen.out or rows.OWN
    known(chosen.without, [*CLASSIFIERS, *CLUSTERINGS, "BAG", "BOO", "RF", "XGB"])
    protocol = Protocol(without=tuple(chosen.without))
    n = rows.run(names, chosen.datasets, chosen.repeats, chosen.jobs, out, chosen.data, protocol)
    print(
        f"{n} units run; all rows are in {out}. Beside the committed rows: python -m paper compare"
    )


def compare(chosen):
    """Print the scores of a folder of rows beside the committed ones."""
    scores = rows.compare(rows.read(chosen.rows), rows.read())
    print(markdown(scores.set_index("dataset"), 4))


def page(chosen):
    """Write the page, its tables and its figures."""
    from .page import write
    from .tables import exhibits

    found = rows.read(chosen.rows)
    missing = [name for name in METHODS if name not in set(found["method"])]
    if missing:
        raise ValueError(
            f"The page compares all methods; {chosen.rows} has no rows of {', '.join(missing)}. "
            "Compare what is there: python -m paper compare."
        )
    folder = "paper/results" if chosen.rows == rows.RESULTS else chosen.rows
    write(found, chosen.out or Path("docs/paper.md"), folder)
    long(exhibits(found)).to_csv(chosen.rows / "tables.csv", index=False, float_format="%.4g")


def known(names, allowed):
    """The names, by default all that are allowed; refuse others."""
    if unknown := [name for name in names if name not in allowed]:
        raise ValueError(f"Unknown name {unknown[0]!r}. Choose from: {', '.join(allowed)}.")
    return names or list(allowed)


COMMANDS = {
    "run": (run, "Run experiments and write their rows; what is there already is not run again."),
    "compare": (compare, "Print your scores beside the committed ones."),
    "page": (page, "Write the page, its tables and its figures."),
}

OPTIONS = {
    "names": {"nargs": "*", "metavar": "NAME", "help": "experiments, by default all"},
    "--out": {"type": Path, "help": "file or folder to write to"},
    "--data": {"type": Path, "help": "folder of data sets as Parquet files"},
    "--datasets": {"nargs": "*", "default": [], "choices": [*DATASETS, []]},
    "--without": {"nargs": "*", "default": [], "help": "base models to leave out"},
    "--repeats": {"type": int, "default": 20, "help": "number of random splits"},
    "--jobs": {"type": int, "default": 1, "help": "number of processes"},
}

if __name__ == "__main__":
    sys.exit(main())
