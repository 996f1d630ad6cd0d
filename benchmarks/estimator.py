"""How good is EC3Classifier, compared with common alternatives?

    python benchmarks/estimator.py [--datasets wine magic ...] [--labels all 5 20] [--rows 2000] [--repeats 3] [--pools default]

Measures log loss, macro-averaged one-vs-rest AUC, accuracy, macro F and seconds of EC3Classifier, of soft voting and stacking of
the same pool, of a random forest, histogram boosting and, if installed, XGBoost, on the Parquet files in the folder EC3LEARN_DATA
and on the data sets of scikit-learn named in `BUILT_IN`. At most `--rows` rows of each data set are sampled: three fifths for
training, the rest for testing. With 5 or 20 labels per class the other training rows have no labels, and methods that cannot use
such rows ignore them. Results are appended to `--out`; what is already there is not run again. Means come with their ranks, and
with the 95 % interval of the difference from the first method over data sets.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from ec3learn import EC3Classifier, Table
from ec3learn.estimator import Features, TableModel, classifier_pool

SCORES = {"log loss": False, "AUC": True, "accuracy": True, "F": True}  # whether larger is better
FIELDS = ["dataset", "labels", "seed", "method", *SCORES, "seconds"]
BUILT_IN = {"breast_cancer": load_breast_cancer, "digits": load_digits, "wine": load_wine}


def load(folder: Path, name: str, n_rows: int, seed: int) -> tuple[Any, Any, Any, Any]:
    if name in BUILT_IN:
        X, y = BUILT_IN[name](return_X_y=True)
        kept = np.random.default_rng(seed).permutation(len(y))[:n_rows]
        return train_test_split(X[kept], y[kept], test_size=0.4, random_state=seed, stratify=y[kept])
    table = pd.read_parquet(folder / f"{name}.parquet")
    target = "target" if "target" in table else table.columns[-1]
    counts = table[target].value_counts()
    table = table[table[target].isin(counts[counts >= 40].index)]
    if len(table) > n_rows:
        table = table.sample(n_rows, random_state=seed)
    y = np.unique(table[target].astype(str), return_inverse=True)[1]
    X = table.drop(columns=target)
    if all(kind.kind in "iufb" for kind in X.dtypes):
        X = X.to_numpy(dtype=float)
    return train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)


def hidden(y: np.ndarray, labels: str, seed: int) -> np.ndarray:
    """Return the labels that are shown, None for the others."""
    if labels == "all":
        return y.astype(object)
    rng = np.random.default_rng(seed)
    kept = np.concatenate([rng.permutation(np.flatnonzero(y == z))[: int(labels)] for z in np.unique(y)])
    shown = np.full(len(y), None, dtype=object)
    shown[kept] = y[kept]
    return shown


def rivals(pools: list[str], seed: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for pool in pools:
        without = ["cnn"] if pool == "paper" else []
        models = classifier_pool(pool, random_state=seed, without=without)
        made[f"EC3Classifier, {pool}"] = EC3Classifier(models, pool, random_state=seed)
        made[f"soft vote, {pool}"] = VotingClassifier(models, voting="soft")
        made[f"stacking, {pool}"] = StackingClassifier(models, LogisticRegression(max_iter=1000), cv=5)

    def on_tables(model: Any) -> TableModel:
        return TableModel([("features", Features(None, text="shares", missing="keep", dense=True)), ("model", model)])

    made["random forest"] = on_tables(RandomForestClassifier(300, random_state=seed))
    made["boosting"] = on_tables(HistGradientBoostingClassifier(random_state=seed))
    try:
        from xgboost import XGBClassifier
    except ImportError:
        print("XGBoost is not installed and left out: pip install xgboost.")
    else:
        made["XGBoost"] = on_tables(XGBClassifier(n_jobs=1, random_state=seed))
    return made


def measured(model: Any, X: Any, y: np.ndarray, new_X: Any, new_y: np.ndarray) -> tuple[float, ...]:
    start = time.perf_counter()
    known = np.array([label is not None for label in y])
    if isinstance(model, EC3Classifier):
        model.fit(X, y)
    else:
        rows = np.flatnonzero(known)
        model.fit(X.iloc[rows] if hasattr(X, "iloc") else X[rows], y[rows].astype(int))
    proba, said = model.predict_proba(new_X), model.predict(new_X)
    seconds = time.perf_counter() - start
    proba = proba / proba.sum(axis=1, keepdims=True)
    area = roc_auc_score(new_y, proba[:, 1] if proba.shape[1] == 2 else proba, multi_class="ovr")
    said = said.astype(int)
    lost, f = log_loss(new_y, proba, labels=np.unique(new_y)), f1_score(new_y, said, average="macro")
    return float(lost), float(area), float(accuracy_score(new_y, said)), float(f), seconds


def summary(rows: pd.DataFrame) -> None:
    for labels, part in rows.groupby("labels", sort=False):
        order = list(dict.fromkeys(part["method"]))
        print(f"\n{labels} labels{'' if labels == 'all' else ' per class'}, {part['dataset'].nunique()} data sets")
        means = part.groupby(["dataset", "method"], sort=False)[[*SCORES, "seconds"]].mean()
        for score, larger in SCORES.items():
            table = means[score].unstack()[order].dropna()
            behind = table.to_numpy()[:, :1] - table.to_numpy() if larger else table.to_numpy() - table.to_numpy()[:, :1]
            best = table.max(axis=1) if larger else table.min(axis=1)
            columns: dict[str, Any] = {
                "method": order,
                score: table.mean().round(4).tolist(),
                "rank": table.rank(axis=1, ascending=not larger).mean().round(2).tolist(),
                f"behind {order[0]}": behind.mean(axis=0).round(4).tolist(),
                "±": (1.96 * behind.std(axis=0, ddof=1) / np.sqrt(len(table))).round(4).tolist(),
                "furthest behind the best": (table.sub(best, axis=0).abs()).max().round(4).tolist(),
                "seconds": means["seconds"].unstack()[order].mean().round(1).tolist(),
            }
            print(Table(columns))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--labels", nargs="+", default=["5", "20", "all"])
    parser.add_argument("--pools", nargs="+", default=["default"])
    parser.add_argument("--methods", nargs="+", help="as they are called in the output; all by default")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("estimator.csv"))
    options = parser.parse_args()
    folder = Path(os.environ.get("EC3LEARN_DATA", ""))
    names = options.datasets or [*BUILT_IN, *sorted(path.stem for path in folder.glob("*.parquet"))]
    if not folder.is_dir() or any(name not in BUILT_IN and not (folder / f"{name}.parquet").exists() for name in names):
        print("EC3LEARN_DATA must name a folder of Parquet files, one a data set, with the class in the column 'target'.")
        return 2
    if not options.out.exists():
        options.out.write_text(",".join(FIELDS) + "\n")
    done = {tuple(row) for row in pd.read_csv(options.out, dtype=str)[FIELDS[:4]].itertuples(index=False)}
    warnings.simplefilter("ignore")
    for name in names:
        for seed in range(options.repeats):
            X, new_X, y, new_y = load(folder, name, options.rows, seed)
            for labels in options.labels:
                shown = hidden(y, labels, seed)
                for method, model in rivals(options.pools, seed).items():
                    if options.methods and method not in options.methods:
                        continue
                    if (name, labels, str(seed), method) in done:
                        continue
                    scores = measured(model, X, shown, new_X, new_y)
                    with options.out.open("a", newline="") as file:
                        csv.writer(file).writerow([name, labels, seed, method, *(round(value, 6) for value in scores)])
                    shown_scores = " ".join(f"{score:.4f}" for score in scores[:-1])
                    print(
                        f"{name:15s} {labels:>4s} {seed} {method:30s} {shown_scores} {scores[-1]:6.1f} s",
                        flush=True,
                    )
    summary(pd.read_csv(options.out, dtype={"labels": str}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
