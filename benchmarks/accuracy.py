"""Which method is most accurate, and when?

    python benchmarks/accuracy.py [--repeats 10] [--cases rare biased] [--methods auto majority]
    python benchmarks/accuracy.py --probabilities [--repeats 2]

Prints the mean accuracy of every method over the repeats, on votes whose truth is known: seven
kinds of simulated votes, models trained on five labels per class of three data sets that come with
scikit-learn, and two real crowds if EC3LEARN_DATA names their folder.

With `--probabilities` seven trained models vote with class probabilities on the half of the rows
that they have not seen: of the three data sets, and of those in the folder that EC3LEARN_DATA
names, at most 2,500 rows each. Means over data sets and repeats.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ec3learn import EC3, METHODS, DawidSkene, Table, Votes
from ec3learn.diagnosis.score import quality
from ec3learn.votes import hardened

Case = tuple[Votes, np.ndarray]

EXTRA = {
    "iec3, agreement weights": lambda: EC3(weights="agreement"),
    "iec3 towards dawid-skene": lambda: EC3(towards=DawidSkene()),
    "dawid-skene, clusterings too": lambda: DawidSkene(clusterings="voters"),
}


def voted(
    rng: np.random.Generator, truth: np.ndarray, skill: np.ndarray, n_classes: int
) -> np.ndarray:
    """Return votes that are right with each voter's skill, and any other class otherwise."""
    wrong = (truth[:, None] + rng.integers(1, n_classes, size=(len(truth), len(skill)))) % n_classes
    return np.where(rng.random(wrong.shape) < skill, truth[:, None], wrong)


def equal_annotators(rng: np.random.Generator) -> Case:
    truth = rng.integers(3, size=1000)
    return Votes.from_labels(voted(rng, truth, np.full(7, 0.6), 3)), truth


def unequal_annotators(rng: np.random.Generator) -> Case:
    truth = rng.integers(3, size=1000)
    return Votes.from_labels(
        voted(rng, truth, np.array([0.9, 0.85, 0.5, 0.45, 0.4, 0.4, 0.35]), 3)
    ), truth


def biased_annotators(rng: np.random.Generator) -> Case:
    truth = (rng.random(500) < 0.45).astype(int)
    seen = rng.normal(size=(500, 25)) + np.where(truth, 0.6, -0.6)[:, None]
    return Votes.from_labels((seen > rng.normal(0.7, 0.6, 25)).astype(int)), truth


def sparse_crowd(rng: np.random.Generator) -> Case:
    truth = rng.integers(4, size=2000)
    objects, voters = np.divmod(rng.choice(2000 * 150, 8000, replace=False), 150)
    objects = np.concatenate([np.arange(2000), objects])
    voters = np.concatenate([rng.integers(150, size=2000), voters])
    _, first = np.unique(objects * 150 + voters, return_index=True)
    objects, voters = objects[first], voters[first]
    right = rng.random(len(objects)) < rng.uniform(0.4, 0.95, 150)[voters]
    said = np.where(right, truth[objects], rng.integers(4, size=len(objects)))
    return Votes.from_long(objects, [f"a{j}" for j in voters], said), truth


def rare_class(rng: np.random.Generator) -> Case:
    """Three votes by 25 annotators on each object; one object in twenty is of the second class."""
    truth = (rng.random(1000) < 0.05).astype(int)
    said = voted(rng, truth, rng.uniform(0.6, 0.9, 25), 2)
    objects = np.repeat(np.arange(1000), 3)
    voters = np.argsort(rng.random((1000, 25)), axis=1)[:, :3].ravel()
    return Votes.from_long(objects, [f"a{j}" for j in voters], said[objects, voters]), truth


def clusterings_that_help(rng: np.random.Generator) -> Case:
    truth = rng.integers(4, size=1000)
    clusters = [
        np.where(
            rng.random(1000) < 0.85,
            truth * 3 + rng.integers(3, size=1000),
            rng.integers(12, size=1000),
        )
    ] * 1
    clusters += [
        np.where(rng.random(1000) < 0.85, truth, rng.integers(4, size=1000)) for _ in range(2)
    ]
    return Votes.from_labels(
        voted(rng, truth, np.array([0.6, 0.5, 0.5]), 4), np.stack(clusters, axis=1)
    ), truth


