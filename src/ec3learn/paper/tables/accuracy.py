"""How accurate the methods are: the paper's 16 and ours, with many and few labels, with and without clusterings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from .. import published
from ..claims import FAILS, HOLDS, LEVEL, critical_difference, friedman, interval, judge, mean_ranks, paired_tests
from ..exhibits import (
    NOISE,
    Block,
    Exhibit,
    Finding,
    Frame,
    cells,
    comparable,
    means,
    numbers,
    ordered,
    printed,
    rank_correlation,
)

LABELS = {"labels_5": "5 labels per class", "labels_20": "20 labels per class", "accuracy": "all labels"}
WITH_CLUSTERINGS = ("iEC3", "iEC3, soft votes", "iEC3, learned weights")
VOTES = ("majority vote", "soft vote")
OURS = (*VOTES, "weighted vote", "Dawid-Skene", "C3E-SL", *WITH_CLUSTERINGS[1:])


def accuracy(rows: Frame, metric: str = "auc") -> Exhibit:
    """Return the scores of the paper's 16 methods, and their difference from the paper's."""
    word = {"auc": "AUC", "f": "F"}[metric]
    ours, sd = scored(rows, "accuracy", metric), scored(rows, "accuracy", metric, how="std")
    theirs = printed({"auc": "accuracy_auc", "f": "accuracy_fscore"}[metric])
    shown = ours.map("{:.3f}".format) + sd.map(lambda x: "" if np.isnan(x) else f" ± {x:.3f}")
    both = comparable(ours.index)
    difference = (ours.loc[both] - theirs.loc[both, list(ours.columns)]).T
    difference["mean"] = difference.mean(axis=1)
    blocks = [
        Block(f"{word}, mean ± standard deviation over repeats.", shown.T.rename_axis("method")),
        Block(f"{word}, ours minus the paper's, on data sets the paper has.", difference.rename_axis("method")),
    ]
    finding = _votes_or_labels(rows) if metric == "auc" else _mass_rule(rows)
    return Exhibit(f"accuracy_{metric}", f"{word} of all methods (Table 3{'a' if metric == 'auc' else 'b'})", blocks, [finding])


def _votes_or_labels(rows: Frame) -> Finding:
    every = scored(rows, "accuracy", "auc", (*published.METHODS, *OURS)).mean()
    lost = every["soft vote"] - every["majority vote"]
    won = every["iEC3"] - every["majority vote"]
    return Finding(
        "Does turning probabilities into labels before combining cost more than iEC3 gains?",
        bool(lost > won),
        f"compared with the majority vote ({every['majority vote']:.4f}) iEC3 gains {won:+.4f}, the mean of the probabilities "
        f"{lost:+.4f}, iEC3 on probabilities {every['iEC3, soft votes'] - every['majority vote']:+.4f}.",
    )


def _mass_rule(rows: Frame) -> Finding:
    every = scored(rows, "accuracy", "f", ("majority vote", "iEC3", "iEC3, mass rule")).mean()
    return Finding(
        "Does smoothing cost iEC3 rare classes, and does the mass rule recover them?",
        bool(every["iEC3"] < every["majority vote"] and every["iEC3, mass rule"] > every["iEC3"]),
        f"F of the {numbers(every)}.",
    )


def scored(rows: Frame, experiment: str, metric: str, methods: Sequence[str] = published.METHODS, how: str = "mean") -> Frame:
    """Return `means` of some methods with the paper's clusterings; without any for methods that use none."""
    found = means(with_usual_clusterings(rows), experiment, metric, how=how)
    return found[[name for name in methods if name in found.columns]]


def with_usual_clusterings(rows: Frame) -> Frame:
    """Return the scores with the paper's clusterings, or with none for methods that use none."""
    return rows[~((rows["setting"] == "both") | ((rows["setting"] == "none") & rows["method"].isin(WITH_CLUSTERINGS)))]


