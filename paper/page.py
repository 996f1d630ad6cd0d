"""The report: what holds and why, the claims and their verdicts, every table and figure. All numbers come from rows."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from . import published
from .claims import RULE, Claim
from .exhibits import Frame, markdown
from .figures import FIGURES, draw
from .findings import advice, deviations, practice, summary, theory
from .tables import exhibits
from .tables.paper_claims import claims

# The figures below a table, where they are not named like it.
BELOW = {
    "accuracy_auc": ["main_table"],
    "where": ["clusterings"],
    "robustness": ["robustness", "robustness_by_dataset"],
}

HEAD = """# Reproducing the paper

T. Chakraborty, *EC3: Combining Clustering and Classification for Ensemble Learning*: every table and figure, our numbers next to
the printed ones. Every number on this page is computed from the rows in `paper/results/`.
"""

AGAIN = """## Run it again

```console
pip install -e '.[paper]'            # in the repository
python -m paper run --repeats 5      # write rows; a run that was interrupted continues where it stopped
python -m paper page                 # make this page and its figures
python -m paper datasets             # list the data sets, with our figures and the paper's
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

- With 5 or 20 labels per class nothing is tuned, and all other rows are the test set.
- *STA* learns from the labels of the validation set (with few labels: from these). The other combiners see no labels.
- AUC is computed from probabilities unless stated otherwise, one-vs-rest, and averaged over the classes.
- F is that of the rarer of two classes; with more classes it is averaged over the classes.
- UPE is our reconstruction. BGCM, EC3 and iEC3 are solved exactly.
"""


def write(rows: Frame, path: str | Path, hours: float = 0.0) -> None:
    """Write the report as Markdown, and its figures to a folder `figures` next to it.

    `hours` says how long the experiments took; 0 if that is not known.
    """
    path = Path(path)
    shown = exhibits(rows)
    drawn = list(draw(rows, path.parent / "figures"))
    found = claims(rows)
    parts = [
        HEAD,
        f"## What holds, what does not, and why\n\n{_list(summary(rows, found))}",
        f"## For practitioners\n\n{advice(rows)}\n\n{_list(practice(rows))}",
        f"## The rule for verdicts\n\n{RULE}",
        f"## Headline claims\n\n{_claims([claim for claim in found if claim.headline])}",
        f"## Side claims\n\n{_claims([claim for claim in found if not claim.headline])}",
        f"## Where we depart from the paper\n\n{markdown(deviations(rows))}",
        f"## Theory\n\n{markdown(theory())}",
        PROTOCOL.format(facts=_facts(rows, hours)),
        AGAIN,
    ]
    for exhibit in shown:
        parts.append(f"## {exhibit.title}\n\n{exhibit.markdown()}")
        for name in BELOW.get(exhibit.name, [exhibit.name]):
            if name in drawn:
                parts.append(f"![{_caption(name)}](figures/{name}.png)\n\n*{_caption(name)}*")
    text = "\n\n".join(part.strip() for part in parts) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")


def _caption(name: str) -> str:
    """Return the caption of a figure: the docstring of its function."""
    drawn = " ".join((FIGURES[name][1].__doc__ or name).split()).removeprefix("Draw ")
    return drawn[0].upper() + drawn[1:]


def _list(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _claims(found: list[Claim]) -> str:
    """Return claims and their verdicts as a table."""
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
    heads = ["claim", "printed", "here", "direction", "size", "verdict", "note"]
    return markdown(pd.DataFrame(lines, columns=heads).set_index("claim"))


def _facts(rows: Frame, hours: float) -> str:
    """Return sentences on the data sets, splits and rows of the experiments."""
    own = rows[rows["experiment"] == "accuracy"]
    used = own[own["metric"] == "n_rows"]["value"].max()
    here = set(own["dataset"])
    missing = [name for name in published.DATASETS.values() if name not in here]
    splits = rows.groupby("experiment", sort=False)["seed"].nunique()
    by_number = "; ".join(
        f"{n}: {', '.join(names.index)}" for n, names in splits.groupby(splits, sort=True)
    )
    took = (
        f" The units that were timed took at most {hours:.1f} hours of one processor."
        if hours
        else ""
    )
    return (
        f"{len(here)} data sets, at most {used:,.0f} rows of each unless stated otherwise. Not available: "
        f"{', '.join(missing) or 'none'}; {' and '.join(published.STAND_INS)} are parts of sensor and do not replace it."
        f"{took}\n\nExperiments by number of random splits: {by_number}."
    )
