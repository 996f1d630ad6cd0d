"""What the answer of iEC3 depends on: weights, epsilon, the terms of its objective, classifiers and clusterings.

And how it copes with imbalanced classes, random base models and growing tables.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import linregress

from .. import published
from ..exhibits import NOISE, Block, Exhibit, Finding, Frame, comparable, means, ordered, printed, select

# ---- parameters ------------------------------------------------------------------------------------------------------


def good_settings(rows: Frame) -> Frame:
    """Return the settings whose mean AUC is in the top tenth of a data set: dataset, auc, alpha, beta, gamma, delta."""
    own = select(rows, "parameters", method="iEC3")
    mean = own.groupby(["dataset", "setting"], sort=False)["value"].mean().rename("auc").reset_index()
    floor = mean.groupby("dataset")["auc"].transform(lambda area: area.quantile(1 - published.TOP_SHARE))
    best = mean[mean["auc"] >= floor].reset_index(drop=True)
    weights = pd.DataFrame(best.pop("setting").str.split().tolist(), columns=list(published.SUGGESTED)).astype(float)
    return pd.concat([best, weights], axis=1)


def parameters(rows: Frame) -> Exhibit:
    """Return which weights are good, and what tuning them on the validation set gains."""
    good = good_settings(rows)
    names = list(published.SUGGESTED)
    grid = select(rows, "parameters", method="iEC3")
    every = pd.DataFrame(grid["setting"].drop_duplicates().str.split().tolist(), columns=names).astype(float)
    inside = {n: good[n].between(low - 1e-9, high + 1e-9).mean() for n, (low, high) in published.SUGGESTED.items()}
    chance = {n: every[n].between(low - 1e-9, high + 1e-9).mean() for n, (low, high) in published.SUGGESTED.items()}
    frame = pd.DataFrame(
        {
            "mean among good settings": good[names].mean(),
            "mean of the grid": every.mean(),
            "suggested range": {n: f"{low:.2f} to {high:.2f}" for n, (low, high) in published.SUGGESTED.items()},
            "good settings in range": inside,
            "grid in range": chance,
        }
    ).rename_axis("weight")
    by_dataset = grid.groupby(["dataset", "setting"])["value"].mean().unstack("setting")
    default, vote = by_dataset["0.25 0.35 0.35 0.05"], by_dataset["0.00 0.00 1.00 0.00"]
    tuned, best = means(rows, "parameters", "auc")["iEC3, tuned"], by_dataset.max(axis=1)
    table = pd.DataFrame(
        {
            "worst": by_dataset.min(axis=1),
            "mean vote": vote,
            "the paper's setting": default,
            "tuned on validation": tuned,
            "best in hindsight": best,
        }
    )
    in_range = ", ".join(f"{name} {inside[name]:.0%} (grid {chance[name]:.0%})" for name in names)
    findings = [
        Finding(
            "Do good settings lie in the suggested ranges more often than others?",
            all(inside[name] > chance[name] for name in names),
            f"{in_range}.",
        ),
        Finding(
            "Do the weights matter?",
            bool((best - default).mean() > NOISE),
            f"the best setting is {(best - default).mean():.4f} AUC above the paper's on average, tuning on validation "
            f"gains {(tuned - default).mean():+.4f}; the paper's is {(default - vote).mean():+.4f} compared with the mean vote.",
        ),
    ]
    blocks = [
        Block("Settings in the top tenth by AUC, all data sets.", frame),
        Block("AUC of iEC3 on hard votes by setting.", ordered(table).rename_axis("dataset"), 4),
    ]
    return Exhibit("parameters", "The four weights (Figure 2)", blocks, findings)


def epsilon(rows: Frame) -> Exhibit:
    """Return what stopping the paper's loop early costs in AUC and saves in time."""
    last = f"{published.EPSILONS[-1]:.3f}"
    shares = {}
    for metric in ("auc", "seconds", "rounds"):
        own = means(rows, "epsilon", metric, columns="setting")
        shares[metric] = own.div(own[last], axis=0).mean()
    frame = pd.DataFrame(
        {
            "AUC": shares["auc"],
            "AUC, paper": {f"{tol:.3f}": share for tol, share in published.EPSILON_AUC.items()},
            "rounds": shares["rounds"],
            "seconds": shares["seconds"],
            "seconds, paper": {f"{tol:.3f}": share for tol, share in published.EPSILON_SECONDS.items()},
        }
    ).sort_index(ascending=False)
    block = Block("Relative to epsilon 0.005.", frame.rename_axis("epsilon"))
    return Exhibit("epsilon", "Epsilon (Figure 3)", [block])


