"""The panel: a consensus of consensuses.

No single method is best on all crowds, and no method knows from the votes alone whether it is. So several answer, and the mean of
their class probabilities is taken. Where they disagree the mean is unsure, so it is far better calibrated than any of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._checks import InputTypeError, require_choice
from .._text import count, percent, some
from .._typing import Array
from ..algebra.bayes import SubtypeModel
from ..algebra.linear import normalised, sample_rows
from ..algebra.membership import membership
from ..algebra.trust import LEAST_LABELS, learn_slope, rows_in_own_order
from ..answer.mixtures import PanelRule, SubtypeRule, sharpened
from ..answer.notes import CALIBRATION, PANEL, Note
from ..answer.outcome import PanelMember, class_preference, highest_classes
from ..answer.rule import KnownLabels, Rule, mean_votes
from ..diagnosis.correlation import erring_voters, shows_correlation
from ..diagnosis.doubts import Bias, judge_bias
from ..diagnosis.metrics import log_losses
from ..votes import Votes
from ..votes.reading import smallest_uint
from .base import Answer, Method, method_of
from .caution import assumed_correlation, cautious_vote, with_plain_vote
from .crowds import BWA, EBCC
from .dawid_skene import DawidSkene, subtype_rule
from .ec3.ec3 import EC3
from .voting import NO_VOTE, weighted_answer
from .weights import relative_weights, votes_per_voter, weighted_rule

COIN_ROUNDS, REWEIGHT_ROUNDS = 50, 10
WHOLE = 1 - 1e-9  # a share of a vote from which on it is a label
FEW_OBJECTS, LEAST_CLASS_VOTES = 50, 0.1  # EBCC's prior of the classes is 1 times the votes on so few objects, less on more
STRONG_BIAS = 3.0  # times the evidence that confusion matrices are worth their numbers
TO_GROUPS = (0.5, 0.0, 0.5, 0.0)  # alpha, beta, gamma and delta of EC3 towards the panel
LEAST_SEATED = 3
FOLDS, MOST_ROWS = 3, 20_000  # of the labels that the confidence is calibrated on, and of the rows beside them
FAR, TIMES_MEDIAN = 0.25, 2.0  # a member leaves that differs on more objects than this, and than this many times the median


@dataclass(eq=False, repr=False)
class Panel(Method):
    """Let several methods answer, and take the mean of their class probabilities.

    By default these are a weighted vote, Dawid-Skene with one number per voter, BWA, and EBCC with two priors. Where there is
    strong evidence that voters are biased, Dawid-Skene with two priors takes the place of the first two. For voters who answer
    on a scale they are three methods that learn what each answer means. With a prior of the objects, Dawid-Skene takes the place
    of the weighted vote and of BWA. Where votes are probabilities, these members answer from the most probable classes, and count
    as one besides BWA and, without a prior, a weighted vote on the probabilities. A member whose answer is far from all others'
    is left out. `Consensus.panel()` shows who sat, and how they differ.

    Dawid-Skene and EBCC take voters for independent. Where everyone votes on everything, their answers are made less sure by how
    much the voters' errors seem to correlate, unless there is a prior. With 30 known labels or more, the confidence is calibrated
    on them; a note says what that did. With fewer labels, and fewer than ten voters whose votes are labels or scores, little
    shows how good each of them is: the plain vote gets a share of the answer, which is half of it for three voters.

    Weights of voters count in the answer, not in what is learned of voters, and only their ratios matter. A voter of weight 2 is
    believed twice as much; a copy of it would also seem to bear it out.

    Parameters
    ----------
    members : "default", or a sequence of methods or their names
        Who sits on the panel.
    clusterings : "ignore" or "join"
        "join" takes the mean of three answers where there are clusterings: that of the panel, that of EC3 towards the panel, in
        which objects are pulled to their groups, and that of Dawid-Skene with the clusterings as voters. Alone, the second fails
        where voters are biased and the third where clusterings repeat each other; together they measured best. Where votes are
        probabilities, the third only harms, and is left out.

    Examples
    --------
    >>> from ec3learn import Panel, Votes
    >>> votes = Votes.from_labels({"a": [0, 0, 1, 1, 0], "b": [0, 0, 1, 1, 1], "c": [1, 0, 1, 0, 0]})
    >>> Panel().solve(votes).labels()
    array([0, 0, 1, 1, 0])
    """

    title = "Panel"
    admits_prior = True

    members: Literal["default"] | Sequence[str | Method] = "default"
    clusterings: Literal["ignore", "join"] = "ignore"

    @property
    def reads_grades(self) -> bool:  # type: ignore[override]
        """Return whether the members learn what each answer on a scale means."""
        return self._is_default() or all(member.reads_grades for member in self._given())

    def _is_default(self) -> bool:
        return isinstance(self.members, str) and self.members == "default"

    def _given(self) -> list[Method]:
        if isinstance(self.members, str) or not isinstance(self.members, Sequence) or not len(self.members):
            raise InputTypeError("members", "must be 'default' or a sequence of methods or their names", got=self.members)
        return [method_of(member, "members") for member in self.members]

    def _title(self, known: KnownLabels | None) -> str:
        return "Panel with clusterings" if self.clusterings == "join" else self.title

    def _check(self) -> None:
        require_choice("clusterings", self.clusterings, ("ignore", "join"))
        if not self._is_default():
            for member in self._given():
                member._check()

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        if self._is_default():
            weights = relative_weights(votes)
            votes = votes if np.array_equal(weights, votes.weights) else replace(votes, weights=weights)
        soft = are_mostly_soft(votes)
        if votes.n_classes < 2:
            return self._combined(votes, known, soft)
        labelled = None if known is None else _rows_to_judge_by(votes, known)
        if known is not None and labelled is not None:
            answer = self._combined(votes, known, soft, by_labels=True)
            if answer.rule is not None:
                return _calibrated(answer, self._judged_labels(votes, known, labelled, soft))
        else:
            answer = self._combined(votes, known, soft)
        # Means of probabilities and a prior of the objects have their own caution.
        cautious = self._is_default() and not soft and not _is_informed(votes)
        return replace(answer, notes=(*answer.notes, _uncalibrated(votes, cautious)))

    def _combined(self, votes: Votes, known: KnownLabels | None, soft: bool, by_labels: bool = False) -> Answer:
        """Return the answer before it is calibrated; `soft` votes are mostly probabilities."""
        if self._is_default():
            panel = _default_answer(votes, known, soft, by_labels)
        else:
            panel = _mean_answer(self._own_members(votes, known), votes, known)
        if self.clusterings == "ignore" or not votes.has_clusterings:
            return panel
        joined = {"panel": panel, "EC3 towards the panel": EC3(*TO_GROUPS, towards=_Solved(panel)).answer(votes, known)}
        if not soft:  # clusters of the features add less than the probabilities know already
            joined["Dawid-Skene with clusterings"] = DawidSkene(clusterings="voters").answer(votes, known)
        answer = _mean_answer([_member(name, own) for name, own in joined.items()], votes, known, "The panel with clusterings")
        return replace(answer, notes=(*panel.notes, *answer.notes))

    def _judged_labels(self, votes: Votes, known: KnownLabels, labelled: Array, soft: bool) -> _Judged:
        """Return the known labels beside answers that were made without them, some labels at a time."""
        split, codes, folds = _in_folds(votes, known, labelled)
        proba = np.empty((split.n_rows, votes.n_classes))
        for fold in range(FOLDS):
            hidden = folds == fold
            others = KnownLabels(np.where(hidden, -1, codes), known.pull)
            proba[hidden] = self._combined(split, others, soft, by_labels=True).proba[hidden]
        own = folds >= 0
        return _Judged(proba[own], codes[own], split.counts[own], folds[own])

    def _own_members(self, votes: Votes, known: KnownLabels | None) -> list[_Member]:
        members: list[_Member] = []
        for method in self._given():
            labels = known if known is None or method.admits_known else None
            name = method._title(labels)
            answer = method.answer(votes, labels)
            if not answer.converged:
                warnings.warn(method._not_converged(), ConvergenceWarning, stacklevel=5)
            taken = any(member.name == name for member in members)
            members.append(_member(f"{name} {len(members) + 1}" if taken else name, answer))
        return members


@dataclass(eq=False, repr=False)
class _Solved(Method):
    """A method whose answer is there already."""

    title = "Panel"
    admits_prior = True

    found: Any

    def _answer(self, votes: Votes, known: KnownLabels | None) -> Answer:
        return self.found


@dataclass(frozen=True, eq=False)
class _Member:
    """A method that has answered: by its rule, from which the answers are made again when needed, or as they are kept.

    The default panel keeps rules: five answers for each of a million objects would take more memory than all else.
    """

    name: str
    rule: Rule | None
    n_iter: int
    kept: tuple[Array, Array] | None = None


def _member(name: str, answer: Answer) -> _Member:
    return _Member(name, answer.rule, answer.n_iter, (answer.proba, answer.unanswered))


def _rows_to_judge_by(votes: Votes, known: KnownLabels) -> Array | None:
    """Return which rows have votes and a known label; None if there are too few labels to calibrate on."""
    labelled = known.labelled & ~mean_votes(votes, membership(votes), votes.weights, None)[1] & (votes.counts > 0)
    return np.asarray(labelled) if votes.n_alike[labelled].sum() >= LEAST_LABELS else None


def _mean_answer(members: Sequence[_Member], votes: Votes, known: KnownLabels | None, called: str = "The panel") -> Answer:
    """Return the mean of the answers of those who are seated."""
    groups = membership(votes)

    def answers() -> Iterator[tuple[slice, list[tuple[Array, Array]]]]:
        kept = [member.kept for member in members if member.kept is not None]
        if kept:
            yield slice(None), kept
        else:
            for parts in zip(*(member.rule.answers(groups, known) for member in members if member.rule), strict=True):
                yield parts[0][0], [part[1:] for part in parts]

    tie_mass = votes.counts @ mean_votes(votes, groups, votes.weights, known)[0]
    shown, proba, unanswered = seat(answers, [member.name for member in members], votes.counts, tie_mass)
    sitting = [member for member, seated in zip(members, shown, strict=True) if seated.sat]
    shares = normalised((votes.counts * ~unanswered) @ proba)
    proba[unanswered] = shares
    rules = tuple((member.name, member.rule) for member in sitting if member.rule is not None)
    return Answer(
        proba,
        unanswered,
        PanelRule(rules, shares) if len(rules) == len(sitting) else None,
        n_iter=max(member.n_iter for member in members),
        notes=_notes(shown, votes, called),
        members=shown,
        lacking=NO_VOTE,
    )


# ---- calibration -----------------------------------------------------------------------------------------------------


class _Judged(NamedTuple):
    """Known labels, by distinct row: answers made without the labels of the row's fold, the class, and how often it counts."""

    proba: Array
    codes: Array
    counts: Array
    folds: Array


