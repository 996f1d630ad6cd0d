"""What the answer of iEC3 depends on: weights, epsilon, the terms of its objective, classifiers and clusterings.

And how it copes with imbalanced classes, random base models and growing tables.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from .. import published
from ..claims import by_unit
from ..exhibits import (
    Block,
    Exhibit,
    Frame,
    beside,
    cells,
    comparable,
    kept,
    means,
    ordered,
    printed,
    printed_here,
    select,
)

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
    average = pd.DataFrame({"AUC of iEC3, mean": table.mean()}).T.rename_axis("setting")
    blocks = [
        Block(
            "Settings in the top tenth by AUC, over all data sets. Beside them is the grid they are from.",
            frame.rename_axis("weight"),
        ),
        Block("What the choice of a setting is worth, on hard votes.", average, 4),
    ]
    return Exhibit("parameters", "The four weights (Figure 2)", blocks, {"AUC": table})


METRICS = ("auc", "rounds", "seconds")  # of the paper's loop


def epsilon(rows: Frame) -> Exhibit:
    """What stopping the paper's loop early costs in AUC and saves in time: the page has it as claims and as a figure."""
    detail = {metric: means(rows, "epsilon", metric, columns="setting") for metric in METRICS}
    return Exhibit("epsilon", "Epsilon (Figure 3)", [], detail)


# ---- which base models ---------------------------------------------------------------------------


def drop_classifier(rows: Frame) -> Exhibit:
    """The AUC of iEC3 without each classifier, and the paper's."""
    ours = means(rows, "drop_classifier", "auc", columns="setting")
    theirs = printed_here("drop_classifier_auc", rows)
    block = Block(
        "AUC of iEC3.",
        beside(ours, theirs).rename_axis("left out"),
    )
    return Exhibit(
        "drop_classifier",
        "One classifier left out (Table 5)",
        [block],
        {"AUC": ours, "AUC, paper": theirs},
    )


def stepwise(rows: Frame, experiment: str, title: str, caption: str) -> Exhibit:
    """The scores of iEC3 without, or with only some, base models, and the paper's on the two data sets it prints."""
    theirs = published.printed(experiment)
    if experiment.startswith("add"):
        theirs.index = [str(step) for step in range(1, len(theirs) + 1)]
    auc, f = (means(rows, experiment, metric, columns="setting").T for metric in ("auc", "f"))
    columns = {
        f"{name}{whose}": own
        for name in ("creditcard", "waveform")
        for whose, own in (("", auc.get(name)), (", paper", theirs[f"{name}_auc"]))
    }
    frame = pd.DataFrame({**columns, "all data sets": auc.mean(axis=1)}).rename_axis("base models")
    detail = {"AUC": auc, "F": f, "paper": theirs}
    return Exhibit(experiment, title, [Block(caption, frame)], detail)


ADDED = "AUC of iEC3 by number of {}, in the order chosen on the validation set."
drop_clustering = partial(
    stepwise,
    experiment="drop_clustering",
    title="One clustering left out (Table 8)",
    caption="AUC of iEC3. The paper prints two data sets.",
)
add_classifier = partial(
    stepwise,
    experiment="add_classifier",
    title="Classifiers one by one (Table 6)",
    caption=ADDED.format("classifiers"),
)
add_clustering = partial(
    stepwise,
    experiment="add_clustering",
    title="Clusterings one by one (Table 9)",
    caption=ADDED.format("clusterings (0: classifiers only)"),
)


def clustering_nmi(rows: Frame) -> Exhibit:
    """How well clusterings match the classes, and the paper's figures."""
    ours, theirs = means(rows, "clustering_nmi", "nmi"), printed_here("clustering_nmi", rows)
    caption = "Normalised mutual information with the classes of the test set."
    return Exhibit(
        "clustering_nmi",
        "How well clusterings match the classes (Table 7)",
        [Block(caption, beside(ours, theirs).rename_axis("clustering"))],
        {"NMI": ours, "NMI, paper": theirs},
    )


