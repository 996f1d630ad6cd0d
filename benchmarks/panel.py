"""How right and how sure is the default, and what does each of its constants buy?

    python benchmarks/panel.py [--groups crowds juries ...] [--methods auto ebcc ...]
    python benchmarks/panel.py [--groups ...] --without | --labels | --shares | --left-out

Prints the mean accuracy, log loss and calibration error of the default, and of other methods, on
sets of votes of several kinds: public crowds, small juries drawn from them, language models as
judges at base rates from 5 to 95 %, labels and probabilities of classifiers, and simulated crowds.
Differences have standard errors over sources.

`--without` switches off one constant of the default after the other and prints what that costs,
with standard errors over sources. `--labels` gives known labels to judges and models and compares
with plain regressions. `--shares` passes the true shares of the classes. `--left-out` chooses the constants on half of the crowds and scores the
other half. Groups that need the folders `crowd` and `judges` look for them in the folder that
EC3LEARN_DATA names. An object whose tied classes include the truth counts as right by its share.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from simulated import KINDS, mixed
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import ec3learn
from ec3learn import Panel, Scale, Votes
from ec3learn.methods import panel, regression

FOLDER = Path(os.environ.get("EC3LEARN_DATA", Path(__file__).parents[2] / "shared" / "data"))
BASE_RATES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
BINS = 10
SHOWN = ("accuracy", "log loss", "calibration error")


@dataclass
class Case:
    """Votes with a known truth; `source` is the set they were drawn from."""

    group: str
    source: str
    votes: Votes
    truth: np.ndarray  # codes of classes, -1 where it is not known


def scored(proba: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Return how right and how sure class probabilities are."""
    proba, truth = proba[truth >= 0], truth[truth >= 0]
    rows = np.arange(len(truth))
    top = proba >= proba.max(axis=1, keepdims=True) - 1e-9
    right, sure = top[rows, truth] / top.sum(axis=1), proba.max(axis=1)
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = [abs(sure[bins == b].sum() - right[bins == b].sum()) for b in range(BINS)]
    loss = -np.log(np.maximum(proba[rows, truth], 1e-12)).mean()
    return {
        "accuracy": float(right.mean()),
        "log loss": float(loss),
        "calibration error": float(sum(gaps) / len(truth)),
    }


# ---- sets of votes -------------------------------------------------------------------------------


@functools.cache
def crowd_tables() -> dict[str, tuple[pd.DataFrame, pd.Series]]:
    found = {}
    for path in sorted((FOLDER / "crowd").glob("*_answers.parquet")):
        name = path.name.removesuffix("_answers.parquet")
        truth = pd.read_parquet(path.with_name(f"{name}_truth.parquet")).set_index("question")[
            "truth"
        ]
        found[name] = pd.read_parquet(path), truth
    return found


def crowds() -> Iterator[Case]:
    """Public crowds, whole."""
    for name, (answers, truth) in crowd_tables().items():
        classes = sorted({*answers["answer"], *truth})
        votes = Votes.from_long(
            answers["question"], answers["worker"], answers["answer"], classes=classes
        )
        codes = truth.map(classes.index).reindex(votes.object_ids).fillna(-1).to_numpy().astype(int)
        yield Case("crowds", name, votes, codes)


def juries(draws: int = 8, least: int = 15, most: int = 300) -> Iterator[Case]:
    """Two to nine of the 40 busiest annotators of a crowd, and the objects on which all of them but one voted."""
    rng = np.random.default_rng(0)
    for name, (answers, truth) in crowd_tables().items():
        classes = sorted({*answers["answer"], *truth})
        own = answers[answers["question"].isin(truth.index)].drop_duplicates(["question", "worker"])
        table = own.pivot(index="question", columns="worker", values="answer")
        busy = table.count().nlargest(40).index
        for size in (2, 3, 4, 5, 7, 9):
            if size > len(busy):
                continue
            tried = (table[rng.choice(busy, size, replace=False)] for _ in range(20 * draws))
            drawn = (jury[jury.count(axis=1) >= max(2, size - 1)] for jury in tried)
            for jury in islice((jury for jury in drawn if len(jury) >= least), draws):
                rows = jury.sample(min(most, len(jury)), random_state=int(rng.integers(2**31)))
                votes = Votes.from_labels(
                    {voter: rows[voter].to_numpy() for voter in rows}, classes=classes
                )
                yield Case(
                    "juries", name, votes, truth.loc[rows.index].map(classes.index).to_numpy()
                )


