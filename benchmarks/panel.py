"""How right and how sure is the default, and what does each of its constants buy?

    python benchmarks/panel.py [--groups crowds,juries,...] [--labels] [--without]

Prints the mean accuracy, log loss and calibration error of the default on sets of votes of several
kinds: public crowds, small juries drawn from them, language models as judges at base rates from 5
to 95 %, labels and probabilities of classifiers, and simulated crowds. `--without` sets each
constant of the default to the value that switches it off and prints what is lost, with standard
errors over sets; those that suggested a constant are left out of its line. `--labels` adds known
labels to the judges and compares with three plain regressions. Groups that need the folders `crowd`
and `judges` look for them in the folder that EC3LEARN_DATA names. An object whose tied classes
include the truth counts as right by its share.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
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
from ec3learn import Scale, Votes

FOLDER = Path(os.environ.get("EC3LEARN_DATA", Path(__file__).parents[2] / "shared" / "data"))
BASE_RATES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
BINS = 10


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
    """Simulated crowds: skills, biases, hard objects that mislead many, rare classes, long tails of voters."""
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        n, n_voters, n_classes = (
            int(rng.integers(50, 1500)),
            int(rng.integers(3, 60)),
            int(rng.choice([2, 2, 3, 5])),
        )
        truth = rng.choice(n_classes, n, p=rng.dirichlet(np.full(n_classes, 3.0)))
        skill, bias = rng.beta(6, 3, n_voters), rng.dirichlet(np.ones(n_classes), n_voters)
        lure, share = (truth + rng.integers(1, n_classes, n)) % n_classes, rng.uniform(0, 0.4)
        hard = rng.random(n) < share
        cast = rng.random((n, n_voters)) < min(1.0, rng.uniform(2, 8) / n_voters) ** rng.choice(
            [0.3, 1.0]
        )
        right = rng.random((n, n_voters)) < np.where(hard[:, None], 0.5 * skill, skill)
        slip = np.array([rng.choice(n_classes, n, p=one) for one in bias]).T
        wrong = np.where(hard[:, None] & (rng.random((n, n_voters)) < 0.6), lure[:, None], slip)
        labels = np.where(cast, np.where(right, truth[:, None], wrong), -1)
        known = {
            f"{v}": [None if code < 0 else int(code) for code in labels[:, v]]
            for v in range(n_voters)
            if cast[:, v].any()
        }
        yield Case(
            "simulations", f"{seed}", Votes.from_labels(known, classes=range(n_classes)), truth
        )


GROUPS: dict[str, Callable[[], Iterator[Case]]] = {
    "crowds": crowds,
    "juries": juries,
    "scores": lambda: judged((2, 3, 5, 8, 12), 2, verdicts=False),
    "verdicts": lambda: judged((2, 3, 5, 8, 12), 2, verdicts=True),
    "labels": models_labels,
    "probabilities": models_probabilities,
    "simulations": simulations,
}


def measured(cases: Iterator[Case], method: str = "auto") -> pd.DataFrame:
    """Return how the default does on each case."""
    rows = []
    for case in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            consensus = ec3learn.solve(case.votes, method=method)
        rows.append({"source": case.source, **scored(consensus.proba, case.truth)})
    return pd.DataFrame(rows)
