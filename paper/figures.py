"""From rows to the paper's figures; no display is needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from . import published
from .exhibits import Frame, has, means, select
from .tables.studies import PUBLISHED, good_settings, growth_curve, loop_seconds, weights_in

LOOP = "iEC3, the paper's loop"
# The colours of Okabe and Ito, which nearly everybody can distinguish.
COLOURS = {
    "iEC3": "#0072B2",
    "EC3": "#56B4E9",
    "UPE": "#D55E00",
    "iEC3, learned weights, hard votes": "#CC79A7",
    "iEC3, learned weights": "#009E73",
    "majority vote": "#999999",
    LOOP: "#E69F00",
    "the paper": "#D55E00",
    PUBLISHED: "#CC79A7",
    "all": "#999999",
    "top tenth": "#0072B2",
}
Panels = dict[str, Any]  # a table for each title: a curve per column over the index


def _shares(rows: Frame, experiment: str, metric: str, method: str) -> Any:
    """Means over data sets as shares of those in the first setting, by setting as a number."""
    frame = means(rows, experiment, metric, columns="setting", method=method)
    curves = frame.set_axis(frame.columns.astype(float), axis=1).sort_index(axis=1)
    return curves.div(curves.iloc[:, 0], axis=0).mean()


def parameters(rows: Frame) -> Panels:
    """Draw the distribution of each weight in good settings and in all settings."""
    every = weights_in(select(rows, "parameters", method="iEC3")["setting"].unique())
    edges = np.linspace(0, 1, 11) - 1e-9
    groups = {"top tenth": good_settings(rows), "all": every}
    return {
        f"{name}: share of settings": pd.DataFrame(
            {
                word: np.histogram(np.minimum(own[name], 0.95), edges)[0] / len(own)
                for word, own in groups.items()
            },
            index=pd.Index(edges[:-1] + 0.05, name="weight"),
        )
        for name in published.SUGGESTED
    }


def epsilon(rows: Frame) -> Panels:
    """Draw AUC and seconds of the paper's loop against epsilon, relative to the smallest epsilon."""
    return {
        f"{title}, relative to epsilon 0.005": pd.DataFrame(
            {"iEC3": _shares(rows, "epsilon", metric, "iEC3"), "the paper": theirs}
        ).rename_axis("epsilon")
        for title, metric, theirs in (
            ("AUC", "auc", pd.Series(published.EPSILON_AUC)),
            ("time", "seconds", pd.Series(published.EPSILON_SECONDS)),
        )
    }


def imbalance(rows: Frame) -> Panels:
    """Draw the shares of AUC and of the F of one class that are kept against the share of the class that was removed."""
    methods = ("UPE", "EC3", "iEC3", "majority vote")
    return {
        f"share of {word} kept": pd.DataFrame(
            {name: _shares(rows, "imbalance", metric, name) for name in methods}
        ).rename_axis("share of one class removed")
        for metric, word in (("auc", "AUC"), ("f_touched", "F"))
    }


def robustness(rows: Frame) -> Panels:
    """Draw the share of AUC that is kept as random base models are added."""
    methods = ("iEC3", "UPE", "majority vote", "iEC3, learned weights, hard votes")
    return {
        "share of AUC kept, " + kind: pd.DataFrame(
            {name: _shares(rows, f"random_{kind}", "auc", name) for name in methods}
        ).rename_axis(f"random {kind} added")
        for kind in ("classifiers", "clusterings")
    }


def growth(rows: Frame) -> Panels:
    """Draw the seconds of iEC3 against objects, base models and classes, on one data set."""
    name, methods = select(rows, "growth_models")["dataset"].min(), ["iEC3", LOOP]
    loops = loop_seconds(rows[rows["dataset"] == name]).groupby(level="setting").mean()
    curves = {
        what: {own: growth_curve(rows, f"growth_{what}", name, own) for own in methods}
        for what in ("models", "classes")
    }
    loops = loops[[PUBLISHED, methods[1]]].dropna().rename_axis("objects")
    return {f"seconds, {name}": loops} | {
        f"seconds by {what}, {name}": pd.DataFrame(own).rename_axis(what)
        for what, own in curves.items()
    }


# The experiments each figure needs, and the function that has its panels.
FIGURES: dict[str, tuple[tuple[str, ...], Callable[[Frame], Panels]]] = {
    "parameters": (("parameters",), parameters),
    "epsilon": (("epsilon",), epsilon),
    "imbalance": (("imbalance",), imbalance),
    "robustness": (("random_classifiers", "random_clusterings"), robustness),
    "growth": (("like_for_like", "growth_models", "growth_classes"), growth),
}


def draw(rows, folder, names=FIGURES):
    """Draw figures, those whose experiments have rows, and save them as PNG files in a folder."""
    from matplotlib.figure import Figure

    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, (needed, make) in FIGURES.items():
        if name in names and has(rows, *needed):
            panels = make(rows)
            figure = Figure(figsize=(3.4 * len(panels), 3), layout="constrained")
            axes = figure.subplots(1, len(panels), squeeze=False)[0]
            for axis, (title, frame) in zip(axes, panels.items(), strict=True):
                colours = [COLOURS[curve] for curve in frame]
                frame.plot(
                    ax=axis,
                    color=colours,
                    marker=".",
                    legend=axis in (axes[0], axes[-1]),
                    fontsize=8,
                )
                axis.set_title(title, fontsize=9)
            # without a date and a version the same rows give the same file
            figure.savefig(Path(folder) / f"{name}.png", dpi=110, metadata={"Software": None})
            yield name
