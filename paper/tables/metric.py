"""Which AUC was printed, and which printed numbers cannot be.

Scores by probabilities, by labels, and by a mixture of both stand beside the printed tables.

The mixture (EC3 and iEC3 by probabilities, the 14 baselines by labels) was noticed on the first
splits. It was then fixed and tested on splits that nobody had looked at.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from .. import published
from ..claims import by_unit, signed_rank_p
from ..exhibits import Block, Exhibit, Finding, Frame, difference, has, means, printed
from ..published import BASELINES, METHODS, averages_off, contradictions, impossible_pairs
from .accuracy import VOTES, scored_cells
from .studies import lost_terms

EXPLORED = 5  # the first splits, on which the rule was found
OURS = ["iEC3", "EC3"]
CHANCE = 0.6  # a data set on which no printed AUC of a baseline is above this says little about the metric


def metric(rows: Frame) -> Exhibit:
    """Return how far the printed AUC is from ours by each scoring, and what each scoring makes of the main claims."""
    old = rows["seed"] < EXPLORED
    parts = {"splits 0 to 4": rows[old], "new splits": rows[~old]}
    present = {word: part for word, part in parts.items() if has(part, "accuracy")}
    distances, wins = _distances(present), _wins(present)
    blocks = [
        Block(
            "Mean absolute distance of the printed AUC from ours by probabilities and by labels. The data sets near chance are "
            f"those on which no baseline has a printed AUC above {CHANCE}.",
            distances,
        ),
        Block("Data sets on which a method is ahead of all 14 baselines, by scoring.", wins, 0),
    ]
    last = list(present)[-1]
    if all(has(part, "drop_term") for part in present.values()):
        blocks.append(
            Block(
                "Percent of AUC that iEC3 loses without a term (Table 9), by scoring.",
                _terms(present),
                1,
            )
        )
    findings = [_nearer(distances, last), _mixture(present[last], wins, last)]
    return Exhibit("metric", "Which AUC was printed?", blocks, findings)


def by_scoring(part: Frame) -> dict[str, Frame]:
    """Return the scores by probabilities and by labels, averaged over splits."""
    return {
        word: by_unit(scored_cells(part, name))
        for word, name in (("probabilities", "auc"), ("labels", "auc_hard"))
    }


def gaps(part: Frame, floor: float = 0.0) -> dict[str, Frame]:
    """Return ours minus the printed AUC by each scoring, on data sets where a baseline has a printed AUC above `floor`."""
    theirs = printed("accuracy_auc")
    clear = theirs[theirs[BASELINES].max(axis=1) > floor]
    return {
        word: difference(ours.loc[ours.index.isin(clear.index), METHODS], theirs)
        for word, ours in by_scoring(part).items()
    }


def distances(part: Frame, floor: float = 0.0) -> Frame:
    """Return how far the printed AUC of each method is from ours by each scoring, on average; `floor` is as in `gaps`."""
    return pd.DataFrame({word: gap.abs().mean() for word, gap in gaps(part, floor).items()})


def _distances(present: dict[str, Frame]) -> Frame:
    found = {word: distances(part) for word, part in present.items()}
    last = list(present)[-1]
    columns = [table.add_suffix(f", {word}") for word, table in found.items()]
    columns.append(
        distances(present[last], CHANCE).add_suffix(f", {last}, without sets near chance")
    )
    nearer = {f"nearer, {word}": table.idxmin(axis=1) for word, table in found.items()}
    return pd.concat(columns, axis=1).assign(**nearer).rename_axis("method")


def _wins(present: dict[str, Frame]) -> Frame:
    """Return on how many data sets a method is ahead of all 14 baselines by each scoring."""
    found = {}
    for word, part in present.items():
        soft, hard = by_scoring(part).values()
        for title, own, others in (
            ("probabilities", soft, soft),
            ("labels", hard, hard),
            ("mixed", soft, hard),
        ):
            ahead = own[[*OURS, *VOTES]].gt(others[BASELINES].max(axis=1), axis=0)
            found[f"{title}, {word}"] = ahead.sum().astype(str) + f" of {len(ahead)}"
    return pd.DataFrame(found).rename_axis("method")


def _terms(present: dict[str, Frame]) -> Frame:
    """Return what leaving out a term costs by each scoring, and in print."""
    columns = {
        f"{title}, {word}": lost_terms(part, name).mean()
        for word, part in present.items()
        for title, name in (("probabilities", "auc"), ("labels", "auc_hard"))
    }
    return pd.DataFrame({**columns, "paper": printed("drop_term_auc_percent").mean()}).rename_axis(
        "term left out"
    )


def _nearer(distances: Frame, word: str) -> Finding:
    nearer = distances[f"nearer, {word}"]
    labels, probabilities = (
        int((nearer[BASELINES] == "labels").sum()),
        int((nearer[OURS] == "probabilities").sum()),
    )
    return Finding(
        "Is the printed AUC of the baselines nearer to that of labels, and that of EC3 and iEC3 nearer to that of probabilities?",
        labels == len(BASELINES) and probabilities == len(OURS),
        f"on {word}: labels are nearer for {labels} of {len(BASELINES)} baselines, probabilities for {probabilities} of "
        f"{len(OURS)} (EC3, iEC3).",
    )


def _mixture(part: Frame, wins: Frame, word: str) -> Finding:
    """Return whether the mixed scoring alone makes the paper's main claim true."""
    soft, hard = by_scoring(part).values()
    lead = soft["iEC3"] - hard[BASELINES].max(axis=1)
    by = {
        name: wins.loc["iEC3", f"{name}, {word}"] for name in ("mixed", "probabilities", "labels")
    }
    return Finding(
        "Does the mixed scoring by itself make iEC3 better than all 14 baselines everywhere?",
        bool((lead > 0).all()),
        f"on {word} it is ahead on {by['mixed']} data sets, by {lead.mean():.3f} on average (Wilcoxon p = "
        f"{signed_rank_p(lead):.2g}); if all are scored alike, on {by['probabilities']} (probabilities) and {by['labels']} "
        f"(labels). Scored in the same mixed way the majority vote is ahead on "
        f"{wins.loc['majority vote', f'mixed, {word}']}.",
    )


