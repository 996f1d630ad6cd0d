"""What the answer of iEC3 depends on: weights, epsilon, the terms of its objective, classifiers and clusterings.

And how it copes with imbalanced classes, random base models and growing tables.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import linregress

from .. import published
from ..claims import by_unit
from ..exhibits import (
    Block,
    Exhibit,
    Frame,
    comparable,
    difference,
    kept,
    means,
    ordered,
    printed,
    select,
)
from ..protocol import MOST_UPE_OBJECTS

# ---- parameters ----------------------------------------------------------------------------------

WEIGHTS = list(published.SUGGESTED)
DEFAULT = "0.25 0.35 0.35 0.05"  # the paper's setting
ONLY_VOTES = "0.00 0.00 1.00 0.00"


def weights_in(settings: Any) -> Frame:
    """The four weights that settings name, one row each."""
    return pd.DataFrame(
        [setting.split() for setting in settings], columns=WEIGHTS, index=list(settings)
    ).astype(float)


def good_settings(rows: Frame) -> Frame:
    """The settings whose mean AUC is in the top tenth of a data set: dataset, auc, alpha, beta, gamma, delta."""
    by_setting = (
        means(rows, "parameters", "auc", columns="setting", method="iEC3")
        .stack()
        .rename("auc")
        .reset_index()
    )
    floor = by_setting.groupby("dataset")["auc"].transform(
        lambda area: area.quantile(1 - published.TOP_SHARE)
    )
    best = by_setting[by_setting["auc"] >= floor].set_index("setting")
    return pd.concat([best, weights_in(best.index)], axis=1)


def parameters(rows: Frame) -> Exhibit:
    """Which weights are good, and what tuning them on the validation set gains."""
    by_setting = means(rows, "parameters", "auc", columns="setting", method="iEC3")
    good, every = good_settings(rows)[WEIGHTS], weights_in(by_setting.columns)
    low, high = (
        pd.Series({name: ends[k] for name, ends in published.SUGGESTED.items()}) for k in (0, 1)
    )
    inside, chance = (((own > low - 1e-9) & (own < high + 1e-9)).mean() for own in (good, every))
    frame = pd.DataFrame(
        {
            "mean among good settings": good.mean(),
            "mean of the grid": every.mean(),
            "suggested range": {name: f"{low[name]:.2f} to {high[name]:.2f}" for name in WEIGHTS},
            "good settings in range": inside,
            "grid in range": chance,
        }
    )
    table = pd.DataFrame(
        {
            "worst": by_setting.min(axis=1),
            "mean vote": by_setting[ONLY_VOTES],
            "the paper's setting": by_setting[DEFAULT],
            "tuned on validation": means(rows, "parameters", "auc")["iEC3, tuned"],
            "best in hindsight": by_setting.max(axis=1),
        }
    )
    blocks = [
        Block("Settings in the top tenth by AUC, all data sets.", frame.rename_axis("weight")),
        Block("AUC of iEC3 on hard votes by setting.", table.rename_axis("dataset"), 4),
    ]
    return Exhibit("parameters", "The four weights (Figure 2)", blocks)


def epsilon(rows: Frame) -> Exhibit:
    """What stopping the paper's loop early costs in AUC and saves in time."""
    shares = {}
    for metric in ("auc", "rounds", "seconds"):
        own = means(rows, "epsilon", metric, columns="setting")
        shares[metric] = own.div(own[f"{published.EPSILONS[-1]:.3f}"], axis=0).mean()
    frame = pd.DataFrame(
        {
            "AUC": shares["auc"],
            "AUC, paper": {f"{tol:.3f}": share for tol, share in published.EPSILON_AUC.items()},
            "rounds": shares["rounds"],
            "seconds": shares["seconds"],
            "seconds, paper": {
                f"{tol:.3f}": share for tol, share in published.EPSILON_SECONDS.items()
            },
        }
    ).sort_index(ascending=False)
    block = Block("Relative to epsilon 0.005.", frame.rename_axis("epsilon"))
    return Exhibit("epsilon", "Epsilon (Figure 3)", [block])


# ---- which base models ---------------------------------------------------------------------------


def drop_classifier(rows: Frame) -> Exhibit:
    """The AUC of iEC3 without each classifier, and the difference from the paper's."""
    ours = means(rows, "drop_classifier", "auc", columns="setting").rename_axis(columns="left out")
    gap = difference(ours, printed("drop_classifier_auc").T)
    blocks = [Block("AUC of iEC3.", ours.T), Block("Ours minus the paper's.", gap.T)]
    return Exhibit("drop_classifier", "One classifier left out (Table 5)", blocks)


