"""How `consensus="auto"` chooses a method: by a score on labels that are hidden fold by fold.

Each candidate is judged with its probabilities sharpened, and with its penalty chosen by the other
folds. So is a blend of all of them, whose shares have the least log loss. The blend is used unless
another candidate is clearly ahead of it. The fewer labels there are, the more of the answer comes
from a fixed method instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, get_scorer_names
from threadpoolctl import threadpool_limits

from .._checks import InputError, require_bool, require_integer, unknown_name
from .._table import Table
from .._text import arg, count, first_line
from .._typing import Array
from ..algebra.trust import learn_slope
from ..answer.mixtures import sharpened
from ..answer.notes import CHOICE, Note
from ..answer.rule import KnownLabels
from ..diagnosis.held_out import drop_one_auc
from ..diagnosis.metrics import log_loss, macro_f, mean_auc
from ..methods.base import Answer, Method
from ..methods.ec3.ec3 import EC3
from ..methods.stacking import Blend, simplex_weights
from ..methods.voting import SoftVote
from ..votes import Votes
from .candidates import (
    SETTINGS,
    Candidate,
    Split,
    Variant,
    make_candidates,
    refined,
    weigh_by_labels,
)
from .rows import make_folds

FEW_LABELS = 10  # per class (geometric mean): below, there is no choice
MANY_LABELS = 100  # per class: below, the fixed method for few labels has a share in the answer
HALF_LABELS = 60  # per class, where that share would be a half; all three were chosen on the development data of the benchmark
FEW_FOLDS, FEW_REPEATS = 10, 3  # to find a temperature with few labels
WITH_FEW_LABELS = (
    0.5,
    0.0,
    0.5,
    0.0,
)  # alpha, beta, gamma, delta that measured best with few labels
MOST_ROWS = 20_000  # with labels, that the choice is made on
MOST_REFINED = (
    5_000_000  # rows x classes: beyond, refining by iEC3 with many settings would need gigabytes
)
MOST_WORK = 5e8  # rows x groups x classes that one round of a candidate may take: beyond, choosing would take hours
LEAST_ROWS = 10  # of a rare class that stay in a sample
LABELS_FOR_STACKING = (
    100  # per class: with fewer, there are twice as many folds, so that each hides fewer labels
)
LABELS_FOR_ONE_REPEAT = 1_000  # with fewer, there are two repeats with other folds
LEAST_SHARE = 0.02  # of a candidate in a blend
CLEARLY = 3.0  # standard errors by which a candidate must be ahead of the blend to be used alone
CLEAR_GAIN = 0.008  # of macro F, for offsets of the classes to be used
DROP_ONE_ROWS = 2_000
F1_MACRO = "f1_macro"


@dataclass(frozen=True)
class Choice:
    """The method chosen for some votes, and why; `candidates` has the scores of all that were tried."""

    method: Method
    notes: tuple[Note, ...] = ()
    offsets: Array | None = None
    candidates: Table = field(
        default_factory=lambda: Table({"candidate": [], "score": [], "error": [], "share": []})
    )


def choose(
    votes: Votes,
    codes: Array,
    n_folds: int,
    seed: int,
    scoring: Any = "log_loss",
    offsets: bool = False,
    fold_of: Array | None = None,
    n_jobs: int | None = None,
    out_of_fold: bool = True,
) -> Choice:
    """Choose a method by the votes on labelled objects, which must be out of fold.

    `codes` has the number of each object's class, -1 where the label is not known, and `fold_of`
    its fold, -1 for objects without votes; without it folds are drawn. With `offsets`, classes may
    get offsets that raise the macro F. Candidates are compared by `scoring`, so many at a time.
    Votes that are not `out_of_fold` are of models that have seen no label.
    """
    codes = codes if fold_of is None else np.where(fold_of >= 0, codes, -1)
    counts = np.bincount(codes[codes >= 0], minlength=votes.n_classes)
    if votes.n_classes < 2:
        return Choice(
            SoftVote(), (Note(CHOICE, "There is only one class: plain soft voting is used."),)
        )
    if min(int(counts.sum()), MOST_ROWS) * votes.models.n_groups * votes.n_classes > MOST_WORK:
        text = f"{votes.n_classes:,} classes are too many to try other methods on so many rows: plain soft voting is used."
        return Choice(_soft_vote(votes, codes, seed), (Note(CHOICE, text),))
    per_class = float(np.exp(np.log(counts[counts > 1]).mean())) if (counts > 1).any() else 0.0
    if (counts > 1).sum() < 2 or per_class < FEW_LABELS:
        few = count(int(counts.sum()), "label is", "labels are")
        text = f"{few} too few to choose by: iEC3 with the settings that measured best with few labels is used."
        return Choice(_for_few_labels(votes, codes, seed), (Note(CHOICE, text),))
    fixed = (
        (_for_few_labels(votes, codes, seed), per_class / (per_class + HALF_LABELS))
        if per_class < MANY_LABELS
        else None
    )
    with threadpool_limits(1):
        rows = _sample(codes, seed, MOST_ROWS)
        votes, codes = votes[rows], codes[rows]
        if fold_of is not None and len(np.unique(fold_of[rows])) > 1:
            folds = [np.unique(fold_of[rows], return_inverse=True)[1]]
        else:
            enough = codes.size >= LABELS_FOR_STACKING * votes.n_classes
            repeats = range(1 if codes.size >= LABELS_FOR_ONE_REPEAT else 2)
            folds = [
                make_folds(codes, n_folds if enough else 2 * n_folds, seed + r) for r in repeats
            ]
        jury = Jury(
            [Split.of(votes, codes, own) for own in folds],
            codes,
            votes,
            make_scoring(scoring, votes.classes),
        )
        # Stacked votes never name a class without a label, which models that were trained elsewhere
        # may know.
        candidates = make_candidates(votes, out_of_fold or bool(counts.all()), out_of_fold)
        return _choose_by_score(jury, candidates, fixed, offsets or scoring == F1_MACRO, n_jobs)


def _soft_vote(votes: Votes, codes: Array, seed: int) -> Method:
    """Return soft voting with the temperature that suits the labels, of which it learns nothing else."""
    if np.bincount(codes[codes >= 0]).max() < 2:
        return SoftVote()
    rows = _sample(codes, seed, MOST_ROWS)
    slope = learn_slope(SoftVote().solve(votes[rows]).proba, codes[rows], np.ones(len(rows)))
    return Blend([SoftVote()], None, slope)


def _for_few_labels(votes: Votes, codes: Array, seed: int) -> Method:
    """Return iEC3 with fixed settings, and the weights and the temperature that suit the few labels, hidden fold by fold."""
    if (np.bincount(codes[codes >= 0]) > 1).sum() < 2:
        return EC3(*WITH_FEW_LABELS, weights="agreement")

    def weighted(votes: Votes, known: KnownLabels) -> Method:
        return EC3(*WITH_FEW_LABELS, weights=weigh_by_labels(votes, known))

    rows = _sample(codes, seed, MOST_ROWS)
    votes, codes = votes[rows], codes[rows]
    splits = [
        Split.of(votes, codes, make_folds(codes, FEW_FOLDS, seed + repeat))
        for repeat in range(FEW_REPEATS)
    ]
    slopes = [learn_slope(split.held_out(weighted), codes, np.ones(len(codes))) for split in splits]
    return Blend(
        [weighted(splits[0].rows, KnownLabels(splits[0].codes, np.inf))],
        None,
        float(np.mean(slopes)),
    )


def _choose_by_score(
    jury: Jury,
    candidates: list[Candidate],
    fixed: tuple[Method, float] | None,
    with_offsets: bool,
    n_jobs: int | None,
) -> Choice:
    """Choose by scores; `fixed` is a method that is mixed with what is chosen, and the share of the latter."""
    judged = Parallel(n_jobs)(delayed(jury.judge)(candidate) for candidate in candidates)
    soft = judged[0]
    if (
        not jury.votes.models.is_voter.all()
        and len(jury.codes) * jury.votes.n_classes <= MOST_REFINED
    ):
        judged.append(
            jury.judge_refined(
                [one for one, own in zip(judged, candidates, strict=True) if not own.free]
            )
        )
    blend, shares = jury.judge_blend(judged)
    winner = blend
    for other in judged:
        gain = other.scores - blend.scores
        if gain.mean() > max(CLEARLY * standard_error(gain), (winner.scores - blend.scores).mean()):
            winner = other
    method, text = winner.method(jury.splits[0]), jury.scoring.text
    what = _describe_blend(judged, shares) if winner is blend else winner.name.capitalize()
    why = f"{what}: {text(winner.scores.mean())} on held-out labels, plain soft voting {text(soft.scores.mean())}."
    if fixed is not None:
        few, share = fixed
        method = Blend([few, method], [1 - share, share])
        why += f" With so few labels it is {100 * share:.0f} % of the answer; the rest is iEC3 with settings that measured best."
    offsets, more = (
        _choose_offsets(winner.answers[0], jury.codes, jury.splits[0].fold_of)
        if with_offsets
        else (None, ())
    )
    if offsets is not None:
        method = method.set_params(offsets=offsets.tolist())
    tried = [*judged, blend]
    table: dict[str, list[Any]] = {
        "candidate": [one.name for one in tried],
        "score": [jury.scoring.sign * float(one.scores.mean()) for one in tried],
        "error": [standard_error(one.scores) for one in tried],
        "share": [*shares.tolist(), None],
    }
    return Choice(method, (Note(CHOICE, why), *more), offsets, Table(table))


def _describe_blend(judged: Sequence[Judged], shares: Array) -> str:
    """Return the candidates in a blend, those with the largest shares first."""
    order = [c for c in np.argsort(-shares, kind="stable") if shares[c] >= LEAST_SHARE]
    return (
        f"Blend of {', '.join(f'{judged[int(c)].name} ({100 * shares[c]:.0f} %)' for c in order)}"
    )


# ---- scores --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scoring:
    """A score: its name, a function of class probabilities, class numbers and weights, and the sign it is shown with."""

    name: str
    function: Callable[[Array, Array, Array], float]
    sign: int = 1

    def text(self, value: float) -> str:
        """Return a score in words."""
        return f"{self.name} {self.sign * value:.4f}"


def _accuracy(proba: Array, codes: Array, weight: Array) -> float:
    return float(weight @ (proba.argmax(axis=1) == codes) / weight.sum())


OWN = {
    "log_loss": Scoring("log loss", lambda *given: -log_loss(*given), -1),
    "roc_auc": Scoring("AUC", mean_auc),
    "accuracy": Scoring("accuracy", _accuracy),
    F1_MACRO: Scoring(
        "macro F",
        lambda proba, codes, weight: macro_f(proba.argmax(axis=1), codes, proba.shape[1], weight),
    ),
}


SAME = {
    "neg_log_loss": "log_loss",
    "roc_auc_ovr": "roc_auc",
}  # scikit-learn's fail if a fold lacks a class


def check_scoring(scoring: Any) -> None:
    """Refuse what is neither the name of a score nor a scorer."""
    if isinstance(scoring, str):
        if scoring not in OWN and scoring not in get_scorer_names():
            raise unknown_name("scoring", scoring, OWN, "or a scorer of scikit-learn")
    elif not callable(scoring):
        raise InputError(
            "scoring",
            "must be the name of a score or a scorer, a function of (estimator, X, y)",
            got=scoring,
        )


def make_scoring(scoring: Any, classes: Array) -> Scoring:
    """Return one of our scores by its name, or a scorer of scikit-learn; scorers get the labels as the user names them."""
    if isinstance(scoring, str) and SAME.get(scoring, scoring) in OWN:
        return OWN[SAME.get(scoring, scoring)]
    scorer = get_scorer(scoring)
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", str(scoring))

    def score(proba: Array, codes: Array, weight: Array) -> float:
        try:
            return float(
                scorer(_Answered(classes, proba), np.arange(len(codes))[:, None], classes[codes])
            )
        except ValueError as error:
            instead = f"{name}_macro" if f"{name}_macro" in get_scorer_names() else "log_loss"
            phrase, remedy = (
                f"{arg('scoring', name)} failed ({first_line(error)})",
                f"Pass {arg('scoring', instead)}.",
            )
            raise InputError("scoring", phrase=phrase, remedy=remedy) from error

    return Scoring(name, score)


class _Answered(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose answers are there already, for scorers: X holds the numbers of rows."""

    def __init__(self, classes: Array, proba: Array) -> None:
        self.classes_ = classes
        self.proba_ = proba

    def predict_proba(self, X: Array) -> Array:
        return np.asarray(self.proba_[X[:, 0]])

    def predict(self, X: Array) -> Array:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


