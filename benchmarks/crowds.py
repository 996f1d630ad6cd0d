"""Which method is right most often on real crowds and on a jury of LLM judges, and is it as sure as it should be?

    python benchmarks/crowds.py [--markdown] [--few]

Prints the accuracy, the log loss and the calibration error of every method on nine public crowds,
beside the numbers that the authors of EBCC printed, and on 12 language models that scored comments
for toxicity from 0 to 9. It needs the folders `crowd` and `judges` in the folder that EC3LEARN_DATA
names. An object whose tied classes include the truth counts as right by its share.

With `--few`, small juries are drawn from the crowds: two to nine of the 40 busiest annotators, and
at most 300 objects on which all of them but one have voted. Prints means over 16 draws per crowd,
of the crowds that have such objects.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from ec3learn import EBCC, EC3, METHODS, DawidSkene, Panel, Scale, Table, Votes
from ec3learn.diagnosis.score import quality

FOLDER = Path(os.environ.get("EC3LEARN_DATA", Path(__file__).parents[2] / "shared" / "data"))
# name: (iBCC, BWA, EBCC) as printed by Li, Rubinstein and Cohn (2019); None where they are not at
# hand
PRINTED = {
    "weather_tweets": (0.883, 0.893, 0.883),
    "music_genre": (0.790, 0.786, 0.787),
    "movie_reviews": (0.915, 0.917, 0.915),
    "entity_links": (0.827, 0.911, 0.912),
    "product": (0.938, 0.919, 0.935),
    "company_tweets": (0.960, 0.956, 0.961),
    "web_pages": (0.745, 0.742, 0.748),
    "dog": (0.839, 0.831, 0.840),
    "entailment": (0.928, 0.928, 0.931),
}
BINS = 10


def methods() -> dict[str, object]:
    """Return the methods that answer from votes alone; UPE would take hours on the larger crowds, and stacking needs labels."""
    variants = {
        "dawid-skene, diagonal prior (iBCC)": DawidSkene(prior="diagonal"),
        "dawid-skene, uniform prior": DawidSkene(prior="uniform"),
        "one coin, uniform prior": DawidSkene(one_coin=True, prior="uniform"),
        "ebcc, learned prior": EBCC(prior="learned"),
        "iec3, agreement weights": EC3(weights="agreement"),
        "iec3 towards dawid-skene": EC3(towards=DawidSkene()),
    }
    return {name: make() for name, make in METHODS.items() if name != "upe"} | variants


def crowd(name: str) -> tuple[Votes, pd.Series]:
    """Return the votes of a crowd, and the truth by object."""
    answers = pd.read_parquet(FOLDER / "crowd" / f"{name}_answers.parquet")
    truth = pd.read_parquet(FOLDER / "crowd" / f"{name}_truth.parquet").set_index("question")[
        "truth"
    ]
    classes = sorted({*answers["answer"], *truth})
    return Votes.from_long(
        answers["question"], answers["worker"], answers["answer"], classes=classes
    ), truth


def judges(verdicts: bool = False) -> tuple[Votes, pd.Series]:
    """Return the scores of the language models, or their verdicts by a score above 4.5, and whether each comment is toxic."""
    table = pd.read_parquet(FOLDER / "judges" / "toxicity_scores.parquet")
    scores = {name: table[name] for name in table.columns if name not in ("comment", "toxic")}
    scale = Scale(range(10), outside="missing")
    truth = pd.Series(np.where(table["toxic"].to_numpy().astype(bool), "toxic", "fine"))
    if verdicts:
        given = {
            name: own.astype("Float64").where(own.between(0, 9)) for name, own in scores.items()
        }
        scores = {
            name: (own > 4.5).map({True: "toxic", False: "fine"}) for name, own in given.items()
        }
        return Votes.from_labels(scores, classes=["fine", "toxic"]), truth
    return Votes.from_labels(scores, classes=["fine", "toxic"], scale=scale), truth


def measured(
    method: object, votes: Votes, truth: pd.Series, known: dict[object, object] | None = None
) -> dict[str, float]:
    """Return how right and how sure a method is about the objects whose truth is known to us but not to it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        consensus = method.solve(votes, known=known)
    names = list(consensus.classes)
    place = {
        obj: i
        for i, obj in enumerate(
            range(len(votes)) if votes.object_ids is None else votes.object_ids.tolist()
        )
    }
    judged = [
        (place[obj], names.index(label))
        for obj, label in truth.items()
        if obj in place and obj not in (known or {})
    ]
    objects, codes = np.array(judged).T
    proba = consensus.proba[objects]
    top = proba >= proba.max(axis=1, keepdims=True) - 1e-9
    right = (top / top.sum(axis=1, keepdims=True))[np.arange(len(codes)), codes]
    sure = proba.max(axis=1)
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    gaps = [abs(sure[bins == b].sum() - right[bins == b].sum()) for b in range(BINS)]
    return {
        "accuracy": float(right.mean()),
        "log loss": float(-np.log(np.maximum(proba[np.arange(len(codes)), codes], 1e-12)).mean()),
        "calibration error": float(sum(gaps) / len(codes)),
        "AUC": quality(proba, proba.argmax(axis=1), codes, np.ones(len(codes))).auc or float("nan"),
    }