def _in_folds(votes: Votes, known: KnownLabels, labelled: Array) -> tuple[Votes, Array, Array]:
    """Return the votes, rows split by the folds of labelled objects, and the class and the fold of each row, -1 for none.

    Every fold has its share of the objects of a row. Of very many rows without a label some will do.
    """
    groups = membership(votes)
    start, _, _ = mean_votes(votes, groups, votes.weights, None)
    order = rows_in_own_order(votes, groups, start, known.one_hot(votes.n_classes))
    order = order[labelled[order]]
    n_alike = votes.n_alike[order].round().astype(np.int64)
    fold, first = np.arange(FOLDS), np.cumsum(n_alike) - n_alike
    in_fold = n_alike[:, None] // FOLDS + ((fold - first[:, None]) % FOLDS < n_alike[:, None] % FOLDS)
    place, own_fold = np.nonzero(in_fold)
    rest, counts = sample_rows(np.where(labelled, 0.0, votes.counts), MOST_ROWS)
    rest, counts = rest[~labelled[rest]], counts[~labelled[rest]]
    rows = np.concatenate([rest, order[place]])
    counts = np.concatenate([counts, (votes.counts[order] / n_alike)[place] * in_fold[place, own_fold]])
    none = np.full(len(rest), -1)
    split = replace(votes.only_rows(rows), sample_weight=counts, counts=counts)
    return split, np.concatenate([none, known.codes[order][place]]), np.concatenate([none, own_fold])