@functools.cache
def judge_table() -> pd.DataFrame:
    return pd.read_parquet(FOLDER / "judges" / "toxicity_scores.parquet")


def judged(sizes: tuple[int, ...], draws: int, verdicts: bool) -> Iterator[Case]:
    """Some of twelve language models that scored comments for toxicity from 0 to 9, at base rates from 5 to 95 %."""
    table, rng = judge_table(), np.random.default_rng(1)
    names = [name for name in table.columns if name not in ("comment", "toxic")]
    toxic = table["toxic"].to_numpy().astype(bool)
    for size in sizes:
        for rate in BASE_RATES:
            for _ in range(draws):
                n = int(min(toxic.sum() / rate, (~toxic).sum() / (1 - rate)))
                n_toxic = round(n * rate)
                kept = [rng.choice(np.flatnonzero(toxic), n_toxic, replace=False)]
                kept.append(rng.choice(np.flatnonzero(~toxic), n - n_toxic, replace=False))
                rows = rng.permutation(np.concatenate(kept))
                scores = {
                    name: table[name].iloc[rows] for name in rng.choice(names, size, replace=False)
                }
                yield Case(
                    "judges",
                    f"{rate:.0%} of {size}",
                    _judged(scores, verdicts),
                    toxic[rows].astype(int),
                )


def _judged(scores: dict[str, pd.Series], verdicts: bool) -> Votes:
    if not verdicts:
        labels = {name: one.to_numpy() for name, one in scores.items()}
        return Votes.from_labels(
            labels, classes=["fine", "toxic"], scale=Scale(range(10), outside="missing")
        )
    given = {name: one.astype("Float64").where(one.between(0, 9)) for name, one in scores.items()}
    labels = {
        name: (one > 4.5).map({True: "toxic", False: "fine"}).to_numpy()
        for name, one in given.items()
    }
    return Votes.from_labels(labels, classes=["fine", "toxic"])


def models() -> dict[str, object]:
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(5)),
        "Bayes": GaussianNB(),
        "tree": DecisionTreeClassifier(random_state=0),
        "trees": ExtraTreesClassifier(100, random_state=0),
        "boosting": HistGradientBoostingClassifier(max_iter=50, random_state=0),
        "vectors": make_pipeline(StandardScaler(), SVC(random_state=0)),
    }


@functools.cache
def feature_tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    built_in = {"digits": load_digits, "wine": load_wine, "breast cancer": load_breast_cancer}
    found = {name: load(return_X_y=True) for name, load in built_in.items()}
    for path in sorted(FOLDER.glob("*.parquet")):
        table = pd.read_parquet(path)
        table = table.sample(min(len(table), 3000), random_state=0)
        features = pd.get_dummies(table.drop(columns="target")).to_numpy(dtype=float)
        found[path.stem] = features, table["target"].astype("category").cat.codes.to_numpy()
    return found


