"""From rows to the paper's figures, and more; no display is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import published
from .claims import critical_difference, mean_ranks
from .exhibits import Frame, comparable, has, means, select
from .exhibits import printed as printed_table
from .tables.accuracy import EVERY, LABELS, gain, scored
from .tables.clusterings import LABELS as CURVES
from .tables.clusterings import curve, real_points
from .tables.metric import CHANCE, gaps
from .tables.studies import good_settings, growth_curve, weights_in

# The colours of Okabe and Ito, which nearly everybody can distinguish.
COLOURS = {
    "iEC3": "#0072B2",
    "EC3": "#56B4E9",
    "UPE": "#D55E00",
    "iEC3, learned weights, hard votes": "#CC79A7",
    "iEC3, learned weights": "#009E73",
    "majority vote": "#999999",
    "iEC3, the paper's loop": "#E69F00",
}
QUIET = "#BBBBBB"
LEARNED = ("iEC3, learned weights, hard votes", "iEC3, learned weights")
Drawing = Any  # matplotlib.figure.Figure


def _figure(
    n_rows: int, n_columns: int, width: float, height: float, **options: Any
) -> tuple[Drawing, Any]:
    """Return an empty figure without a window, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, **options)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
    return figure, axes


def _shares(rows: Frame, experiment: str, metric: str, method: str) -> Frame:
    """Return means over splits as shares of those in the first setting; one column per setting, sorted as numbers."""
    frame = means(rows, experiment, metric, columns="setting", method=method)
    curves = frame.set_axis(frame.columns.astype(float), axis=1).sort_index(axis=1)
    return curves.div(curves.iloc[:, 0], axis=0).dropna(axis=1, how="all")


def parameters(rows: Frame) -> Drawing:
    """Draw the distribution of each weight in good settings and in all settings."""
    good, every = (
        good_settings(rows),
        weights_in(select(rows, "parameters", method="iEC3")["setting"].unique()),
    )
    figure, axes = _figure(1, 4, 9, 2.6, sharey=True)
    edges = np.linspace(0, 1, 11) - 1e-9
    for name, axis in zip(published.SUGGESTED, axes[0], strict=True):
        for values, colour, shift, label in (
            (good[name], COLOURS["iEC3"], 0.0, "top tenth"),
            (every[name], QUIET, 0.045, "all"),
        ):
            share = np.histogram(np.minimum(values, 0.95), edges)[0] / len(values)
            axis.bar(edges[:-1] + 0.0275 + shift, share, width=0.045, color=colour, label=label)
        axis.axvspan(
            *published.SUGGESTED[name], color="#F0E442", alpha=0.25, zorder=0, label="suggested"
        )
        axis.set_xlabel(name)
    axes[0, 0].set_ylabel("share of settings")
    axes[0, -1].legend(fontsize=7, frameon=False)
    return figure


def epsilon(rows: Frame) -> Drawing:
    """Draw AUC and rounds of the paper's loop against epsilon, relative to the smallest epsilon (grey: single data sets)."""
    figure, axes = _figure(1, 2, 8, 3)
    for axis, metric, printed, title in (
        (axes[0, 0], "auc", published.EPSILON_AUC, "AUC"),
        (axes[0, 1], "rounds", published.EPSILON_SECONDS, "rounds (the paper: time)"),
    ):
        shares = _shares(rows, "epsilon", metric, "iEC3")
        axis.plot(shares.columns, shares.to_numpy().T, color=QUIET, linewidth=0.8)
        axis.plot(
            shares.columns, shares.mean(), color=COLOURS["iEC3"], marker="o", label="ours, mean"
        )
        axis.plot(
            list(printed), list(printed.values()), "x", color=COLOURS["UPE"], label="the paper"
        )
        axis.set_xlabel("epsilon")
        axis.set_title(f"{title}, relative to epsilon 0.005", fontsize=9)
        axis.invert_xaxis()
        axis.legend(fontsize=8, frameon=False)
    return figure