def ranks(rows: Frame) -> Exhibit:
    """Return mean ranks by AUC and by F, the difference of iEC3 from each method with its interval, and paired tests."""
    blocks, findings = [], []
    for metric, word in (("auc", "AUC"), ("f", "F")):
        every = scored(rows, "accuracy", metric, (*published.METHODS, *OURS)).dropna()
        order = mean_ranks(every)
        p = friedman(every)
        frame = order.rename("mean rank").to_frame().rename_axis("method").assign(**{word: every.mean()})
        blocks.append(Block(f"By {word}; Friedman's test: p = {p:.1g}.", frame.join(_differences(every, "iEC3"))))
        cd = critical_difference(len(order), len(every))
        behind = [name for name in order.index if order[name] - order.iloc[0] > cd]
        findings.append(
            Finding(
                f"Does any method stand out by {word}?",
                p < LEVEL,
                f"Friedman's test of no difference has p = {p:.1g}. {order.index[0]} has the best mean rank "
                f"({order.iloc[0]:.2f}), iEC3 {order['iEC3']:.2f}; worse by more than the critical difference of {cd:.2f}: "
                f"{', '.join(behind) or 'none'}.",
            )
        )
    return Exhibit("ranks", "Mean ranks, differences and tests", blocks, findings)


def _differences(every: Frame, control: str) -> Frame:
    """Return how much better a method is than each other: mean with its interval over data sets, wins, and Holm's p."""
    tests = paired_tests(every, control)
    found = {}
    for name in tests.index:
        gain = every[control] - every[name]
        low, high = interval(pd.concat({0: gain}).swaplevel())
        found[name] = {
            f"{control} minus it": f"{gain.mean():+.3f} [{low:+.3f}, {high:+.3f}]",
            "better/worse": f"{tests.better[name]}/{tests.worse[name]}",
            "p (Wilcoxon, Holm)": f"{tests.p[name]:.3f}",
        }
    return pd.DataFrame.from_dict(found, orient="index").reindex([*every.columns]).fillna("")


def size(rows: Frame) -> Exhibit:
    """Return what more rows do to each method."""
    large = scored(rows, "accuracy_large", "auc", (*published.METHODS, *VOTES))
    own = rows[rows["dataset"].isin(large.index) & rows["seed"].isin(rows[rows["experiment"] == "accuracy_large"]["seed"])]
    small = scored(own, "accuracy", "auc", (*published.METHODS, *VOTES)).loc[large.index]
    n_rows = {word: means(own, name, "n_rows").iloc[:, 0] for word, name in (("few", "accuracy"), ("many", "accuracy_large"))}
    frame = pd.DataFrame({"few rows": small.mean(), "many rows": large.mean(), "gain": (large - small).mean()}).rename_axis(
        "method"
    )
    behind = pd.DataFrame(
        {
            "rows": n_rows["many"].astype(int),
            "iEC3 minus the best baseline, few rows": small["iEC3"] - small[list(published.METHODS[:14])].max(axis=1),
            "iEC3 minus the best baseline, many rows": large["iEC3"] - large[list(published.METHODS[:14])].max(axis=1),
        }
    ).rename_axis("dataset")
    most = int(n_rows["few"].max())
    blocks = [
        Block(f"AUC with at most {most:,} rows and with more of them, mean over {len(large)} data sets.", frame),
        Block("The distance of iEC3 from the best of the 14 baselines.", behind),
    ]
    return Exhibit("size", "More rows", blocks)


# ---- few labels, and what clusterings add ----------------------------------------------------------------------------


def labels(rows: Frame) -> Exhibit:
    """Return the scores of all methods with 5, 20 and all labels, and what clusterings add to them."""
    present = {name: title for name, title in LABELS.items() if (rows["experiment"] == name).any()}
    blocks = []
    for metric, word in (("auc", "AUC"), ("f_macro", "F, averaged over classes")):
        every = {title: scored(rows, name, metric, (*published.METHODS, *OURS)).mean() for name, title in present.items()}
        frame = pd.DataFrame(every).rename_axis("method")
        blocks.append(Block(f"{word}; mean over data sets. Combiners use the paper's five clusterings.", frame.astype(float)))
    caption = "AUC without clusterings, with the paper's five, and with six more of the default pool."
    blocks.append(Block(caption, _clusterings(rows, present)))
    findings = [_do_clusterings_help(rows, name, title) for name, title in present.items()]
    return Exhibit("labels", "Few labels, and what clusterings add", blocks, findings)


