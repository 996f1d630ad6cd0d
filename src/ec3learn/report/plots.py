"""Plots of a consensus, and of studies of methods: each draws on `ax` or on a new figure.

They can be read in grey and by the colour-blind: colours are cividis, and hatches or markers repeat
what colours say. Long names are cut in the middle, and some are left out where there is no room for
all. Legends are beside or above the axes; a figure with layout="constrained" makes room for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._checks import (
    InputError,
    InputTypeError,
    require_choice,
    require_integer,
    require_library,
    unknown_name,
)
from .._text import shown
from ..answer.solution import Solved, solution_of
from ..diagnosis import contested, pairs, voters
from ..diagnosis.voters import contingency
from ..votes import Kind
from ..votes.labels import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COLOURS = "cividis"
HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--", "**", "||")
MARKERS = "osD^vPX*"
LABEL_INCHES = 0.14  # room that a label takes along its axis
LETTER_INCHES = 0.065  # of the names at the ends of bars
MOST_WITHIN = 4  # lines among which a legend finds room


def agreement_map(consensus: Solved, *, kind: Kind = "classifier", ax: Axes | None = None) -> Axes:
    """Draw who agrees with whom; similar base models are next to each other.

    Parameters
    ----------
    consensus : Consensus
        An answer; one that was loaded from a file has no votes to draw.
    kind : "classifier" or "clustering"
        Which base models to compare: classifiers by the share of objects for which they name the
        same class, clusterings by their normalised mutual information. Of more than 100, those with
        the most votes are shown.
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
    consensus = solution_of(consensus, "consensus")
    require_choice("kind", kind, ("classifier", "clustering"))
    found = pairs(consensus, kind)
    if not found.names:
        raise InputError("consensus", f"must have a {kind} with votes", came="none")
    names = found.names
    long = LETTER_INCHES * max(max(len(_text(name)) for name in names) - 8, 0)
    ax = _axes(ax, 6.4 + long, 5.4 + long)
    image = ax.imshow(found.similarity, vmin=0, vmax=1, cmap=COLOURS, interpolation="nearest")
    _name_ticks(ax, names, "x")
    _name_ticks(ax, names, "y")
    what = (
        "share of objects with the same class"
        if kind == "classifier"
        else "normalised mutual information"
    )
    _colour_bar(ax, image, what)
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
    title = "Who agrees with whom" if kind == "classifier" else "How similar the clusterings are"
    return _labelled(ax, title, kind, kind)


