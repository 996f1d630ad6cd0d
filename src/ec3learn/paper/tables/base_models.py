"""What the answer of iEC3 depends on: weights, epsilon, the terms of its objective, classifiers and clusterings."""

from __future__ import annotations

from itertools import product

import pandas as pd

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
