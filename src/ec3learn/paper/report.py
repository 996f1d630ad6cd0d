"""The report: every table and figure, which claims held, and what was run. All numbers come from rows."""

from __future__ import annotations

from pathlib import Path

from .._files import whole_file
from . import published
from .exhibits import Exhibit, Frame, markdown
from .figures import FIGURES, draw
from .tables import exhibits

# The figures below each table.
BELOW = {
    "where": ["clusterings"],
    "ranks": ["ranks"],
    "parameters": ["parameters"],
    "epsilon": ["epsilon"],
    "imbalance": ["imbalance"],
    "robustness": ["robustness", "robustness_by_dataset"],
    "growth": ["growth"],
}

HEAD = """# Reproducing the paper

T. Chakraborty, *EC3: Combining Clustering and Classification for Ensemble Learning*: every table and figure, our numbers next to
the printed ones, whether they agree or not. `ec3learn paper report` makes this page from the rows in `results/`.

```console
pip install 'ec3learn[paper]'
ec3learn paper run --repeats 5     # write rows to results/; a run that was interrupted continues where it stopped
ec3learn paper report              # make this page and its figures
ec3learn datasets                  # list the data sets, with our figures and the paper's
```

Data sets are read from the folder in `EC3LEARN_DATA` or from the user's cache; `ec3learn.paper.datasets.load("magic")` downloads
one that is in neither.
"""

PROTOCOL = """## What was run

{facts}

Rows are split at random into 60 % for training, 20 % for validation and 20 % for testing. Classifiers are trained on the first
set and tuned on the second; clusterings are fitted to the features of all rows; their outputs on the test set are combined.
`src/ec3learn/paper/protocol.py` states what the paper leaves open and how it is decided here.

- With 5 or 20 labels per class nothing is tuned, and all other rows are the test set.
- *auto* and *STA* learn from the labels of the validation set (with few labels: from these). The other combiners see no labels.
- AUC is computed from probabilities, one-vs-rest, and averaged over the classes.
- F is that of the rarer of two classes; with more classes it is averaged over the classes.
- UPE is our reconstruction. BGCM, EC3 and iEC3 are solved exactly.
"""


def report(rows: Frame, path: str | Path) -> Path:
    """Write the report as Markdown, and its figures to a folder `figures` next to it.

    Parameters
    ----------
    rows : DataFrame
        As `rows.read` returns them.
    path : path
        The Markdown file.

    Returns
    -------
    Path
    """
    path = Path(path)
    shown = exhibits(rows)
    drawn = {figure.stem: figure for figure in draw(rows, path.parent / "figures")}
    parts = [HEAD, _answers(shown), _claims(shown), PROTOCOL.format(facts=_facts(rows))]
    for exhibit in shown:
        parts.append(f"## {exhibit.title}\n\n{exhibit.markdown()}")
        for name in BELOW.get(exhibit.name, []):
            if name in drawn:
                parts.append(f"![{_caption(name)}](figures/{name}.png)\n\n*{_caption(name)}*")
    with whole_file(path) as file:
        file.write(("\n\n".join(part.strip() for part in parts) + "\n").encode())
    return path


def _caption(name: str) -> str:
    """Return the caption of a figure: the first line of its function's docstring."""
    drawn = (FIGURES[name][1].__doc__ or name).split("\n")[0].removeprefix("Draw ")
    return drawn[0].upper() + drawn[1:]


def _answers(shown: list[Exhibit]) -> str:
    """Return our own questions and their answers."""
    lines = [f"- {finding}" for exhibit in shown for finding in exhibit.findings if finding.ours]
    return "## Our questions\n\n" + "\n".join(lines)


def _claims(shown: list[Exhibit]) -> str:
    """Return all claims of the paper and their verdicts in one table."""
    import pandas as pd

    found = [(exhibit.title, f.claim, f.verdict) for exhibit in shown for f in exhibit.findings if not f.ours]
    frame = pd.DataFrame(found, columns=["table", "the paper's claim", "here"]).set_index("table")
    held = int((frame["here"] == "held").sum())
    return f"## Which claims held\n\n{held} of {len(frame)}; the measurements are below each table.\n\n{markdown(frame)}"


def _facts(rows: Frame) -> str:
    """Return a sentence on the data sets, repeats and rows of the experiments."""
    own = rows[rows["experiment"] == "accuracy"]
    repeats = own.groupby("dataset")["seed"].nunique()
    used = own[own["metric"] == "n_rows"]["value"].max()
    missing = [name for name in published.DATASETS.values() if name not in repeats.index]
    how_often = f"{repeats.min()}" if repeats.min() == repeats.max() else f"{repeats.min()} to {repeats.max()}"
    return (
        f"{len(repeats)} data sets, {how_often} random splits of each, at most {used:,.0f} rows per data set. Not available: "
        f"{', '.join(missing) or 'none'}; {' and '.join(published.STAND_INS)} are parts of sensor and do not replace it."
    )