def with_labels(votes: Votes, truth: pd.Series, n: int, draws: int = 20) -> dict[str, float]:
    """Return the mean of what the default reaches with n known labels, drawn at random."""
    found = []
    for seed in range(draws):
        chosen = np.random.default_rng(seed).choice(len(truth), n, replace=False)
        found.append(measured(Panel(), votes, truth, {int(i): truth[i] for i in chosen}))
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def some_judges(votes: Votes, truth: pd.Series, size: int, draws: int = 15) -> dict[str, float]:
    """Return the mean of what the default reaches with some of the judges, drawn at random."""
    rng, names, found = np.random.default_rng(size), [model.name for model in votes.models], []
    for _ in range(draws):
        found.append(
            measured(
                Panel(),
                votes.drop(*rng.choice(names, len(names) - size, replace=False).tolist()),
                truth,
            )
        )
    return {name: float(np.mean([one[name] for one in found])) for name in found[0]}


def few(
    sizes: Sequence[int] = (2, 3, 4, 5, 7, 9), draws: int = 16, least: int = 15, most: int = 300
) -> Table:
    """Return how right and how sure the methods are about what small juries say, drawn from the crowds."""
    rng, rows = np.random.default_rng(0), []
    chosen = {
        name: METHODS[name]()
        for name in ("auto", "majority", "dawid-skene", "dawid-skene-one-coin", "bwa", "ebcc")
    }
    for crowd_name in PRINTED:
        answers = pd.read_parquet(
            FOLDER / "crowd" / f"{crowd_name}_answers.parquet"
        ).drop_duplicates(["question", "worker"])
        truth = pd.read_parquet(FOLDER / "crowd" / f"{crowd_name}_truth.parquet").set_index(
            "question"
        )["truth"]
        table = answers[answers["question"].isin(truth.index)].pivot(
            index="question", columns="worker", values="answer"
        )
        busy = table.count().nlargest(40).index
        for size in sizes:
            tried = (table[rng.choice(busy, size, replace=False)] for _ in range(40 * draws))
            juries = (jury[jury.count(axis=1) >= max(2, size - 1)] for jury in tried)
            for jury in islice((jury for jury in juries if len(jury) >= least), draws):
                drawn = jury.sample(min(most, len(jury)), random_state=int(rng.integers(2**31)))
                classes = sorted({*answers["answer"], *truth})
                votes = Votes.from_labels(
                    {name: drawn[name].to_numpy() for name in drawn}, classes=classes
                )
                labels = pd.Series(truth.loc[drawn.index].to_numpy())
                rows += [
                    {"voters": size, "method": name, **measured(method, votes, labels)}
                    for name, method in chosen.items()
                ]
    means = (
        pd.DataFrame(rows)
        .groupby(["voters", "method"], sort=False)
        .mean()
        .reset_index()
        .sort_values("voters", kind="stable")
    )
    return Table(
        {
            name: means[name].tolist()
            for name in ("voters", "method", "accuracy", "log loss", "calibration error")
        }
    )


def show(table: Table, markdown: bool) -> None:
    if not markdown:
        print(table, end="\n\n")
        return
    print("| " + " | ".join(table.columns) + " |\n|" + "---|" * len(table.columns))
    for row in table.rows():
        print("| " + " | ".join(cell(value) for value in row.values()) + " |")
    print()


def cell(value: object) -> str:
    return f"{value:.3f}".removeprefix("0") if isinstance(value, float) else str(value)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--markdown", action="store_true", help="print tables for a page")
    parser.add_argument("--few", action="store_true", help="draw small juries from the crowds")
    asked = parser.parse_args()
    if not (FOLDER / "crowd").is_dir():
        print(
            f"Nothing was measured: there is no folder `crowd` in {FOLDER}. Set EC3LEARN_DATA to the folder that has it."
        )
        return 0
    if asked.few:
        print("Small juries, drawn from nine public crowds")
        show(few(), asked.markdown)
        return 0
    crowds = {name: crowd(name) for name in PRINTED}
    results = {
        name: {key: measured(method, *case) for key, case in crowds.items()}
        for name, method in methods().items()
    }
    for what in ("accuracy", "log loss", "calibration error"):
        columns: dict[str, list[object]] = {"method": list(results)}
        columns |= {key: [results[name][key][what] for name in results] for key in crowds}
        columns["mean"] = [
            float(np.mean([results[name][key][what] for key in crowds])) for name in results
        ]
        if what == "accuracy":
            for k, name in enumerate(("iBCC", "BWA", "EBCC")):
                columns["method"].append(f"{name}, as printed")
                for key in crowds:
                    columns[key].append(PRINTED[key][k])
                columns["mean"].append(float(np.mean([PRINTED[key][k] for key in crowds])))
        print(f"{what.capitalize()} on nine public crowds")
        show(Table(columns), asked.markdown)
    if (FOLDER / "judges").is_dir():
        votes, truth = judges()
        jury = {name: measured(method, votes, truth) for name, method in methods().items()}
        jury |= {
            f"auto, {n} known labels (mean of 20 draws)": with_labels(votes, truth, n)
            for n in (30, 50, 200)
        }
        jury |= {
            f"auto, {n} of the judges (mean of 15 draws)": some_judges(votes, truth, n)
            for n in (2, 3, 4, 6, 8)
        }
        by_name = judges(verdicts=True)
        jury |= {
            f"auto, verdicts of {n} (mean of 15 draws)": some_judges(*by_name, n)
            for n in (3, 5, 7, 9, 12)
        }
        print("Twelve language models as judges, scores from 0 to 9")
        show(
            Table(
                {"method": list(jury)}
                | {what: [row[what] for row in jury.values()] for what in jury["majority"]}
            ),
            asked.markdown,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