# ---- judging -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """A candidate that was judged: how to make it, its answers in each repeat, and its scores, repeats x folds."""

    name: str
    make: Variant
    answers: Sequence[Array]
    scores: Array
    slope: float

    def method(self, split: Split) -> Blend:
        """Return the method, learned from all labels, as it was judged."""
        method = self.make(split.rows, KnownLabels(split.codes, np.inf))
        return (
            method.set_params(slope=self.slope)
            if isinstance(method, Blend)
            else Blend([method], None, self.slope)
        )


@dataclass(frozen=True)
class Jury:
    """Labels that are hidden fold by fold, in one or more repeats, and a score."""

    splits: Sequence[Split]
    codes: Array
    votes: Votes
    scoring: Scoring

    @property
    def weight(self) -> Array:
        """How much each object counts."""
        return (
            np.ones(len(self.codes))
            if self.votes.sample_weight is None
            else self.votes.sample_weight
        )

    def judge(self, candidate: Candidate) -> Judged:
        """Judge a candidate, with each of its penalties."""
        raw = [[split.held_out(variant) for split in self.splits] for variant in candidate.variants]
        return self._judge_variants(candidate.name, candidate.variants, raw)

    def judge_refined(self, judged: Sequence[Judged]) -> Judged:
        """Judge the best candidate refined by EC3, with each of its settings: in each fold, the best in the others is refined."""
        chosen = best_in_other_folds(np.stack([one.scores for one in judged]))
        by_split = [
            split.held_out_refined([judged[c].make for c in own])
            for split, own in zip(self.splits, chosen, strict=True)
        ]
        best = max(judged, key=lambda one: one.scores.mean())
        variants = [refined(best.make, setting) for setting in SETTINGS]
        return self._judge_variants(
            f"{best.name}, refined by iEC3", variants, list(zip(*by_split, strict=True))
        )

    def judge_blend(self, judged: Sequence[Judged]) -> tuple[Judged, Array]:
        """Judge the blend of candidates with the least log loss, and return their shares in it."""
        by_repeat = [np.stack([one.answers[r] for one in judged]) for r in range(len(self.splits))]
        raw = []
        for split, answers in zip(self.splits, by_repeat, strict=True):
            mean = np.empty(answers.shape[1:])
            for own in split.folds:
                shares = self._shares(answers[:, ~own], self.codes[~own], self.weight[~own])
                mean[own] = np.tensordot(shares, answers[:, own], 1)
            raw.append(mean)
        shares = np.mean(
            [self._shares(answers, self.codes, self.weight) for answers in by_repeat], axis=0
        )
        sharp, slope = self._sharpen(raw)

        def make(votes: Votes, known: KnownLabels) -> Method:
            kept = [
                (one, share)
                for one, share in zip(judged, shares.tolist(), strict=True)
                if share >= LEAST_SHARE
            ]
            return Blend(
                [one.method(self.splits[0]) for one, _ in kept], [share for _, share in kept]
            )

        return Judged("blend of all", make, sharp, self._scores(sharp), slope), shares

    def _shares(self, answers: Array, codes: Array, weight: Array) -> Array:
        return simplex_weights(answers[:, np.arange(len(codes)), codes], weight)

    def _judge_variants(
        self, name: str, variants: Sequence[Variant], raw: Sequence[Sequence[Array]]
    ) -> Judged:
        """Judge variants as one candidate: in each fold the variant that is best in the others answers."""
        sharp = [self._sharpen(answers) for answers in raw]
        scores = np.stack(
            [self._scores(answers) for answers, _ in sharp]
        )  # variants x repeats x folds
        chosen = best_in_other_folds(scores)
        answers = []
        for r, split in enumerate(self.splits):
            by_variant = np.stack([own[r] for own, _ in sharp])
            answers.append(by_variant[chosen[r][split.fold_of], np.arange(len(self.codes))])
        best = int(scores.mean(axis=(1, 2)).argmax())
        return Judged(name, variants[best], answers, self._scores(answers), sharp[best][1])

    def _sharpen(self, answers: Sequence[Array]) -> tuple[list[Array], float]:
        """Return answers with the slope that suits the labels of the other folds, and the slope that suits all."""
        out = []
        for split, answer in zip(self.splits, answers, strict=True):
            sharp = np.empty_like(answer)
            for own in split.folds:
                slope = learn_slope(answer[~own], self.codes[~own], self.weight[~own])
                sharp[own] = sharpened(answer[own], slope)
            out.append(sharp)
        return out, float(
            np.mean([learn_slope(answer, self.codes, self.weight) for answer in answers])
        )

    def _scores(self, answers: Sequence[Array]) -> Array:
        """Return the score of each fold in each repeat."""
        score, codes, weight = self.scoring.function, self.codes, self.weight
        by_split = zip(self.splits, answers, strict=True)
        return np.array(
            [
                [score(answer[own], codes[own], weight[own]) for own in split.folds]
                for split, answer in by_split
            ]
        )


