"""How accurate the methods are: the paper's 16 and ours, with many and few labels, with and without clusterings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import published
from ..exhibits import NOISE, Block, Exhibit, Finding, Frame, comparable, means, numbers, ordered, printed, rank_correlation
from ..ranks import LEVEL, critical_difference, mean_ranks, paired_tests

LABELS = {"labels_5": "5 labels per class", "labels_20": "20 labels per class", "accuracy": "all labels"}
WITH_CLUSTERINGS = ("iEC3", "iEC3, soft votes", "iEC3, learned weights", "auto")
OURS = ("majority vote", "soft vote", "weighted vote", "Dawid-Skene", "C3E-SL", *WITH_CLUSTERINGS[1:])


def accuracy(rows: Frame, metric: str = "auc") -> Exhibit:
    """Return the scores of the paper's 16 methods, and their difference from the paper's."""
    word = {"auc": "AUC", "f": "F"}[metric]
    ours, sd = scored(rows, "accuracy", metric), scored(rows, "accuracy", metric, how="std")
    theirs = printed({"auc": "accuracy_auc", "f": "accuracy_fscore"}[metric])
    shown = ours.map("{:.3f}".format) + sd.map(lambda x: "" if np.isnan(x) else f" ± {x:.3f}")
    both = comparable(ours.index)
    average = ours.loc[both].mean().rename("mean of these")
    difference = (ours.loc[both] - theirs.loc[both, list(ours.columns)]).T
    difference["mean"] = difference.mean(axis=1)
    blocks = [
        Block(f"{word}, mean ± standard deviation over repeats.", shown.T.rename_axis("method")),
        Block(f"{word}, ours minus the paper's, on data sets the paper has.", difference.rename_axis("method")),
    ]
    findings = [
        *_claims(word, ours, theirs, average),
        _averages_match(word, theirs),
        _votes_or_labels(rows) if metric == "auc" else _mass_rule(rows),
    ]
    return Exhibit(f"accuracy_{metric}", f"{word} of all methods (Table 3{'a' if metric == 'auc' else 'b'})", blocks, findings)


def _claims(word: str, ours: Frame, theirs: Frame, average: Any) -> list[Finding]:
    """Return what the paper claims of its Table 3; `average` is ours over the data sets that the paper has."""
    combiners, others = list(published.COMBINERS), [*published.CLASSIFIERS, *published.ENSEMBLES]
    best = ours.idxmax(axis=1)
    beaten_in_paper = int((theirs.drop(index="Average").idxmax(axis=1) != "iEC3").sum())
    tests = paired_tests(ours, "iEC3")
    beaten = [name for name in tests.index if tests.p[name] < LEVEL and tests.difference[name] > 0]
    ahead = [name for name in tests.index if tests.p[name] < LEVEL and tests.difference[name] < 0]
    order = average[combiners].sort_values(ascending=False)
    return [
        Finding(
            f"iEC3 has the best {word} on every data set (the paper's table: all but {beaten_in_paper}).",
            bool((best == "iEC3").all()),
            f"best on {int((best == 'iEC3').sum())} of {len(best)}; {best.value_counts().index[0]} is most often best "
            f"({best.value_counts().iloc[0]}).",
        ),
        Finding(
            f"On average iEC3 > EC3 > UPE > BGCM ({numbers(theirs.loc['Average', ['iEC3', 'EC3', 'UPE', 'BGCM']])}).",
            list(order.index) == ["iEC3", "EC3", "UPE", "BGCM"],
            f"{numbers(order)}.",
        ),
        Finding(
            "Combining classifiers and clusterings is always better than classifiers alone or their ensembles.",
            bool((ours[combiners].min(axis=1) >= ours[others].max(axis=1)).all()),
            f"the best combiner beats all others on {int(best.isin(combiners).sum())} of {len(best)}; the best on average "
            f"is {average.idxmax()} ({average.max():.3f}), iEC3 has {average['iEC3']:.3f}.",
        ),
        Finding(
            "iEC3 is significantly better than each of the others (Wilcoxon over data sets, Holm).",
            not ahead and len(beaten) == len(tests),
            f"significantly better than {', '.join(beaten) or 'none'}; significantly worse than {', '.join(ahead) or 'none'}.",
        ),
    ]


def _averages_match(word: str, theirs: Frame) -> Finding:
    off = (theirs.drop(index="Average").mean() - theirs.loc["Average"]).abs()
    return Finding(
        f"Do the printed averages of {word} match the printed columns?",
        bool((off < 0.001).all()),
        f"{int((off >= 0.001).sum())} of {len(off)} are off by 0.001 or more, {off.idxmax()} by {off.max():.3f}.",
        ours=True,
    )


def _votes_or_labels(rows: Frame) -> Finding:
    every = scored(rows, "accuracy", "auc", (*published.METHODS, *OURS)).mean()
    lost = every["soft vote"] - every["majority vote"]
    won = every["iEC3"] - every["majority vote"]
    return Finding(
        "Does turning probabilities into labels before combining cost more than iEC3 gains?",
        bool(lost > won),
        f"compared with the majority vote ({every['majority vote']:.4f}) iEC3 gains {won:+.4f}, the mean of the probabilities "
        f"{lost:+.4f}, iEC3 on probabilities {every['iEC3, soft votes'] - every['majority vote']:+.4f}.",
        ours=True,
    )


def _mass_rule(rows: Frame) -> Finding:
    every = scored(rows, "accuracy", "f", ("majority vote", "iEC3", "iEC3, mass rule")).mean()
    return Finding(
        "Does smoothing cost iEC3 rare classes, and does the mass rule recover them?",
        bool(every["iEC3"] < every["majority vote"] and every["iEC3, mass rule"] > every["iEC3"]),
        f"F of the {numbers(every)}.",
        ours=True,
    )


def scored(rows: Frame, experiment: str, metric: str, methods: Sequence[str] = published.METHODS, how: str = "mean") -> Frame:
    """Return `means` of some methods with the paper's clusterings; without any for methods that use none."""
    plain = rows[~((rows["setting"] == "both") | ((rows["setting"] == "none") & rows["method"].isin(WITH_CLUSTERINGS)))]
    found = means(plain, experiment, metric, how=how)
    return found[[name for name in methods if name in found.columns]]


