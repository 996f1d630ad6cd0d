"""The report: what was run, every table and figure, and which claims held. All numbers come from rows."""

from __future__ import annotations

from pathlib import Path

from .._files import whole_file
from . import published as paper
from .exhibits import Exhibit, Frame, markdown
from .figures import FIGURES, draw
from .tables import exhibits

# The figures that stand below a table.
BELOW = {
    "where": ["clusterings"],
    "ranks": ["ranks"],
    "parameters": ["parameters"],
    "epsilon": ["epsilon"],
    "imbalance": ["imbalance"],
    "robustness": ["robustness", "robustness_by_dataset"],
    "growth": ["growth"],
}

HEAD = """# The paper's experiments, run again

T. Chakraborty, *EC3: Combining Clustering and Classification for Ensemble Learning*: every table and figure, ours beside the
printed ones, whatever they say. This page is made from the rows in `results/` by `ec3learn paper report`; no number is typed.

```console
ec3learn paper run --repeats 5     # goes on where it stopped; rows go to results/
ec3learn paper report              # this page and its figures
ec3learn datasets                  # which data sets are at hand, beside what the paper says of them
```

Data sets are looked for in the folder that `EC3LEARN_DATA` names, then in the user's cache;
`ec3learn.paper.datasets.load("magic")` fetches what is in neither. It takes `pip install 'ec3learn[paper]'`.
"""

PROTOCOL = """## What was run

{facts}

Rows are split 60/20/20 at random. Classifiers learn from the first part and are tuned on the second; clusterings see the
features of all rows; what they say about the third is combined. `src/ec3learn/experiments/protocol.py` states what the paper
leaves open and what is done here. With 5 or 20 labels a class nothing is tuned, and all other rows are the test part. *auto* and
*STA* learn from the labels of the validation part (with few labels: from these); the others see no label when they combine. AUC
is from probabilities, one class against the rest, meaned over the classes; F is that of the rarer of two classes, and else the
mean over the classes. UPE is our reconstruction. BGCM, EC3 and iEC3 are solved exactly.
"""


def report(rows: Frame, path: str | Path) -> Path:
    """Write the report as Markdown, and its figures into a folder `figures` beside it.

    Parameters
    ----------
    rows : DataFrame
        As `rows.read` returns them.
    path : path
        The Markdown file.

    Returns
    -------
    Path
        The file.
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
    """Return what a figure shows: what its function is told to draw."""
    drawn = (FIGURES[name][1].__doc__ or name).split("\n")[0].removeprefix("Draw ")
    return drawn[0].upper() + drawn[1:]


def _answers(shown: list[Exhibit]) -> str:
    """Return our own questions with what was measured."""
    lines = [f"- {finding}" for exhibit in shown for finding in exhibit.findings if finding.ours]
    return "## In short\n\nOur own questions, answered from the rows:\n\n" + "\n".join(lines)


def _claims(shown: list[Exhibit]) -> str:
    """Return all claims of the paper in one table."""
    import pandas as pd

    found = [(exhibit.title, f.claim, f.verdict) for exhibit in shown for f in exhibit.findings if not f.ours]
    frame = pd.DataFrame(found, columns=["where", "the paper's claim", "here"]).set_index("where")
    held = int((frame["here"] == "held").sum())
    return f"## Which claims held\n\n{held} of {len(frame)}; what was measured stands below each table.\n\n{markdown(frame)}"


def _facts(rows: Frame) -> str:
    """Say on which data sets, how often, and on how many rows the experiments were run."""
    own = rows[rows["experiment"] == "accuracy"]
    repeats = own.groupby("dataset")["seed"].nunique()
    used = own[own["metric"] == "n_rows"]["value"].max()
    missing = [name for name in paper.DATASETS.values() if name not in repeats.index]
    how_often = f"{repeats.min()}" if repeats.min() == repeats.max() else f"{repeats.min()} to {repeats.max()}"
    return (
        f"{len(repeats)} data sets, {how_often} random splits of each, at most {used:,.0f} rows of a data set. Not at hand: "
        f"{', '.join(missing) or 'none'}; {' and '.join(paper.STAND_INS)} have parts of sensor and do not stand for it."
    )