SCORES = {"auc": "AUC", "auc_hard": "AUC of labels", "f": "F"}


def lost_terms(rows: Frame, metric: str, method: str = "iEC3") -> Frame:
    """The share of a score that a method loses without each term, by data set and split."""
    own = cells(rows, "drop_term", metric, columns="setting", method=method)
    return 1 - own.drop(columns="none").div(own["none"], axis=0)


def drop_term(rows: Frame) -> Exhibit:
    """By how many percent scores fall without each term of the objective, and the paper's figures."""
    detail = {
        f"{method}, {word}": 100 * ordered(by_unit(lost_terms(rows, metric, method)))
        for method in ("iEC3", "EC3")
        for metric, word in SCORES.items()
    }
    theirs = printed_here("drop_term_auc_percent", rows)
    both = {what: own.loc[comparable(own.index)].mean() for what, own in detail.items()}
    frame = pd.DataFrame({"the paper: iEC3, AUC": theirs.mean(), **both}).T
    caption = (
        "Percent lost without a term: J1 (objects and their groups), J2 (objects in the same groups), J3 (objects and their "
        "votes), J4 (groups and their votes). The paper says that EC3 and F show the same pattern."
    )
    blocks = [Block(caption, frame.rename_axis("method, score"), 1)]
    return Exhibit("drop_term", "One term left out (Table 10)", blocks, {**detail, "paper": theirs})


# ---- robustness ----------------------------------------------------------------------------------


def imbalance(rows: Frame) -> Exhibit:
    """The shares of AUC and of the F of one class that are kept with 30 % of the class removed."""
    last, found = f"{published.REMOVED[-1]:.2f}", []
    for experiment, size in (("imbalance", ""), ("imbalance_large", ", all rows")):
        splits = select(rows, experiment).groupby("dataset", sort=False)["seed"].nunique()
        shares = [
            by_unit(kept(rows, experiment, metric, last, "0.00")).add_suffix(f", {word}")
            for metric, word in (("auc", "AUC"), ("f_touched", "F"))
        ]
        table = pd.concat([splits.rename("splits"), *shares], axis=1)
        found.append(table.rename(index=lambda name, size=size: name + size))
    for name in ("susy", "sensor"):
        auc, f = (own[name] for own in (published.IMBALANCE_AUC, published.IMBALANCE_F))
        own = {f"{method}, AUC": share for method, share in auc.items()}
        own |= {f"{method}, F": share for method, share in f.items()}
        found.append(pd.DataFrame(own, index=[f"the paper: {name}"]))
    caption = "Share kept with 30 % of one class removed, on at most 2,500 rows, and on all rows without UPE."
    table = pd.concat(found).astype({"splits": "Int64"}).rename_axis("dataset")
    return Exhibit("imbalance", "Class imbalance (Figure 4)", [Block(caption, table)])


def robustness(rows: Frame) -> Exhibit:
    """The share of AUC that is kept with 10 random base models added."""
    detail = {
        kind: ordered(by_unit(kept(rows, f"random_{kind}", "auc", "10", "0")))
        for kind in ("classifiers", "clusterings")
    }
    found = {
        f"{kind}, {how}": getattr(own, how)()
        for kind, own in detail.items()
        for how in ("mean", "min")
    }
    n_splits = select(rows, "random_clusterings", method="UPE")["seed"].nunique()
    caption = (
        "Share of AUC kept with 10 random base models added: the mean over all data sets and the lowest. UPE meets random clusterings "
        f"in {n_splits} of the splits only."
    )
    block = Block(caption, pd.DataFrame(found).rename_axis("method"))
    return Exhibit("robustness", "Random base models (Figures 5 and 6)", [block], detail)


# ---- runtime -------------------------------------------------------------------------------------


