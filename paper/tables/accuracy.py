"""How accurate the methods are: the paper's 16 and ours, with many and few labels, with and without clusterings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .. import claims, published
from ..claims import LEVEL
from ..exhibits import (
    NOISE,
    Block,
    Exhibit,
    Finding,
    Frame,
    cells,
    difference,
    means,
    printed,
    rank_correlation,
)

LABELS = {
    "labels_5": "5 labels per class",
    "labels_20": "20 labels per class",
    "accuracy": "all labels",
}
WITH_CLUSTERINGS = ["iEC3", "iEC3, soft votes", "iEC3, learned weights"]
VOTES = ["majority vote", "soft vote"]
OURS = [*VOTES, "weighted vote", "Dawid-Skene", "C3E-SL", *WITH_CLUSTERINGS[1:]]
EVERY = [*published.METHODS, *OURS]


def with_usual_clusterings(rows: Frame) -> Frame:
    """Return the scores with the paper's clusterings, or with none for methods that use none."""
    return rows[
        ~(
            (rows["setting"] == "both")
            | ((rows["setting"] == "none") & rows["method"].isin(WITH_CLUSTERINGS))
        )
    ]


def scored_cells(rows: Frame, metric: str, experiment: str = "accuracy") -> Frame:
    """Return these scores by data set and split."""
    return cells(with_usual_clusterings(rows), experiment, metric)


def scored(
    rows: Frame, experiment: str, metric: str, methods: Sequence[str] = published.METHODS
) -> Frame:
    """Return the mean of these scores by data set."""
    return means(with_usual_clusterings(rows), experiment, metric)[list(methods)]


def accuracy(rows: Frame, metric: str = "auc") -> Exhibit:
    """Return the scores of the paper's 16 methods, and their difference from the paper's."""
    word, table = published.TABLES[metric]
    ours, sd = scored(rows, "accuracy", metric), scored_cells(rows, metric).groupby(level=0).std()
    shown = ours.map("{:.3f}".format) + sd.loc[ours.index, ours.columns].map(
        lambda x: "" if np.isnan(x) else f" ± {x:.3f}"
    )
    gap = difference(ours, printed(table)).T.assign(mean=lambda own: own.mean(axis=1))
    blocks = [
        Block(f"{word}, mean ± standard deviation over repeats.", shown.T.rename_axis("method")),
        Block(
            f"{word}, ours minus the paper's, on data sets the paper has.",
            gap.rename_axis("method"),
        ),
    ]
    finding = _votes_or_labels(rows) if metric == "auc" else _mass_rule(rows)
    return Exhibit(
        f"accuracy_{metric}",
        f"{word} of all methods (Table 3{'a' if metric == 'auc' else 'b'})",
        blocks,
        [finding],
    )


def _votes_or_labels(rows: Frame) -> Finding:
    every = scored(rows, "accuracy", "auc", EVERY).mean()
    gain = every - every["majority vote"]
    return Finding(
        "Does turning probabilities into labels before combining cost more than iEC3 gains?",
        bool(gain["soft vote"] > gain["iEC3"]),
        f"compared with the majority vote ({every['majority vote']:.4f}) iEC3 gains {gain['iEC3']:+.4f}, the mean of the "
        f"probabilities {gain['soft vote']:+.4f}, iEC3 on probabilities {gain['iEC3, soft votes']:+.4f}.",
    )


def _mass_rule(rows: Frame) -> Finding:
    vote, plain, mass = scored(
        rows, "accuracy", "f", ["majority vote", "iEC3", "iEC3, mass rule"]
    ).mean()
    return Finding(
        "Does smoothing cost iEC3 rare classes, and does the mass rule recover them?",
        bool(plain < vote and mass > plain),
        f"F of the majority vote {vote:.3f}, iEC3 {plain:.3f}, iEC3, mass rule {mass:.3f}.",
    )


def ranks(rows: Frame) -> Exhibit:
    """Return mean ranks by AUC and by F, the difference of iEC3 from each method with its interval, and paired tests."""
    blocks, findings = [], []
    for metric, (word, _) in published.TABLES.items():
        every = scored(rows, "accuracy", metric, EVERY).dropna()
        order, p = claims.mean_ranks(every), claims.friedman(every)
        frame = (
            order.rename("mean rank")
            .to_frame()
            .rename_axis("method")
            .assign(**{word: every.mean()})
        )
        blocks.append(
            Block(
                f"By {word}; Friedman's test: p = {p:.1g}.",
                frame.join(_differences(every, "iEC3")).fillna(""),
            )
        )
        cd = claims.critical_difference(len(order), len(every))
        behind = order.index[order - order.iloc[0] > cd]
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
    tests = claims.paired_tests(every, control)
    return pd.DataFrame(
        {
            f"{control} minus it": {
                name: claims.with_interval(every[control] - every[name]) for name in tests.index
            },
            "better/worse": tests["better"].astype(str) + "/" + tests["worse"].astype(str),
            "p (Wilcoxon, Holm)": tests["p"].map("{:.3f}".format),
        }
    )


