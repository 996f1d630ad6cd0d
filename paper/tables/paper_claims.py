"""The paper's claims as effects, in the order of its sections; `claims.judge` gives the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import linregress, zscore

from .. import published
from ..claims import Claim, best_on_average, by_unit, overall
from ..exhibits import (
    NOISE,
    Frame,
    cells,
    has,
    kept,
    means,
    printed,
    printed_here,
    rank_correlation,
    select,
)
from ..published import ALONE, BASELINES, CLUSTERINGS, COMBINERS
from .accuracy import scored_cells
from .studies import (
    DEFAULT,
    PUBLISHED,
    growth_curve,
    log_slope,
    loop_seconds,
    lost_terms,
    weights_in,
)

Series = Any  # pandas.Series, by unit and split

Headline = partial(Claim, headline=True)
Share = partial(Claim, percent=True)
HeadlineShare = partial(Claim, headline=True, percent=True)

TESTED = [name for name in COMBINERS if name != "UPE"]

# ---- accuracy (Table 4) --------------------------------------------------------------------------


def accuracy(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of its Table 4."""
    for metric, (word, table) in published.TABLES.items():
        ours, theirs = scored_cells(rows, metric), printed_here(table, rows)
        best, best_printed = best_on_average(ours[BASELINES]), theirs[BASELINES].max(axis=1)
        votes = by_unit(ours["majority vote"] - best)
        for method in ("iEC3", "EC3"):
            yield Headline(
                f"{method} beats each of the 14 baselines on every data set ({word}).",
                ours[method] - best,
                printed=(theirs[method] - best_printed).mean(),
                every=True,
                rival=f"the majority vote on {(votes > 0).sum()} of {len(votes)}",
            )
        for make, better, worse in (
            (Headline, "iEC3", "UPE"),
            (Headline, "iEC3", "EC3"),
            (Claim, "UPE", "BGCM"),
        ):
            yield make(
                f"{better} is better than {worse} ({word}).",
                ours[better] - ours[worse],
                printed=(theirs[better] - theirs[worse]).mean(),
                upe="UPE" in (better, worse),
            )
    yield from _side_claims(rows)


def _side_claims(rows: Frame) -> Iterator[Claim]:
    """Yield the claims of the text on Table 4a."""
    ours, theirs = scored_cells(rows, "auc"), printed_here("accuracy_auc", rows)
    yield Claim(
        "Combiners of classifiers and clusterings (BGCM, EC3, iEC3; the best of them) beat classifiers and their ensembles on "
        "every data set.",
        best_on_average(ours[TESTED]) - best_on_average(ours[ALONE]),
        printed=(theirs[TESTED].max(axis=1) - theirs[ALONE].max(axis=1)).mean(),
        every=True,
    )
    leader = by_unit(ours[BASELINES]).mean().idxmax()
    best = by_unit(ours[BASELINES]).idxmax(axis=1)
    yield Claim(
        "No baseline is the best on all data sets (the best of each data set minus the best on average).",
        best_on_average(ours[BASELINES]) - ours[leader],
        rival=f"{leader}, the best on average, is the best on {(best == leader).sum()} of {len(best)}",
    )
    yield Share(
        "UPE is the best baseline in most cases (share of data sets and splits).",
        (ours["UPE"] >= ours[BASELINES].max(axis=1)).astype(float),
        above=0.5,
        upe=True,
    )
    gain, gain_printed = (table["iEC3"] / table["UPE"] - 1 for table in (ours, theirs))
    yield HeadlineShare(
        "iEC3 beats UPE by at least 3 % on every data set (AUC).",
        gain,
        above=0.03,
        every=True,
        upe=True,
        rival=f"in print from {gain_printed.min():.1%} on",
    )
    large = scored_cells(rows, "auc", "accuracy_large")
    more, fewer = (own["iEC3"] - best_on_average(own[BASELINES]) for own in (large, ours))
    yield Claim(
        "The larger the data set, the larger the lead of iEC3 over the best baseline (more rows "
        "of a data set against fewer).",
        (more - fewer).dropna(),
    )


