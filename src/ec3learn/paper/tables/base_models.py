"""What the answer of iEC3 depends on: weights, epsilon, the terms of its objective, classifiers and clusterings."""

from __future__ import annotations

from itertools import product

import numpy as np

from .. import published
from ..exhibits import NOISE, Block, Exhibit, Finding, Frame, comparable, means, numbers, ordered, printed, rank_correlation
from .accuracy import scored

# ---- parameters ------------------------------------------------------------------------------------------------------


def good_settings(rows: Frame) -> Frame:
    """Return the settings whose mean AUC is in the top tenth of a data set: dataset, auc, alpha, beta, gamma, delta."""
    import pandas as pd

    own = rows[(rows["experiment"] == "parameters") & (rows["method"] == "iEC3")]
    mean = own.groupby(["dataset", "setting"], sort=False)["value"].mean().rename("auc").reset_index()
    floor = mean.groupby("dataset")["auc"].transform(lambda area: area.quantile(1 - published.TOP_SHARE))
    best = mean[mean["auc"] >= floor].reset_index(drop=True)
    weights = pd.DataFrame(best.pop("setting").str.split().tolist(), columns=list(published.SUGGESTED)).astype(float)
    return pd.concat([best, weights], axis=1)


def parameters(rows: Frame) -> Exhibit:
    """Return which weights are good, and what tuning them on the validation set gains."""
    import pandas as pd

    good = good_settings(rows)
    names = list(published.SUGGESTED)
    grid = rows[(rows["experiment"] == "parameters") & (rows["method"] == "iEC3")]
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
    low = good[names].mean().sort_values(ascending=False)
    findings = [
        Finding(
            "beta and gamma get the higher weights among good settings, then alpha, then delta.",
            set(low.index[:2]) == {"beta", "gamma"} and low.index[-1] == "delta",
            f"mean weights {numbers(low)}.",
        ),
        Finding(
            "Good settings lie in the suggested ranges more often than others.",
            all(inside[name] > chance[name] for name in names),
            ", ".join(f"{name} {inside[name]:.0%} (grid {chance[name]:.0%})" for name in names) + ".",
        ),
        Finding(
            "Do the weights matter?",
            bool((best - default).mean() > NOISE),
            f"the best setting is {(best - default).mean():.4f} AUC above the paper's on average, tuning on validation "
            f"gains {(tuned - default).mean():+.4f}; the paper's is {(default - vote).mean():+.4f} compared with the mean vote.",
            ours=True,
        ),
    ]
    blocks = [
        Block("Settings in the top tenth by AUC, all data sets.", frame),
        Block("AUC of iEC3 on hard votes by setting.", ordered(table).rename_axis("dataset"), 4),
    ]
    return Exhibit("parameters", "The four weights (Figure 2)", blocks, findings)


def epsilon(rows: Frame) -> Exhibit:
    """Return what stopping the paper's loop early costs in AUC and saves in time."""
    import pandas as pd

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
    at_default = frame["AUC"]["0.025"]
    finding = Finding(
        "At epsilon 0.025 the loop reaches 90 % of its AUC at 0.005 in 82 % of the time.",
        bool(abs(at_default - 0.9) < 0.03),
        f"{at_default:.2%} of the AUC, after {frame['rounds']['0.025']:.0%} of the rounds; at 0.030 {frame['AUC']['0.030']:.2%}.",
    )
    block = Block("Relative to epsilon 0.005.", frame.rename_axis("epsilon"))
    return Exhibit("epsilon", "Epsilon (Figure 3)", [block], [finding])


# ---- which base models -----------------------------------------------------------------------------------------------


