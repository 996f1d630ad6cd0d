"""Plots of a consensus: each draws on `ax` or on a new figure.

They can be read in grey and by the colour-blind: colours are cividis, and hatches repeat what
colours say. Long names are cut in the middle, and some are left out where there is no room for
all. Legends are beside or above the axes; a figure with layout="constrained" makes room for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._checks import (
    InputError,
    require_choice,
    require_library,
    unknown_name,
)
from .._text import shown
from ..answer.solution import Solved, solution_of
from ..diagnosis import contested, pairs, voters
from ..diagnosis.voters import contingency
from ..votes.labels import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COLOURS = "cividis"
HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--", "**", "||")
TRUST_TITLES = {
    "weight": "How much each {} is trusted",
    "estimated": "How often each {} seems right",
    "agreement": "Who agrees with the answer",
}
LETTER_INCHES = 0.065  # of the names at the ends of bars


def agreement_map(consensus: Solved, *, ax: Axes | None = None) -> Axes:
    """Draw on what share of objects two classifiers agree; similar ones are next to each other.

    Parameters
    ----------
    consensus : Consensus
        An answer; one that was loaded from a file has no votes to draw. Of more than 100
        classifiers, those with the most votes are shown.
    ax : matplotlib axes
        Where to draw; by default on a new figure.

    Examples
    --------
    >>> from ec3learn import EC3, Votes, plots
    >>> labels = {"svm": [0, 1, 1] * 20, "knn": [0, 0, 1] * 20, "tree": [0, 1, 0] * 20}
    >>> consensus = EC3().solve(Votes.from_labels(labels))
    >>> plots.agreement_map(consensus).get_title()
    'Who agrees with whom'
    """
    consensus = solution_of(consensus)
    found = pairs(consensus)
    if not found.names:
        raise InputError("consensus", "must have a classifier with votes", came="none")
    names = found.names
    long = LETTER_INCHES * max(max(len(_text(name)) for name in names) - 8, 0)
    ax = _axes(ax, 6.4 + long, 5.4 + long)
    image = ax.imshow(found.similarity, vmin=0, vmax=1, cmap=COLOURS, interpolation="nearest")
    _name_ticks(ax, names, "x")
    _name_ticks(ax, names, "y")
    # As high as the axes, whose shape may follow what they show.
    bar = ax.inset_axes((1.04, 0, 0.05, 1))
    # A colour bar goes where the axes are, also in a figure of figures.
    figure: Any = ax.get_figure(root=False)
    figure.colorbar(image, cax=bar, label="share of objects with the same class")
    if len(names) <= 12:
        for (i, j), value in np.ndenumerate(found.similarity):
            if not np.isnan(value):
                ax.text(
                    j,
                    i,
                    f"{value:.2f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="black" if value > 0.55 else "white",
                )
    return _labelled(ax, "Who agrees with whom", "classifier", "classifier")


def confidence_histogram(consensus: Solved, *, bins: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the share of objects by the probability of their class, in bins from 0 to 1."""
    consensus = solution_of(consensus)
    confidence = np.clip(consensus.row_proba.max(axis=1), 0, 1)
    heights, edges = np.histogram(confidence, bins, (0, 1), weights=consensus.row_counts)
    ax = _axes(ax)
    ax.bar(
        edges[:-1],
        heights / heights.sum(),
        np.diff(edges),
        align="edge",
        color=_shade(0.25),
        edgecolor="white",
    )
    ax.set_xlim(0, 1)
    return _labelled(ax, "How confident the answer is", "confidence", "share of objects")


