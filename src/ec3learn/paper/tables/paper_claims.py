"""The paper's claims as effects, in the order of its sections; `claims.judge` gives the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import linregress

from .. import published
from ..claims import Claim
from ..exhibits import NOISE, Frame, cells, comparable, means, printed, rank_correlation, select
from .accuracy import with_usual_clusterings
from .studies import growth_curve

Series = Any  # pandas.Series, by unit and split

BASELINES = published.METHODS[:14]
ALONE = (*published.CLASSIFIERS, *published.ENSEMBLES)
DEFAULT = "0.25 0.35 0.35 0.05"


def scored_cells(rows: Frame, metric: str, experiment: str = "accuracy") -> Frame:
    """Return the scores with the paper's clusterings, or with none for methods that use none, by data set and split."""
    return cells(with_usual_clusterings(rows), experiment, metric)


# ---- accuracy (Table 3) ----------------------------------------------------------------------------------------------


def accuracy(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of its Table 3."""
    for metric, word, table in (("auc", "AUC", "accuracy_auc"), ("f", "F", "accuracy_fscore")):
        ours, theirs = scored_cells(rows, metric), printed(table)
        average, single = theirs.loc["Average"], theirs.drop(index="Average")
        best, best_printed = ours[list(BASELINES)].max(axis=1), single[list(BASELINES)].max(axis=1)
        votes = (ours["majority vote"] - best).groupby(level=0).mean()
        rival = f"the majority vote is ahead of all 14 on {int((votes > 0).sum())} of {len(votes)} data sets"
        for method in ("iEC3", "EC3") if metric == "auc" else ("iEC3",):
            yield Claim(
                f"{method} has a higher {word} than each of the 14 baselines, on every data set.",
                ours[method] - best,
                printed=float((single[method] - best_printed).mean()),
                every=True,
                headline=True,
                rival=rival,
            )
        yield Claim(
            f"On average the {word} of iEC3 is higher than that of UPE, the best baseline.",
            ours["iEC3"] / ours["UPE"] - 1,
            printed=float(average["iEC3"] / average["UPE"] - 1),
            headline=True,
            percent=True,
        )
        yield Claim(
            f"iEC3 is better than EC3 ({word}).",
            ours["iEC3"] - ours["EC3"],
            printed=float(average["iEC3"] - average["EC3"]),
            headline=True,
        )
        yield Claim(
            f"UPE is better than BGCM ({word}).",
            ours["UPE"] - ours["BGCM"],
            printed=float(average["UPE"] - average["BGCM"]),
        )
    yield from _side_claims(rows)


def _side_claims(rows: Frame) -> Iterator[Claim]:
    """Yield the claims of the text on Table 3a."""
    ours, theirs = scored_cells(rows, "auc"), printed("accuracy_auc").drop(index="Average")
    combined = list(published.COMBINERS)
    yield Claim(
        "Combining clusterings and classifiers is always better than classifiers or their ensembles; here the best of the four "
        "combiners against the best of the twelve.",
        ours[combined].max(axis=1) - ours[list(ALONE)].max(axis=1),
        printed=float((theirs[combined].max(axis=1) - theirs[list(ALONE)].max(axis=1)).mean()),
        every=True,
    )
    others = [name for name in BASELINES if name != "UPE"]
    yield Claim(
        "UPE is the best baseline in most cases.",
        (ours["UPE"] > ours[others].max(axis=1)).astype(float),
        above=0.5,
        percent=True,
        rival="the effect is the share of data sets and splits",
    )
    gain = ours["iEC3"] / ours["UPE"] - 1
    yield Claim(
        "The AUC of iEC3 is at least 3 % above that of UPE, on every data set.",
        gain,
        above=0.03,
        every=True,
        headline=True,
        percent=True,
        rival=f"in print from {(theirs['iEC3'] / theirs['UPE'] - 1).min():.1%} on",
    )
    own = gain[gain.index.get_level_values(0) == "creditcard"]
    if len(own):
        theirs_own = float(theirs.loc["creditcard", "iEC3"] / theirs.loc["creditcard", "UPE"] - 1)
        yield Claim("The gain over UPE on Creditcard is significant.", own, printed=theirs_own, percent=True)
        rest = gain.drop(index="creditcard", level=0).unstack(0)[comparable(set(gain.index.get_level_values(0)) - {"creditcard"})]
        lead = own.droplevel(0) - rest.loc[:, rest.mean().idxmax()]
        yield Claim(
            f"The gain over UPE is largest on Creditcard; the runner-up is {rest.mean().idxmax()}.",
            pd.concat({"all": lead}),
            percent=True,
        )
    if set(rows["experiment"]) & {"datasets", "accuracy_large"}:
        yield size_claim(rows, ours["iEC3"] - ours[list(BASELINES)].max(axis=1))


def size_claim(rows: Frame, lead: Series) -> Claim:
    """Return the claim that the lead over the best baseline grows with the data set."""
    text = "The larger the data set, the larger the lead of iEC3 over the best baseline"
    if (rows["experiment"] == "accuracy_large").any():
        large = scored_cells(rows, "auc", "accuracy_large")
        grown = (large["iEC3"] - large[list(BASELINES)].max(axis=1)) - lead
        return Claim(f"{text}; here more rows of the same data set against fewer.", grown.dropna())
    size = means(rows, "datasets", "value", columns="setting")["rows"]
    return Claim(f"{text} (rank correlation).", correlations(lead, size))


def correlations(values: Series, size: Series) -> Series:
    """Return an effect whose mean in a split is the rank correlation of the values with a number per data set.

    It is the product of both ranks, standardised, so that the interval over data sets is one of the correlation.
    """
    by_split = values.unstack(0).dropna()
    ranks, of_size = by_split.rank(axis=1), size[by_split.columns].rank()
    products = standardised(ranks.T).mul(standardised(of_size), axis=0)
    return products.stack()


def standardised(table: Any) -> Any:
    """Return a table or a series with the mean 0 and the standard deviation 1 in each column; all 0 where it is constant."""
    return ((table - table.mean()) / table.std(ddof=0)).fillna(0.0)


# ---- weights and epsilon (Figures 2 and 3, Table 2b) -------------------------------------------------------------------


def parameters(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of the four weights."""
    grid = cells(rows, "parameters", "auc", columns="setting", method="iEC3")
    weights = pd.DataFrame([setting.split() for setting in grid.columns], index=grid.columns).astype(float)
    weights.columns = list(published.SUGGESTED)
    good = grid.ge(grid.quantile(1 - published.TOP_SHARE, axis=1), axis=0).astype(float)
    mean = (good @ weights).div(good.sum(axis=1), axis=0)
    yield Claim(
        "In the best tenth of settings beta and gamma are always larger than alpha and delta (the smaller of the first two minus "
        "the larger of the others).",
        mean[["beta", "gamma"]].min(axis=1) - mean[["alpha", "delta"]].max(axis=1),
        every=True,
    )
    best = {row["dataset"].lower(): " ".join(f"{row[name]:.2f}" for name in weights) for row in published.printed("datasets")}
    chosen = {
        place: grid.loc[place, best[place[0]]] for place in grid.index if place[0] in best and best[place[0]] in grid.columns
    }
    if chosen:
        own = pd.Series(chosen)
        tuned = cells(rows, "parameters", "auc")["iEC3, tuned"]
        learned = (tuned - grid[DEFAULT]).mean()
        yield Claim(
            "Each data set has weights of its own that are better than the common ones (Table 2b).",
            own - grid.loc[own.index, DEFAULT],
            rival=f"weights tuned on the validation set: {learned:+.4f}",
        )


def epsilon(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of stopping its loop early."""
    auc = cells(rows, "epsilon", "auc", columns="setting")
    last = f"{published.EPSILONS[-1]:.3f}"
    for tol, share in published.EPSILON_AUC.items():
        setting = f"{tol:.3f}"
        if setting in auc:
            text = f"Stopping the loop at epsilon {setting} instead of {last} costs {1 - share:.0%} of the AUC."
            yield Claim(text, 1 - auc[setting] / auc[last], printed=1 - share, percent=True)


# ---- base models (Tables 4 to 8) ---------------------------------------------------------------------------------------


def classifiers(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of the classifiers."""
    lost = _lost(rows, "drop_classifier")
    theirs = printed("drop_classifier_auc", "dropped")
    printed_loss = (theirs.loc["none"] - theirs.drop(index="none")).mean().mean()
    yield Claim("Leaving out a classifier costs AUC.", lost.mean(axis=1), printed=float(printed_loss))
    single = scored_cells(rows, "auc")[list(lost.columns)]
    both = lost.index.intersection(single.index)
    yield Claim(
        "The better a classifier is alone, the more its absence costs (rank correlation).",
        lost.loc[both].apply(lambda own: rank_correlation(own, single.loc[own.name]), axis=1),
    )


def one_by_one(rows: Frame, experiment: str, first: str, enough: str, all_of: str, what: str) -> Iterator[Claim]:
    """Yield that a further base model never hurts, each step of each data set by itself."""
    auc = cells(rows, experiment, "auc", columns="setting")
    steps = {f"{step - 1} to {step}": auc[str(step)] - auc[str(step - 1)] for step in range(int(first), int(all_of) + 1)}
    yield Claim(f"Adding a {what} never hurts{enough} (by more than {NOISE}).", _units(steps), above=-NOISE, every=True)


def _units(parts: dict[str, Series]) -> Series:
    """Return several effects as one, whose units are pairs of a data set and a part."""
    named = []
    for part, effect in parts.items():
        names = [f"{name}, {part}" for name in effect.index.get_level_values(0)]
        named.append(effect.set_axis(pd.MultiIndex.from_arrays([names, effect.index.get_level_values(1)])))
    return pd.concat(named)


def adding_classifiers(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of adding classifiers."""
    auc = cells(rows, "add_classifier", "auc", columns="setting")
    theirs = published.printed("add_classifier")
    gained = np.mean([theirs[3][name] - theirs[0][name] for name in ("creditcard_auc", "waveform_auc")])
    yield Claim(
        "Up to four classifiers, each adds much (AUC with four minus that with one).", auc["4"] - auc["1"], printed=float(gained)
    )
    yield from one_by_one(rows, "add_classifier", "5", " once there are four", "7", "classifier")


def clusterings(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of its clusterings."""
    nmi = cells(rows, "clustering_nmi", "nmi")[list(published.CLUSTERINGS)]
    theirs = printed("clustering_nmi").loc["Average"]
    others = [name for name in published.CLUSTERINGS if name != "Affinity"]
    second = nmi[others].mean().idxmax()
    yield Claim(
        f"Affinity propagation matches the classes best on average; second here: {second}.",
        nmi["Affinity"] - nmi[second],
        printed=float(theirs["Affinity"] - theirs[others].max()),
    )
    if not (rows["experiment"] == "drop_clustering").any():
        return
    lost = _lost(rows, "drop_clustering")
    table = {row["dropped"]: row for row in published.printed("drop_clustering")}
    heads = ("creditcard_auc", "waveform_auc")
    cost = {name: float(np.mean([table["none"][head] - table[name][head] for head in heads])) for name in published.CLUSTERINGS}
    yield Claim("Leaving out affinity propagation costs AUC.", lost["Affinity"], printed=cost["Affinity"])
    second = lost[others].mean().idxmax()
    yield Claim(
        f"It costs more than leaving out any other clustering; second here: {second}.",
        lost["Affinity"] - lost[second],
        printed=cost["Affinity"] - max(cost[name] for name in others),
    )
    if (rows["experiment"] == "drop_classifier").any():
        yield _classifier_or_clustering(rows, lost)


def _lost(rows: Frame, experiment: str) -> Frame:
    auc = cells(rows, experiment, "auc", columns="setting")
    return auc.drop(columns="none").rsub(auc["none"], axis=0)


def _classifier_or_clustering(rows: Frame, lost: Frame) -> Claim:
    """Return the claim on the costliest classifier and the costliest clustering of each data set."""
    classifier = _lost(rows, "drop_classifier")
    worst = [table.groupby(level=0).transform("mean").idxmax(axis=1) for table in (classifier, lost)]
    costs = [
        table.stack().reindex([(*place, name) for place, name in chosen.items()]).droplevel(2)
        for table, chosen in zip((classifier, lost), worst, strict=True)
    ]
    theirs, printed_cost = printed("drop_classifier_auc", "dropped"), {}
    table = {row["dropped"]: row for row in published.printed("drop_clustering")}
    for name in ("creditcard", "waveform"):
        of_classifier = theirs.loc["none", name] - theirs.drop(index="none")[name].min()
        of_clustering = table["none"][f"{name}_auc"] - table["Affinity"][f"{name}_auc"]
        printed_cost[name] = of_classifier - of_clustering
    return Claim(
        "Losing the best classifier costs more than losing the best clustering.",
        costs[0] - costs[1],
        printed=float(np.mean(list(printed_cost.values()))),
    )


def adding_clusterings(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of adding clusterings."""
    auc = cells(rows, "add_clustering", "auc", columns="setting")
    none = (auc["0"] / auc["5"]).groupby(level=0).mean().mean()
    yield Claim(
        "Two clusterings give 95 % of the AUC that five give.",
        auc["2"] / auc["5"],
        above=0.95,
        percent=True,
        rival=f"no clustering at all gives {none:.1%}",
    )
    yield from one_by_one(rows, "add_clustering", "1", "", "5", "clustering")


# ---- the four terms (Table 9) ----------------------------------------------------------------------------------------


def terms(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of the terms of its objective."""
    auc = cells(rows, "drop_term", "auc", columns="setting", method="iEC3")
    lost = 1 - auc.drop(columns="none").div(auc["none"], axis=0)
    theirs = printed("drop_term_auc_percent").mean() / 100
    for term in ("J1", "J2", "J3", "J4"):
        yield Claim(f"Without {term} the AUC falls by {theirs[term]:.1%}.", lost[term], printed=float(theirs[term]), percent=True)
    yield Claim(
        "Leaving out a term never raises the AUC (by more than 0.2 %).",
        _units({term: lost[term] for term in lost}),
        above=-NOISE,
        every=True,
        percent=True,
    )
    yield Claim(
        "J2 and J3 matter most (the smaller loss of the two minus the larger of the others).",
        lost[["J2", "J3"]].min(axis=1) - lost[["J1", "J4"]].max(axis=1),
        printed=float(theirs[["J2", "J3"]].min() - theirs[["J1", "J4"]].max()),
        percent=True,
    )


# ---- robustness (Figures 4 to 6) ---------------------------------------------------------------------------------------


def kept(rows: Frame, experiment: str, metric: str, setting: str, first: str) -> Frame:
    """Return the score in a setting as a share of that in the first one, by data set and split."""
    own = rows[rows["experiment"] == experiment]
    return cells(own[own["setting"] == setting], experiment, metric) / cells(own[own["setting"] == first], experiment, metric)


def imbalance(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of classes made rare."""
    last = f"{published.REMOVED[-1]:.2f}"
    auc, f = (kept(rows, "imbalance", metric, last, "0.00") for metric in ("auc", "f_touched"))
    least = min(own["iEC3"] for own in published.IMBALANCE_AUC.values())
    rival = f"the majority vote keeps {auc['majority vote'].mean():.1%}" if "majority vote" in auc else ""
    yield Claim(
        f"With 30 % of a class removed iEC3 keeps at least {least:.0%} of its AUC.",
        auc["iEC3"],
        above=least,
        headline=True,
        percent=True,
        rival=rival,
    )
    yield Claim(
        "It keeps more of its AUC than UPE.",
        auc["iEC3"] - auc["UPE"],
        printed=published.IMBALANCE_AUC["susy"]["iEC3"] - published.IMBALANCE_UPE,
        headline=True,
        percent=True,
    )
    for other in ("EC3", "UPE"):
        sizes = [own["iEC3"] - own[other] for own in published.IMBALANCE_F.values()]
        text = f"iEC3 keeps more of the F of the class than {other}."
        yield Claim(text, f["iEC3"] - f[other], printed=float(np.mean(sizes)), percent=True)


def robustness(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of random base models."""
    guess, scatter = (kept(rows, f"random_{kind}", "auc", "10", "0") for kind in ("classifiers", "clusterings"))
    least = published.RANDOM_AUC["iEC3"]
    for share, word in ((guess, "classifiers"), (scatter, "clusterings")):
        yield Claim(
            f"With 10 random {word} iEC3 keeps at least {least:.0%} of its AUC, on every data set.",
            share["iEC3"],
            above=least,
            every=True,
            headline=True,
            percent=True,
            rival=f"the majority vote keeps {share['majority vote'].groupby(level=0).mean().mean():.1%}",
        )
    yield Claim(
        f"It keeps more than UPE, which keeps {published.RANDOM_AUC['UPE']:.0%} (10 random classifiers).",
        guess["iEC3"] - guess["UPE"],
        printed=least - published.RANDOM_AUC["UPE"],
        headline=True,
        percent=True,
    )
    yield Claim("Random classifiers harm more than random clusterings.", scatter["iEC3"] - guess["iEC3"], percent=True)
    if (rows["experiment"] == "datasets").any():
        size = means(rows, "datasets", "value", columns="setting")["rows"]
        yield Claim(
            "The smaller the data set, the more random classifiers harm (rank correlation of size and share kept).",
            correlations(guess["iEC3"], size),
        )


# ---- runtime (Table 10, Figure 7) ------------------------------------------------------------------------------------


def runtime(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of runtimes: all methods as published, on the same objects, equal rows not merged."""
    seconds = select(rows, "like_for_like", "seconds")
    table = seconds.assign(unit=seconds["dataset"] + ", " + seconds["setting"]).pivot_table(
        index=["unit", "seed"], columns="method", values="value", sort=False
    )
    theirs = printed("runtime_seconds", "method").T
    for other in ("UPE", "BGCM"):
        ratio = float((theirs[other] / theirs["iEC3"]).mean())
        exact = f"; our exact solvers: {(table['BGCM, exact'] / table['iEC3, exact']).mean():.2f}" if other == "BGCM" else ""
        yield Claim(
            f"iEC3 is {ratio:.2f} times as fast as {other} (ratio of times).",
            table[other] / table["iEC3"],
            above=1.0,
            printed=ratio,
            headline=True,
            rival=(
                "UPE is our reconstruction" if other == "UPE" else f"the loop of BGCM stops early, far from its answer{exact}"
            ),
        )


def growth(rows: Frame) -> Iterator[Claim]:
    """Yield what the paper claims of growing tables, for its own loop."""
    for experiment, what, power in (("growth_models", "base models", 1), ("growth_classes", "classes", 2)):
        yield _fit_claim(rows, experiment, what, power)
    yield _linear_in_objects(rows)


def fit(size: Any, seconds: Any, power: int = 1) -> float:
    """Return R^2 of a line through seconds against a power of the size."""
    return float(linregress(np.asarray(size, dtype=float) ** power, seconds).rvalue ** 2)


def _fit_claim(rows: Frame, experiment: str, what: str, power: int) -> Claim:
    found = {}
    for name in sorted(set(rows[rows["experiment"] == experiment]["dataset"])):
        for seed in sorted(set(rows[(rows["experiment"] == experiment) & (rows["dataset"] == name)]["seed"])):
            size, seconds = growth_curve(rows[rows["seed"] == seed], experiment, name, "iEC3, the paper's loop")
            found[name, seed] = fit(size, seconds, power)
    shape = "linearly" if power == 1 else "with the square"
    return Claim(
        f"The runtime grows {shape} {'with the number' if power == 1 else 'of the number'} of {what}: R^2 above 0.98.",
        pd.Series(found),
        above=0.98,
        headline=True,
    )


def _linear_in_objects(rows: Frame) -> Claim:
    """Return the claim on objects, from runs in which equal rows are not merged."""
    own = select(rows, "like_for_like", method="iEC3")
    found = {
        place: fit(curve["setting"].astype(float), curve["value"])
        for place, curve in own.groupby(["dataset", "seed"], sort=False)
    }
    return Claim(
        "The runtime grows linearly with the number of objects: R^2 above 0.98.", pd.Series(found), above=0.98, headline=True
    )


# The experiments each group of claims needs, and the function that yields it.
CLAIMS: list[tuple[tuple[str, ...], Callable[[Frame], Iterator[Claim]]]] = [
    (("accuracy",), accuracy),
    (("parameters",), parameters),
    (("epsilon",), epsilon),
    (("drop_classifier", "accuracy"), classifiers),
    (("add_classifier",), adding_classifiers),
    (("clustering_nmi",), clusterings),
    (("add_clustering",), adding_clusterings),
    (("drop_term",), terms),
    (("imbalance",), imbalance),
    (("random_classifiers", "random_clusterings"), robustness),
    (("like_for_like",), runtime),
    (("like_for_like", "growth_models", "growth_classes"), growth),
]


def claims(rows: Frame) -> list[Claim]:
    """Return all claims of the paper whose experiments have rows."""
    present = set(rows["experiment"])
    return [claim for needed, make in CLAIMS if present.issuperset(needed) for claim in make(rows)]
