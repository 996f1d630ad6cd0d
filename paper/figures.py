"""From rows to the paper's figures; no display is needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import published
from .exhibits import Frame, has, means, select
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
Drawing = Any  # matplotlib.figure.Figure


def _figure(
    n_rows: int, n_columns: int, width: float, height: float, **options: Any
) -> tuple[Drawing, Any]:
    """An empty figure without a window, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, **options)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
    return figure, axes


def _shares(rows: Frame, experiment: str, metric: str, method: str) -> Frame:
    """Means over splits as shares of those in the first setting; one column per setting, sorted as numbers."""
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
        for method in (
            *("iEC3", "UPE", "majority vote"),
            *("iEC3, learned weights, hard votes", "iEC3, learned weights"),
        ):
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


# The experiments each figure needs, and the function that draws it.
FIGURES: dict[str, tuple[tuple[str, ...], Callable[[Frame], Drawing]]] = {
    "parameters": (("parameters",), parameters),
    "epsilon": (("epsilon",), epsilon),
    "imbalance": (("imbalance",), imbalance),
    "robustness": (("random_classifiers", "random_clusterings"), robustness),
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
