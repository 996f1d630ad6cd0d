"""Does asking where `ask` says pay, and do the intervals of `estimate` keep their promise?

    python benchmarks/asking.py [--draws 6000] [--repeats 4] [--only coverage,labels,votes,share,mixed]

1. Coverage: how often 95 % intervals hold the truth, in simulated draws: shares from 20, 50 and 200 labels
   that `ask(goal="share")` drew, from answers that are calibrated or too sure.
   It fails outside 93 to 97 % from 50 labels on.
2. Learning curves on public crowds (in the folder that EC3LEARN_DATA names): the accuracy of all labels after 3 to 15 % of the
   objects were labelled by somebody who knows, and after one vote more on a tenth of the objects,
   up to ten times (real votes that were held back); chosen at random, by the smallest margin, and
   by `ask`. Differences to the smallest margin have 95 % intervals over crowds and repeats.
3. The share of a class from 50 labels: error and length of the interval.
4. 50 random labels and 100 that `ask` chose, together: how often the intervals of the summary hold
   the truth, the accuracy and the shares of all classes, on five crowds.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from crowds import FOLDER, PRINTED, crowd, judges, show

from ec3learn import Consensus, MajorityVote, Panel, SoftVote, Table, Votes

CROWDS = [name for name in PRINTED if name != "web_pages"]  # of which few truths are known
MOST = 1500  # objects of a crowd in the curves of votes
STEPS = 5


# ---- coverage ------------------------------------------------------------------------------------


def simulated(
    rng: np.random.Generator, share: float, too_sure: float, n: int = 5000
) -> tuple[np.ndarray, np.ndarray]:
    """Return what is true of n objects, and probabilities whose log-odds are this many times what they should be."""
    y = (rng.random(n) < share).astype(float)
    log_odds = 2 * ((2 * y - 1) + rng.normal(size=n)) + np.log(share / (1 - share))
    return y, 1 / (1 + np.exp(-too_sure * log_odds))


def coverage(draws: int) -> tuple[Table, bool]:
    """Return how often intervals hold the share, and how long they are; and whether that is fine."""
    columns: dict[str, list[object]] = {
        name: [] for name in ("share", "answers", "labels", "held", "length")
    }
    fine = True
    for share in (0.05, 0.2, 0.5):
        for too_sure in (1.0, 3.0):
            for n in (20, 50, 200):
                found = []
                for draw in range(draws):
                    rng = np.random.default_rng([draw, n])
                    found.append(one_draw(rng, *population(rng, share, too_sure), n))
                held, length = np.mean(found, axis=0).tolist()
                fine &= n < 50 or 0.93 <= held <= 0.97
                row = [share, "too sure" if too_sure > 1 else "calibrated", n, held, length]
                for name, value in zip(columns, row, strict=True):
                    columns[name].append(value)
    return Table(columns), fine


def population(
    rng: np.random.Generator, share: float, too_sure: float
) -> tuple[np.ndarray, Consensus]:
    """Return what is true of the objects, and the answer about them."""
    y, f = simulated(rng, share, too_sure)
    return y, SoftVote().solve(Votes.from_probabilities({"answer": np.column_stack([1 - f, f])}))


def one_draw(
    rng: np.random.Generator, y: np.ndarray, answer: Consensus, n: int
) -> tuple[bool, float]:
    """Return whether the interval holds the share, and how long it is."""
    drawn = answer.ask(n, "share", random_state=rng)
    labels = Table(dict(drawn.columns) | {"label": [int(y[i]) for i in drawn["object"]]})
    row = next(answer.estimate(1, labels).rows())
    return row["low"] <= y.mean() <= row["high"], row["high"] - row["low"]


# ---- learning curves -----------------------------------------------------------------------------

Chooser = Callable[[Consensus, int, np.random.Generator], list[object]]


def at_random(answer: Consensus, n: int, rng: np.random.Generator) -> list[object]:
    return rng.permutation(answer.ask(answer.solution.n_objects)["object"])[:n].tolist()


def smallest_margin(answer: Consensus, n: int, rng: np.random.Generator) -> list[object]:
    unlabelled = np.sort(answer.ask(answer.solution.n_objects)["object"])
    return unlabelled[np.argsort(answer.margin[unlabelled], kind="stable")][:n].tolist()


def asked(goal: str) -> Chooser:
    return lambda answer, n, rng: answer.ask(n, goal)["object"]


def label_curve(name: str, choose: Chooser, seed: int) -> list[float]:
    """Return the share of right labels after each step; known labels are right. A step labels 3 % of the objects."""
    votes, truth = crowd(name)
    rng = np.random.default_rng(seed)
    votes = votes[
        np.sort(rng.choice(len(votes), int(0.8 * len(votes)), replace=False))
    ]  # repeats differ in their objects
    true = [truth[i] for i in votes.object_ids.tolist()]
    known: dict[object, object] = {}
    curve = []
    for _ in range(STEPS + 1):
        answer = Panel().solve(votes, known or None)
        curve.append(float(np.mean(answer.labels() == np.array(true, dtype=object))))
        known |= {i: truth[i] for i in choose(answer, max(1, int(0.03 * len(votes))), rng)}
    return curve


def vote_curve(name: str, choose: Chooser, seed: int) -> list[float]:
    """Return the share of right labels after each step, from one to three votes per object on; a step adds votes on a tenth."""
    rng = np.random.default_rng(seed)
    votes = pd.read_parquet(FOLDER / "crowd" / f"{name}_answers.parquet").drop_duplicates(
        ["question", "worker"]
    )
    truth = pd.read_parquet(FOLDER / "crowd" / f"{name}_truth.parquet").set_index("question")[
        "truth"
    ]
    kept = truth.index[truth.index.isin(votes["question"])][:MOST]
    votes = votes[votes["question"].isin(kept)].sample(frac=1, random_state=seed)
    place, cast = votes.groupby("question").cumcount(), votes.groupby("question").size()
    have = pd.Series(rng.integers(1, 4, len(kept)), index=kept).clip(upper=cast)
    classes, curve = sorted({*votes["answer"], *truth}), []
    for _ in range(2 * STEPS + 1):
        now = votes[place < votes["question"].map(have)]
        answer = Panel().solve(
            Votes.from_long(now["question"], now["worker"], now["answer"], classes=classes)
        )
        true = truth[answer.object_ids.tolist()].to_numpy()
        curve.append(float(np.mean(answer.labels() == true)))
        ranked = [i for i in choose(answer, len(kept), rng) if have[i] < cast[i]]
        have[ranked[: len(kept) // 10]] += 1
    return curve


def curves(make: Callable[[str, Chooser, int], list[float]], goal: str, repeats: int) -> Table:
    """Return the mean accuracy after all steps and on average over the steps, and the difference to the smallest margin."""
    ways = {"random": at_random, "smallest margin": smallest_margin, "ask": asked(goal)}
    found = {
        way: np.array([make(name, choose, seed) for name in CROWDS for seed in range(repeats)])
        for way, choose in ways.items()
    }
    columns: dict[str, list[object]] = {"chosen": list(found)}
    columns["before"] = [float(own[:, 0].mean()) for own in found.values()]
    columns["over the steps"] = [float(own[:, 1:].mean()) for own in found.values()]
    columns["at the end"] = [float(own[:, -1].mean()) for own in found.values()]
    apart = [(own - found["smallest margin"])[:, 1:].mean(axis=1) for own in found.values()]
    columns["to the smallest margin"] = [
        f"{one.mean():+.4f} +- {1.96 * one.std(ddof=1) / np.sqrt(len(one)):.4f}" for one in apart
    ]
    return Table(columns)


# ---- shares --------------------------------------------------------------------------------------


def shares(n: int, draws: int) -> Table:
    """Return the error of a share and the length of its interval from n labels, on crowds of two classes and on judges."""
    columns: dict[str, list[object]] = {
        name: [] for name in ("data", "labels alone", "with the answer", "length")
    }
    cases = {name: crowd(name) for name in CROWDS} | {"judges": judges()}
    for name, (votes, truth) in cases.items():
        if votes.n_classes > 2:
            continue
        answer, label = Panel().solve(votes), votes.classes[1]
        names = range(len(votes)) if votes.object_ids is None else votes.object_ids.tolist()
        true = float(np.mean([truth[i] == label for i in names]))
        found = []
        for seed in range(draws):
            rng = np.random.default_rng(seed)
            drawn = answer.ask(n, "share", random_state=rng)
            labelled = dict(drawn.columns) | {"label": [truth[i] for i in drawn["object"]]}
            row = next(answer.estimate(label, Table(labelled)).rows())
            errors = [row["plain"] - true, row["value"] - true]
            found.append([*np.square(errors), row["high"] - row["low"]])
        alone, both, length = np.mean(found, axis=0).tolist()
        for key, value in zip(columns, [name, alone**0.5, both**0.5, length], strict=True):
            columns[key].append(value)
    return Table(columns)


# ---- random and asked labels together ------------------------------------------------------------

MIXED = ("company_tweets", "dog", "entailment", "face", "music_genre")


def mixed(draws: int) -> Table:
    """Return how often the summary's intervals hold the truth, from 50 random labels and 100 asked ones together."""
    columns: dict[str, list[object]] = {
        name: [] for name in ("crowd", "accuracy", "shown", "held", "shares held", "naive")
    }
    for name in MIXED:
        votes, truth = crowd(name)
        names, method = votes.object_ids.tolist(), MajorityVote()
        true = np.array([truth[i] for i in names], dtype=object)
        answers, place = method.solve(votes).labels(), {i: k for k, i in enumerate(names)}
        accuracy = float(np.mean(answers == true))
        shares = [float(np.mean(true == label)) for label in votes.classes.tolist()]
        found = []
        for seed in range(draws):
            rng = np.random.default_rng(seed)
            random = {i: truth[i] for i in rng.choice(names, 50, replace=False).tolist()}
            asked = method.solve(votes, random).ask(min(100, len(names) - 50)).to_frame()
            asked["label"] = [truth[i] for i in asked["object"]]
            drawn = pd.DataFrame({"object": list(random), "label": list(random.values())})
            summary = method.solve(votes, pd.concat([drawn, asked])).summary(method)
            score, classes = summary.held_out, summary.classes
            low, high = score.interval
            limits = zip(classes["low"], shares, classes["high"], strict=True)
            every = random | dict(zip(asked["object"], asked["label"], strict=True))
            given = answers[[place[i] for i in every]]
            naive = float(np.mean(given == np.array(list(every.values()), dtype=object)))
            found.append(
                [
                    score.accuracy,
                    low <= accuracy <= high,
                    np.mean([one <= share <= other for one, share, other in limits]),
                    naive,
                ]
            )
        values = [name, accuracy, *np.mean(found, axis=0).tolist()]
        for key, value in zip(columns, values, strict=True):
            columns[key].append(value)
    return Table(columns)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=6000, help="draws of the study of coverage")
    parser.add_argument(
        "--repeats", type=int, default=4, help="repeats per crowd of the learning curves"
    )
    parser.add_argument("--only", default="coverage,labels,votes,share,mixed", help="which parts")
    parser.add_argument("--markdown", action="store_true", help="print tables for a page")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    parts, fine = given.only.split(","), True
    if "coverage" in parts:
        table, fine = coverage(given.draws)
        print(f"How often a 95 % interval holds the share, {given.draws} draws")
        show(table, given.markdown)
    if not (FOLDER / "crowd").is_dir():
        print(
            f"The rest was not measured: there is no folder `crowd` in {FOLDER}. Set EC3LEARN_DATA to the folder that has it."
        )
        return 0 if fine else 1
    if "labels" in parts:
        print("A true label for 3 % of the objects at a time, five times: accuracy")
        show(curves(label_curve, "label", given.repeats), given.markdown)
    if "votes" in parts:
        print("One vote more on a tenth of the objects at a time, ten times: accuracy")
        show(curves(vote_curve, "vote", given.repeats), given.markdown)
    if "share" in parts:
        print(
            "The share of a class from 50 labels: root mean square error, and length of the interval"
        )
        show(shares(50, 200), given.markdown)
    if "mixed" in parts:
        print("50 random and 100 asked labels together: intervals of the summary")
        show(mixed(40), given.markdown)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