def best_in_other_folds(scores: Array) -> Array:
    """Return for each fold of each repeat the candidate that is best in the other folds, given candidates x repeats x folds."""
    return np.asarray((scores.sum(axis=2, keepdims=True) - scores).argmax(axis=0))


def standard_error(scores: Array) -> float:
    """Return the standard error of a mean over repeats x folds, which share their training rows (Nadeau and Bengio, 2003)."""
    n_folds = scores.shape[1]
    return (
        float(np.sqrt(scores.var(ddof=1) * (1 / scores.size + 1 / (n_folds - 1))))
        if n_folds > 1
        else 0.0
    )


def _sample(codes: Array, seed: int, most: int) -> Array:
    """Return about so many objects with labels; the only label of a class is left out."""
    rng = np.random.default_rng(seed)
    counts = np.bincount(codes[codes >= 0])
    share = min(1.0, most / counts.sum())
    kept = []
    for z in np.flatnonzero(counts > 1):
        n_kept = max(min(LEAST_ROWS, counts[z]), round(share * counts[z]))
        kept.append(rng.permutation(np.flatnonzero(codes == z))[:n_kept])
    return np.sort(np.concatenate(kept))


# ---- for votes that users have -------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class TunedVote(Method):
    """Choose and blend ways to combine votes by the known labels, as `EC3Classifier` does.

    The classifiers must not have been trained on the objects with known labels: these are a
    validation set, and all others are the test set. With few known labels it is iEC3, with weights
    by how likely each classifier's votes make them.

    Parameters
    ----------
    scoring : "log_loss", "roc_auc", "accuracy", "f1_macro", another scorer's name, or a scorer
        What candidates are compared by.
    offsets : bool
        Whether the probabilities of the classes may be shifted where that raises the macro F.
    cv : int
        Number of folds in which known labels are hidden in turn.
    random_state : int
        Seed of the folds.

    Examples
    --------
    >>> import numpy as np
    >>> from ec3learn import Votes
    >>> from ec3learn.estimator import TunedVote
    >>> truth = np.arange(200) % 2
    >>> good = np.where(truth == 1, 0.7, 0.3)
    >>> votes = Votes.from_probabilities({"good": good, "guess": np.random.default_rng(0).random(200)})
    >>> consensus = TunedVote().solve(votes, known=([*range(100)], truth[:100]))
    >>> consensus.score(truth)
    1.0
    """

    title = "Tuned vote"

    scoring: Any = "log_loss"
    offsets: bool = False
    cv: int = 5
    random_state: int = 0

    def _check(self) -> None:
        check_scoring(self.scoring)
        require_bool("offsets", self.offsets)
        require_integer("cv", self.cv, 2)
        require_integer("random_state", self.random_state, 0)

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        if known is None:
            remedy = f"Pass {arg('known')}, or take a method that learns without labels."
            raise InputError(
                "known", phrase=f"{self.title} needs known labels, got none", remedy=remedy
            )
        codes = known.codes if votes.index is None else known.codes[votes.index]
        chosen = choose(
            votes, codes, self.cv, self.random_state, self.scoring, self.offsets, out_of_fold=False
        )
        answer = chosen.method.answer(votes, known)
        return replace(answer, notes=(*chosen.notes, *answer.notes))


