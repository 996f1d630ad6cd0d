"""How right is the answer from annotators and features together, and how sure of itself is it?

    python benchmarks/features_and_votes.py [--data digits,letter] [--crowds biased] [--repeats 3]
    [--clusterings] [--markdown]

Prints the accuracy and the log loss of `CrowdClassifier` and of what one could do instead, on
objects with 1.5 and 3 votes on average by simulated annotators, averaged over the repeats with
their standard errors. digits comes with scikit-learn and is taken whole; statlog, letter and image
are in the folder that EC3LEARN_DATA names, and 1,200 of their rows are drawn, others for each
repeat. Classifiers are extra trees, out of bag; by default, `CrowdClassifier` may also take
logistic regression. CROWDLAB needs cleanlab (extra `bench`). It gives the probability of its label;
what is left is shared evenly among the other classes. It is iterated as often as `CrowdClassifier`:
the trees learn from its labels.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from ec3learn import EC3, CrowdClassifier, DawidSkene, MajorityVote, Panel, Table, Votes
from ec3learn.estimator import classifier_pool

try:
    from cleanlab.multiannotator import get_label_quality_multiannotator
except ModuleNotFoundError:
    get_label_quality_multiannotator = None

FOLDER = Path(os.environ.get("EC3LEARN_DATA", Path(__file__).parents[2] / "shared" / "data"))
DATA = ("digits", "statlog", "letter", "image")
MOST_ROWS = 1200
VOTES = (1.5, 3.0)


# ---- objects and annotators ----------------------------------------------------------------------


def load(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes of a data set, or of a sample of it."""
    if name == "digits":
        return load_digits(return_X_y=True)
    table = pd.read_parquet(FOLDER / f"{name}.parquet")
    rows = np.sort(rng.permutation(len(table))[:MOST_ROWS])
    truth = np.unique(table.pop("target").astype(str).to_numpy()[rows], return_inverse=True)[1]
    return table.to_numpy(dtype=float)[rows], truth


def biased(rng: np.random.Generator, n_classes: int) -> np.ndarray:
    """Thirty annotators of very different skill, each with a taste for some wrong classes: voters x truth x answer."""
    tables = np.empty((30, n_classes, n_classes))
    for table in tables:
        skill = rng.uniform(0.2, 0.8)
        for z in range(n_classes):
            table[z] = rng.dirichlet(np.full(n_classes, 0.3))
            table[z, z] = 0.0
            right = np.clip(skill + rng.normal(0, 0.15), 0.05, 0.98)
            table[z] *= (1 - right) / table[z].sum()
            table[z, z] = right
    return tables


def few(rng: np.random.Generator, n_classes: int) -> np.ndarray:
    """Eight annotators who err in all ways alike."""
    skills = rng.uniform(0.4, 0.9, size=8)[:, None, None]
    return np.where(np.eye(n_classes, dtype=bool), skills, (1 - skills) / (n_classes - 1))


def spammers(rng: np.random.Generator, n_classes: int) -> np.ndarray:
    """Eighteen fair annotators, and twelve who do not look at the object."""
    skills = rng.uniform(0.6, 0.9, size=18)[:, None, None]
    fair = np.where(np.eye(n_classes, dtype=bool), skills, (1 - skills) / (n_classes - 1))
    habits = rng.dirichlet(np.full(n_classes, 0.5), size=12)
    return np.concatenate([fair, np.repeat(habits[:, None, :], n_classes, axis=1)])


CROWDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "biased": biased,
    "few": few,
    "spammers": spammers,
}


def ask(
    tables: np.ndarray, truth: np.ndarray, per_object: float, rng: np.random.Generator
) -> np.ndarray:
    """Return votes, objects x annotators, NaN where an annotator was not asked."""
    n_voters, n_classes, _ = tables.shape
    votes = np.full((len(truth), n_voters), np.nan)
    n_asked = int(per_object) + (rng.random(len(truth)) < per_object % 1)
    for i, z in enumerate(truth):
        for j in rng.choice(n_voters, n_asked[i], replace=False):
            votes[i, j] = rng.choice(n_classes, p=tables[j, z])
    return votes


# ---- what one can do -----------------------------------------------------------------------------


def out_of_bag(X: np.ndarray, labels: np.ndarray, n_classes: int, seed: int) -> np.ndarray:
    """Return class probabilities by trees that have not seen the row."""
    trees = dict(classifier_pool(random_state=seed))["extra"].fit(X, labels)
    proba = np.full((len(X), n_classes), 1e-9)
    votes = trees[-1].model_.oob_decision_function_
    proba[:, trees.classes_] += np.nan_to_num(votes, nan=1 / n_classes)
    return proba / proba.sum(axis=1, keepdims=True)