def reliability_bars(
    consensus: Solved,
    *,
    by: Literal["weight", "estimated", "agreement"] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how far each voter is trusted; the most trusted first.

    Parameters
    ----------
    consensus : Consensus
        The answer.
    by : "weight", "estimated" or "agreement"
        The column of `voters`: by default weights where they differ, else the estimated accuracy
        where the method has one, else how often each voter agrees with the answer.
    ax : matplotlib axes
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib axes
        The bars of voters that the method left out as worse than chance are hatched and end in a
        cross.
    """
    consensus = solution_of(consensus)
    rows = [row for row in voters(consensus).rows() if row["kind"] != "clustering"]
    given = [name for name in TRUST_TITLES if any(row[name] is not None for row in rows)]
    given = given or ["agreement"]
    column = given[0] if by is None else by
    require_choice("by", column, given)
    rows = [row for row in rows if row[column] is not None]
    rows.sort(key=lambda row: -row[column])
    worse = [i for i, row in enumerate(rows) if row["model"] in consensus.worse_than_chance]
    ax = _axes(ax, 6.4, min(9.0, 1.4 + 0.25 * len(rows)))
    bars = ax.barh(range(len(rows)), [row[column] for row in rows], color=_shade(0.25))
    noun = consensus.voter_noun
    label = "estimated accuracy" if column == "estimated" else column
    _labelled(ax, TRUST_TITLES[column].format(noun), label, noun)
    if worse:
        for i in worse:
            bars[i].set(hatch="//", facecolor="white", edgecolor="black")
        ends = [rows[i][column] for i in worse]
        ax.plot(
            ends,
            worse,
            "kx",
            markersize=6,
            markeredgewidth=1.6,
            clip_on=False,
            label="worse than chance",
        )
        _legend_above(ax)
    ax.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    _name_ticks(ax, [row["model"] for row in rows], "y")
    return ax


def contested_objects(consensus: Solved, n: int = 15, *, ax: Axes | None = None) -> Axes:
    """Draw the n objects to review first: the probabilities of label and runner-up."""
    consensus = solution_of(consensus)
    rows = list(contested(consensus, n).rows())
    ax = _axes(ax, 6.4, min(9.0, 1.8 + 0.32 * len(rows)))
    places = np.arange(len(rows))
    label = np.array([row["confidence"] for row in rows])
    runner_up = label - [row["margin"] for row in rows]
    ax.barh(places - 0.2, label, 0.4, color=_shade(0.2), label="label")
    ax.barh(
        places + 0.2,
        runner_up,
        0.4,
        color=_shade(0.85),
        hatch="//",
        edgecolor="black",
        linewidth=0.5,
        label="runner-up",
    )
    ax.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    _labelled(ax, "The most contested objects", "probability", "object: label, runner-up")
    _name_ticks(ax, [f"{row['object']}: {row['label']}, {row['runner_up']}" for row in rows], "y")
    if rows:
        _legend_above(ax)
    return ax


def cluster_classes(
    consensus: Solved, clustering: str, *, most: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw which classes the clusters of one clustering contain; `most` clusters are shown.

    Returns
    -------
    matplotlib axes
        One bar per cluster, as high as its share of the objects, divided by class. Of more than ten
        classes, the nine largest are shown.
    """
    consensus = solution_of(consensus)
    votes = consensus.require_votes("cluster_classes")
    names = [model.name for model in votes.models if model.kind == "clustering"]
    if clustering not in names:
        raise unknown_name("clustering", clustering, names)
    m = [model.name for model in votes.models].index(clustering)
    counts = contingency(consensus)[votes.models.offsets[m] : votes.models.offsets[m + 1]].toarray()
    counts = counts / max(counts.sum(), 1e-300)
    shown_clusters = [
        j for j in np.argsort(-counts.sum(axis=1), kind="stable")[:most] if counts[j].any()
    ]
    by_size = np.argsort(-counts.sum(axis=0), kind="stable")
    n_top = len(by_size) if len(by_size) <= len(HATCHES) else len(HATCHES) - 1
    top, rest = by_size[:n_top], by_size[n_top:]
    parts = [(_text(plain(consensus.classes[z])), counts[shown_clusters, z]) for z in top]
    if len(rest):
        parts.append((f"{len(rest)} others", counts[np.ix_(shown_clusters, rest)].sum(axis=1)))
    beside = 0.8 + LETTER_INCHES * max(len(name) for name, _ in parts)  # inches of the legend
    ax = _axes(ax, 6.4 + beside)
    base = np.zeros(len(shown_clusters))
    for i, (name, heights) in enumerate(parts):
        place = (i + 0.5) / len(top)
        colour, edge, hatch = _shade(place), "white" if place < 0.6 else "0.2", HATCHES[i]
        if i == len(top):  # all others
            colour, edge, hatch = "0.93", "0.6", ""
        ax.bar(
            range(len(base)),
            heights,
            bottom=base,
            color=colour,
            hatch=hatch,
            edgecolor=edge,
            linewidth=0.4,
            label=name,
        )
        base = base + heights
    ax.set_ylim(0, 1.05 * base.max(initial=0.01))
    _name_ticks(ax, [plain(votes.models[m].labels[j]) for j in shown_clusters], "x", beside)
    ax.legend(title="class", loc="upper left", bbox_to_anchor=(1, 1), fontsize=8)
    return _labelled(
        ax, f"What the clusters of {_text(clustering)} contain", "cluster", "share of objects"
    )


# ---- small steps ---------------------------------------------------------------------------------


def _axes(ax: Axes | None, width: float = 6.4, height: float = 4.4) -> Axes:
    if ax is not None:
        return ax
    require_library("Drawing plots", "matplotlib", "plots")
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def _labelled(ax: Axes, title: str, x: str, y: str) -> Axes:
    ax.set(title=title, xlabel=x, ylabel=y)
    return ax


def _legend_above(ax: Axes) -> None:
    """Put the legend on a line of its own between the title and the axes."""
    ax.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=2,
        frameon=False,
        fontsize=8,
        borderaxespad=0.1,
    )
    ax.set_title(ax.get_title(), pad=22)


def _shade(place: float) -> Any:
    from matplotlib import colormaps

    return colormaps[COLOURS](place)


def _text(name: Any) -> str:
    """A name as it can be drawn: short, with both of its ends, and no mathematics in it."""
    text = str(name)
    return shown(text if len(text) <= 24 else f"{text[:13]}…{text[-10:]}", 24).replace("$", r"\$")


def _name_ticks(ax: Axes, names: Sequence[Any], side: Literal["x", "y"], lost: float = 0.0) -> None:
    """Name the places 0, 1, ... of an axis; without room for all, every second, third and so on.

    `lost` are the inches that a legend will take.
    """
    box, figure = ax.get_position(), ax.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches()
    inches = float(box.width * width if side == "x" else box.height * height)
    room = max(inches - lost, 1.0)
    step = max(1, int(np.ceil(len(names) * 0.14 / room)))  # inches that a label takes
    places = range(0, len(names), step)
    texts, size = [_text(names[i]) for i in places], 9 if step == 1 and len(names) <= 20 else 7
    if side == "x":
        turned = sum(map(len, texts)) * 0.09 > room
        ax.set_xticks(places, texts, fontsize=size, rotation=90 if turned else 0)
    else:
        ax.set_yticks(places, texts, fontsize=size)