# ---- offsets -------------------------------------------------------------------------------------


def _choose_offsets(
    proba: Array, codes: Array, fold: Array
) -> tuple[Array | None, tuple[Note, ...]]:
    """Return offsets of the classes' log-probabilities if they clearly raise the macro F of labels they were not found on.

    They are found on all folds but one, and judged on that one, in turn; the offsets of all turns
    are averaged.
    """
    n_classes, logs = proba.shape[1], np.log(np.maximum(proba, 1e-12))
    found, shifted = [], np.empty_like(logs)
    for f in range(int(fold.max()) + 1):
        found.append(_best_offsets(logs[fold != f], codes[fold != f]))
        shifted[fold == f] = logs[fold == f] + found[-1]
    without, score = (macro_f(table.argmax(axis=1), codes, n_classes) for table in (logs, shifted))
    if score < without + CLEAR_GAIN:
        return None, ()
    why = f"Offsets were added to the classes' log-probabilities: macro F {score:.4f} on held-out labels, {without:.4f} without."
    return np.mean(found, axis=0), (Note(CHOICE, why),)


def _best_offsets(logs: Array, codes: Array) -> Array:
    """Return offsets of the classes that raise the macro F, found by coordinate search in smaller and smaller steps."""
    n_classes = logs.shape[1]
    offsets, best = np.zeros(n_classes), macro_f(logs.argmax(axis=1), codes, n_classes)
    for size, z, sign in product((2.0, 1.0, 0.5, 0.2, 0.1), range(n_classes), (1, -1)):
        tried = offsets.copy()
        tried[z] += sign * size
        score = macro_f((logs + tried).argmax(axis=1), codes, n_classes)
        if score > best + 1e-4:
            offsets, best = tried, score
    return offsets


# ---- what each base model adds -------------------------------------------------------------------


def measure_base_models(
    method: Method, votes: Votes, codes: Array, n_folds: int, seed: int
) -> list[float | None]:
    """Return what each base model adds (`drop_one_auc`), on a sample; None for all if only one class has two labels or more."""
    if (np.bincount(codes[codes >= 0]) > 1).sum() < 2:
        return [None] * len(votes.models)
    rows = _sample(codes, seed, DROP_ONE_ROWS)
    return drop_one_auc(method, votes[rows], codes[rows], make_folds(codes[rows], n_folds, seed))