def correlations(values: Series, size: Series) -> Series:
    """An effect whose mean in a split is the rank correlation of the values with a number per data set.

    It is the product of both ranks, standardised, so that the interval over data sets is one of the
    correlation.
    """
    by_split = values.unstack(0).dropna()
    ranks, of_size = by_split.rank(axis=1), size[by_split.columns].rank()
    product = zscore(ranks.to_numpy(), axis=1) * zscore(of_size.to_numpy())
    return (
        pd.DataFrame(np.nan_to_num(product), by_split.index, by_split.columns).stack().swaplevel()
    )


# ---- weights and epsilon (Figures 2 and 3, Table 3b) ---------------------------------------------


def parameters(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of the four weights."""
    grid = cells(rows, "parameters", "auc", columns="setting", method="iEC3")
    weights = weights_in(grid.columns)
    good = grid.ge(grid.quantile(1 - published.TOP_SHARE, axis=1), axis=0).astype(float)
    mean = (good @ weights).div(good.sum(axis=1), axis=0)
    yield Claim(
        "In the best tenth of settings beta and gamma each exceed alpha and delta, on every data set.",
        mean[["beta", "gamma"]].min(axis=1) - mean[["alpha", "delta"]].max(axis=1),
        every=True,
    )
    best = printed("datasets")[list(weights)].map("{:.2f}".format).agg(" ".join, axis=1)
    values = [
        grid[best[place[0]]][place] if best.get(place[0]) in grid else np.nan
        for place in grid.index
    ]
    own = pd.Series(values, grid.index)
    tuned = cells(rows, "parameters", "auc")["iEC3, tuned"]
    yield Claim(
        "Each data set has weights of its own that are better than the common ones (Table 3b).",
        (own - grid[DEFAULT]).dropna(),
        rival=f"weights tuned on the validation set: {(tuned - grid[DEFAULT]).mean():+.4f}",
    )


def epsilon(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of stopping its loop early."""
    last = f"{published.EPSILONS[-1]:.3f}"
    for metric, shares, costs in (
        ("auc", published.EPSILON_AUC, "costs {:.0%} of the AUC"),
        ("seconds", published.EPSILON_SECONDS, "saves {:.0%} of the time"),
    ):
        own = cells(rows, "epsilon", metric, columns="setting")
        for tol, share in shares.items():
            yield Share(
                f"Epsilon {tol:.3f} instead of {last} {costs.format(1 - share)}.",
                1 - own[f"{tol:.3f}"] / own[last],
                printed=1 - share,
            )


# ---- base models (Tables 5 to 9) -----------------------------------------------------------------


def classifiers(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of the classifiers."""
    lost, theirs = _lost(rows, "drop_classifier"), printed_here("drop_classifier_auc", rows).T
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
    auc = cells(rows, "add_classifier", "auc", columns="setting")
    theirs = published.printed("add_classifier")[["creditcard_auc", "waveform_auc"]].mean(axis=1)
    yield Claim(
        "Up to four classifiers, each adds much (AUC with four minus that with one).",
        auc["4"] - auc["1"],
        printed=theirs[4] - theirs[1],
    )
    yield never_hurts(auc, range(5, 8), "classifier never hurts once there are four")


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


def clusterings(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of its clusterings."""
    nmi, theirs = (
        cells(rows, "clustering_nmi", "nmi")[CLUSTERINGS],
        printed_here("clustering_nmi", rows).mean(),
    )
    others = [name for name in CLUSTERINGS if name != "Affinity"]
    second = nmi[others].mean().idxmax()
    yield Claim(
        f"Affinity propagation matches the classes best on average; second here: {second}.",
        nmi["Affinity"] - nmi[second],
        printed=theirs["Affinity"] - theirs[others].max(),
    )
    lost = _lost(rows, "drop_clustering")
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
    classifier = _cost(printed("drop_classifier_auc")[["creditcard", "waveform"]]).max().mean()
    yield Claim(
        "Losing the best classifier costs more than losing the best clustering.",
        best_on_average(_lost(rows, "drop_classifier")) - best_on_average(lost),
        printed=classifier - cost["Affinity"],
    )
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
    theirs = printed_here("drop_term_auc_percent", rows).mean() / 100
    lost = lost_terms(rows, "auc")
    for term in theirs.index:
        yield Share(
            f"Without {term} the AUC falls by {theirs[term]:.1%}.", lost[term], printed=theirs[term]
        )
    yield Share(
        "Leaving out a term never raises the AUC (by more than 0.2 %).",
        _units({term: lost[term] for term in lost}),
        above=-NOISE,
        every=True,
    )
    lead = theirs[["J2", "J3"]].min() - theirs[["J1", "J4"]].max()
    for method, metric, word in PATTERNS:
        lost = lost_terms(rows, metric, method)
        least, most = lost[["J2", "J3"]].min(axis=1), lost[["J1", "J4"]].max(axis=1)
        yield Share(
            f"J2 and J3 each matter more to {method} than J1 and J4 ({word}).",
            least - most,
            printed=lead if (method, metric) == ("iEC3", "auc") else None,
        )


# "Similar pattern is observed for EC3 and based on F-Score."
PATTERNS = [
    (method, metric, word)
    for method in ("iEC3", "EC3")
    for metric, word in (("auc", "AUC"), ("f", "F"))
]


# ---- robustness (Figures 4 to 6) -----------------------------------------------------------------


def imbalance(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of classes made rare: on all rows of the largest data sets, UPE on fewer."""
    last = f"{published.REMOVED[-1]:.2f}"
    auc, f, upe_auc, upe_f = (
        kept(rows, experiment, metric, last, "0.00")
        for experiment in ("imbalance_large", "imbalance")
        for metric in ("auc", "f_touched")
    )
    least = min(own["iEC3"] for own in published.IMBALANCE_AUC.values())
    yield HeadlineShare(
        f"With 30 % of a class removed iEC3 keeps at least {least:.0%} of its AUC on every data set.",
        auc["iEC3"],
        above=least,
        every=True,
        rival=f"the majority vote keeps {overall(auc['majority vote']):.1%}",
    )
    more = published.IMBALANCE_AUC["susy"]["iEC3"] - published.IMBALANCE_UPE
    yield HeadlineShare(
        "It keeps more of its AUC than UPE.",
        upe_auc["iEC3"] - upe_auc["UPE"],
        printed=more,
        upe=True,
    )
    theirs = pd.DataFrame(published.IMBALANCE_F).mean(axis=1)
    for other, own in (("EC3", f), ("UPE", upe_f)):
        yield Share(
            f"iEC3 keeps more of the F of the class than {other}.",
            own["iEC3"] - own[other],
            printed=theirs["iEC3"] - theirs[other],
            upe=other == "UPE",
            rival=f"iEC3 keeps {overall(own['iEC3']):.0%}, the majority vote {overall(own['majority vote']):.0%}",
        )


def robustness(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of random base models."""
    guess, scatter = (
        kept(rows, f"random_{kind}", "auc", "10", "0") for kind in ("classifiers", "clusterings")
    )
    least, of_upe = published.RANDOM_AUC["iEC3"], published.RANDOM_AUC["UPE"]
    for share, word in ((guess, "classifiers"), (scatter, "clusterings")):
        yield HeadlineShare(
            f"With 10 random {word} iEC3 keeps at least {least:.0%} of its AUC on every data set.",
            share["iEC3"],
            above=least,
            every=True,
            rival=f"the majority vote keeps {overall(share['majority vote']):.1%}",
        )
    yield HeadlineShare(
        f"It keeps more than UPE, which keeps {of_upe:.0%} (10 random classifiers).",
        guess["iEC3"] - guess["UPE"],
        printed=least - of_upe,
        upe=True,
    )
    yield Share(
        "Random classifiers harm more than random clusterings.", scatter["iEC3"] - guess["iEC3"]
    )
    yield Claim(
        "The smaller the data set, the more random classifiers harm (rank correlation of size "
        "and share kept).",
        correlations(guess["iEC3"], means(rows, "datasets", "value", columns="setting")["rows"]),
    )


# ---- runtime (Table 11, Figure 7) ----------------------------------------------------------------


def runtime(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of runtimes: all methods as published, on the same objects."""
    table = loop_seconds(rows)
    notes = {"UPE": "", "BGCM": "the loop of BGCM stops far from its answer"}
    theirs = printed("runtime_seconds").T
    for other, note in notes.items():
        ratio = (theirs[other] / theirs["iEC3"]).mean()
        yield Headline(
            f"iEC3 is {ratio:.2f} times as fast as {other} (ratio of times).",
            (table[other] / table[PUBLISHED]).groupby(level=[0, 1]).mean(),
            above=1.0,
            printed=ratio,
            upe=other == "UPE",
            rival=note,
        )
    seconds = cells(rows, "runtime", "seconds")
    yield Claim(
        "iEC3 is the fastest on every data set (time of BGCM over that of iEC3; exact solvers).",
        seconds["BGCM"] / seconds["iEC3"],
        above=1.0,
        every=True,
    )


def growth(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of growing tables, for its own loop; on objects from runs that do not merge equal rows."""
    for experiment, how, power in (
        ("growth_models", "linearly with the number of base models", 1),
        ("growth_classes", "with the square of the number of classes", 2),
    ):
        places = select(rows, experiment).groupby(["dataset", "seed"])
        curves = {
            (name, seed): growth_curve(own, experiment, name, "iEC3, the paper's loop")
            for (name, seed), own in places
        }
        found = {place: fit(curve.index, curve, power) for place, curve in curves.items()}
        yield Headline(f"The runtime grows {how}: R^2 above 0.98.", pd.Series(found), above=0.98)
    loops = loop_seconds(rows)[PUBLISHED].dropna().groupby(level=[0, 1])
    curves = {place: curve.droplevel([0, 1]) for place, curve in loops}
    slopes = [log_slope(curve.index.astype(float), curve) for curve in curves.values()]
    yield Headline(
        "The runtime grows linearly with the number of objects: R^2 above 0.98.",
        pd.Series({place: fit(curve.index, curve) for place, curve in curves.items()}),
        above=0.98,
        rival=f"as published; seconds grow with the power {np.mean(slopes):.1f}",
    )


def fit(size: Any, seconds: Any, power: int = 1) -> float:
    """Return R^2 of a line through seconds against a power of the size."""
    return float(linregress(np.asarray(size, dtype=float) ** power, seconds).rvalue ** 2)


# The experiments each group of claims needs, and the function that yields it.
CLAIMS: list[tuple[tuple[str, ...], Callable[[Frame], Iterator[Claim]]]] = [
    (("accuracy", "accuracy_large"), accuracy),
    (("parameters",), parameters),
    (("epsilon",), epsilon),
    (("drop_classifier", "accuracy", "add_classifier"), classifiers),
    (("clustering_nmi", "drop_clustering", "add_clustering", "drop_classifier"), clusterings),
    (("drop_term",), terms),
    (("imbalance", "imbalance_large"), imbalance),
    (("random_classifiers", "random_clusterings", "datasets"), robustness),
    (("like_for_like", "runtime"), runtime),
    (("like_for_like", "growth_models", "growth_classes"), growth),
]


def claims(rows: Frame) -> list[Claim]:
    """All claims of the paper whose experiments have rows."""
    made = (claim for needed, make in CLAIMS if has(rows, *needed) for claim in make(rows))
    return [claim for claim in made if claim.effect.notna().any()]
