"""Do clusterings pay: as they are, tuned, and as good as one likes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from .. import published
from ..claims import LEVEL, interval
from ..exhibits import Block, Exhibit, Finding, Frame, cells, comparable, printed

WAYS = {"none": "not tuned", "silhouette": "by the silhouette", "NMI": "by labels of the validation set"}
LABELS = {"5": "5 labels per class", "20": "20 labels per class", "all": "all labels"}
METHODS = ("iEC3", "iEC3, learned weights")
KINDS = ("independent", "same")


# ---- tuned -----------------------------------------------------------------------------------------------------------


def tuned(rows: Frame) -> Exhibit:
    """Return how well tuned clusterings match the classes, and what they add to iEC3."""
    nmi = cells(rows, "tuned_clusterings", "nmi", columns=["setting", "method"])
    by_set = nmi.groupby(level=0, sort=False).mean()
    both = comparable(by_set.index)
    frame = pd.DataFrame({title: by_set.loc[both, way].mean() for way, title in WAYS.items()})
    frame["paper"] = printed("clustering_nmi").loc[both].mean()
    frame = frame.reindex(published.CLUSTERINGS)
    frame.loc["mean"] = frame.mean()
    gains = tuned_gains(rows)
    table = pd.DataFrame({title: {m: _with_interval(gains[m, way]) for m in METHODS} for way, title in WAYS.items()})
    blocks = [
        Block(
            "Normalised mutual information with the classes of the test set, on data sets that the paper has.",
            frame.rename_axis("clustering"),
        ),
        Block("AUC that the five clusterings add to a method without any, with its interval.", table.rename_axis("method")),
    ]
    lifted = gains["iEC3", "NMI"] - gains["iEC3", "none"]
    low, high = interval(lifted)
    finding = Finding(
        "Do tuned clusterings help iEC3 more than those that are not tuned?",
        True if low > 0 else False if high < 0 else None,
        f"tuned by labels they add {_with_interval(lifted)} AUC; their mean NMI rises from "
        f"{frame.loc['mean', WAYS['none']]:.3f} to {frame.loc['mean', WAYS['NMI']]:.3f} (printed: "
        f"{frame.loc['mean', 'paper']:.3f}).",
    )
    return Exhibit("tuned", "Clusterings that are tuned", blocks, [finding])


def tuned_gains(rows: Frame) -> dict[tuple[str, str], Any]:
    """Return what the clusterings add to each method by data set and split, for each way to tune them."""
    found = {}
    for method in METHODS:
        auc = cells(rows, "tuned_clusterings", "auc", columns="setting", method=method)
        without = cells(rows, "accuracy", "auc", columns="setting", method=method)["none"]
        for way in WAYS:
            found[method, way] = (auc[way] - without).dropna()
    return found


def _with_interval(effect: Any) -> str:
    low, high = interval(effect)
    return f"{effect.groupby(level=0).mean().mean():+.4f} [{low:+.4f}, {high:+.4f}]"


# ---- as good as one likes --------------------------------------------------------------------------------------------


def curve(rows: Frame, labels: str, kind: str, method: str, against: str = "none") -> Frame:
    """Return what noisy copies of the classes add, by level: mean gain in AUC, its interval, and their match with the classes.

    `against` is "none" for the same method without clusterings, or the name of a rival.
    """
    auc = cells(rows, "noisy_truth", "auc", columns=["setting", "method"])
    nmi = cells(rows, "noisy_truth", "nmi", columns="setting")
    rival = auc[f"{labels} none", method] if against == "none" else auc[labels, against]
    settings = sorted(name for name in nmi.columns if name.startswith(f"{labels} {kind} "))
    found = {}
    for name in settings:
        gain = auc[name, method] - rival
        low, high = interval(gain)
        mean = gain.groupby(level=0).mean()
        found[name.rsplit(" ", 1)[1]] = {
            "NMI": nmi[name].mean(),
            "gain": mean.mean(),
            "low": low,
            "high": high,
            "p": _p(mean),
            "ahead": f"{int((mean > 0).sum())} of {len(mean)}",
        }
    return pd.DataFrame(found).T


def _p(gains: Any) -> float:
    """Return the p-value of Wilcoxon's test over data sets: a few large gains, as on Titanic, do not decide it."""
    return float(wilcoxon(gains).pvalue) if len(gains) > 1 and np.any(gains) else 1.0


def begins_to_pay(found: Frame) -> str | None:
    """Return the lowest level from which on the gain stays above 0 and significant (Wilcoxon over data sets), or None."""
    pays = ((found["gain"].astype(float) > 0) & (found["p"].astype(float) < LEVEL)).to_numpy()
    if not pays[-1]:
        return None
    return str(found.index[int(np.argmax(np.logical_and.accumulate(pays[::-1])[::-1]))])