def confidence_histogram(consensus: Solved, *, bins: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the share of objects by the probability of their class, in bins from 0 to 1."""
    consensus = solution_of(consensus, "consensus")
    require_integer("bins", bins, 1)
    counts = consensus.row_counts if consensus.has_objects else None
    confidence = consensus.row_proba.max(axis=1)
    heights, edges = np.histogram(
        np.clip(confidence, 0, 1), bins=bins, range=(0, 1), weights=counts
    )
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
    consensus: Solved, *, by: Literal["weight", "agreement"] = "weight", ax: Axes | None = None
) -> Axes:
    """Draw the weight of each voter, or how often it agrees with the answer; the largest first.

    Returns
    -------
    matplotlib axes
        The bars of voters that the method left out as worse than chance are hatched and end in a
        cross.
    """
    consensus = solution_of(consensus, "consensus")
    require_choice("by", by, ("weight", "agreement"))
    rows = [
        row
        for row in voters(consensus).rows()
        if row["kind"] != "clustering" and row[by] is not None
    ]
    rows.sort(key=lambda row: -row[by])
    worse = [i for i, row in enumerate(rows) if row["model"] in consensus.worse_than_chance]
    ax = _axes(ax, 6.4, min(9.0, 1.4 + 0.25 * len(rows)))
    bars = ax.barh(range(len(rows)), [row[by] for row in rows], color=_shade(0.25))
    noun = consensus.voter_noun
    title = f"How much each {noun} is trusted" if by == "weight" else "Who agrees with the answer"
    _labelled(ax, title, by, noun)
    if worse:
        for i in worse:
            bars[i].set(hatch="//", facecolor="white", edgecolor="black")
        ends = [rows[i][by] for i in worse]
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
    consensus = solution_of(consensus, "consensus")
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
    _labelled(ax, "The most contested objects", "probability", "object")
    _name_ticks(ax, [row["object"] for row in rows], "y")
    ends = [
        (place - 0.2, end, row["label"])
        for place, end, row in zip(places, label, rows, strict=True)
    ]
    ends += [
        (place + 0.2, end, row["runner_up"])
        for place, end, row in zip(places, runner_up, rows, strict=True)
    ]
    ends = [(place, end, _text(name)) for place, end, name in ends if name is not None]
    if len(rows) * 1.6 * LABEL_INCHES > _room(ax, "y"):
        ends = []  # no room for names
    _name_ends(ax, ends, float(label.max()) if rows else 1.0)
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
    consensus = solution_of(consensus, "consensus")
    require_integer("most", most, 1)
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
    beside = _legend_inches(name for name, _ in parts)
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
    _legend_beside(ax, "class")
    return _labelled(
        ax, f"What the clusters of {_text(clustering)} contain", "cluster", "share of objects"
    )


def weight_simplex(
    settings: Any, scores: Any, *, score: str = "score", ax: Axes | None = None
) -> Axes:
    """Draw scores over the weights alpha, beta, gamma and delta of EC3.

    Parameters
    ----------
    settings : array-like of shape (n_settings, 4)
        alpha, beta, gamma and delta of each setting; only their ratios matter.
    scores : array-like of shape (n_settings,)
        How good each setting is.
    score : str
        What the scores are, for the colour bar.
    ax : as in `agreement_map`

    Returns
    -------
    matplotlib axes
        Each setting lies between four corners, the nearer to one the larger that weight. Where
        several settings share a place, the best is on top; the best of all is circled and named.

    Examples
    --------
    >>> from ec3learn import plots
    >>> plots.weight_simplex([[1, 0, 0, 1], [1, 2, 2, 1]], [0.7, 0.8], score="AUC").get_title()
    'Scores over the weights'
    """
    weights, values = np.asarray(settings, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    if weights.shape != (values.size, 4) or not values.size or not np.isfinite(values).all():
        must = "must be n x 4 weights, and scores n finite numbers"
        raise InputError("settings", must, came=f"shapes {weights.shape} and {values.shape}")
    if (weights < 0).any() or not weights.any(axis=1).all():
        raise InputError("settings", "must hold weights >= 0, in each row one > 0", got=settings)
    weights = weights / weights.sum(axis=1, keepdims=True)
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    (x, y), order = (weights @ corners).T, np.argsort(values, kind="stable")
    ax = _axes(ax, 6.4, 5.4)
    points = ax.scatter(
        x[order],
        y[order],
        c=values[order],
        cmap=COLOURS,
        s=30 + 90 / np.sqrt(len(values)),
        zorder=2,
    )
    best = int(order[-1])
    ax.scatter(
        x[best], y[best], s=160, facecolors="none", edgecolors="black", linewidths=1.8, zorder=3
    )
    named = ", ".join(f"{weight:.2f}" for weight in weights[best])
    ax.plot(*corners[[0, 1, 2, 3, 0]].T, color="0.7", zorder=1)
    for name, (x, y) in zip(("alpha", "beta", "gamma", "delta"), corners, strict=True):
        ax.annotate(
            name,
            (x, y),
            xytext=(0, 9 if y else -9),
            textcoords="offset points",
            ha="center",
            va="bottom" if y else "top",
        )
    ax.set(xlim=(-0.12, 1.12), ylim=(-0.16, 1.16), xticks=[], yticks=[], aspect="equal")
    _colour_bar(ax, points, score)
    x_label = f"towards beta and gamma\nbest: {values[best]:.3f} at ({named})"
    return _labelled(ax, "Scores over the weights", x_label, "towards gamma and delta")


def scaling_lines(
    seconds: Mapping[str, tuple[Sequence[float], Sequence[float]]], *, ax: Axes | None = None
) -> Axes:
    """Draw how time grows with the number of objects, on logarithmic axes.

    Parameters
    ----------
    seconds : dict of method -> (numbers of objects, seconds)
        The measurements.
    ax : as in `agreement_map`

    Returns
    -------
    matplotlib axes
        The legend shows the slope of each line: with slope 1, ten times the objects take ten times
        as long.

    Examples
    --------
    >>> from ec3learn import plots
    >>> ax = plots.scaling_lines({"EC3": ([1e3, 1e4, 1e5], [0.01, 0.1, 1.0])})
    >>> ax.get_legend().get_texts()[0].get_text()
    'EC3: slope 1.00'
    """
    if not seconds:
        raise InputError("seconds", "must hold at least one method", came="none")
    measured = {
        name: (np.asarray(n, dtype=np.float64), np.asarray(t, dtype=np.float64))
        for name, (n, t) in seconds.items()
    }
    for name, (n, t) in measured.items():
        if n.shape != t.shape or n.ndim != 1 or not len(n) or not (np.minimum(n, t) > 0).all():
            must = "must pair numbers of objects with seconds, all > 0"
            raise InputError(f"seconds[{name!r}]", must, got=seconds[name])
    beside = (
        _legend_inches(f"{_text(name)}: slope 1.00" for name in seconds)
        if len(seconds) > MOST_WITHIN
        else 0.0
    )
    ax = _axes(ax, 6.4 + beside)
    styles = zip(cycle(MARKERS), cycle(("-", "--", "-.", ":")), strict=False)
    for i, ((name, (n, t)), (marker, line)) in enumerate(
        zip(measured.items(), styles, strict=False)
    ):
        slope = (
            f": slope {np.polyfit(np.log(n), np.log(t), 1)[0]:.2f}" if len(np.unique(n)) > 1 else ""
        )
        colour = _shade(
            0.85 * i / max(len(seconds) - 1, 1)
        )  # the lightest end is hard to see on white
        ax.plot(n, t, marker=marker, linestyle=line, color=colour, label=_text(name) + slope)
    ax.set(xscale="log", yscale="log")
    ax.grid(alpha=0.3)
    _legend_beside(ax) if beside else ax.legend()
    return _labelled(ax, "How time grows", "objects", "seconds")


# ---- small steps ---------------------------------------------------------------------------------


def _axes(ax: Axes | None, width: float = 6.4, height: float = 4.4) -> Axes:
    if ax is not None:
        if not hasattr(ax, "barh"):
            raise InputTypeError(
                "ax",
                "must be matplotlib axes",
                came=type(ax).__name__,
                remedy="Pass figure.subplots().",
            )
        return ax
    require_library("Drawing plots", "matplotlib", "plots")
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def _figure(ax: Axes) -> Any:
    return ax.get_figure(
        root=False
    )  # a colour bar goes where the axes are, also in a figure of figures


def _labelled(ax: Axes, title: str, x: str, y: str) -> Axes:
    ax.set(title=title, xlabel=x, ylabel=y)
    return ax


def _colour_bar(ax: Axes, drawn: Any, label: str) -> None:
    """Draw a colour bar as high as the axes, whose shape may follow what they show."""
    _figure(ax).colorbar(drawn, cax=ax.inset_axes((1.04, 0, 0.05, 1)), label=label)


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


def _legend_beside(ax: Axes, title: str | None = None) -> None:
    ax.legend(title=title, loc="upper left", bbox_to_anchor=(1, 1), fontsize=8)


def _legend_inches(names: Iterable[str]) -> float:
    """How wide a legend beside the axes is, at most."""
    return 0.8 + LETTER_INCHES * max(map(len, names))


def _name_ends(ax: Axes, ends: Sequence[tuple[float, float, str]], longest: float) -> None:
    """Write names, (place, end of the bar, name), behind bars, and make room for them."""
    width, limit = _room(ax, "x"), 1.02 * longest
    for place, end, name in ends:
        ax.annotate(
            name,
            (end, place),
            xytext=(3, -0.5),
            textcoords="offset points",
            va="center",
            fontsize=7,
        )
        limit = max(limit, end / max(1 - LETTER_INCHES * (len(name) + 2) / width, 0.4))
    ax.set_xlim(0, limit)


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
    room = max(_room(ax, side) - lost, 1.0)
    step = max(1, int(np.ceil(len(names) * LABEL_INCHES / room)))
    places = range(0, len(names), step)
    texts, size = [_text(names[i]) for i in places], 9 if step == 1 and len(names) <= 20 else 7
    if side == "x":
        turned = sum(map(len, texts)) * 0.09 > room
        ax.set_xticks(places, texts, fontsize=size, rotation=90 if turned else 0)
    else:
        ax.set_yticks(places, texts, fontsize=size)


def _room(ax: Axes, side: Literal["x", "y"]) -> float:
    """How long an axis is, in inches."""
    box = ax.get_position()
    width, height = _figure(ax).get_figure(root=True).get_size_inches()
    return float(box.width * width if side == "x" else box.height * height)
