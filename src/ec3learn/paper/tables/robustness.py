"""How iEC3 copes with imbalanced classes, random base models and growing tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import linregress

from .. import published
from ..exhibits import Block, Exhibit, Finding, Frame, means, ordered, printed, select

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
