"""A share or an accuracy with an interval, from few labels and many answers (PPI++).

With y what the labels say of n objects, and f what the answer says of the same kind, on these and
on N others:

    theta = w mean(f_N) + mean(y_n - w f_n)      variance = w^2 Var(f) / N + Var(y - w f) / n

It is unbiased whatever f is, and w = Cov(y, f) / ((1 + n / N) Var f), held between 0 and 1, makes
it never worse than the labels alone but for noise. Angelopoulos, Duchi and Zrnic, "PPI++: Efficient
Prediction-Powered Inference" (2023).

The interval has the shares p that theta does not contradict: (p - theta)^2 <= 1.96^2 V(p), where
V(p) is the variance at p = theta, and changes with p like p (1 - p) / m. With m the number of
labels that theta is worth, that is Wilson's interval. Few labels may show none of the objects on
which a good answer is wrong, and Var(y - w f) is then far too small: it is taken as if half an
error more had been seen, as in Jeffreys' prior. That keeps the promise for rare classes, few labels
and answers that are too sure, where the normal interval does not, and it does not shrink to nothing
where all labels are alike or the answer is right on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .._checks import InputError, unknown_name
from .._table import Table
from .._text import some
from .._typing import Array
from ..answer.mixtures import RegressionRule
from ..answer.solution import Solution, Solved, solution_of
from ..votes.labels import Label, is_missing, plain
from .labels import HARD, Labels, given_labels, measuring, proba_without_labels, read_labels
from .metrics import Z95, are_counts, given_weights, wilson_interval
from .voters import ballots

LEAST_DRAWN = 10  # labels: with fewer, intervals say nothing
COLUMNS = ("measure", "value", "low", "high", "plain", "plain_low", "plain_high", "labels", "worth")


# A number, the ends of its 95 % interval, and how many labels alone would give one as short.
Estimate = tuple[float, float, float, float]


def estimate(
    consensus: Solved,
    label: Label = None,
    known: Any = None,
    *,
    voters: bool = False,
    by: Any = None,
) -> Table:
    """The shares of the classes, and how often the answer is right, from a few labels.

    Parameters
    ----------
    consensus : Consensus
        The answer, made without these labels.
    label : label
        The class; all classes by default.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        True labels of objects that were drawn at random, such as the table that `ask` made, with
        its labels filled in; if some have none, it must be by chance. Labels that were chosen
        estimate nothing: the table is empty then, and says so.
    voters : bool
        Estimate the accuracy of each voter too, on the objects that it voted on, where it voted on
        10 labelled ones. Answers that stand for no class, such as "unsure", are left out.
    by : array with one group per object, or dict of object -> group
        Estimate each group by itself, such as each language, model or prompt: by the labels of its
        own objects, 10 or more. Objects without a group are left out.

    Returns
    -------
    Table
        For the share of each class, the accuracy of the answer and of voters: the value with its 95
        % interval (low, high), the estimate from the labels alone (plain, with plain_low and
        plain_high), the number of labels, and how many labels alone would do as well (worth); with
        `by` also the group. Objects whose labels the answer was given count as these say in the
        shares and for voters, and have no part in the accuracy of the answer.

    Examples
    --------
    >>> import numpy as np
    >>> from ec3learn import MajorityVote, Votes
    >>> rng = np.random.default_rng(0)
    >>> truth = (rng.random(2000) < 0.2).astype(int)
    >>> judges = {f"j{j}": np.where(rng.random(2000) < 0.85, truth, 1 - truth) for j in range(5)}
    >>> consensus = MajorityVote().solve(Votes.from_labels(judges))
    >>> table = estimate(consensus, 1, known={i: truth[i] for i in range(100)})
    >>> table["measure"], table["low"][0] < truth.mean() < table["high"][0]
    (['share of class 1', 'accuracy of the answer'], np.True_)
    """
    solution = solution_of(consensus)
    names = [plain(name) for name in solution.classes]
    if label is not None and label not in names:
        raise unknown_name("label", label, map(str, names))
    times, given = _times(solution), given_labels(solution)
    labels = measuring(solution, _labels_to_learn_from(solution, known))
    if labels is None:
        return Table.of(COLUMNS, [], f"{HARD}.")
    labelled, rows = labels.codes >= 0, []
    wanted = range(len(names)) if label is None else [names.index(label)]
    questions = list(_questions(solution, labels.codes, wanted, voters))
    groups = _groups(solution, by)
    for group, members in groups:
        for measure, right, sure, asked in questions:
            among = members & asked
            settled, open_times = times * among * given, times * among * ~given
            estimated = _estimated(right, sure, labelled, open_times)
            if estimated is None:
                continue
            n_labels, n_right = (float(open_times @ part) for part in (labelled, labelled * right))
            alone = (n_right / n_labels, *wilson_interval(n_right, n_labels))
            n_so, n_open = float(settled @ right), float(open_times.sum())
            *powered, worth = estimated
            numbers = [
                (n_so + n_open * share) / float(times @ among) for share in (*powered, *alone)
            ]
            rows.append([group, measure, *numbers, round(n_labels), round(worth)])
    table = Table.of(("group", *COLUMNS), rows)
    if by is None:
        return table.select(*COLUMNS)
    silent = [str(name) for name, _ in groups if name not in table["group"]]
    left_out = f"Left out, with fewer than {LEAST_DRAWN} labels: {some(silent)}."
    return Table(table.columns, left_out if silent else "")


def _groups(solution: Solution, by: Any) -> list[tuple[Label, Array]]:
    """The groups in their order, and which objects are in each; one of all objects without `by`."""
    if by is None:
        return [(None, np.ones(solution.n_objects, dtype=bool))]
    if isinstance(by, Mapping):
        by = [by.get(solution.name_of(i)) for i in range(solution.n_objects)]
    by = [None if is_missing(group) else plain(group) for group in by]
    if len(by) != solution.n_objects:
        must = f"must have one group for each of the {solution.n_objects:,} objects"
        raise InputError("by", must, came=f"{len(by):,}")
    names = dict.fromkeys(group for group in by if group is not None)
    return [(name, np.array([group == name for group in by])) for name in names]


def class_shares(solution: Solution, labels: Labels) -> Table:
    """The share of each class by labels that the answer was given; empty if they do not show it.

    The answer helps where known labels corrected one that was made without them, as it then does in
    `estimate`. Elsewhere the labels count alone.
    """
    drawn, rows = measuring(solution, labels), []
    if drawn is not None and are_counts(given_weights(solution)):
        codes, times, rule = drawn.codes, _times(solution), solution.rule
        proba = np.zeros((len(codes), len(solution.classes)))
        if isinstance(rule, RegressionRule):
            proba = proba_without_labels(solution, rule)
        for z, label in enumerate(solution.classes):
            estimated = _estimated(codes == z, proba[:, z], codes >= 0, times)
            if estimated is not None:
                n_labels = int(times @ (codes >= 0))
                rows.append([f"share of class {plain(label)}", *estimated, n_labels])
    return Table.of(("measure", "value", "low", "high", "worth", "labels"), rows)


def _estimated(right: Array, sure: Array, labelled: Array, times: Array) -> Estimate | None:
    """The mean of what labels say, helped by what the answer says; None for few labels.

    Each object counts so many `times`.
    """
    chosen = np.repeat(np.arange(len(times)), np.where(labelled, times, 0))
    if len(chosen) < LEAST_DRAWN:
        return None
    return prediction_powered(right[chosen] * 1.0, sure[chosen], sure, times * ~labelled)


def _times(solution: Solution) -> Array:
    """How many times each object counts."""
    weights = given_weights(solution)
    if not are_counts(weights):
        must = "must be integers, so that objects can be counted, to estimate shares"
        raise InputError(
            "sample_weight",
            must,
            came="others",
            remedy="Make the votes without weights of objects.",
        )
    return weights.astype(np.int64)


def _labels_to_learn_from(solution: Solution, known: Any) -> Labels:
    """Labels that the answer was made without, and how their objects were drawn."""
    labels, given = read_labels(solution, known), given_labels(solution)
    # A draw may hold objects whose labels were known before; others taught the answer.
    if (given & (labels.codes >= 0) & ~(labels.chances > 0)).any():
        raise InputError(
            "known",
            "must be labels that the answer was made without",
            came="some that it was given",
            remedy="Quote the estimate of summary(), which knows them, or solve without them.",
        )
    labels = labels.only(~given)
    n_labels = int(_times(solution) @ (labels.codes >= 0))
    if n_labels < LEAST_DRAWN:
        must = f"must have at least {LEAST_DRAWN} labels"
        remedy = "Draw some objects at random, or with ask(goal='share'), and label them."
        raise InputError("known", must, got=n_labels, remedy=remedy)
    return labels


def _questions(
    solution: Solution, codes: Array, classes: Sequence[int], voters: bool
) -> Iterator[tuple[str, Array, Array, Array]]:
    """What is estimated: its name; what labels and the answer say of objects; who counts."""
    proba, answers = solution.proba, solution.expand(solution.row_classes)
    everyone, given = np.ones(solution.n_objects, dtype=bool), given_labels(solution)
    if solution.known is not None:
        codes = np.where(given, solution.expand(solution.known.codes), codes)
    for z in classes:
        yield f"share of class {plain(solution.classes[z])}", codes == z, proba[:, z], everyone
    yield "accuracy of the answer", codes == answers, proba.max(axis=1), ~given
    if voters:
        yield from _voter_questions(solution, codes)


def _voter_questions(solution: Solution, codes: Array) -> Iterator[tuple[str, Array, Array, Array]]:
    """The same for each voter with enough labels, on the objects that it voted on."""
    votes, proba = solution.require_votes("estimate"), solution.proba
    row_of = solution.expand(np.arange(votes.n_rows))
    labelled = np.bincount(row_of, (codes >= 0) * _times(solution), minlength=votes.n_rows)
    cast = ballots(votes, solution.classes)
    shares = cast.weights / np.maximum(votes.counts[cast.rows], 1e-300)  # of one vote
    n_labels = np.bincount(cast.voters, labelled[cast.rows] * shares).round(6)
    for m in np.flatnonzero(n_labels >= LEAST_DRAWN).tolist():
        rows = cast.rows[cast.voters == m]
        named = np.flatnonzero((cast.voters == m) & (cast.classes >= 0))
        of_rows = np.zeros_like(solution.row_proba)
        np.add.at(of_rows, (cast.rows[named], cast.classes[named]), shares[named])
        by_object = solution.expand(of_rows)
        right = by_object[np.arange(len(codes)), np.maximum(codes, 0)]
        sure = (by_object * proba).sum(axis=1)
        name = f"{solution.called(votes.models[m].kind)} {votes.models[m].name}"
        yield f"accuracy of {name}", right, sure, np.isin(row_of, rows)


def prediction_powered(y: Array, f: Array, rest: Array, times: Array) -> Estimate:
    """The mean of y over all objects.

    y and f are what the labels and the answer say of the labelled objects; rest is what the answer
    says of others, each of which counts so many times.
    """
    n, n_rest = len(y), float(times.sum())
    both, counts = np.concatenate([f, rest]), np.concatenate([np.ones(n), times])
    spread = float(counts @ (both - np.average(both, weights=counts)) ** 2) / max(n + n_rest - 1, 1)
    if n_rest == 0 or spread == 0:
        return _with_interval(float(y.mean()), _mean_square(y, 0.0) / n, y, n)
    trust = float(np.clip(np.cov(y, f)[0, 1] / ((1 + n / n_rest) * spread), 0.0, 1.0))
    value = float(np.mean(y - trust * f)) + trust * float(np.average(rest, weights=times))
    variance = _mean_square(y - trust * f, trust) / n + trust**2 * spread / n_rest
    return _with_interval(value, variance, y, n)


def _mean_square(residuals: Array, unseen: float) -> float:
    """The variance of residuals, with half an error more of the size that labels may not show."""
    n = len(residuals)
    return (float(np.var(residuals)) * n + unseen**2 / 2) / max(n - 1, 1)


def _with_interval(value: float, variance: float, y: Array, n: float) -> Estimate:
    """A share with its interval: the p with (p - value)^2 <= 1.96^2 V(p).

    V(p) is variance + (p (1 - p) - here) / worth, where here is value (1 - value).
    """
    value = min(max(value, 0.0), 1.0)
    worth, here = n, value * (1 - value)
    if variance <= 0 or (y == y[0]).all():
        variance = here / n
    else:
        worth = max(here, 1e-12) * len(y) / (len(y) - 1) / variance
    scale, slope = 1 + Z95**2 / worth, Z95**2 * (1 - 2 * value) / (2 * worth)
    middle = value + slope / scale
    half = float(np.sqrt(slope**2 + scale * Z95**2 * variance)) / scale
    return value, max(middle - half, 0.0), min(middle + half, 1.0), worth