def quality(rows: Frame) -> Exhibit:
    """Return how good clusterings must be to pay, by number of labels."""
    present = [name for name in LABELS if rows["setting"].eq(f"{name} none").any()]
    blocks = []
    for method in METHODS:
        columns: dict[str, Any] = {}
        for labels in present:
            for kind in KINDS:
                own = curve(rows, labels, kind, method)
                columns[f"{LABELS[labels]}, {kind}"] = [
                    f"{g:+.3f} [{a:+.3f}, {b:+.3f}]" for g, a, b in zip(own.gain, own.low, own.high, strict=True)
                ]
        frame = pd.DataFrame(columns, index=own.index).rename_axis("NMI of each copy")
        blocks.append(Block(f"AUC that five noisy copies of the classes add to {method}, with its interval.", frame))
    starts = pd.DataFrame(
        {
            f"{method}, {kind}": {
                LABELS[labels]: begins_to_pay(curve(rows, labels, kind, method)) or "never" for labels in present
            }
            for method in METHODS
            for kind in KINDS
        }
    ).rename_axis("labels")
    blocks.insert(0, Block("The NMI from which on clusterings add AUC on most data sets (Wilcoxon, p < 5 %).", starts))
    against = {
        rival: {LABELS[labels]: begins_to_pay(curve(rows, labels, "independent", "iEC3", rival)) or "never" for labels in present}
        for rival in ("best classifier", "soft vote")
    }
    table = pd.DataFrame(against).rename_axis("labels")
    blocks.insert(
        1,
        Block(
            "The NMI from which on iEC3 with independent copies beats two rivals without clusterings on most data sets "
            "(Wilcoxon, p < 5 %).",
            table,
        ),
    )
    findings = [_printed_quality(rows, present)]
    if {"tuned_clusterings", "accuracy"} <= set(rows["experiment"]) and "all" in present:
        findings.append(_real_and_noisy(rows))
    return Exhibit("quality", "How good must clusterings be?", blocks, findings)


def _printed_quality(rows: Frame, present: list[str]) -> Finding:
    """Return what clusterings as good as the printed ones would add, as the nearest level tells."""
    theirs = printed("clustering_nmi").drop(index="Average").loc[:, list(published.CLUSTERINGS)].to_numpy().mean()
    labels = present[-1]
    own, best = (curve(rows, labels, "independent", "iEC3", against) for against in ("none", "best classifier"))
    level = min(own.index, key=lambda name: abs(float(name) - theirs))
    return Finding(
        "Would clusterings as good as the printed ones make iEC3 better than the best classifier?",
        bool(best.loc[level, "gain"] > 0) if best.loc[level, "p"] < LEVEL else None,
        f"the printed NMI is {theirs:.2f} on average. Five independent copies with {float(level):.2f} each add "
        f"{own.loc[level, 'gain']:+.3f} AUC with {LABELS[labels]} and are ahead of the best classifier on "
        f"{best.loc[level, 'ahead']} data sets (mean {best.loc[level, 'gain']:+.3f}).",
    )


def _real_and_noisy(rows: Frame) -> Finding:
    """Return whether real clusterings add as much as noisy copies of the classes that match them as well."""
    nmi = cells(rows, "tuned_clusterings", "nmi", columns=["setting", "method"])["NMI"].mean(axis=1)
    auc = cells(rows, "noisy_truth", "auc", columns=["setting", "method"])
    levels = cells(rows, "noisy_truth", "nmi", columns="setting")
    settings = sorted(name for name in levels if name.startswith("all independent "))
    gains = auc.xs("iEC3", axis=1, level=1)[settings].sub(auc["all none", "iEC3"], axis=0)
    real = tuned_gains(rows)["iEC3", "NMI"]
    both = real.index.intersection(gains.index)
    noisy = pd.Series({place: np.interp(nmi[place], levels.loc[place, settings], gains.loc[place]) for place in both})
    short = noisy - real[both]
    mean, p = short.groupby(level=0).mean(), _p(short.groupby(level=0).mean())
    return Finding(
        "Do real clusterings add as much as noisy copies of the classes with the same NMI?",
        bool(mean.mean() < 0) if p < LEVEL else None,
        f"tuned clusterings add {real[both].groupby(level=0).mean().mean():+.4f} AUC with all labels, copies that match as well "
        f"and err independently {noisy.groupby(level=0).mean().mean():+.4f}: a difference of {_with_interval(short)}, on "
        f"{int((mean > 0).sum())} of {len(mean)} data sets in favour of the copies (Wilcoxon p = {p:.2g}). Real clusterings see "
        "the features that the classifiers see, so that they are likely to err where these err.",
    )


def real_points(rows: Frame) -> Frame:
    """Return the mean match and the gain of our clusterings on each data set, tuned by labels or not: for the figure."""
    nmi = cells(rows, "tuned_clusterings", "nmi", columns=["setting", "method"])
    gains = tuned_gains(rows)
    found = [
        (way, name, nmi[way].mean(axis=1).groupby(level=0).mean()[name], gain)
        for way in ("none", "NMI")
        for name, gain in gains["iEC3", way].groupby(level=0).mean().items()
    ]
    return pd.DataFrame(found, columns=["way", "dataset", "NMI", "gain"])