@functools.cache
def predictions() -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return class probabilities of seven models, models x objects x classes, and the truth, by data set."""
    found = []
    for name, (features, target) in feature_tables().items():
        n_classes = len(np.unique(target))
        for size in (10 * n_classes, 40 * n_classes):
            for seed in range(2):
                fitted = train_test_split(
                    features,
                    target,
                    train_size=min(size, len(target) // 2),
                    stratify=target,
                    random_state=seed,
                )
                train, test, known, truth = (one[:2000] for one in fitted)
                proba = []
                for model in models().values():
                    model.fit(train, known)
                    if hasattr(model, "predict_proba"):
                        proba.append(model.predict_proba(test))
                    else:
                        proba.append(np.eye(n_classes)[model.predict(test)])
                found.append((name, np.array(proba), truth))
    return found


def models_labels() -> Iterator[Case]:
    """Labels of seven classifiers that learned from few objects."""
    for name, proba, truth in predictions():
        yield Case(
            "labels",
            name,
            Votes.from_labels(proba.argmax(axis=2).T, classes=range(proba.shape[2])),
            truth,
        )


def models_probabilities() -> Iterator[Case]:
    """Probabilities of the same, all seven or three of them."""
    for name, proba, truth in predictions():
        for some in (proba, proba[[0, 2, 4]]):
            yield Case(
                "probabilities",
                name,
                Votes.from_probabilities({f"model {m}": one for m, one in enumerate(some)}),
                truth,
            )


def simulations(n_sets: int = 40) -> Iterator[Case]:
    """Simulated crowds, each of a size and structure of its own."""
    for seed in range(n_sets):
        yield Case("simulations", f"{seed}", *mixed(np.random.default_rng(seed)))


def kinds(draws: int = 6) -> Iterator[Case]:
    """Simulated crowds of one structure each, which had no part in choosing anything."""
    for kind, make in KINDS.items():
        for seed in range(draws):
            yield Case("kinds", kind, *make(np.random.default_rng(seed)))


GROUPS: dict[str, Callable[[], Iterator[Case]]] = {
    "crowds": crowds,
    "juries": juries,
    "scores": lambda: judged((2, 3, 5, 8, 12), 2, verdicts=False),
    "verdicts": lambda: judged((2, 3, 5, 8, 12), 2, verdicts=True),
    "labels": models_labels,
    "probabilities": models_probabilities,
    "simulations": simulations,
    "kinds": kinds,
}


def solved(
    votes: Votes, method: str | Panel = "auto", known: dict[int, object] | None = None
) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ec3learn.solve(votes, known, method).proba


def measured(cases: Iterator[Case], method: str = "auto") -> pd.DataFrame:
    """Means by source, so that each counts once."""
    rows = [{"source": c.source, **scored(solved(c.votes, method), c.truth)} for c in cases]
    return pd.DataFrame(rows).groupby("source", sort=False).mean()


# ---- without one of its parts --------------------------------------------------------------------

learned_with, votes_of = panel._learned, panel.votes_per_voter
WITHOUT: dict[str, dict[str, object]] = {
    "Dawid-Skene": {"_learned": lambda votes, _, *rest: learned_with(votes, 2, *rest)},
    "EBCC": {"_learned": lambda votes, _, *rest: learned_with(votes, 1, *rest)},
    "the plain vote (LEARNED = 1)": {"LEARNED": 1.0},
    "caution with few voters (2 / J)": {"equal_voters": lambda _: 1e9},
    "errors that the votes show (UNSEEN = 0)": {"UNSEEN": 0.0},
    "errors that they do not show (1 / n)": {"votes_per_voter": lambda v: 1e9 * votes_of(v)},
    "caution with rare classes (CLASS_OBJECTS)": {"CLASS_OBJECTS": 1e9},
}
WITHOUT_LABELS: dict[str, dict[str, object]] = {
    "offsets (OFFSET_PRECISION)": {"OFFSET_PRECISION": 1e6},
    "slope (SLOPE_PRECISION)": {"SLOPE_PRECISION": 1e6},
    "votes (VOTE_PRECISION, LOOSE)": {"VOTE_PRECISION": 1e6, "LOOSE": 1e6},
    "looser votes (LOOSE)": {"LOOSE": 30.0},
    "looser votes only where they are clearly better (CLEARLY)": {"CLEARLY": 0.0},
}


def changed(module: object, values: dict[str, object]) -> ExitStack:
    stack = ExitStack()
    for name, value in values.items():
        stack.enter_context(patch.object(module, name, value))
    return stack


def difference(after: pd.DataFrame, before: pd.DataFrame) -> dict[str, str]:
    """What is lost, with the standard error over sources."""
    lost = after - before
    errors = lost.std() / np.sqrt(len(lost))
    return {name: f"{lost[name].mean():+.4f} +- {errors[name]:.4f}" for name in SHOWN}


def ablation(names: list[str]) -> pd.DataFrame:
    rows = []
    for group in names:
        whole = measured(GROUPS[group]())
        for part, values in WITHOUT.items():
            with changed(panel, values):
                rows.append(
                    {
                        "without": part,
                        "group": group,
                        **difference(measured(GROUPS[group]()), whole),
                    }
                )
    return pd.DataFrame(rows)


def left_out(draws: int = 50) -> pd.DataFrame:
    """Scores on the half of the crowds that did not choose LEARNED and UNSEEN."""
    found = {}
    for learned, unseen in product((0.0, 0.5, 0.7, 0.85, 1.0), (0.0, 1.5, 3.0, 6.0)):
        with changed(panel, {"LEARNED": learned, "UNSEEN": unseen}):
            found[learned, unseen] = measured(crowds())
    rng, rows, names = np.random.default_rng(0), [], found[0.85, 3.0].index
    for _ in range(draws):
        choosing = rng.permutation(names)[: len(names) // 2]
        best = min(found, key=lambda key: found[key].loc[choosing, "log loss"].mean())
        rows.append({"chosen": str(best), **found[best].drop(choosing).mean()})
    return pd.DataFrame(rows)


# ---- with known labels ---------------------------------------------------------------------------


def columns_of(votes: Votes) -> np.ndarray:
    """The votes as columns of numbers: scores, or one column per voter and class."""
    table = regression.vote_columns(votes).of_rows(votes, np.arange(votes.n_rows)).toarray()
    return table if votes.index is None else table[votes.index]


def rivals(case: Case, base: np.ndarray, labelled: np.ndarray) -> dict[str, np.ndarray]:
    """What three plain regressions make of the labels: of the answer without them, of the votes, of neither."""
    truth, logs = case.truth[labelled], np.log(np.maximum(base, 1e-3))
    shares = (np.bincount(truth, minlength=base.shape[1]) + 0.5) / (len(truth) + base.shape[1] / 2)
    found = {"label shares alone": np.tile(shares, (len(base), 1))}
    for name, table, freedom in (
        ("intercept and slope", logs - logs.mean(axis=1, keepdims=True), 10.0),
        ("ridge on the votes", columns_of(case.votes), 1.0),
    ):
        found[name] = found["label shares alone"].copy()
        if len(np.unique(truth)) > 1:
            model = LogisticRegression(C=freedom, max_iter=1000).fit(table[labelled], truth)
            found[name][:, model.classes_] = model.predict_proba(table)
    return found


def with_labels(
    cases: Iterator[Case], sizes: tuple[int, ...], changes: dict[str, object] | None = None
) -> pd.DataFrame:
    """Scores of the default and its rivals on the objects that are not labelled."""
    rows = []
    for number, case in enumerate(cases):
        base = solved(case.votes)
        for size in sizes:
            rng = np.random.default_rng([number, size])
            labelled = rng.choice(np.flatnonzero(case.truth >= 0), size, replace=False)
            known = {int(i): case.votes.classes[case.truth[i]] for i in labelled}
            with changed(regression, changes or {}):
                answers = {"default": solved(case.votes, "auto", known)}
            if changes is None:
                answers |= rivals(case, base, labelled) | {"default, no labels": base}
            rest = np.setdiff1d(np.arange(len(base)), labelled)
            for method, proba in answers.items():
                row = {"source": case.source, "labels": size, "method": method}
                rows.append({**row, **scored(proba[rest], case.truth[rest])})
    return pd.DataFrame(rows)


def labels(draws: int) -> None:
    """Print what known labels are worth to judges at each base rate, and to seven models."""
    for title, cases, sizes in (
        ("scores of 3, 5 and 12 judges", lambda: judged((3, 5, 12), draws, False), (30, 50, 200)),
        ("verdicts", lambda: judged((3, 5, 12), 1, True), (30, 50, 200)),
        ("labels of seven models", models_labels, (30, 100, 700)),
        ("probabilities of seven models", models_probabilities, (30, 100, 700)),
    ):
        usable = [case for case in cases() if len(case.truth) > 2 * sizes[-1]]
        found = with_labels(iter(usable), sizes)
        show(f"Known labels: {title}", found.pivot_table(SHOWN[:2], "labels", "method"))
        if "models" not in title:
            rate = found["source"].str.split().str[0].rename("base rate")
            show("by base rate", found.pivot_table(SHOWN[:2], rate, "method", sort=False))
        cells = found.pivot_table(SHOWN[:2], ["source", "labels"], "method")
        others = ["intercept and slope", "ridge on the votes", "label shares alone"]
        behind = cells["accuracy"][others].max(axis=1) - cells["accuracy"]["default"]
        more = cells["log loss"]["default"] - cells["log loss"][others].min(axis=1)
        print(
            f"{len(cells)} cells: behind the best rival by more than .01 of accuracy in "
            f"{(behind > 0.01).sum()}, by more than .02 of log loss in {(more > 0.02).sum()}\n"
        )
        whole = found[found["method"] == "default"].set_index(["source", "labels"])[list(SHOWN)]
        rows = []
        for part, values in WITHOUT_LABELS.items():
            less = with_labels(iter(usable), sizes, values).set_index(["source", "labels"])
            lost = (less[list(SHOWN)] - whole).groupby("source").mean()
            rows.append({"without": part, **difference(lost, lost * 0)})
        show("without", pd.DataFrame(rows).set_index("without"))


def with_shares(cases: Iterator[Case]) -> pd.DataFrame:
    """Scores of the default without and with the true shares of the classes."""
    rows = []
    for case in cases:
        n = np.bincount(case.truth[case.truth >= 0], minlength=case.votes.n_classes) + 0.5
        shares = dict(zip(case.votes.classes.tolist(), n / n.sum(), strict=True))
        for passed in (None, shares):
            method = Panel(class_prior=passed)
            row = {"source": case.source, "shares": "none" if passed is None else "true"}
            rows.append({**row, **scored(solved(case.votes, method), case.truth)})
    by_source = pd.DataFrame(rows).groupby(["shares", "source"], sort=False).mean()
    return by_source.groupby("shares", sort=False).mean()


def beside(group: str, methods: list[str]) -> None:
    """Print how right and how sure methods are, and how far the others are from the first."""
    found = {method: measured(GROUPS[group](), method) for method in methods}
    table = pd.concat(found, axis=1).swaplevel(axis=1)[list(SHOWN)]
    table.loc["mean"] = table.mean()
    show(group, table if group in ("crowds", "scores", "verdicts", "kinds") else table.tail(1))
    first, *others = methods
    rows = {method: difference(found[method], found[first]) for method in others}
    if rows:
        show(f"{group}: beside {first}", pd.DataFrame(rows).T)


def show(title: str, table: pd.DataFrame) -> None:
    print(title, table.round(3).to_string(), sep="\n", end="\n\n", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS))
    parser.add_argument(
        "--methods", nargs="+", default=["auto"], help="the others beside the first"
    )
    parser.add_argument("--draws", type=int, default=2, help="of judges, with --labels")
    for flag in ("--without", "--labels", "--shares", "--left-out"):
        parser.add_argument(flag, action="store_true")
    asked = parser.parse_args()
    if asked.labels:
        labels(asked.draws)
    if asked.left_out:
        chosen = left_out()
        show("Chosen on seven crowds, scored on seven others", chosen.mean(numeric_only=True))
        show("chosen", chosen["chosen"].value_counts())
    if asked.without:
        show("What is lost without", ablation(asked.groups).set_index(["without", "group"]))
    if asked.shares:
        for group in asked.groups:
            show(f"{group}: shares of the classes passed", with_shares(GROUPS[group]()))
    if not (asked.labels or asked.shares or asked.left_out or asked.without):
        for group in asked.groups:
            beside(group, asked.methods)
    return 0


if __name__ == "__main__":
    sys.exit(main())