def hard_and_soft(rows: Frame) -> Exhibit:
    """Return AUC from labels and from probabilities, which may explain the paper's low AUC of single classifiers."""
    import pandas as pd

    hard, soft = (scored(rows, "accuracy", metric, published.CLASSIFIERS) for metric in ("auc_hard", "auc"))
    both = comparable(soft.index)
    theirs = printed("accuracy_auc").loc[both, list(soft.columns)]
    frame = pd.DataFrame(
        {
            "from probabilities": soft.loc[both].mean(),
            "from labels": hard.loc[both].mean(),
            "paper": theirs.mean(),
            "distance of labels from paper": (hard.loc[both] - theirs).abs().mean(),
            "distance of probabilities from paper": (soft.loc[both] - theirs).abs().mean(),
        }
    )
    nearer = ((hard.loc[both] - theirs).abs() < (soft.loc[both] - theirs).abs()).to_numpy().mean()
    chance = [name for name in both if theirs.loc[name].max() < 0.56]
    ours = f", where ours reach {numbers(soft.loc[chance].max(axis=1))}" if chance else ""
    finding = Finding(
        "Is the printed AUC of single classifiers computed from labels, not from probabilities?",
        bool(nearer > 0.5),
        f"AUC from labels is nearer in {nearer:.0%} of the cells. In the paper all classifiers are near chance (below 0.56) on "
        f"{', '.join(chance) or 'no data set'}{ours}.",
        ours=True,
    )
    return Exhibit(
        "hard_and_soft",
        "AUC from labels and from probabilities",
        [Block("Mean over data sets; a distance is the mean absolute difference.", frame.rename_axis("method"))],
        [finding],
    )