# ---- which base models -----------------------------------------------------------------------------------------------


def drop_classifier(rows: Frame) -> Exhibit:
    """Return the AUC of iEC3 without each classifier, and the difference from the paper's."""
    ours = means(rows, "drop_classifier", "auc", columns="setting").T
    theirs = printed("drop_classifier_auc", "dropped")
    both = comparable(ours.columns)
    difference = (ours - theirs)[both].reindex(ours.index)
    blocks = [
        Block("AUC of iEC3.", ours.rename_axis("left out")),
        Block("Ours minus the paper's.", difference.rename_axis("left out")),
    ]
    return Exhibit("drop_classifier", "One classifier left out (Table 4)", blocks)


def _beside_printed(rows: Frame, experiment: str, theirs: Frame) -> Frame:
    """Return AUC and F by setting on the two data sets the paper prints, ours and its own, and our mean AUC on all."""
    columns = {}
    for name, (metric, head) in product(("creditcard", "waveform"), (("auc", "auc"), ("f", "fscore"))):
        own = means(rows, experiment, metric, columns="setting")
        if name in own.index:
            columns[f"{name} {metric}"] = own.loc[name]
        columns[f"{name} {metric}, paper"] = theirs[f"{name}_{head}"]
    return pd.DataFrame(columns).assign(**{"AUC, all data sets": means(rows, experiment, "auc", columns="setting").mean()})


def _steps(rows: Frame, experiment: str) -> Frame:
    """Return the scores by number of base models beside the printed ones."""
    theirs = pd.DataFrame(published.printed(experiment))
    theirs.index = [str(step) for step in range(1, len(theirs) + 1)]
    return _beside_printed(rows, experiment, theirs).sort_index().rename_axis("added")


def add_classifier(rows: Frame) -> Exhibit:
    """Return the AUC of iEC3 as classifiers are added."""
    frame = _steps(rows, "add_classifier")
    caption = "By number of classifiers, added in the order chosen on the validation set."
    return Exhibit("add_classifier", "Classifiers one by one (Table 5)", [Block(caption, frame)])


def clustering_nmi(rows: Frame) -> Exhibit:
    """Return how well clusterings match the classes, and the difference from the paper's."""
    ours = means(rows, "clustering_nmi", "nmi")
    theirs = printed("clustering_nmi")
    both = comparable(ours.index)
    names = list(published.CLUSTERINGS)
    difference = ours.loc[both, names] - theirs.loc[both]
    blocks = [
        Block("Normalised mutual information with the classes of the test set.", ours.rename_axis("dataset")),
        Block("Ours minus the paper's.", difference.rename_axis("dataset")),
    ]
    return Exhibit("clustering_nmi", "How well clusterings match the classes (Table 6)", blocks)


def drop_clustering(rows: Frame) -> Exhibit:
    """Return the scores of iEC3 without each clustering, and the paper's."""
    theirs = pd.DataFrame(published.printed("drop_clustering")).set_index("dropped")
    frame = _beside_printed(rows, "drop_clustering", theirs).reindex(theirs.index)
    block = Block("Scores of iEC3.", frame.rename_axis("left out"))
    return Exhibit("drop_clustering", "One clustering left out (Table 7)", [block])


def add_clustering(rows: Frame) -> Exhibit:
    """Return the AUC of iEC3 as clusterings are added."""
    frame = _steps(rows, "add_clustering")
    caption = "By number of clusterings (0: classifiers only), added in the order chosen on the validation set."
    return Exhibit("add_clustering", "Clusterings one by one (Table 8)", [Block(caption, frame)])