def random_classifiers(rng: np.random.Generator) -> Case:
    truth = rng.integers(3, size=1000)
    good = voted(rng, truth, np.full(5, 0.75), 3)
    return Votes.from_labels(np.hstack([good, rng.integers(3, size=(1000, 10))])), truth


def pool() -> dict[str, ClassifierMixin]:
    return {
        "tree": DecisionTreeClassifier(random_state=0),
        "bayes": GaussianNB(var_smoothing=1e-2),
        "neighbours": KNeighborsClassifier(3),
        "logistic": LogisticRegression(max_iter=1000),
        "extra trees": ExtraTreesClassifier(100, random_state=0),
        "forest": RandomForestClassifier(100, random_state=0),
        "network": MLPClassifier((50,), max_iter=200, random_state=0),
    }


def few_labels(
    load: Callable[..., tuple[np.ndarray, np.ndarray]],
) -> Callable[[np.random.Generator], Case]:
    def made(rng: np.random.Generator) -> Case:
        X, y = load(return_X_y=True)
        X = StandardScaler().fit_transform(X)
        labelled = np.concatenate(
            [rng.choice(np.flatnonzero(y == z), 5, replace=False) for z in np.unique(y)]
        )
        rest = np.setdiff1d(np.arange(len(y)), labelled)
        models = {
            name: model for name, model in pool().items() if name not in ("forest", "network")
        }
        said = {
            name: model.fit(X[labelled], y[labelled]).predict(X[rest])
            for name, model in models.items()
        }
        sizes = [len(np.unique(y)) * k for k in (1, 2, 4)]
        clusters = {
            f"{k} means": KMeans(k, n_init=2, random_state=0).fit_predict(X)[rest] for k in sizes
        }
        return Votes.from_labels(said, clusters), y[rest]

    return made


def real_crowd(folder: Path, name: str) -> Callable[[np.random.Generator], Case]:
    def made(_: np.random.Generator) -> Case:
        import pandas as pd

        answers = pd.read_parquet(folder / f"{name}_answers.parquet")
        truth = pd.read_parquet(folder / f"{name}_truth.parquet").set_index("question")["truth"]
        votes = Votes.from_long(answers["question"], answers["worker"], answers["answer"])
        return votes, truth.loc[list(votes.object_ids)].to_numpy()

    return made


# ---- models that vote with probabilities ---------------------------------------------------------

Data = tuple[np.ndarray, np.ndarray]
SCORES = ("accuracy", "AUC", "log loss")


def data_sets(folder: Path) -> dict[str, Callable[[], Data]]:
    bundled = {"digits": load_digits, "wine": load_wine, "cancer": load_breast_cancer}
    found = {name: lambda load=load: load(return_X_y=True) for name, load in bundled.items()}
    for path in sorted(folder.glob("*.parquet")):
        found[path.stem] = lambda path=path: from_parquet(path)
    return found


def from_parquet(path: Path) -> Data:
    import pandas as pd

    table = pd.read_parquet(path)
    y = table.pop("target").astype("category").cat.codes.to_numpy()
    nominal = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    coded = OneHotEncoder(
        max_categories=10, handle_unknown="infrequent_if_exist", sparse_output=False
    )
    return make_column_transformer((coded, nominal), remainder="passthrough").fit_transform(
        table.astype(dict.fromkeys(nominal, str))
    ), y


