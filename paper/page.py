"""The report: what holds and why, the verdicts, every table and figure. All numbers come from rows."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from . import published
from .claims import RULE, Claim
from .exhibits import Frame, markdown
from .figures import FIGURES, draw
from .findings import DEVIATIONS, THEORY, summary
from .tables import exhibits
from .tables.paper_claims import claims

HEAD = """# Reproducing the paper

T. Chakraborty, *EC3: Combining Clustering and Classification for Ensemble Learning*, repeated. Every number here is computed from the
rows in `paper/results/`. [All tables](paper-tables.md), with the printed numbers beside ours, are on a page of their own.
"""

TABLES = """# Tables of the paper, ours and printed

What they say is on [the page on the paper](paper.md). Numbers of tables and figures are those of the paper.
"""

AGAIN = """## Run it again

```console
pip install -e '.[paper]'            # in the repository
python -m paper run --repeats 5      # write rows; a run that was interrupted continues where it stopped
python -m paper page                 # make this page, the page of tables and the figures
```

The tables compare all of the paper's methods, so none can be left out: the extra `paper` brings torch and skorch for the
convolutional network, and XGBoost.

Data sets are read from the folder in `EC3LEARN_DATA` or from the user's cache; `paper.datasets.load("magic")` downloads one
that is in neither.
"""

PROTOCOL = """## What was run

{facts}

Rows are split at random into 60 % for training, 20 % for validation and 20 % for testing. Classifiers are trained on the first
set and tuned on the second; clusterings are fitted to the features of all rows; their outputs on the test set are combined.
`paper/protocol.py` states what the paper leaves open and how it is decided here.

- *STA* learns from the labels of the validation set. The other combiners see no labels.
- AUC is computed from probabilities unless stated otherwise, one-vs-rest, and averaged over the classes.
- F is that of the rarer of two classes; with more classes it is averaged over the classes.
- UPE is our reconstruction. BGCM, EC3 and iEC3 are solved exactly.
"""


def write(rows: Frame, path: str | Path) -> None:
    """Write the report as Markdown, its tables and its figures beside it."""
    path = Path(path)
    judged = claims(rows)
    drawn = draw(rows, path.parent / "figures")
    parts = [
        HEAD,
        f"## What holds, what does not, and why\n\n{_list(summary(rows, judged))}",
        f"## The rule for verdicts\n\n{RULE}",
        f"## Headline claims\n\n{_claims([claim for claim in judged if claim.headline])}",
        f"## Side claims\n\n{_claims([claim for claim in judged if not claim.headline])}",
        f"## Where we depart from the paper\n\n{_table(DEVIATIONS, 'what', 'why')}",
        f"## Theory\n\n{_table(THEORY, 'the paper', 'here', 'shown by')}",
        PROTOCOL.format(facts=_facts(rows)),
        AGAIN,
        "## Figures",
        *(f"![{_caption(name)}](figures/{name}.png)\n\n*{_caption(name)}*" for name in drawn),
    ]
    tables = [f"## {exhibit.title}\n\n{exhibit.markdown()}" for exhibit in exhibits(rows)]
    _write(path, parts)
    _write(path.with_name(f"{path.stem}-tables.md"), [TABLES, *tables])


def _write(path: Path, parts: list[str]) -> None:
    text = "\n\n".join(part.strip() for part in parts) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")


def _caption(name: str) -> str:
    """The caption of a figure: the docstring of its function."""
    drawn = " ".join((FIGURES[name][1].__doc__ or name).split()).removeprefix("Draw ")
    return drawn[0].upper() + drawn[1:]


def _list(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(lines: list[tuple[str, ...]], *heads: str) -> str:
    return markdown(pd.DataFrame(lines, columns=heads).set_index(heads[0]))


def _claims(found: list[Claim]) -> str:
    """Claims and their verdicts as a table."""
    lines = []
    for claim in found:
        made, number = claim.judge(), claim.number
        against = f"; against: {', '.join(made.against)}" if made.against else ""
        lines.append(
            (
                claim.text,
                "" if claim.printed is None else number(claim.printed),
                f"{number(made.mean)} [{number(made.low)}, {number(made.high)}]"
                + (f" > {number(claim.above)}?" if claim.above else ""),
                f"{made.direction} ({made.supporting} of {made.total}{against})",
                made.size,
                f"**{made.verdict}**",
                claim.rival,
            )
        )
    return _table(lines, "claim", "printed", "here", "direction", "size", "verdict", "note")


def _facts(rows: Frame) -> str:
    """Sentences on the data sets, splits and rows of the experiments."""
    own = rows[rows["experiment"] == "accuracy"]
    used = own[own["metric"] == "n_rows"]["value"].max()
    here = set(own["dataset"])
    missing = [name for name in published.DATASETS.values() if name not in here]
    splits = rows.groupby("experiment", sort=False)["seed"].nunique()
    by_number = "; ".join(
        f"{n}: {', '.join(names.index)}" for n, names in splits.groupby(splits, sort=True)
    )
    return (
        f"{len(here)} data sets, at most {used:,.0f} rows of each unless stated otherwise. Not available: "
        f"{', '.join(missing) or 'none'}; {' and '.join(published.STAND_INS)} are parts of sensor and do not replace it."
        f"\n\nExperiments by number of random splits: {by_number}."
    )