def _do_clusterings_help(rows: Frame, experiment: str, title: str) -> Finding:
    """Return whether all eleven clusterings help the method that uses them best; judged as the paper's claims are."""
    gains = {method: gain(rows, experiment, method)["both"] for method in WITH_CLUSTERINGS}
    added = "; ".join(f"{method} {own.mean():+.4f} ({int((own > 0).sum())} of {len(own)})" for method, own in gains.items())
    auc = cells(rows, experiment, "auc", columns="setting", method=WITH_CLUSTERINGS[-1])
    found = judge(auc["both"] - auc["none"])
    return Finding(
        f"Do clusterings help with {title}?",
        {HOLDS: True, FAILS: False}.get(found.verdict),
        f"mean gain in AUC from all eleven (data sets with a gain): {added}. For the last of them the interval is "
        f"[{found.low:+.4f}, {found.high:+.4f}].",
    )


def _clusterings(rows: Frame, present: dict[str, str]) -> Frame:
    found: dict[tuple[str, str], Any] = {}
    for name, title in present.items():
        own = rows[(rows["experiment"] == name) & (rows["metric"] == "auc") & rows["method"].isin(WITH_CLUSTERINGS)]
        by_dataset = own.groupby(["method", "setting", "dataset"])["value"].mean()
        table = by_dataset.groupby(level=["method", "setting"]).mean().unstack("setting")
        found |= {(title, setting): table[setting] for setting in ("none", "paper", "both") if setting in table}
    frame = pd.DataFrame(found).reindex(WITH_CLUSTERINGS)
    frame.columns = [f"{title}: {setting}" for title, setting in frame.columns]
    return frame.rename_axis("method")


def gain(rows: Frame, experiment: str, method: str) -> Frame:
    """Return what the paper's clusterings ("paper") and all ("both") add to a method, one row per data set."""
    own = means(rows, experiment, "auc", columns="setting", method=method)
    return own[["paper", "both"]].sub(own["none"], axis=0)


def where(rows: Frame) -> Exhibit:
    """Return what clusterings add to iEC3 with learned weights on each data set, and how well they match the classes."""
    present = {name: title for name, title in LABELS.items() if (rows["experiment"] == name).any()}
    gains = {title: gain(rows, name, "iEC3, learned weights")["both"] for name, title in present.items()}
    frame = pd.DataFrame(gains)
    nmi = means(rows, "clustering_nmi", "nmi")
    without = means(rows, "labels_5", "auc", columns="setting", method="iEC3, learned weights")
    frame["AUC without, 5 labels"] = without.get("none", np.nan)
    frame["best NMI"] = nmi.max(axis=1)
    frame["its clustering"] = nmi.idxmax(axis=1)
    frame = ordered(frame).rename_axis("dataset")
    few = next(iter(gains))
    related = rank_correlation(frame[few], frame["best NMI"])
    helped = [name for name in frame.index if frame[few][name] > NOISE]
    hurt = [name for name in frame.index if frame[few][name] < -NOISE]
    finding = Finding(
        "Do clusterings help where they match the classes?",
        bool(related > 0.5),
        f"with {few} they help on {', '.join(helped) or 'none'} and hurt on {', '.join(hurt) or 'none'} "
        f"(by more than {NOISE}); rank correlation of gain and best NMI {related:.2f}.",
    )
    caption = "Gain in AUC from all eleven clusterings, for iEC3 with soft votes and learned weights."
    return Exhibit("where", "Where do clusterings help?", [Block(caption, frame)], [finding])