def drop_classifier(rows: Frame) -> Exhibit:
    """Return the AUC of iEC3 without each classifier, and the difference from the paper's."""
    ours = means(rows, "drop_classifier", "auc", columns="setting").T
    theirs = printed("drop_classifier_auc", "dropped")
    both = comparable(ours.columns)
    difference = (ours - theirs)[both].reindex(ours.index)
    lost = ours.loc["none"] - ours.drop(index="none")
    theirs_lost = theirs.loc["none", both] - theirs.drop(index="none")[both]
    single = scored(rows, "accuracy", "auc", published.CLASSIFIERS)
    agree = np.mean([rank_correlation(lost[name], single.loc[name, lost.index]) for name in lost.columns])
    findings = [
        Finding(
            f"Without one classifier iEC3 loses much AUC (the paper: {theirs_lost.mean().mean():.3f} on average, "
            f"{theirs_lost.max().max():.2f} at most).",
            bool(lost.mean().mean() > 0.5 * theirs_lost.mean().mean()),
            f"{lost.mean().mean():+.4f} on average, {lost.max().max():+.3f} at most; "
            f"most when {lost.mean(axis=1).idxmax()} is left out ({lost.mean(axis=1).max():+.4f}).",
        ),
        Finding(
            "The better a classifier is alone, the more its absence costs.",
            bool(agree > 0.5),
            f"rank correlation {agree:.2f}, mean over data sets.",
        ),
    ]
    blocks = [
        Block("AUC of iEC3.", ours.rename_axis("left out")),
        Block("Ours minus the paper's.", difference.rename_axis("left out")),
    ]
    return Exhibit("drop_classifier", "One classifier left out (Table 4)", blocks, findings)


def _beside_printed(rows: Frame, experiment: str, theirs: Frame) -> Frame:
    """Return AUC and F by setting on the two data sets the paper prints, ours and its own, and our mean AUC on all."""
    import pandas as pd

    columns = {}
    for name, (metric, head) in product(("creditcard", "waveform"), (("auc", "auc"), ("f", "fscore"))):
        own = means(rows, experiment, metric, columns="setting")
        if name in own.index:
            columns[f"{name} {metric}"] = own.loc[name]
        columns[f"{name} {metric}, paper"] = theirs[f"{name}_{head}"]
    return pd.DataFrame(columns).assign(**{"AUC, all data sets": means(rows, experiment, "auc", columns="setting").mean()})


def _steps(rows: Frame, experiment: str) -> tuple[Frame, Frame]:
    """Return the scores by number of base models beside the printed ones, and the AUC on all data sets."""
    import pandas as pd

    theirs = pd.DataFrame(published.printed(experiment))
    theirs.index = [str(step) for step in range(1, len(theirs) + 1)]
    every = means(rows, experiment, "auc", columns="setting")
    frame = _beside_printed(rows, experiment, theirs)
    return frame.sort_index().rename_axis("added"), every[sorted(every.columns, key=int)]


def _never_hurts(what: str, every: Frame) -> Finding:
    steps = every.diff(axis=1).iloc[:, 1:]
    falls = int((steps < -NOISE).sum().sum())
    return Finding(
        f"Adding a {what} never hurts.",
        falls == 0,
        f"it cost more than {NOISE} AUC in {falls} of {steps.size} steps, {-steps.min().min():.3f} at most.",
    )


def add_classifier(rows: Frame) -> Exhibit:
    """Return the AUC of iEC3 as classifiers are added."""
    frame, every = _steps(rows, "add_classifier")
    share = (every["4"] / every["7"]).mean()
    findings = [
        Finding(
            "Four classifiers, strongest first, give most of the AUC.",
            bool(share > 0.9),
            f"four give {share:.1%} of the AUC of all seven, one gives {(every['1'] / every['7']).mean():.1%}.",
        ),
        _never_hurts("classifier", every),
    ]
    caption = "By number of classifiers, added in the order chosen on the validation set."
    return Exhibit("add_classifier", "Classifiers one by one (Table 5)", [Block(caption, frame)], findings)


def clustering_nmi(rows: Frame) -> Exhibit:
    """Return how well clusterings match the classes, and the difference from the paper's."""
    ours = means(rows, "clustering_nmi", "nmi")
    theirs = printed("clustering_nmi")
    both = comparable(ours.index)
    names = list(published.CLUSTERINGS)
    mean, printed_mean = ours.loc[both, names].mean(), theirs.loc[both].mean()
    difference = ours.loc[both, names] - theirs.loc[both]
    others = ours.loc[both].drop(columns=names).mean()
    finding = Finding(
        "Affinity propagation matches the classes best on average.",
        mean.idxmax() == "Affinity",
        f"{numbers(mean.sort_values(ascending=False))}; the paper {numbers(printed_mean.sort_values(ascending=False))}. "
        f"The best of the default pool is {others.idxmax()} ({others.max():.3f}).",
    )
    blocks = [
        Block("Normalised mutual information with the classes of the test set.", ours.rename_axis("dataset")),
        Block("Ours minus the paper's.", difference.rename_axis("dataset")),
    ]
    return Exhibit("clustering_nmi", "How well clusterings match the classes (Table 6)", blocks, [finding])