def _calibrated(answer: Answer, judged: _Judged) -> Answer:
    """Return the answer with the slope of its log-probabilities that suits the known labels.

    One number keeps the order of the classes, and needs few labels.
    """
    proba, codes, counts, folds = judged
    slope, held_out = learn_slope(proba, codes, counts), np.empty_like(proba)
    for fold in np.unique(folds):
        own = folds == fold
        held_out[own] = sharpened(proba[own], learn_slope(proba[~own], codes[~own], counts[~own]))
    before, after = (log_losses(own, codes) for own in (proba, held_out))
    text = f"The confidence was calibrated on {count(round(float(counts.sum())), 'known label')}: cross-validated log loss"
    text = f"{text} {np.average(after, weights=counts):.3f}, {np.average(before, weights=counts):.3f} without"
    text += " (inconclusive)" if _within_chance(after - before, counts) else ""
    note = Note(CALIBRATION, f"{text}. Log-probabilities were multiplied by {slope:.2f}.")
    sharper = sharpened(answer.proba, slope)
    sharper[answer.unanswered] = answer.proba[answer.unanswered]
    assert isinstance(answer.rule, PanelRule)
    return replace(answer, proba=sharper, rule=replace(answer.rule, slope=slope), notes=(*answer.notes, note))


def _uncalibrated(votes: Votes, cautious: bool) -> Note:
    """Return the note on what the confidence rests on without enough known labels; it may have been reduced."""
    why = f"The confidence was not calibrated, which takes {LEAST_LABELS} known labels"
    if cautious:
        if len(erring_voters(votes)) < 2:
            return Note(CALIBRATION, f"{why}.")
        correlate = "the voters' errors seem to correlate" if shows_correlation(votes) else "voters' errors usually correlate"
        return Note(CALIBRATION, f"{why}. It was reduced by how much {correlate}.")
    return Note(CALIBRATION, f"{why}. It is the mean of several methods, which is less sure where they differ.")


