"""Do clusterings pay: as they are, tuned, and as good as one likes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .. import published
from ..claims import LEVEL, by_unit, interval, judge, overall, signed_rank_p, with_interval
from ..exhibits import Block, Exhibit, Finding, Frame, cells, comparable, has, printed
from ..protocol import Protocol

WAYS = {
    "none": "not tuned",
    "silhouette": "by the silhouette",
    "NMI": "by labels of the validation set",
}
LABELS = {"5": "5 labels per class", "20": "20 labels per class", "all": "all labels"}
METHODS = ("iEC3", "iEC3, learned weights")
KINDS = ("independent", "same")


# ---- tuned ---------------------------------------------------------------------------------------


def tuned(rows: Frame) -> Exhibit:
    """Return how well tuned clusterings match the classes, and what they add to iEC3."""
    nmi = by_unit(cells(rows, "tuned_clusterings", "nmi", columns=["setting", "method"]))
    both = comparable(nmi.index)
    frame = pd.DataFrame({title: nmi.loc[both, way].mean() for way, title in WAYS.items()})
    frame["paper"] = printed("clustering_nmi").loc[both].mean()
    frame = frame.reindex(published.CLUSTERINGS)
    frame.loc["mean"] = frame.mean()
    gains = tuned_gains(rows)
    table = pd.DataFrame(
        {
            title: {m: with_interval(gains[m, way], 4) for m in METHODS}
            for way, title in WAYS.items()
        }
    )
    caption = (
        "Normalised mutual information with the classes of the test set, on data sets that the paper has. Tuned clusterings "
        f"cluster all rows; affinity propagation alone clusters {Protocol.n_landmarks:,} landmarks, tuned or not."
    )
    blocks = [
        Block(caption, frame.rename_axis("clustering")),
        Block(
            "AUC that the five clusterings add to a method without any, with its interval.",
            table.rename_axis("method"),
        ),
    ]
    lifted = gains["iEC3", "NMI"] - gains["iEC3", "none"]
    mean = frame.loc["mean"]
    finding = Finding(
        "Do tuned clusterings help iEC3 more than those that are not tuned?",
        judge(lifted).answer,
        f"tuned by labels they add {with_interval(lifted, 4)} more AUC; their mean NMI rises from {mean[WAYS['none']]:.3f} to "
        f"{mean[WAYS['NMI']]:.3f} (printed: {mean['paper']:.3f}).",
    )
    return Exhibit("tuned", "Clusterings that are tuned", blocks, [finding])


def tuned_nmi(rows: Frame, way: str) -> Any:
    """Return the mean match of the clusterings with the classes by data set and split, for a way to tune them."""
    return cells(rows, "tuned_clusterings", "nmi", columns=["setting", "method"])[way].mean(axis=1)


def tuned_gains(rows: Frame) -> dict[tuple[str, str], Any]:
    """Return what the clusterings add to each method by data set and split, for each way to tune them."""
    found: dict[tuple[str, str], Any] = {}
    for method in METHODS:
        auc = cells(rows, "tuned_clusterings", "auc", columns="setting", method=method)
        without = cells(rows, "accuracy", "auc", columns="setting", method=method)["none"]
        found |= {(method, way): (auc[way] - without).dropna() for way in WAYS}
    return found


# ---- as good as one likes ------------------------------------------------------------------------


def curve(rows: Frame, labels: str, kind: str, method: str, against: str = "none") -> Frame:
    """Return what noisy copies of the classes add, by level: mean gain in AUC, its interval, and their match with the classes.

    `against` is "none" for the same method without clusterings, or the name of a rival.
    """
    auc = cells(rows, "noisy_truth", "auc", columns=["setting", "method"])
    nmi = cells(rows, "noisy_truth", "nmi", columns="setting")
    rival = auc[f"{labels} none", method] if against == "none" else auc[labels, against]
    found = {}
    for name in sorted(name for name in nmi.columns if name.startswith(f"{labels} {kind} ")):
        gain = auc[name, method] - rival
        mean, (low, high) = by_unit(gain), interval(gain)
        found[name.rsplit(" ", 1)[1]] = {
            "NMI": nmi[name].mean(),
            "gain": mean.mean(),
            "low": low,
            "high": high,
            "p": signed_rank_p(mean),
            "ahead": f"{int((mean > 0).sum())} of {len(mean)}",
            "shown": with_interval(gain),
        }
    return pd.DataFrame.from_dict(found, orient="index")


def begins_to_pay(found: Frame) -> str | None:
    """Return the lowest level from which on the gain stays above 0 and significant (Wilcoxon over data sets), or None."""
    pays = ((found["gain"] > 0) & (found["p"] < LEVEL)).to_numpy()
    if not pays[-1]:
        return None
    return str(found.index[int(np.argmax(np.logical_and.accumulate(pays[::-1])[::-1]))])


def quality(rows: Frame) -> Exhibit:
    """Return how good clusterings must be to pay, by number of labels."""
    every = {
        (m, labels, kind): curve(rows, labels, kind, m)
        for m in METHODS
        for labels in LABELS
        for kind in KINDS
    }
    starts, beyond = pd.DataFrame(), pd.DataFrame()
    for (method, labels, kind), found in every.items():
        starts.loc[LABELS[labels], f"{method}, {kind}"] = begins_to_pay(found) or "never"
    for labels in LABELS:
        for rival in ("best classifier", "soft vote"):
            found = curve(rows, labels, "independent", "iEC3", rival)
            beyond.loc[LABELS[labels], rival] = begins_to_pay(found) or "never"
    blocks = [
        Block(
            "The NMI from which on clusterings add AUC on most data sets (Wilcoxon, p < 5 %).",
            starts.rename_axis("labels"),
        ),
        Block(
            "The NMI from which on iEC3 with independent copies beats two rivals without clusterings on most data sets "
            "(Wilcoxon, p < 5 %).",
            beyond.rename_axis("labels"),
        ),
    ]
    for method in METHODS:
        frame = pd.DataFrame(
            {
                f"{LABELS[labels]}, {k}": own["shown"]
                for (m, labels, k), own in every.items()
                if m == method
            }
        )
        caption = f"AUC that five noisy copies of the classes add to {method}, with its interval."
        blocks.append(Block(caption, frame.rename_axis("NMI of each copy")))
    findings = [_printed_quality(rows)]
    if has(rows, "tuned_clusterings", "accuracy"):
        findings.append(real_and_noisy(rows))
    return Exhibit("quality", "How good must clusterings be?", blocks, findings)


def as_printed(rows: Frame, against: str) -> tuple[float, str, Any]:
    """Return the printed NMI, the level of noisy copies nearest to it, and what these add with all labels (see `curve`)."""
    theirs = printed("clustering_nmi").drop(index="Average").to_numpy().mean()
    found = curve(rows, "all", "independent", "iEC3", against)
    level = min(found.index, key=lambda name: abs(float(name) - theirs))
    return theirs, level, found.loc[level]


def _printed_quality(rows: Frame) -> Finding:
    """Return what clusterings as good as the printed ones would add, as the nearest level tells."""
    theirs, level, own = as_printed(rows, "none")
    *_, best = as_printed(rows, "best classifier")
    return Finding(
        "Would clusterings as good as the printed ones make iEC3 better than the best classifier?",
        bool(best["gain"] > 0) if best["p"] < LEVEL else None,
        f"the printed NMI is {theirs:.2f} on average. Five independent copies with {float(level):.2f} each add "
        f"{own['gain']:+.3f} AUC with all labels and are ahead of the best classifier on {best['ahead']} data sets (mean "
        f"{best['gain']:+.3f}).",
    )


def real_and_noisy(rows: Frame) -> Finding:
    """Return whether real clusterings add as much as noisy copies of the classes that match them as well."""
    nmi = tuned_nmi(rows, "NMI")
    auc = cells(rows, "noisy_truth", "auc", columns=["setting", "method"])
    levels = cells(rows, "noisy_truth", "nmi", columns="setting")
    settings = sorted(name for name in levels if name.startswith("all independent "))
    gains = auc.xs("iEC3", axis=1, level=1)[settings].sub(auc["all none", "iEC3"], axis=0)
    real = tuned_gains(rows)["iEC3", "NMI"]
    both = real.index.intersection(gains.index)
    noisy = pd.Series(
        {
            place: np.interp(nmi[place], levels.loc[place, settings], gains.loc[place])
            for place in both
        }
    )
    short = noisy - real[both]
    mean = by_unit(short)
    p = signed_rank_p(mean)
    return Finding(
        "Do real clusterings add as much as noisy copies of the classes with the same NMI?",
        bool(mean.mean() < 0) if p < LEVEL else None,
        f"tuned clusterings add {overall(real[both]):+.4f} AUC with all labels, copies that match as well and err independently "
        f"{overall(noisy):+.4f}: a difference of {with_interval(short, 4)}, on {int((mean > 0).sum())} of {len(mean)} data sets "
        f"in favour of the copies (Wilcoxon p = {p:.2g}). Real clusterings see the features that the classifiers see, so that "
        "they are likely to err where these err.",
    )


def real_points(rows: Frame, way: str) -> Frame:
    """Return the mean match and the gain of our clusterings, tuned in a way, on each data set: for the figure."""
    return pd.DataFrame(
        {"NMI": by_unit(tuned_nmi(rows, way)), "gain": by_unit(tuned_gains(rows)["iEC3", way])}
    )