def drop_term(rows: Frame) -> Exhibit:
    """Return by how many percent AUC falls without each term of the objective, and the paper's figures."""
    own = means(rows, "drop_term", "auc", columns="setting", method="iEC3")
    ours = 100 * (1 - own.drop(columns="none").div(own["none"], axis=0))
    theirs = printed("drop_term_auc_percent")
    both = comparable(ours.index)
    frame = ours.join(theirs.loc[both].add_suffix(", paper"))
    caption = (
        "Percent of AUC that iEC3 loses without a term: J1 (objects and their groups), J2 (objects in the same groups), "
        "J3 (objects and their votes), J4 (groups and their votes)."
    )
    return Exhibit("drop_term", "One term left out (Table 9)", [Block(caption, frame.rename_axis("dataset"), 2)])


# ---- how iEC3 copes ---------------------------------------------------------------------------------------------------


# ---- robustness ------------------------------------------------------------------------------------------------------


def kept(rows: Frame, experiment: str, metric: str, setting: str, first: str) -> Frame:
    """Return the score in a setting as a share of that in the first one, data sets x methods."""
    own = rows[(rows["experiment"] == experiment)]
    return means(own[own["setting"] == setting], experiment, metric) / means(own[own["setting"] == first], experiment, metric)


def imbalance(rows: Frame) -> Exhibit:
    """Return the shares of AUC and of the F of one class that are kept with 30 % of the class removed."""
    last = f"{published.REMOVED[-1]:.2f}"
    auc, f = (kept(rows, "imbalance", metric, last, "0.00") for metric in ("auc", "f_touched"))
    frame = pd.concat({"AUC kept": auc.T, "F kept": f.T}, axis=1)
    frame.columns = [f"{head}, {name}" for head, name in frame.columns]
    for name in ("susy", "sensor"):
        frame[f"AUC kept, {name}, paper"] = pd.Series(published.IMBALANCE_AUC[name])
        frame[f"F kept, {name}, paper"] = pd.Series(published.IMBALANCE_F[name])
    caption = f"Share kept with 30 % of one class removed. The paper used Susy and Sensor, we used {' and '.join(auc.index)}."
    return Exhibit("imbalance", "Class imbalance (Figure 4)", [Block(caption, frame.rename_axis("method"))])


def _learned(question: str, guess: Frame, scatter: Frame, votes: str) -> Finding:
    own, beside = (found[f"iEC3, learned weights{votes}"] for found in (guess, scatter))
    return Finding(
        question,
        bool(own.mean() >= 0.995),
        f"{own.mean():.2%} on average, {own.min():.2%} at least ({own.idxmin()}); with random clusterings {beside.mean():.2%}.",
    )


def robustness(rows: Frame) -> Exhibit:
    """Return the share of AUC that is kept with 10 random base models added."""
    kinds = {"random_classifiers": "classifiers", "random_clusterings": "clusterings"}
    found = {word: kept(rows, name, "auc", "10", "0") for name, word in kinds.items()}
    frame = pd.concat(found, axis=1)
    frame.columns = [f"{method}, {word}" for word, method in frame.columns]
    frame = ordered(frame)
    frame.loc["mean"] = frame.mean()
    guess, scatter = found["classifiers"], found["clusterings"]
    findings = [
        _learned(
            "Do learned weights keep at least 99.5 % of AUC on average with 10 random classifiers?",
            guess,
            scatter,
            ", hard votes",
        ),
        _learned("Does this also hold if the real classifiers vote with probabilities?", guess, scatter, ""),
    ]
    caption = "Share of AUC kept with 10 random base models added."
    return Exhibit("robustness", "Random base models (Figures 5 and 6)", [Block(caption, frame.rename_axis("dataset"))], findings)


# ---- runtime ---------------------------------------------------------------------------------------------------------