def _within_chance(differences: Array, counts: Array) -> bool:
    """Return whether the mean of these differences is at most two standard errors from 0."""
    total, mean = float(counts.sum()), float(np.average(differences, weights=counts))
    return abs(mean) <= 2 * float(np.sqrt(counts @ (differences - mean) ** 2)) / total


# ---- the members -----------------------------------------------------------------------------------------------------


def _default_answer(votes: Votes, known: KnownLabels | None, soft: bool, by_labels: bool) -> Answer:
    """Return the mean of the default members, before it is calibrated; `by_labels` says whether it will be."""
    if soft and not votes.has_graders:
        return _mean_answer(_soft_members(votes, known), votes, known)
    bias = None if votes.has_graders else judge_bias(votes, known, [])

    def solve(voters: Votes) -> Answer:
        members = _grading_members(voters, known) if voters.has_graders else _labelling_members(voters, known, bias)
        panel = _mean_answer(members, voters, known)
        return panel if by_labels or soft or _is_informed(voters) else with_plain_vote(panel, voters, known)

    return _of_voters(votes, known, solve)


def _of_voters(votes: Votes, known: KnownLabels | None, solve: Callable[[Votes], Answer]) -> Answer:
    """Return an answer in which clusterings have no part: without them far fewer rows may differ."""
    fewer = votes.voters_alone() if known is None else None
    if fewer is None:
        return solve(votes)
    voters, row = fewer
    answer = solve(voters)
    members = tuple(replace(member, row_classes=member.row_classes[row]) for member in answer.members)
    return replace(answer, proba=answer.proba[row], unanswered=answer.unanswered[row], members=members)


