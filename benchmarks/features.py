"""How good and how fast is `Features`, compared with the same steps built from scikit-learn?

    python benchmarks/features.py [--datasets adults diabetes ...] [--rows 4000] [--repeats 3]

Prints the AUC of a model after each, and the milliseconds of `fit_transform` on the training rows
and of `transform` on the others, for the Parquet files in the folder EC3LEARN_DATA. The steps of
scikit-learn are `SimpleImputer(add_indicator=True)`, `StandardScaler` or `QuantileTransformer` for
numbers and `OneHotEncoder(max_categories=31)` or `TargetEncoder(smooth=10)` for text.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler, TargetEncoder

from ec3learn import Table
from ec3learn.estimator import Features

KINDS = ("standard", "normal", "shares")


def ours(kind: str, X: pd.DataFrame, seed: int) -> Any:
    return Features(None, text="codes", random_state=seed) if kind == "shares" else Features(kind)


def theirs(kind: str, X: pd.DataFrame, seed: int) -> Any:
    text = [name for name, dtype in X.dtypes.items() if dtype.kind not in "iufb"]
    numbers = [name for name in X if name not in text]
    if kind == "shares":
        return make_column_transformer(
            ("passthrough", numbers),
            (TargetEncoder(smooth=10, cv=5, shuffle=True, random_state=seed), text),
        )
    scaler = (
        StandardScaler()
        if kind == "standard"
        else QuantileTransformer(n_quantiles=256, output_distribution="normal")
    )
    levels = OneHotEncoder(
        max_categories=31, handle_unknown="infrequent_if_exist", sparse_output=False
    )
    return make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), scaler), numbers), (levels, text)
    )


def measured(features: Any, kind: str, parts: list[Any], seed: int) -> tuple[float, float]:
    X, new_X, y, new_y = parts
    start = time.perf_counter()
    numbers, new_numbers = features.fit_transform(X, y), features.transform(new_X)
    seconds = time.perf_counter() - start
    model = (
        ExtraTreesClassifier(100, random_state=seed)
        if kind == "shares"
        else LogisticRegression(max_iter=1000)
    )
    proba = model.fit(numbers, y).predict_proba(new_numbers)
    return float(
        roc_auc_score(new_y, proba[:, 1] if proba.shape[1] == 2 else proba, multi_class="ovr")
    ), 1000 * seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument(
        "--datasets",
        nargs="+",
        default=["adults", "creditcard", "diabetes", "magic", "spambase", "titanic"],
    )
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    folder = Path(os.environ.get("EC3LEARN_DATA", ""))
    warnings.simplefilter("ignore")
    found: dict[str, list[Any]] = {
        "dataset": [],
        "kind": [],
        "AUC": [],
        "AUC, sklearn": [],
        "ms": [],
        "ms, sklearn": [],
    }
    for name in options.datasets:
        table = pd.read_parquet(folder / f"{name}.parquet")
        for kind in KINDS:
            scores = np.zeros((options.repeats, 2, 2))
            for seed in range(options.repeats):
                rows = table.sample(min(options.rows, len(table)), random_state=seed)
                X, y = (
                    rows.drop(columns="target"),
                    np.unique(rows["target"].astype(str), return_inverse=True)[1],
                )
                parts = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
                for i, make in enumerate((ours, theirs)):
                    scores[seed, i] = measured(make(kind, X, seed), kind, parts, seed)
            (auc, ms), (their_auc, their_ms) = scores.mean(axis=0)
            for key, value in zip(
                found, (name, kind, auc, their_auc, round(ms), round(their_ms)), strict=True
            ):
                found[key].append(value)
    print(Table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