def _beside_printed(rows: Frame, experiment: str, theirs: Frame) -> Frame:
    """Return AUC and F by setting on the two data sets the paper prints, ours and its own, and our mean AUC on all."""
    auc, f = (means(rows, experiment, metric, columns="setting").T for metric in ("auc", "f"))
    columns: dict[str, Any] = {}
    for name in ("creditcard", "waveform"):
        for metric, own, head in (("auc", auc, "auc"), ("f", f, "fscore")):
            columns |= {
                f"{name} {metric}": own.get(name),
                f"{name} {metric}, paper": theirs[f"{name}_{head}"],
            }
    return pd.DataFrame({**columns, "AUC, all data sets": auc.mean(axis=1)})


def drop_clustering(rows: Frame) -> Exhibit:
    """The scores of iEC3 without each clustering, and the paper's."""
    theirs = printed("drop_clustering")
    frame = _beside_printed(rows, "drop_clustering", theirs).reindex(theirs.index)
    return Exhibit(
        "drop_clustering",
        "One clustering left out (Table 8)",
        [Block("Scores of iEC3.", frame.rename_axis("left out"))],
    )


def one_by_one(rows: Frame, experiment: str, title: str, what: str) -> Exhibit:
    """The scores of iEC3 as base models are added, and the paper's."""
    theirs = published.printed(experiment)
    theirs.index = [str(step) for step in range(1, len(theirs) + 1)]
    frame = _beside_printed(rows, experiment, theirs).sort_index().rename_axis("added")
    return Exhibit(
        experiment,
        title,
        [Block(f"By number of {what}, added in the order chosen on the validation set.", frame)],
    )


add_classifier = partial(
    one_by_one,
    experiment="add_classifier",
    title="Classifiers one by one (Table 6)",
    what="classifiers",
)
add_clustering = partial(
    one_by_one,
    experiment="add_clustering",
    title="Clusterings one by one (Table 9)",
    what="clusterings (0: classifiers only)",
)


def clustering_nmi(rows: Frame) -> Exhibit:
    """How well clusterings match the classes, and the difference from the paper's."""
    ours = means(rows, "clustering_nmi", "nmi")
    gap = difference(ours[published.CLUSTERINGS], printed("clustering_nmi"))
    caption = "Normalised mutual information with the classes of the test set."
    blocks = [Block(caption, ours), Block("Ours minus the paper's.", gap)]
    return Exhibit("clustering_nmi", "How well clusterings match the classes (Table 7)", blocks)


def lost_terms(rows: Frame, metric: str) -> Frame:
    """What leaving out each term costs iEC3 on each data set, in percent of a score."""
    own = means(rows, "drop_term", metric, columns="setting", method="iEC3")
    return 100 * (1 - own.drop(columns="none").div(own["none"], axis=0))


def drop_term(rows: Frame) -> Exhibit:
    """By how many percent AUC falls without each term of the objective, and the paper's figures."""
    ours = lost_terms(rows, "auc")
    theirs = printed("drop_term_auc_percent").loc[comparable(ours.index)]
    caption = (
        "Percent of AUC that iEC3 loses without a term: J1 (objects and their groups), J2 (objects in the same groups), "
        "J3 (objects and their votes), J4 (groups and their votes)."
    )
    block = Block(caption, ours.join(theirs.add_suffix(", paper")).rename_axis("dataset"), 2)
    return Exhibit("drop_term", "One term left out (Table 10)", [block])


# ---- robustness ----------------------------------------------------------------------------------


def imbalance(rows: Frame) -> Exhibit:
    """The shares of AUC and of the F of one class that are kept with 30 % of the class removed."""
    last = f"{published.REMOVED[-1]:.2f}"
    auc, f = (
        by_unit(kept(rows, "imbalance", metric, last, "0.00")) for metric in ("auc", "f_touched")
    )
    frame = pd.concat([auc.T.add_prefix("AUC kept, "), f.T.add_prefix("F kept, ")], axis=1)
    for name in ("susy", "sensor"):
        frame[f"AUC kept, {name}, paper"] = pd.Series(published.IMBALANCE_AUC[name])
        frame[f"F kept, {name}, paper"] = pd.Series(published.IMBALANCE_F[name])
    caption = f"Share kept with 30 % of one class removed. The paper used Susy and Sensor, we used {' and '.join(auc.index)}."
    return Exhibit(
        "imbalance", "Class imbalance (Figure 4)", [Block(caption, frame.rename_axis("method"))]
    )


def robustness(rows: Frame) -> Exhibit:
    """The share of AUC that is kept with 10 random base models added."""
    kinds = ("classifiers", "clusterings")
    found = {
        kind: ordered(by_unit(kept(rows, f"random_{kind}", "auc", "10", "0"))) for kind in kinds
    }
    frame = pd.concat([found[kind].add_suffix(f", {kind}") for kind in kinds], axis=1)
    frame.loc["mean"] = frame.mean()
    n_splits = select(rows, "random_clusterings", method="UPE")["seed"].nunique()
    caption = f"Share of AUC kept with 10 random base models added. UPE meets random clusterings in {n_splits} of the splits only."
    return Exhibit(
        "robustness",
        "Random base models (Figures 5 and 6)",
        [Block(caption, frame.rename_axis("dataset"))],
    )