def imbalance(rows: Frame) -> Drawing:
    """Draw AUC and the F of one class against the share of the class that was removed (bars: standard deviation over splits)."""
    names = list(means(rows, "imbalance", "auc").index)
    figure, axes = _figure(2, len(names), 4 * len(names), 5, sharex=True)
    for line, (metric, word) in zip(
        axes, (("auc", "AUC"), ("f_touched", "F of the class")), strict=True
    ):
        for axis, name in zip(line, names, strict=True):
            for shift, (method, marker) in zip(
                (-0.7, 0.0, 0.7), (("UPE", "s"), ("EC3", "^"), ("iEC3", "o")), strict=True
            ):
                part = select(rows[rows["dataset"] == name], "imbalance", metric, method)
                by_share = part.groupby(part["setting"].astype(float))["value"]
                mean, sd = by_share.mean(), by_share.std().fillna(0)
                places = (
                    100 * mean.index + shift
                )  # side by side, so that the bars can be told apart
                style = {"marker": marker, "markersize": 4, "capsize": 2, "linewidth": 1}
                axis.errorbar(places, mean, sd, color=COLOURS[method], label=method, **style)
            axis.set(
                title=f"{name}: {word}",
                xlabel="percent of one class removed" if metric != "auc" else "",
            )
    axes[0, 0].legend(fontsize=8, frameon=False)
    return figure


def robustness(rows: Frame) -> Drawing:
    """Draw the share of AUC that is kept as random base models are added (thin lines: iEC3 on single data sets)."""
    figure, axes = _figure(1, 2, 9, 3.4, sharey=True)
    for axis, experiment in zip(axes[0], ("random_classifiers", "random_clusterings"), strict=True):
        every = _shares(rows, experiment, "auc", "iEC3")
        axis.plot(
            every.columns, every.to_numpy().T, color=COLOURS["iEC3"], linewidth=0.5, alpha=0.35
        )
        for method in ("iEC3", "UPE", "majority vote", *LEARNED):
            shares = _shares(rows, experiment, "auc", method)
            axis.plot(
                shares.columns,
                shares.mean(),
                color=COLOURS[method],
                marker="o",
                markersize=3,
                label=method,
            )
        least = published.RANDOM_AUC["iEC3"]
        axis.axhline(least, color="black", linestyle=":", linewidth=0.8)
        axis.annotate(
            "the paper's minimum",
            (published.MOST_RANDOM, least),
            fontsize=7,
            ha="right",
            va="bottom",
        )
        axis.set(
            xlabel=f"random {experiment.removeprefix('random_')} added", title="share of AUC kept"
        )
    axes[0, 1].legend(fontsize=8, frameon=False, loc="center right")
    return figure


