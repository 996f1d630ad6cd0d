"""The paper's claims as effects, in the order of its sections; `claims.judge` gives the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import linregress

from .. import published
from ..claims import Claim, by_unit, overall
from ..exhibits import (
    NOISE,
    Frame,
    cells,
    has,
    kept,
    means,
    printed,
    rank_correlation,
    select,
)
from ..published import ALONE, BASELINES, CLUSTERINGS, COMBINERS
from .accuracy import scored_cells
from .studies import DEFAULT, growth_curve, loop_seconds, weights_in

Series = Any  # pandas.Series, by unit and split

Headline = partial(Claim, headline=True)
Share = partial(Claim, percent=True)
HeadlineShare = partial(Claim, headline=True, percent=True)

# ---- accuracy (Table 4) --------------------------------------------------------------------------


def accuracy(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of its Table 4."""
    for metric, (word, table) in published.TABLES.items():
        ours, theirs = scored_cells(rows, metric), printed(table)
        average, single = theirs.loc["Average"], theirs.drop(index="Average")
        best, best_printed = ours[BASELINES].max(axis=1), single[BASELINES].max(axis=1)
        votes = by_unit(ours["majority vote"] - best)
        for method in ("iEC3", "EC3") if metric == "auc" else ("iEC3",):
            yield Headline(
                f"{method} has a higher {word} than each of the 14 baselines, on every data set.",
                ours[method] - best,
                printed=(single[method] - best_printed).mean(),
                every=True,
                rival=f"the majority vote is ahead of all 14 on {(votes > 0).sum()} of {len(votes)} data sets",
            )
        yield HeadlineShare(
            f"On average the {word} of iEC3 is higher than that of UPE, the best baseline.",
            ours["iEC3"] / ours["UPE"] - 1,
            printed=average["iEC3"] / average["UPE"] - 1,
        )
        for make, better, worse in ((Headline, "iEC3", "EC3"), (Claim, "UPE", "BGCM")):
            yield make(
                f"{better} is better than {worse} ({word}).",
                ours[better] - ours[worse],
                printed=average[better] - average[worse],
            )
    yield from _side_claims(rows)


def _side_claims(rows: Frame) -> Iterator[Claim]:
    """Yield the claims of the text on Table 4a."""
    ours, theirs = scored_cells(rows, "auc"), printed("accuracy_auc").drop(index="Average")
    yield Claim(
        "Combining clusterings and classifiers is always better than classifiers or their ensembles; here the best of the four "
        "combiners against the best of the twelve.",
        ours[COMBINERS].max(axis=1) - ours[ALONE].max(axis=1),
        printed=(theirs[COMBINERS].max(axis=1) - theirs[ALONE].max(axis=1)).mean(),
        every=True,
    )
    others = [name for name in BASELINES if name != "UPE"]
    yield Share(
        "UPE is the best baseline in most cases.",
        (ours["UPE"] > ours[others].max(axis=1)).astype(float),
        above=0.5,
        rival="the effect is the share of data sets and splits",
    )
    gain, gain_printed = (table["iEC3"] / table["UPE"] - 1 for table in (ours, theirs))
    yield HeadlineShare(
        "The AUC of iEC3 is at least 3 % above that of UPE, on every data set.",
        gain,
        above=0.03,
        every=True,
        rival=f"in print from {gain_printed.min():.1%} on",
    )
    if has(rows, "accuracy_large"):
        large = scored_cells(rows, "auc", "accuracy_large")
        more, fewer = (own["iEC3"] - own[BASELINES].max(axis=1) for own in (large, ours))
        yield Claim(
            "The larger the data set, the larger the lead of iEC3 over the best baseline; here more "
            "rows of the same data set against fewer.",
            (more - fewer).dropna(),
        )


def _sizes(rows: Frame) -> Series:
    return means(rows, "datasets", "value", columns="setting")["rows"]


def correlations(values: Series, size: Series) -> Series:
    """An effect whose mean in a split is the rank correlation of the values with a number per data set.

    It is the product of both ranks, standardised, so that the interval over data sets is one of the
    correlation.
    """
    by_split = values.unstack(0).dropna()
    ranks, of_size = by_split.rank(axis=1), size[by_split.columns].rank()
    return standardised(ranks.T).mul(standardised(of_size), axis=0).stack()