# ---- runtime -------------------------------------------------------------------------------------


def runtime(rows: Frame) -> Exhibit:
    """The seconds to combine a fifth of each data set, the paper's, and their ratio."""
    seconds, objects = (means(rows, "runtime", metric) for metric in ("seconds", "n_objects"))
    names = {
        published.STAND_INS.get(name, name): name
        for name in seconds.index
        if name != "sensor_sample"
    }
    in_print = printed("runtime_seconds").T
    theirs = in_print.reindex(list(names)).rename(index=names).astype("Int64")
    frame = pd.DataFrame(
        {"objects": objects[""].astype("Int64"), "objects of UPE": objects["UPE"].astype("Int64")}
    )
    for method in ("BGCM", "UPE", "iEC3"):
        frame[method] = seconds[method].map("{:.3f}".format)
        frame[f"{method}, paper"] = theirs[method]
    ratio = theirs["iEC3"].astype(float) / seconds["iEC3"]
    frame["ratio, iEC3"] = ratio.map(lambda x: "" if np.isnan(x) else f"{x:,.0f}")
    caption = (
        "Seconds to combine a fifth of all objects, given base outputs. The paper's machine is not known. sensor_3feat has the "
        f"objects and classes of Sensor. UPE is run on at most {MOST_UPE_OBJECTS:,} objects."
    )
    return Exhibit(
        "runtime",
        "Runtime (Table 11)",
        [Block(caption, ordered(frame).rename_axis("dataset"))],
    )


def log_slope(size: Any, seconds: Any) -> float:
    """The slope of a line through seconds against size, both on logarithmic axes."""
    return float(np.polyfit(np.log(size), np.log(seconds), 1)[0])


def loop_seconds(rows: Frame) -> Frame:
    """The time of each method in `like_for_like`, by data set, split and size."""
    return select(rows, "like_for_like").pivot_table(
        index=["dataset", "seed", "setting"], columns="method", values="value"
    )


def like_for_like(rows: Frame) -> Exhibit:
    """The time of each method as published, on the same objects, and how it grows."""
    own = select(rows, "like_for_like", "seconds")
    by_size = (
        own.assign(size=own["setting"].astype(int))
        .groupby(["dataset", "method", "size"], sort=False)["value"]
        .mean()
    )
    found = []
    for (name, method), curve in by_size.groupby(level=[0, 1], sort=False):
        curve = curve.droplevel([0, 1]).sort_index()
        line = linregress(curve.index, curve)
        found.append(
            {
                "dataset": name,
                "method": method,
                "objects": int(curve.index.max()),
                "seconds": curve.iloc[-1],
                "times iEC3's": curve.iloc[-1] / by_size[name, "iEC3", curve.index.max()],
                "ms per 1,000 objects more": 1e6 * line.slope,
                "R^2 of a line": line.rvalue**2,
                "slope on logarithmic axes": log_slope(curve.index, curve),
            }
        )
    caption = (
        "Processor seconds at the largest size. The first three run as published, on the same objects, one row per object; UPE "
        "is our reconstruction, and takes minutes with more objects. *Exact* is what the library does: it merges equal rows and "
        "solves a linear system."
    )
    return Exhibit(
        "like_for_like",
        "Runtime, like for like",
        [Block(caption, pd.DataFrame(found).set_index("dataset"))],
    )


def growth(rows: Frame) -> Exhibit:
    """How the runtime of iEC3 grows with objects, base models and classes."""
    found = []
    for experiment, what in (
        ("growth_objects", "objects"),
        ("growth_models", "base models"),
        ("growth_classes", "classes"),
    ):
        for method in ("iEC3", "iEC3, the paper's loop"):
            for name in sorted(set(select(rows, experiment)["dataset"])):
                size, seconds = growth_curve(rows, experiment, name, method)
                found.append(
                    {
                        "dataset": name,
                        "grows": what,
                        "method": method,
                        "from": int(size.min()),
                        "to": int(size.max()),
                        "ms, first": 1e3 * seconds[0],
                        "ms, last": 1e3 * seconds[-1],
                        "slope": log_slope(size, seconds),
                    }
                )
    caption = (
        "Milliseconds at the smallest and the largest size, and the slope on logarithmic axes."
    )
    return Exhibit(
        "growth",
        "How the runtime grows (Figure 7)",
        [Block(caption, pd.DataFrame(found).set_index("dataset"), 2)],
    )


def growth_curve(rows: Frame, experiment: str, name: str, method: str) -> tuple[Any, Any]:
    """Sizes and seconds of a method on a data set, averaged over repeats, by increasing size."""
    own = select(rows[rows["dataset"] == name], experiment)
    seconds = select(own, experiment, "seconds", method).groupby("setting")["value"].mean()
    if experiment == "growth_objects":
        size = select(own, experiment, "size").groupby("setting")["value"].mean()
    else:
        size = seconds.index.to_series().astype(float)
    order = size.sort_values().index
    return size[order].to_numpy(), seconds[order].to_numpy()