def are_mostly_soft(votes: Votes) -> bool:
    """Return whether at least half of the votes are probabilities; a crowd that repeats some votes gives labels all the same."""
    if votes.soft is None:
        return False
    n_soft = 0.0
    for model in votes.soft.models:
        if votes.is_classifier[model.number] and votes.weights[model.number] > 0:
            largest = votes.soft.shares_of(model).max(axis=1)
            n_soft += float(votes.counts @ ((largest > 0) & (largest < WHOLE)))
    n_votes = float(votes_per_voter(votes)[votes.is_voter & (votes.weights > 0)].sum())
    return n_votes > 0 and bool(2 * n_soft >= n_votes * WHOLE)


def _soft_members(votes: Votes, known: KnownLabels | None) -> list[_Member]:
    """Return two means of the probabilities, and the panel of the most probable classes.

    Models trained on the same data err together, and how sure they say they are is seldom right. Methods that add up evidence
    take both at face value and fall below a plain mean of the probabilities. Given labels alone, they do better than that.
    """
    hard = votes.hardened()
    bias = judge_bias(hard, known, [])

    def solve(voters: Votes) -> Answer:
        return _mean_answer(_labelling_members(voters, known, bias), voters, known)

    labels = _of_voters(hard, known, solve)  # rows of probabilities are seldom equal, those of labels often
    assert isinstance(labels.rule, PanelRule)
    labels = replace(labels, rule=replace(labels.rule, hard_votes=True))
    members = [_member("BWA", BWA().answer(votes, known)), _member("panel of the most probable classes", labels)]
    if _is_informed(votes):
        return members
    learned = weighted_answer("agreement", votes, np.ones(len(votes.models)), known, REWEIGHT_ROUNDS, judge=False)
    return [_member("weighted vote", learned), *members]


def _is_informed(votes: Votes) -> bool:
    """Return whether there is a prior of the objects that is worth something."""
    return votes.prior is not None and votes.prior.learned.weight > 0


def _labelling_members(votes: Votes, known: KnownLabels | None, bias: Bias | None) -> list[_Member]:
    informed = _is_informed(votes)
    # As printed (1), noisy votes make rare classes look common. Near 0 they can vanish, which the other members prevent.
    n_objects = max(float(votes.counts.sum()), 1e-300)
    class_votes = 1.0 if informed else float(np.clip(FEW_OBJECTS / n_objects, LEAST_CLASS_VOTES, 1.0))
    methods: dict[str, Method] = {
        "BWA": BWA(),
        "EBCC": EBCC(class_votes=class_votes),
        "EBCC with learned priors": EBCC(prior="learned", class_votes=class_votes),
    }
    if bias is not None and bias.evidence > STRONG_BIAS:
        diagonal = DawidSkene(prior="diagonal", tol=1e-4)
        methods = {"Dawid-Skene": DawidSkene(tol=1e-4), "Dawid-Skene with a diagonal prior": diagonal, **methods}
        members = []
    else:
        methods = {"one coin": DawidSkene(one_coin=True, tol=1e-4, max_iter=COIN_ROUNDS), **methods}
        members = [] if informed else [_Member("weighted vote", _learned_vote(votes, known), 0)]
    if informed:  # means of votes and a prior stay unsure even where all of them agree
        methods = {"Dawid-Skene": DawidSkene(tol=1e-4), **{name: own for name, own in methods.items() if name != "BWA"}}
    correlation = 0.0 if informed else assumed_correlation(votes)
    for name, method in methods.items():
        answer = method.answer(votes, known)
        rule = replace(answer.rule, correlation=correlation) if isinstance(answer.rule, SubtypeRule) else answer.rule
        members.append(_Member(name, rule, answer.n_iter))
    return members


def _learned_vote(votes: Votes, known: KnownLabels | None) -> Rule:
    """Return the weighted vote with weights that are learned from agreement, 1 on average over votes."""
    learned = weighted_answer("agreement", votes, np.ones(len(votes.models)), known, REWEIGHT_ROUNDS, judge=False)
    assert learned.weights is not None
    cast = votes_per_voter(votes)
    weights = learned.weights * (cast @ votes.weights / max(float(cast @ learned.weights), 1e-300))
    fallback = np.full(votes.n_classes, 1 / votes.n_classes) if learned.rule is None else np.asarray(learned.rule.fallback)
    return cautious_vote(votes, weights, fallback)