# ---- numbers that cannot be ----------------------------------------------------------------------


def checks(rows: Frame) -> Exhibit:
    """Return the audit of the printed tables."""
    counts = pd.DataFrame(impossible_pairs()).map(len)
    counts.loc["all"] = counts.sum()
    counts = counts.rename(columns={"any": "in every reading"}).rename_axis("dataset")
    said = pd.DataFrame(contradictions(), columns=["the text", "its tables"]).set_index("the text")
    blocks = [
        Block(
            f"Pairs of AUC and F (of {len(METHODS)} methods each) that no labels can have: F of the rarer or of the "
            "larger class, in one split or averaged over splits. Each pair is possible if AUC is computed from probabilities.",
            counts,
        ),
        Block("Where the text and its own tables differ.", said),
    ]
    findings = [_bound(rows), _averages()] if has(rows, "nmi_bound") else [_averages()]
    return Exhibit("checks", "Can the printed numbers be?", blocks, findings)


def _averages() -> Finding:
    off = pd.concat(
        [
            pd.Series(averages_off(table)).add_suffix(f" ({word})")
            for word, table in published.TABLES.values()
        ]
    )
    wrong = int((off >= 0.001).sum())
    return Finding(
        "Do the printed averages match the printed columns?",
        not wrong,
        f"{wrong} of {len(off)} are off by 0.001 or more, {off.idxmax()} by {off.max():.3f}.",
    )


def nmi_above_bound(rows: Frame) -> tuple[Any, dict[str, int]]:
    """Return the best NMI that clusterings of Titanic can have, and how many printed ones are above it, by kind of NMI."""
    best = means(rows, "nmi_bound", "nmi", columns="setting").loc["titanic"]
    theirs = printed("clustering_nmi").loc["titanic"]
    return best, {name: int((theirs > round(bound, 2)).sum()) for name, bound in best.items()}


def _bound(rows: Frame) -> Finding:
    """Return whether the printed match of clusterings with the classes of Titanic can be."""
    best, above = nmi_above_bound(rows)
    theirs = printed("clustering_nmi").loc["titanic"]
    return Finding(
        "Can clusterings of Titanic, which has few distinct rows, match its classes as printed?",
        not any(above.values()),
        f"averaged over the test sets no clustering into two or three clusters has an NMI above {best['mean']:.3f} "
        f"({best['smaller']:.3f} if divided by the smaller entropy). Printed are {theirs.min():.2f} to {theirs.max():.2f}: "
        f"{above['mean']} and {above['smaller']} of {len(theirs)} are above.",
    )