def robustness_by_dataset(rows: Frame) -> Drawing:
    """Draw the share of AUC that is kept on each data set as random classifiers are added."""
    shares = {
        method: _shares(rows, "random_classifiers", "auc", method)
        for method in ("iEC3", "UPE", *LEARNED)
    }
    names = shares["iEC3"].index
    n_rows = -(-len(names) // 4)
    figure, axes = _figure(n_rows, 4, 9, 1.9 * n_rows, sharex=True, sharey=True)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    for name, axis in zip(names, axes.flat, strict=False):
        for method, own in shares.items():
            axis.plot(
                own.columns,
                own.loc[name],
                color=COLOURS[method],
                marker=".",
                markersize=4,
                label=method,
            )
        axis.set_title(name, fontsize=9)
    axes[0, 0].legend(fontsize=6, frameon=False)
    figure.supxlabel("random classifiers added", fontsize=9)
    return figure


def growth(rows: Frame) -> Drawing:
    """Draw the runtime of iEC3 against objects, base models and classes."""
    figure, axes = _figure(1, 3, 10, 3)
    for axis, what in zip(axes[0], ("objects", "models", "classes"), strict=True):
        names = sorted(set(select(rows, f"growth_{what}")["dataset"]))
        for name, style in zip(names, ("-", "--", ":", "-."), strict=False):
            for method in ("iEC3", "iEC3, the paper's loop"):
                size, seconds = growth_curve(rows, f"growth_{what}", name, method)
                axis.plot(
                    size,
                    1e3 * seconds,
                    style,
                    color=COLOURS[method],
                    marker=".",
                    label=f"{method}, {name}",
                )
        axis.set(
            xlabel={"models": "base models"}.get(what, what),
            ylabel="milliseconds" if what == "objects" else "",
            ylim=(0, None),
        )
    axes[0, 0].legend(fontsize=7, frameon=False)
    return figure


def ranks(rows: Frame) -> Drawing:
    """Draw mean ranks by AUC; a bar joins methods that do not differ significantly (Nemenyi)."""
    scores = scored(rows, "accuracy", "auc", EVERY).dropna()
    order = mean_ranks(scores)
    n_methods = len(order)
    cd = critical_difference(n_methods, len(scores))
    figure, axes = _figure(1, 1, 9, 0.16 * n_methods + 1.6)
    axis = axes[0, 0]
    half = -(-n_methods // 2)
    low, high = 1, n_methods
    for place, (name, rank) in enumerate(order.items()):
        left = place < half
        depth = 1.0 + (place if left else n_methods - 1 - place)
        end = low - 0.5 if left else high + 0.5
        axis.plot([rank, rank, end], [0, depth, depth], color=QUIET, linewidth=0.8)
        words, side = (f"{name} {rank:.1f} ", "right") if left else (f" {rank:.1f} {name}", "left")
        axis.text(
            end,
            depth,
            words,
            ha=side,
            va="center",
            fontsize=8,
            fontweight="bold" if name in ("iEC3", "EC3") else "normal",
        )
    joined = groups_within(order.to_numpy(), cd)
    for level, (first, last) in enumerate(joined):
        axis.plot(
            [first, last],
            [-0.5 - 0.35 * level] * 2,
            color="black",
            linewidth=2.5,
            solid_capstyle="butt",
        )
    axis.plot([low, high], [0, 0], color="black", linewidth=1)
    axis.set(ylim=(half + 1, -1 - 0.35 * len(joined)), xlim=(low - 0.5, high + 0.5), yticks=[])
    axis.xaxis.set_ticks(range(low, high + 1, 2))
    axis.xaxis.tick_top()
    axis.spines[["left", "bottom"]].set_visible(False)
    axis.set_title(
        f"Mean rank by AUC over {len(scores)} data sets; critical difference {cd:.1f}", fontsize=9
    )
    return figure


def groups_within(ranks: Sequence[float], reach: float) -> list[tuple[float, float]]:
    """Return the first and last rank of each largest group of sorted ranks that spans at most `reach`.

    Examples
    --------
    >>> groups_within([1.0, 2.0, 2.5, 5.0], 1.5)
    [(1.0, 2.5)]
    """
    found: list[tuple[float, float]] = []
    for first in ranks:
        last = max(rank for rank in ranks if rank - first <= reach)
        if last > first and (not found or last > found[-1][1]):
            found.append((float(first), float(last)))
    return found


def clusterings(rows: Frame) -> Drawing:
    """Draw the AUC that clusterings add to iEC3 with learned weights, by data set and number of labels."""
    figure, axes = _figure(1, 3, 9, 4, sharex=True, sharey=True)
    for axis, (experiment, title) in zip(axes[0], LABELS.items(), strict=True):
        added = gain(rows, experiment, "iEC3, learned weights")
        places = np.arange(len(added))
        for shift, (kind, colour, label) in zip(
            (-0.2, 0.2),
            (
                ("paper", COLOURS["EC3"], "the paper's five"),
                ("both", COLOURS["iEC3"], "with six more"),
            ),
            strict=True,
        ):
            axis.barh(places + shift, added[kind], 0.38, color=colour, label=label)
        axis.axvline(0, color="black", linewidth=0.8)
        axis.set(title=title, xlabel="AUC gained", yticks=places, yticklabels=added.index)
        axis.locator_params(axis="x", nbins=5)
    axes[0, 0].invert_yaxis()
    axes[0, 0].legend(fontsize=7, frameon=False)
    return figure


def main_table(rows: Frame) -> Drawing:
    """Draw Table 3a: how far each method is behind the best of a data set, ours by probabilities and printed."""
    ours, theirs = scored(rows, "accuracy", "auc"), printed_table("accuracy_auc")
    names = comparable(ours.index)
    figure, axes = _figure(1, 2, 11, 4.6, sharey=True)
    for axis, table, title in (
        (axes[0, 0], ours.loc[names], "ours"),
        (axes[0, 1], theirs.loc[names], "printed"),
    ):
        behind = table.sub(table.max(axis=1), axis=0).T.to_numpy()
        image = axis.imshow(behind, cmap="Blues_r", vmin=-0.15, vmax=0, aspect="auto")
        for (row, column), value in np.ndenumerate(table.T.to_numpy()):
            weight = "bold" if behind[row, column] == 0 else "normal"
            style = {"ha": "center", "va": "center", "fontsize": 7, "fontweight": weight}
            words = f"{value:.2f}"[1:] if value < 0.995 else "1.0"
            axis.text(
                column,
                row,
                words,
                color="white" if behind[row, column] < -0.08 else "black",
                **style,
            )
        axis.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=8)
        axis.set_yticks(range(len(published.METHODS)), published.METHODS, fontsize=8)
        axis.set_title(f"AUC, {title} (bold: best of the data set)", fontsize=9)
    figure.colorbar(image, ax=axes, label="behind the best", shrink=0.8)
    return figure


def metric(rows: Frame) -> Drawing:
    """Draw the printed AUC minus ours by probabilities and by labels, mean over data sets that are not near chance."""
    figure, axes = _figure(1, 1, 8, 3.4)
    axis, places = axes[0, 0], np.arange(len(published.METHODS))
    styles = ((-0.2, COLOURS["iEC3"]), (0.2, COLOURS["UPE"]))
    for (shift, colour), (word, gap) in zip(styles, gaps(rows, CHANCE).items(), strict=True):
        axis.bar(
            places + shift, -gap.mean(), 0.38, color=colour, label=f"printed minus ours by {word}"
        )
    axis.axhline(0, color="black", linewidth=0.8)
    axis.axvspan(
        len(published.BASELINES) - 0.5, len(places) - 0.5, color="#F0E442", alpha=0.25, zorder=0
    )
    axis.annotate(
        "the paper's own",
        (len(places) - 1.5, 0),
        xytext=(0, -60),
        textcoords="offset points",
        ha="center",
        fontsize=8,
    )
    axis.set_xticks(places, published.METHODS, rotation=45, ha="right")
    axis.set_ylabel("AUC")
    axis.legend(fontsize=8, frameon=False)
    return figure


def quality(rows: Frame) -> Drawing:
    """Draw the AUC that clusterings add to iEC3 against their NMI with the classes: noisy copies (lines) and ours (marks).

    Shaded is the interval with all labels and independent noise.
    """
    figure, axes = _figure(1, 2, 10, 3.6)
    for axis, method in zip(axes[0], ("iEC3", "iEC3, learned weights"), strict=True):
        for labels, colour in zip(
            CURVES,
            (COLOURS["UPE"], COLOURS["iEC3, the paper's loop"], COLOURS["iEC3"]),
            strict=True,
        ):
            for kind, style in (("independent", "-"), ("same", ":")):
                own = curve(rows, labels, kind, method)
                axis.plot(
                    own["NMI"],
                    own["gain"],
                    style,
                    color=colour,
                    marker=".",
                    label=f"{CURVES[labels]}, {kind} noise",
                )
                if (labels, kind) == ("all", "independent"):
                    axis.fill_between(
                        own["NMI"], own["low"], own["high"], color=colour, alpha=0.12, linewidth=0
                    )
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set(xlabel="NMI of each clustering with the classes", title=method)
    if has(rows, "tuned_clusterings"):
        for way, marker, label in (
            ("none", "x", "our clusterings, all labels"),
            ("NMI", "+", "the same, tuned"),
        ):
            points = real_points(rows, way)
            axes[0, 0].plot(
                points["NMI"],
                points["gain"],
                marker,
                color="black",
                markersize=5,
                label=label,
                linestyle="none",
            )
    axes[0, 0].set_ylabel("AUC added")
    handles, names = axes[0, 0].get_legend_handles_labels()
    axes[0, 1].legend(handles, names, fontsize=7, frameon=False, loc="upper left")
    return figure


# The experiments each figure needs, and the function that draws it.
FIGURES: dict[str, tuple[tuple[str, ...], Callable[[Frame], Drawing]]] = {
    "main_table": (("accuracy",), main_table),
    "metric": (("accuracy",), metric),
    "quality": (("noisy_truth",), quality),
    "clusterings": (tuple(LABELS), clusterings),
    "ranks": (("accuracy",), ranks),
    "parameters": (("parameters",), parameters),
    "epsilon": (("epsilon",), epsilon),
    "imbalance": (("imbalance",), imbalance),
    "robustness": (("random_classifiers", "random_clusterings"), robustness),
    "robustness_by_dataset": (("random_classifiers",), robustness_by_dataset),
    "growth": (("growth_objects", "growth_models", "growth_classes"), growth),
}


def draw(rows, folder, names=FIGURES):
    """Draw figures, those whose experiments have rows, and save them as PNG files in a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, (needed, make) in FIGURES.items():
        if name in names and has(rows, *needed):
            # without a date and a version the same rows give the same file
            make(rows).savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
            yield name