def _grading_members(votes: Votes, known: KnownLabels | None) -> list[_Member]:
    """Return three models that learn what each answer on a scale means, tempered by the voters' correlation."""
    alike, groups = votes.unweighted(), membership(votes)
    codes = None if known is None else known.codes
    start, _, _ = mean_votes(alike, groups, alike.weights, known)
    kinds = {
        "Dawid-Skene with a learned prior": {"pooled": True},
        "Dawid-Skene": {"pooled": False},
        "EBCC": {"pooled": False, "subtypes": 2},
    }
    members, correlation = [], assumed_correlation(votes)
    for name, options in kinds.items():
        model = SubtypeModel(alike, groups, codes, **options)  # type: ignore[arg-type]
        fit = model.fit(start, 1e-4, 200)
        members.append(_Member(name, weighted_rule(subtype_rule(model, fit, correlation), votes), fit.n_iter))
    return members


# ---- who sits --------------------------------------------------------------------------------------------------------


def seat(
    answers: Callable[[], Iterable[tuple[slice, Sequence[tuple[Array, Array]]]]], names: Sequence[str], counts: Array, mass: Array
) -> tuple[tuple[PanelMember, ...], Array, Array]:
    """Return the members and who of them sits on the panel, the mean answer of these, and which rows they leave unanswered.

    `answers` has the answer of each member, some rows at a time, and which rows it leaves unanswered. A member's distance is the
    share of objects that it answers otherwise than the mean of the others; `mass` breaks ties in the classes that are shown. The
    farthest member leaves while it is far from the others, and farther than twice the median member.
    """
    n_rows, n_classes, total = len(counts), len(mass), max(float(counts.sum()), 1e-300)
    order = class_preference(mass)
    sat, distances = np.ones(len(names), dtype=bool), np.zeros(len(names))
    classes = [np.empty(n_rows, dtype=smallest_uint(n_classes)) for _ in names]
    proba, unanswered = np.empty((n_rows, n_classes)), np.empty(n_rows, dtype=bool)
    while True:
        seated = [int(m) for m in np.flatnonzero(sat)]
        distances[seated] = 0.0
        for rows, parts in answers():
            by_class = {m: np.ascontiguousarray(parts[m][0].T) for m in seated}  # few long rows are quicker than many short ones
            everyone = np.asarray(sum(by_class.values()))
            for m, own in by_class.items():
                top = highest_classes(own)
                alike = (top & highest_classes(everyone - own if len(seated) > 1 else own)).any(axis=0)
                distances[m] += float(counts[rows] @ ~alike) / total
                if sat.all():
                    classes[m][rows] = order[top[order].argmax(axis=0)]
            proba[rows] = everyone.T / len(seated)
            unanswered[rows] = np.logical_and.reduce([parts[m][1] for m in seated])
        farthest = seated[int(distances[seated].argmax())]
        if len(seated) <= LEAST_SEATED or distances[farthest] <= max(FAR, TIMES_MEDIAN * float(np.median(distances[seated]))):
            members = map(PanelMember, names, (sat / len(seated)).tolist(), distances.tolist(), classes)
            return tuple(members), proba, unanswered
        sat[farthest] = False


def _notes(members: Sequence[PanelMember], votes: Votes, called: str) -> tuple[Note, ...]:
    sitting = [member for member in members if member.sat]
    total = max(float(votes.counts.sum()), 1e-300)
    alike = np.logical_and.reduce([member.row_classes == sitting[0].row_classes for member in sitting])
    agreed = float(votes.counts @ alike) / total
    text = f"{called} ({some([member.name for member in sitting])}) agrees on {percent(agreed)} of the objects."
    notes = [Note(PANEL, text)]
    for member in members:
        if not member.sat:
            far = f"its answer differs from the others' on {percent(member.distance)} of the objects"
            notes.append(Note(PANEL, f"The panel left {member.name} out: {far}."))
    return tuple(notes)