def ranks(rows: Frame, metric: str = "auc") -> Exhibit:
    """Return the mean ranks of the paper's methods and ours, and paired tests of iEC3 and of *auto*."""
    every = scored(rows, "accuracy", metric, (*published.METHODS, *OURS))
    order = mean_ranks(every)
    frame = order.rename("mean rank").to_frame().rename_axis("method")
    frame[metric.upper()] = every.mean()
    for control in ("iEC3", "auto"):
        tests = paired_tests(every, control)
        frame[f"{control}: better/worse"] = (
            (tests.better.astype(str) + "/" + tests.worse.astype(str)).reindex(frame.index).fillna("")
        )
        frame[f"{control}: p"] = tests.p.reindex(frame.index)
    cd = critical_difference(len(order), len(every.dropna()))
    behind = [name for name in order.index if order[name] - order.iloc[0] > cd]
    finding = Finding(
        "iEC3 is a single method that is best whatever the data (the paper's conclusion).",
        order.index[0] == "iEC3",
        f"{order.index[0]} has the best mean rank ({order.iloc[0]:.2f}), iEC3 {order['iEC3']:.2f}; worse by more than "
        f"the critical difference of {cd:.2f}: {', '.join(behind) or 'none'}.",
    )
    caption = "Mean ranks (1 is best) and Wilcoxon tests over data sets, p-values corrected by Holm's method."
    return Exhibit("ranks", "Mean ranks", [Block(caption, frame)], [finding])


def accuracy_f(rows: Frame) -> Exhibit:
    """Return the F scores of the paper's 16 methods."""
    return accuracy(rows, "f")


# ---- few labels, and what clusterings add ----------------------------------------------------------------------------


def labels(rows: Frame) -> Exhibit:
    """Return the scores of all methods with 5, 20 and all labels, and what clusterings add to them."""
    import pandas as pd

    present = {name: title for name, title in LABELS.items() if (rows["experiment"] == name).any()}
    blocks, findings = [], []
    for metric, word in (("auc", "AUC"), ("f_macro", "F, averaged over classes")):
        every = {title: scored(rows, name, metric, (*published.METHODS, *OURS)).mean() for name, title in present.items()}
        frame = pd.DataFrame(every).rename_axis("method")
        blocks.append(Block(f"{word}; mean over data sets. Combiners use the paper's five clusterings.", frame.astype(float)))
    caption = "AUC without clusterings, with the paper's five, and with six more of the default pool."
    blocks.append(Block(caption, _clusterings(rows, present)))
    for name, title in present.items():
        gains = {method: gain(rows, name, method) for method in WITH_CLUSTERINGS}
        added = "; ".join(f"{m} {g['both'].mean():+.4f} ({int((g['both'] > 0).sum())} of {len(g)})" for m, g in gains.items())
        auto = gains["auto"]["both"]
        own = means(rows, name, "auc", columns="setting", method="auto")
        p = float(paired_tests(own[["both", "none"]], "both").p.iloc[0])
        findings.append(
            Finding(
                f"Do clusterings help with {title}?",
                bool(auto.mean() > 0) if p < LEVEL else None,
                f"mean gain in AUC from all eleven (data sets with a gain): {added}. For *auto* p is {p:.2f} (Wilcoxon); it "
                f"gains most on {auto.idxmax()} ({auto.max():+.3f}) and least on {auto.idxmin()} ({auto.min():+.3f}).",
                ours=True,
            )
        )
    return Exhibit("labels", "Few labels, and what clusterings add", blocks, findings)


def _clusterings(rows: Frame, present: dict[str, str]) -> Frame:
    import pandas as pd

    found: dict[tuple[str, str], Any] = {}
    for name, title in present.items():
        own = rows[(rows["experiment"] == name) & (rows["metric"] == "auc") & rows["method"].isin(WITH_CLUSTERINGS)]
        by_dataset = own.groupby(["method", "setting", "dataset"])["value"].mean()
        table = by_dataset.groupby(level=["method", "setting"]).mean().unstack("setting")
        found |= {(title, setting): table[setting] for setting in ("none", "paper", "both") if setting in table}
    frame = pd.DataFrame(found).reindex(WITH_CLUSTERINGS)
    frame.columns = [f"{title}: {setting}" for title, setting in frame.columns]
    return frame.rename_axis("method")


def gain(rows: Frame, experiment: str, method: str, metric: str = "auc") -> Frame:
    """Return what the paper's clusterings ("paper") and all ("both") add to a method, one row per data set."""
    own = means(rows, experiment, metric, columns="setting", method=method)
    return own[["paper", "both"]].sub(own["none"], axis=0)


def where(rows: Frame) -> Exhibit:
    """Return what clusterings add to iEC3 with learned weights on each data set, and how well they match the classes."""
    import pandas as pd

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
        ours=True,
    )
    caption = "Gain in AUC from all eleven clusterings, for iEC3 with soft votes and learned weights."
    return Exhibit("where", "Where do clusterings help?", [Block(caption, frame)], [finding])