def size(rows: Frame) -> Exhibit:
    """Return what more rows do to each method."""
    large = scored(rows, "accuracy_large", "auc", [*published.METHODS, *VOTES])
    own = rows[
        rows["dataset"].isin(large.index)
        & rows["seed"].isin(rows[rows["experiment"] == "accuracy_large"]["seed"])
    ]
    small = scored(own, "accuracy", "auc", large.columns)
    few, many = (means(own, name, "n_rows").iloc[:, 0] for name in ("accuracy", "accuracy_large"))
    frame = pd.DataFrame(
        {"few rows": small.mean(), "many rows": large.mean(), "gain": (large - small).mean()}
    )
    behind = {
        f"iEC3 minus the best baseline, {word} rows": table["iEC3"]
        - table[published.BASELINES].max(axis=1)
        for word, table in (("few", small), ("many", large))
    }
    caption = f"AUC with at most {few.max():,.0f} rows and with more of them, mean over {len(large)} data sets."
    distance = pd.DataFrame({"rows": many.astype(int), **behind}).rename_axis("dataset")
    blocks = [
        Block(caption, frame.rename_axis("method")),
        Block("The distance of iEC3 from the best of the 14 baselines.", distance),
    ]
    return Exhibit("size", "More rows", blocks)


# ---- few labels, and what clusterings add --------------------------------------------------------


def labels(rows: Frame) -> Exhibit:
    """Return the scores of all methods with 5, 20 and all labels, and what clusterings add to them."""
    blocks = []
    for metric, word in (("auc", "AUC"), ("f_macro", "F, averaged over classes")):
        frame = pd.DataFrame(
            {title: scored(rows, name, metric, EVERY).mean() for name, title in LABELS.items()}
        )
        caption = f"{word}; mean over data sets. Combiners use the paper's five clusterings."
        blocks.append(Block(caption, frame.rename_axis("method")))
    added = {
        method: {
            f"{title}: {setting}": mean
            for name, title in LABELS.items()
            for setting, mean in by_clusterings(rows, name, method).mean().items()
        }
        for method in WITH_CLUSTERINGS
    }
    caption = (
        "AUC without clusterings, with the paper's five, and with six more of the default pool."
    )
    blocks.append(Block(caption, pd.DataFrame(added).T.rename_axis("method")))
    findings = [_do_clusterings_help(rows, name, title) for name, title in LABELS.items()]
    return Exhibit("labels", "Few labels, and what clusterings add", blocks, findings)


def by_clusterings(rows: Frame, experiment: str, method: str) -> Frame:
    """Return the AUC of a method without clusterings, with the paper's, and with all, one row per data set."""
    return means(rows, experiment, "auc", columns="setting", method=method)[
        ["none", "paper", "both"]
    ]


def gain(rows: Frame, experiment: str, method: str) -> Frame:
    """Return what the paper's clusterings ("paper") and all ("both") add to a method, one row per data set."""
    own = by_clusterings(rows, experiment, method)
    return own[["paper", "both"]].sub(own["none"], axis=0)


def _do_clusterings_help(rows: Frame, experiment: str, title: str) -> Finding:
    """Return whether all eleven clusterings help the method that uses them best; judged as the paper's claims are."""
    gains = {method: gain(rows, experiment, method)["both"] for method in WITH_CLUSTERINGS}
    added = "; ".join(
        f"{method} {own.mean():+.4f} ({int((own > 0).sum())} of {len(own)})"
        for method, own in gains.items()
    )
    found = claims.judge(gain_by_split(rows, experiment))
    return Finding(
        f"Do clusterings help with {title}?",
        found.answer,
        f"mean gain in AUC from all eleven (data sets with a gain): {added}. For the last of them the interval is "
        f"[{found.low:+.4f}, {found.high:+.4f}].",
    )


def gain_by_split(rows: Frame, experiment: str) -> Frame:
    """Return what all clusterings add to iEC3 with learned weights, by data set and split."""
    auc = cells(rows, experiment, "auc", columns="setting", method=WITH_CLUSTERINGS[-1])
    return auc["both"] - auc["none"]


def where(rows: Frame) -> Exhibit:
    """Return what clusterings add to iEC3 with learned weights on each data set, and how well they match the classes."""
    method, nmi = WITH_CLUSTERINGS[-1], means(rows, "clustering_nmi", "nmi")
    frame = pd.DataFrame(
        {title: gain(rows, name, method)["both"] for name, title in LABELS.items()}
    ).assign(
        **{
            "AUC without, 5 labels": by_clusterings(rows, "labels_5", method)["none"],
            "best NMI": nmi.max(axis=1),
            "its clustering": nmi.idxmax(axis=1),
        }
    )
    few = LABELS["labels_5"]
    related = rank_correlation(frame[few], frame["best NMI"])
    helped, hurt = frame.index[frame[few] > NOISE], frame.index[frame[few] < -NOISE]
    finding = Finding(
        "Do clusterings help where they match the classes?",
        bool(related > 0.5),
        f"with {few} they help on {', '.join(helped) or 'none'} and hurt on {', '.join(hurt) or 'none'} "
        f"(by more than {NOISE}); rank correlation of gain and best NMI {related:.2f}.",
    )
    caption = (
        "Gain in AUC from all eleven clusterings, for iEC3 with soft votes and learned weights."
    )
    return Exhibit(
        "where",
        "Where do clusterings help?",
        [Block(caption, frame.rename_axis("dataset"))],
        [finding],
    )