def crowdlab(
    X: np.ndarray, said: np.ndarray, labels: np.ndarray, n_classes: int, seed: int
) -> np.ndarray:
    """Return the answer of CROWDLAB, iterated."""
    for _ in range(CrowdClassifier().rounds):
        found = get_label_quality_multiannotator(
            pd.DataFrame(said),
            out_of_bag(X, labels, n_classes, seed),
            verbose=False,
            return_detailed_quality=False,
        )["label_quality"]
        labels, sure = (
            found[name].to_numpy() for name in ("consensus_label", "consensus_quality_score")
        )
    return np.where(
        np.arange(n_classes) == labels[:, None],
        sure[:, None],
        (1 - sure[:, None]) / (n_classes - 1),
    )


def rivals(
    X: np.ndarray, said: np.ndarray, n_classes: int, seed: int, with_clusterings: bool
) -> dict[str, np.ndarray]:
    """Return the class probabilities of the objects by every approach."""
    votes = Votes.from_labels(
        pd.DataFrame(said, columns=[f"a{j}" for j in range(said.shape[1])]),
        classes=range(n_classes),
    )
    scaled = StandardScaler().fit_transform(X)
    clusters = {
        f"kmeans {g}": KMeans(g * n_classes, n_init=2, random_state=seed).fit_predict(scaled)
        for g in (1, 2, 4)
    }
    both = votes.add(clusterings=clusters)
    majority = MajorityVote().solve(votes).labels()
    found = {
        "Dawid-Skene": DawidSkene().solve(votes).proba,
        "panel": Panel().solve(votes).proba,
        "iEC3 with three k-means": EC3().solve(both).proba,
        "panel with three k-means": Panel(clusterings="join").solve(both).proba,
        "trees on majority labels": out_of_bag(X, majority, n_classes, seed),
    }
    if get_label_quality_multiannotator is not None:
        found["CROWDLAB, iterated"] = crowdlab(X, said, majority, n_classes, seed)
    if with_clusterings:
        found["CrowdClassifier with three k-means"] = (
            CrowdClassifier(random_state=seed).fit(X, both).consensus_.proba
        )
    trees = dict(classifier_pool(random_state=seed))["extra"]
    found["CrowdClassifier with trees"] = (
        CrowdClassifier(trees, random_state=seed).fit(X, votes).consensus_.proba
    )
    found["CrowdClassifier"] = CrowdClassifier(random_state=seed).fit(X, votes).consensus_.proba
    return found


def measure(
    name: str, crowd: str, per_object: float, first: int, repeats: int, with_clusterings: bool
) -> dict[str, np.ndarray]:
    """Return accuracy and log loss of every approach, one row per repeat."""
    scores: dict[str, list[tuple[float, float]]] = {}
    for seed in range(first, first + repeats):
        rng = np.random.default_rng(
            [seed, DATA.index(name), list(CROWDS).index(crowd), round(10 * per_object)]
        )
        X, truth = load(name, rng)
        n_classes = int(truth.max()) + 1
        said = ask(CROWDS[crowd](rng, n_classes), truth, per_object, rng)
        for approach, proba in rivals(X, said, n_classes, seed, with_clusterings).items():
            own = np.maximum(proba[np.arange(len(truth)), truth], 1e-12)
            scores.setdefault(approach, []).append(
                (float(np.mean(proba.argmax(axis=1) == truth)), float(-np.log(own).mean()))
            )
    return {approach: np.array(rows) for approach, rows in scores.items()}


# ---- on the terminal -----------------------------------------------------------------------------


def cell(values: np.ndarray) -> str:
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{values.mean():.3f} ± {error:.3f}"


def show(table: Table, markdown: bool) -> None:
    if not markdown:
        print(table, end="\n\n", flush=True)
        return
    print("| " + " | ".join(table.columns) + " |\n|" + "---|" * len(table.columns))
    for row in table.rows():
        print("| " + " | ".join(map(str, row.values())) + " |")
    print(flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=",".join(DATA), help="data sets, separated by commas")
    parser.add_argument("--crowds", default=",".join(CROWDS), help="crowds, separated by commas")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first repeat")
    parser.add_argument(
        "--clusterings", action="store_true", help="measure CrowdClassifier with clusterings too"
    )
    parser.add_argument("--markdown", action="store_true", help="print tables for a page")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if get_label_quality_multiannotator is None:
        print("CROWDLAB is left out: it needs cleanlab (pip install 'ec3learn[bench]').")
    for name in asked.data.split(","):
        if name != "digits" and not (FOLDER / f"{name}.parquet").is_file():
            print(
                f"{name} is left out: it is not in {FOLDER}. Set EC3LEARN_DATA to the folder that has it."
            )
            continue
        for crowd in asked.crowds.split(","):
            found = {
                per: measure(name, crowd, per, asked.first, asked.repeats, asked.clusterings)
                for per in VOTES
            }
            columns: dict[str, list[str]] = {"approach": list(found[VOTES[0]])}
            for per, scores in found.items():
                columns[f"right, {per:g} votes"] = [cell(rows[:, 0]) for rows in scores.values()]
                columns[f"log loss, {per:g} votes"] = [cell(rows[:, 1]) for rows in scores.values()]
            print(f"{name}, {crowd}: {CROWDS[crowd].__doc__.split(':')[0].rstrip('.')}")
            show(Table(columns), asked.markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