def drop_clustering(rows: Frame) -> Exhibit:
    """Return the scores of iEC3 without each clustering, and the paper's."""
    import pandas as pd

    theirs = pd.DataFrame(published.printed("drop_clustering")).set_index("dropped")
    every = means(rows, "drop_clustering", "auc", columns="setting")
    frame = _beside_printed(rows, "drop_clustering", theirs).reindex(theirs.index)
    lost = every["none"].to_frame().to_numpy() - every.drop(columns="none")
    mean = lost.mean()
    findings = [
        Finding(
            "Leaving out affinity propagation costs most.",
            bool(mean.idxmax() == "Affinity"),
            f"{mean.idxmax()} costs most ({mean.max():+.4f} AUC on average), {mean.idxmin()} least ({mean.min():+.4f}).",
        ),
        Finding(
            "Without affinity propagation iEC3 loses 0.04 to 0.06 AUC.",
            bool(mean["Affinity"] > 0.02),
            f"{mean['Affinity']:+.4f} on average, {lost['Affinity'].max():+.3f} at most ({lost['Affinity'].idxmax()}).",
        ),
    ]
    block = Block("Scores of iEC3.", frame.rename_axis("left out"))
    return Exhibit("drop_clustering", "One clustering left out (Table 7)", [block], findings)


def add_clustering(rows: Frame) -> Exhibit:
    """Return the AUC of iEC3 as clusterings are added."""
    frame, every = _steps(rows, "add_clustering")
    added = every["5"] - every["0"]
    findings = [
        Finding(
            "Two clusterings give 95 % of the AUC that five give.",
            bool((every["2"] / every["5"]).mean() > 0.95),
            f"two give {(every['2'] / every['5']).mean():.1%} of it, and none gives {(every['0'] / every['5']).mean():.1%}: all "
            f"five add {added.mean():+.4f} AUC, {added.min():+.3f} ({added.idxmin()}) to {added.max():+.3f} ({added.idxmax()}).",
        ),
        _never_hurts("clustering", every),
    ]
    caption = "By number of clusterings (0: classifiers only), added in the order chosen on the validation set."
    return Exhibit("add_clustering", "Clusterings one by one (Table 8)", [Block(caption, frame)], findings)


def drop_term(rows: Frame) -> Exhibit:
    """Return by how many percent AUC falls without each term of the objective, and the paper's figures."""
    own = means(rows, "drop_term", "auc", columns="setting", method="iEC3")
    ours = 100 * (1 - own.drop(columns="none").div(own["none"], axis=0))
    theirs = printed("drop_term_auc_percent")
    both = comparable(ours.index)
    frame = ours.join(theirs.loc[both].add_suffix(", paper"))
    mean, printed_mean = ours.mean(), theirs.loc[both].mean()
    finding = Finding(
        "AUC falls by 3 to 33 % without any one of the four terms, most without the second or third.",
        bool((ours > 0).all().all() and set(mean.sort_values(ascending=False).index[:2]) == {"J2", "J3"}),
        f"in percent {numbers(mean)} (the paper: {numbers(printed_mean)}); leaving a term out raised AUC in "
        f"{int((ours < 0).sum().sum())} of {ours.size} cases.",
    )
    caption = (
        "Percent of AUC that iEC3 loses without a term: J1 (objects and their groups), J2 (objects in the same groups), "
        "J3 (objects and their votes), J4 (groups and their votes)."
    )
    return Exhibit("drop_term", "One term left out (Table 9)", [Block(caption, frame.rename_axis("dataset"), 2)], [finding])