def votes_with_probabilities(
    data: Data, n_labels: int | None, seed: int
) -> tuple[Votes, Votes, np.ndarray]:
    """Return the votes of models trained on some labels per class, the same with three clusterings, and the truth."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(data[1]))[:2500]
    X, y = (
        StandardScaler().fit_transform(data[0][rows]),
        np.unique(data[1][rows], return_inverse=True)[1],
    )
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y)
    if n_labels is not None:
        train = np.concatenate([train[y[train] == z][:n_labels] for z in np.unique(y)])
    said = {
        name: model.fit(X[train], y[train]).predict_proba(X[test]) for name, model in pool().items()
    }
    sizes = [(y.max() + 1) * k for k in (1, 2, 4)]
    clusters = {
        f"{k} means": KMeans(k, n_init=1, random_state=0).fit_predict(X[test]) for k in sizes
    }
    return Votes.from_probabilities(said), Votes.from_probabilities(said, clusters), y[test]


def scores(proba: np.ndarray, truth: np.ndarray) -> list[float]:
    right = np.maximum(proba[np.arange(len(truth)), truth], 1e-12)
    return [
        float(np.mean(proba.argmax(axis=1) == truth)),
        quality(proba, proba.argmax(axis=1), truth, np.ones(len(truth))).auc or 0.5,
        float(-np.log(right).mean()),
    ]


def probabilities(folder: Path, repeats: int) -> Table:
    found: dict[tuple[str, str], list[list[float]]] = {}
    for data in data_sets(folder).values():
        table = data()
        for n_labels, seed in itertools.product((5, 20, None), range(repeats)):
            votes, with_clusters, truth = votes_with_probabilities(table, n_labels, seed)
            solved = {name: METHODS[name]().solve(votes) for name in SOFT_METHODS}
            solved["auto, with clusterings"] = METHODS["auto"]().solve(with_clusters)
            solved["auto, most probable classes alone"] = METHODS["auto"]().solve(hardened(votes))
            for name, consensus in solved.items():
                found.setdefault((name, f"{n_labels or 'all'} labels"), []).append(
                    scores(consensus.proba, truth)
                )
    names, columns = (list(dict.fromkeys(key[part] for key in found)) for part in (0, 1))
    means = {key: np.mean(rows, axis=0) for key, rows in found.items()}
    return Table(
        {"method": names}
        | {
            f"{column}: {score}": [float(means[name, column][s]) for name in names]
            for column in columns
            for s, score in enumerate(SCORES)
        }
    )


SOFT_METHODS = (
    "auto",
    "soft-vote",
    "weighted-vote",
    "majority",
    "bwa",
    "dawid-skene",
    "ebcc",
    "iec3",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument(
        "--cases", nargs="+", metavar="CASE", help="columns of the table; all unless given"
    )
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", help="rows of the table; all unless given"
    )
    parser.add_argument(
        "--probabilities", action="store_true", help="votes of models as class probabilities"
    )
    given = parser.parse_args()
    repeats = given.repeats
    warnings.simplefilter("ignore")
    if given.probabilities:
        print(probabilities(Path(os.environ.get("EC3LEARN_DATA", "no folder")), repeats))
        return 0
    cases: dict[str, tuple[Callable[[np.random.Generator], Case], int]] = {
        "equal": (equal_annotators, repeats),
        "unequal": (unequal_annotators, repeats),
        "biased": (biased_annotators, repeats),
        "sparse": (sparse_crowd, repeats),
        "rare": (rare_class, repeats),
        "clusters": (clusterings_that_help, repeats),
        "random": (random_classifiers, repeats),
        "digits": (few_labels(load_digits), repeats),
        "wine": (few_labels(load_wine), repeats),
        "cancer": (few_labels(load_breast_cancer), repeats),
    }
    folder = Path(os.environ.get("EC3LEARN_DATA", "")) / "crowd"
    if (folder / "dog_truth.parquet").is_file():
        cases |= {
            "product": (real_crowd(folder, "product"), 1),
            "dog": (real_crowd(folder, "dog"), 1),
        }
    else:
        print("Without the two real crowds: EC3LEARN_DATA names no folder that holds crowd/.\n")
    methods = {
        name: make
        for name, make in {**METHODS, **EXTRA}.items()
        if name in (given.methods or [*METHODS, *EXTRA])
    }
    cases = {name: case for name, case in cases.items() if name in (given.cases or cases)}
    columns: dict[str, list[object]] = {"method": list(methods)}
    for name, (make, n_runs) in cases.items():
        right = {method: [] for method in methods}
        for seed in range(n_runs):
            votes, truth = make(np.random.default_rng(seed))
            for method, factory in methods.items():
                if method == "upe" and votes.n_objects > 5000:
                    continue
                combine = factory(n_init=1) if method == "upe" else factory()
                if "random_state" in combine.get_params():
                    combine.set_params(random_state=0)
                right[method].append(float(np.mean(combine.solve(votes).labels() == truth)))
        columns[name] = [
            round(float(np.mean(scores)), 3) if scores else None for scores in right.values()
        ]
    print(Table(columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