def runtime(rows: Frame) -> Exhibit:
    """Return the seconds to combine a fifth of each data set, the paper's, and their ratio."""
    seconds = means(rows, "runtime", "seconds")
    objects = means(rows, "runtime", "n_objects")
    theirs = printed("runtime_seconds", "method").T
    names = {name: published.STAND_INS.get(name, name) for name in seconds.index if name != "sensor_sample"}
    frame = pd.DataFrame({"objects": objects[""].astype("Int64"), "objects of UPE": objects["UPE"].astype("Int64")})
    for method in ("BGCM", "UPE", "iEC3"):
        frame[method] = seconds[method].map("{:.3f}".format)
        frame[f"{method}, paper"] = pd.Series(
            {name: theirs[method].get(printed_name) for name, printed_name in names.items()}
        ).astype("Int64")
    ratio = frame["iEC3, paper"].astype(float) / seconds["iEC3"]
    frame["ratio, iEC3"] = ratio.map(lambda x: "" if np.isnan(x) else f"{x:,.0f}")
    frame = frame.loc[list(ordered(frame).index)].rename_axis("dataset")
    total = seconds["iEC3"][list(names)].sum()
    findings = [
        Finding(
            "Does the combination take seconds (the paper: up to 27,621 s per data set)?",
            bool(total < 60),
            f"{total:.2f} s for all {len(names)} data sets together, where the paper's took {frame['iEC3, paper'].sum():,} s; "
            f"the ratio is between {ratio.min():,.0f} and {ratio.max():,.0f}.",
        ),
    ]
    caption = (
        "Seconds to combine a fifth of all objects, given base outputs. The paper's machine is not known. sensor_3feat has the "
        "objects and classes of Sensor. UPE is run on at most 4,000 objects."
    )
    return Exhibit("runtime", "Runtime (Table 10)", [Block(caption, frame)], findings)


def like_for_like(rows: Frame) -> Exhibit:
    """Return the time of each method as published, on the same objects, and how it grows."""
    own = select(rows, "like_for_like", "seconds")
    by_size = own.assign(size=own["setting"].astype(int)).groupby(["dataset", "method", "size"], sort=False)["value"].mean()
    whole = {place: curve.droplevel([0, 1]).sort_index() for place, curve in by_size.groupby(level=[0, 1], sort=False)}
    found = {}
    for (name, method), curve in whole.items():
        line = linregress(curve.index, curve)
        found[name, method] = {
            "objects": int(curve.index.max()),
            "seconds": curve.iloc[-1],
            "times iEC3's": (curve / whole[name, "iEC3"]).dropna().iloc[-1],
            "ms per 1,000 objects more": 1e6 * line.slope,
            "R^2 of a line": line.rvalue**2,
            "slope on logarithmic axes": np.polyfit(np.log(curve.index), np.log(curve), 1)[0],
        }
    frame = pd.DataFrame(found).T.rename_axis(["dataset", "method"])
    frame = frame.reset_index().astype({"objects": int}).set_index("dataset")
    caption = (
        "Processor seconds at the largest size. The first three run as published, on the same objects, one row per object; UPE "
        "is our reconstruction, and takes minutes with more objects. *Exact* is what the library does: it merges equal rows and "
        "solves a linear system."
    )
    return Exhibit("like_for_like", "Runtime, like for like", [Block(caption, frame)])


def growth(rows: Frame) -> Exhibit:
    """Return how the runtime of iEC3 grows with objects, base models and classes."""
    found = {}
    for experiment, what in (("growth_objects", "objects"), ("growth_models", "base models"), ("growth_classes", "classes")):
        for method in ("iEC3", "iEC3, the paper's loop"):
            for name in sorted(set(rows[rows["experiment"] == experiment]["dataset"])):
                size, seconds = growth_curve(rows, experiment, name, method)
                slope = float(np.polyfit(np.log(size), np.log(seconds), 1)[0])
                found[name, what, method] = {
                    "from": size.min(),
                    "to": size.max(),
                    "ms, first": 1e3 * seconds[0],
                    "ms, last": 1e3 * seconds[-1],
                    "slope": slope,
                }
    frame = pd.DataFrame(found).T.rename_axis(["dataset", "grows", "method"]).reset_index()
    frame = frame.astype({"from": int, "to": int}).set_index("dataset")
    caption = "Milliseconds at the smallest and the largest size, and the slope on logarithmic axes."
    return Exhibit("growth", "How the runtime grows (Figure 7)", [Block(caption, frame, 2)])


def growth_curve(rows: Frame, experiment: str, name: str, method: str) -> tuple[Any, Any]:
    """Return sizes and seconds of a method on a data set, averaged over repeats, by increasing size."""
    own = rows[(rows["experiment"] == experiment) & (rows["dataset"] == name)]
    seconds = own[(own["metric"] == "seconds") & (own["method"] == method)].groupby("setting")["value"].mean()
    if experiment == "growth_objects":
        size = own[own["metric"] == "size"].groupby("setting")["value"].mean()
    else:
        size = seconds.index.to_series().astype(float)
    order = size.sort_values().index
    return size[order].to_numpy(), seconds[order].to_numpy()