def runtime(rows: Frame) -> Exhibit:
    """The seconds to combine a fifth of each data set, the paper's, and their ratio."""
    seconds, objects = (means(rows, "runtime", metric) for metric in ("seconds", "n_objects"))
    names = {name: published.STAND_INS.get(name, name) for name in seconds.index}
    theirs = printed("runtime_seconds").T.reindex(names.values()).set_axis(seconds.index)
    theirs.loc["sensor_sample"] = np.nan
    frame = pd.DataFrame({"objects": objects[""].astype(int)})
    for method in ("BGCM", "iEC3"):
        frame[method] = seconds[method]
        frame[f"{method}, paper"] = theirs[method].astype("Int64")
    caption = (
        "Seconds to combine a fifth of all objects, given base outputs, on a machine that is not the paper's. sensor_3feat has the "
        "objects and classes of Sensor."
    )
    block = Block(caption, frame.rename_axis("dataset"))
    detail = {"seconds": seconds, "seconds, paper": theirs}
    return Exhibit("runtime", "Runtime (Table 11)", [block], detail)


def log_slope(size: Any, seconds: Any) -> float:
    """The slope of a line through seconds against size, both on logarithmic axes."""
    return float(np.polyfit(np.log(size), np.log(seconds), 1)[0])


PUBLISHED = "iEC3, as published"


def loop_seconds(rows: Frame) -> Frame:
    """The time of each method in `like_for_like`, by data set, split and size."""
    own = select(rows, "like_for_like", "seconds")
    return own.assign(setting=own["setting"].astype(int)).pivot_table(
        index=["dataset", "seed", "setting"], columns="method", values="value"
    )


def like_for_like(rows: Frame) -> Exhibit:
    """The time of each method as published, on the same objects, how it grows, and what it multiplies."""
    found, counts = {}, select(rows, "like_for_like", "multiplications")
    for name, table in loop_seconds(rows).groupby(level=0):
        by_size = table.groupby(level="setting").mean()
        for method, curve in by_size.items():
            curve = curve.dropna()
            size = curve.index.max()
            found[method] = found.get(method, {"objects": size}) | {
                f"{name}, seconds": curve[size],
                f"{name}, times exact iEC3": f"{curve[size] / by_size['iEC3, exact'][size]:,.1f}",
                f"{name}, power of N": log_slope(curve.index, curve),
            }
    ratio = counts.groupby("method")["value"].sum()
    caption = (
        "Processor seconds at the largest size, and the power of the number of objects with which they grow. *As published* is "
        "Algorithms 1 and 2 with N x N matrices; *the paper's loop* never has them; *exact* merges equal rows and solves a linear "
        "system. The paper counts G N l multiplications for F^o in a round; K^c F^o alone takes "
        f"{ratio['K^c F^o'] / ratio['G N l']:.0f} times as many here."
    )
    block = Block(caption, pd.DataFrame(found).T.rename_axis("method"))
    return Exhibit("like_for_like", "Runtime, like for like", [block])


def synthetic(rows: Frame) -> Exhibit:
    """The time on random base outputs of as many objects as Susy has."""
    own = select(rows, "synthetic").pivot_table(index="setting", columns="metric", values="value")
    own.index = own.index.astype(int).rename("objects")
    frame = own.astype({"distinct_rows": int}).sort_index()
    theirs = printed("runtime_seconds")["susy"]
    caption = (
        "**Synthetic**: random outputs of seven classifiers and five clusterings stand for those on Susy. "
        f"The paper prints {theirs['iEC3']:,.0f} seconds for its test part, 1,000,000 objects, whose K^c has 10^12 entries."
    )
    title = "A table in the size of Susy (Table 11)"
    return Exhibit("synthetic", title, [Block(caption, frame, 1)])


def growth_curve(rows: Frame, experiment: str, name: str, method: str) -> Any:
    """The seconds of a method on a data set by size, averaged over repeats."""
    own = select(rows[rows["dataset"] == name], experiment, "seconds", method)
    return own.assign(size=own["setting"].astype(float)).groupby("size")["value"].mean()