def standardised(table: Any) -> Any:
    """A table or a series with the mean 0 and the standard deviation 1 in each column; all 0 where it is constant."""
    return ((table - table.mean()) / table.std(ddof=0)).fillna(0.0)


# ---- weights and epsilon (Figures 2 and 3, Table 3b) ---------------------------------------------


def parameters(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of the four weights."""
    grid = cells(rows, "parameters", "auc", columns="setting", method="iEC3")
    weights = weights_in(grid.columns)
    good = grid.ge(grid.quantile(1 - published.TOP_SHARE, axis=1), axis=0).astype(float)
    mean = (good @ weights).div(good.sum(axis=1), axis=0)
    yield Claim(
        "In the best tenth of settings beta and gamma are always larger than alpha and delta (the smaller of the first two minus "
        "the larger of the others).",
        mean[["beta", "gamma"]].min(axis=1) - mean[["alpha", "delta"]].max(axis=1),
        every=True,
    )
    best = printed("datasets")[list(weights)].map("{:.2f}".format).agg(" ".join, axis=1)
    chosen = {
        place: grid[best[place[0]]][place] for place in grid.index if best.get(place[0]) in grid
    }
    if chosen:
        own = pd.Series(chosen).rename_axis(grid.index.names)
        tuned = cells(rows, "parameters", "auc")["iEC3, tuned"]
        yield Claim(
            "Each data set has weights of its own that are better than the common ones (Table 3b).",
            (own - grid[DEFAULT]).dropna(),
            rival=f"weights tuned on the validation set: {(tuned - grid[DEFAULT]).mean():+.4f}",
        )


def epsilon(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of stopping its loop early."""
    auc = cells(rows, "epsilon", "auc", columns="setting")
    last = f"{published.EPSILONS[-1]:.3f}"
    for tol, share in published.EPSILON_AUC.items():
        yield Share(
            f"Stopping the loop at epsilon {tol:.3f} instead of {last} costs {1 - share:.0%} of "
            "the AUC.",
            1 - auc[f"{tol:.3f}"] / auc[last],
            printed=1 - share,
        )


# ---- base models (Tables 5 to 9) -----------------------------------------------------------------


def classifiers(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of the classifiers."""
    lost, theirs = _lost(rows, "drop_classifier"), printed("drop_classifier_auc")
    yield Claim(
        "Leaving out a classifier costs AUC.",
        lost.mean(axis=1),
        printed=_cost(theirs).mean().mean(),
    )
    single = scored_cells(rows, "auc")[list(lost.columns)]
    yield Claim(
        "The better a classifier is alone, the more its absence costs (rank correlation).",
        lost.loc[lost.index.intersection(single.index)].apply(
            lambda own: rank_correlation(own, single.loc[own.name]), axis=1
        ),
    )


def _lost(rows: Frame, experiment: str) -> Frame:
    """The AUC that iEC3 loses without each base model."""
    return _cost(cells(rows, experiment, "auc", columns="setting").T).T


def _cost(auc: Frame) -> Frame:
    """By how much each row, without a base model, is below the row with all."""
    return auc.loc["none"] - auc.drop(index="none")


def never_hurts(auc: Frame, steps: range, what: str) -> Claim:
    """The claim that a further base model never hurts, each step of each data set by itself."""
    added = {f"{step - 1} to {step}": auc[str(step)] - auc[str(step - 1)] for step in steps}
    return Claim(
        f"Adding a {what} (by more than {NOISE}).", _units(added), above=-NOISE, every=True
    )


def _units(parts: dict[str, Series]) -> Series:
    """Several effects as one, whose units are pairs of a data set and a part."""
    whole = pd.concat(parts)
    whole.index = pd.MultiIndex.from_tuples(
        [(f"{name}, {part}", seed) for part, name, seed in whole.index]
    )
    return whole


def adding_classifiers(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of adding classifiers."""
    auc = cells(rows, "add_classifier", "auc", columns="setting")
    theirs = published.printed("add_classifier")[["creditcard_auc", "waveform_auc"]].mean(axis=1)
    yield Claim(
        "Up to four classifiers, each adds much (AUC with four minus that with one).",
        auc["4"] - auc["1"],
        printed=theirs[4] - theirs[1],
    )
    yield never_hurts(auc, range(5, 8), "classifier never hurts once there are four")


def clusterings(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of its clusterings."""
    nmi, theirs = (
        cells(rows, "clustering_nmi", "nmi")[CLUSTERINGS],
        printed("clustering_nmi").loc["Average"],
    )
    others = [name for name in CLUSTERINGS if name != "Affinity"]
    second = nmi[others].mean().idxmax()
    yield Claim(
        f"Affinity propagation matches the classes best on average; second here: {second}.",
        nmi["Affinity"] - nmi[second],
        printed=theirs["Affinity"] - theirs[others].max(),
    )


def dropping_clusterings(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of leaving out a clustering."""
    lost = _lost(rows, "drop_clustering")
    others = [name for name in CLUSTERINGS if name != "Affinity"]
    theirs = _cost(printed("drop_clustering")[["creditcard_auc", "waveform_auc"]])
    cost, second = theirs.mean(axis=1), lost[others].mean().idxmax()
    yield Claim(
        "Leaving out affinity propagation costs AUC.", lost["Affinity"], printed=cost["Affinity"]
    )
    yield Claim(
        f"It costs more than leaving out any other clustering; second here: {second}.",
        lost["Affinity"] - lost[second],
        printed=cost["Affinity"] - cost[others].max(),
    )
    if has(rows, "drop_classifier"):
        classifier = _cost(printed("drop_classifier_auc")[["creditcard", "waveform"]]).max().mean()
        yield Claim(
            "Losing the best classifier costs more than losing the best clustering.",
            _of_costliest(_lost(rows, "drop_classifier")) - _of_costliest(lost),
            printed=classifier - cost["Affinity"],
        )


def _of_costliest(lost: Frame) -> Series:
    """The loss without the base model whose absence costs most on the data set."""
    costliest = by_unit(lost).idxmax(axis=1)
    return pd.Series({place: lost[costliest[place[0]]][place] for place in lost.index})


def adding_clusterings(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of adding clusterings."""
    auc = cells(rows, "add_clustering", "auc", columns="setting")
    yield Share(
        "Two clusterings give 95 % of the AUC that five give.",
        auc["2"] / auc["5"],
        above=0.95,
        rival=f"no clustering at all gives {overall(auc['0'] / auc['5']):.1%}",
    )
    yield never_hurts(auc, range(1, 6), "clustering never hurts")


# ---- the four terms (Table 10) --------------------------------------------------------------------


def terms(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of the terms of its objective."""
    auc = cells(rows, "drop_term", "auc", columns="setting", method="iEC3")
    lost = 1 - auc.drop(columns="none").div(auc["none"], axis=0)
    theirs = printed("drop_term_auc_percent").mean() / 100
    for term in ("J1", "J2", "J3", "J4"):
        yield Share(
            f"Without {term} the AUC falls by {theirs[term]:.1%}.", lost[term], printed=theirs[term]
        )
    yield Share(
        "Leaving out a term never raises the AUC (by more than 0.2 %).",
        _units({term: lost[term] for term in lost}),
        above=-NOISE,
        every=True,
    )
    yield Share(
        "J2 and J3 matter most (the smaller loss of the two minus the larger of the others).",
        lost[["J2", "J3"]].min(axis=1) - lost[["J1", "J4"]].max(axis=1),
        printed=theirs[["J2", "J3"]].min() - theirs[["J1", "J4"]].max(),
    )


# ---- robustness (Figures 4 to 6) -----------------------------------------------------------------


def imbalance(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of classes made rare."""
    last = f"{published.REMOVED[-1]:.2f}"
    auc, f = (kept(rows, "imbalance", metric, last, "0.00") for metric in ("auc", "f_touched"))
    least = min(own["iEC3"] for own in published.IMBALANCE_AUC.values())
    yield HeadlineShare(
        f"With 30 % of a class removed iEC3 keeps at least {least:.0%} of its AUC.",
        auc["iEC3"],
        above=least,
        rival=f"the majority vote keeps {auc['majority vote'].mean():.1%}",
    )
    more = published.IMBALANCE_AUC["susy"]["iEC3"] - published.IMBALANCE_UPE
    yield HeadlineShare(
        "It keeps more of its AUC than UPE.", auc["iEC3"] - auc["UPE"], printed=more
    )
    theirs = pd.DataFrame(published.IMBALANCE_F).mean(axis=1)
    for other in ("EC3", "UPE"):
        yield Share(
            f"iEC3 keeps more of the F of the class than {other}.",
            f["iEC3"] - f[other],
            printed=theirs["iEC3"] - theirs[other],
        )


def robustness(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of random base models."""
    guess, scatter = (
        kept(rows, f"random_{kind}", "auc", "10", "0") for kind in ("classifiers", "clusterings")
    )
    least, of_upe = published.RANDOM_AUC["iEC3"], published.RANDOM_AUC["UPE"]
    for share, word in ((guess, "classifiers"), (scatter, "clusterings")):
        yield HeadlineShare(
            f"With 10 random {word} iEC3 keeps at least {least:.0%} of its AUC, on every data set.",
            share["iEC3"],
            above=least,
            every=True,
            rival=f"the majority vote keeps {overall(share['majority vote']):.1%}",
        )
    yield HeadlineShare(
        f"It keeps more than UPE, which keeps {of_upe:.0%} (10 random classifiers).",
        guess["iEC3"] - guess["UPE"],
        printed=least - of_upe,
    )
    yield Share(
        "Random classifiers harm more than random clusterings.", scatter["iEC3"] - guess["iEC3"]
    )
    if has(rows, "datasets"):
        yield Claim(
            "The smaller the data set, the more random classifiers harm (rank correlation of size "
            "and share kept).",
            correlations(guess["iEC3"], _sizes(rows)),
        )


# ---- runtime (Table 11, Figure 7) ----------------------------------------------------------------


def runtime(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of runtimes: all methods as published, on the same objects, equal rows not merged."""
    table = loop_seconds(rows)
    exact = (table["BGCM, exact"] / table["iEC3, exact"]).mean()
    notes = {
        "UPE": "UPE is our reconstruction",
        "BGCM": f"the loop of BGCM stops early, far from its answer; our exact solvers: {exact:.2f}",
    }
    theirs = printed("runtime_seconds").T
    for other, note in notes.items():
        ratio = (theirs[other] / theirs["iEC3"]).mean()
        yield Headline(
            f"iEC3 is {ratio:.2f} times as fast as {other} (ratio of times).",
            (table[other] / table["iEC3"]).groupby(level=[0, 1]).mean(),
            above=1.0,
            printed=ratio,
            rival=note,
        )


def growth(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of growing tables, for its own loop; on objects from runs that do not merge equal rows."""
    for experiment, how, power in (
        ("growth_models", "linearly with the number of base models", 1),
        ("growth_classes", "with the square of the number of classes", 2),
    ):
        places = (
            select(rows, experiment)[["dataset", "seed"]]
            .drop_duplicates()
            .sort_values(["dataset", "seed"])
        )
        found = {
            (name, seed): fit(
                *growth_curve(
                    rows[rows["seed"] == seed], experiment, name, "iEC3, the paper's loop"
                ),
                power,
            )
            for name, seed in places.itertuples(index=False)
        }
        yield Headline(f"The runtime grows {how}: R^2 above 0.98.", pd.Series(found), above=0.98)
    loops = select(rows, "like_for_like", method="iEC3").groupby(["dataset", "seed"], sort=False)
    found = {place: fit(curve["setting"], curve["value"]) for place, curve in loops}
    yield Headline(
        "The runtime grows linearly with the number of objects: R^2 above 0.98.",
        pd.Series(found),
        above=0.98,
    )


def fit(size: Any, seconds: Any, power: int = 1) -> float:
    """Return R^2 of a line through seconds against a power of the size."""
    return float(linregress(np.asarray(size, dtype=float) ** power, seconds).rvalue ** 2)


# The experiments each group of claims needs, and the function that yields it.
CLAIMS: list[tuple[tuple[str, ...], Callable[[Frame], Iterator[Claim]]]] = [
    (("accuracy",), accuracy),
    (("parameters",), parameters),
    (("epsilon",), epsilon),
    (("drop_classifier", "accuracy"), classifiers),
    (("add_classifier",), adding_classifiers),
    (("clustering_nmi",), clusterings),
    (("drop_clustering",), dropping_clusterings),
    (("add_clustering",), adding_clusterings),
    (("drop_term",), terms),
    (("imbalance",), imbalance),
    (("random_classifiers", "random_clusterings"), robustness),
    (("like_for_like",), runtime),
    (("like_for_like", "growth_models", "growth_classes"), growth),
]


def claims(rows: Frame) -> list[Claim]:
    """All claims of the paper whose experiments have rows."""
    return [claim for needed, make in CLAIMS if has(rows, *needed) for claim in make(rows)]
