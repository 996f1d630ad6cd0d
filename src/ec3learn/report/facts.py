"""Facts about a consensus, as a dict that the template shows: numbers and names, no markup."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from .. import __version__
from .._text import count, isolated, number_text, percent
from ..algebra.membership import membership, scatter_to_votes
from ..answer.labelling import top_classes
from ..answer.notes import DISTINCT_ROWS
from ..answer.outcome import Outcome
from ..answer.rule import mean_votes
from ..diagnosis.contested import contested
from ..diagnosis.explanation import Explanation, explain, tally_of
from ..diagnosis.metrics import CLEARLY, agreement_of, chance_of_difference, confusion, quality_of
from ..diagnosis.pairs import ALIKE, FEW, Pairs, pairs_of
from ..diagnosis.voters import agreement_with, contingency, voters
from ..votes import Kind, Votes
from ..votes.encoding import known_codes
from ..votes.labels import kind_of, plain

Array = npt.NDArray[Any]
Facts = dict[str, Any]

MOST_CLASSES = 20  # shown; the others are added up
MOST_MODELS = 200  # in the table
MOST_IN_HEAT_MAP = 60
MOST_CLUSTERINGS, MOST_CLUSTERS = 20, 12
MOST_PAIRS = 50
MOST_NAMED = 10  # base models in a warning
LOOKUPS = 4e5  # of groups, for explanations: with very many groups only the first objects are taken apart
CLOSE = 0.1  # margin below which two classes are called close
SOME = 0.2  # kappa that would be worth something: below it, and within noise of 0, a classifier says nothing
MAJORITY = "MajorityVote"
WORSE, SILENT = "worse than chance", "says nothing about the answer"


@dataclass(frozen=True)
class Subject:
    """A consensus, what it is judged by, and what several sections ask for."""

    consensus: Outcome
    truth: Any = None

    @property
    def votes(self) -> Votes | None:
        """Return what the base models said, None where a file did not keep it."""
        return self.consensus.votes

    @property
    def has_objects(self) -> bool:
        """Return whether there are answers for objects."""
        return self.consensus.has_objects

    @cached_property
    def n_objects(self) -> int:
        """Return how many objects there are."""
        return self.consensus.n_objects

    @cached_property
    def given_weight(self) -> Array:
        """Return the weight of each object as it was given, 1 where none was."""
        consensus = self.consensus
        if self.votes is not None:
            return np.ones(self.n_objects) if self.votes.sample_weight is None else self.votes.sample_weight
        rows, n_rows = np.arange(self.n_objects), len(consensus.row_proba)
        members = np.ones(n_rows) if consensus.index is None else np.bincount(consensus.index, minlength=n_rows)
        return self.of_objects(consensus.row_counts / np.maximum(members, 1), rows)

    @cached_property
    def whole(self) -> bool:
        """Return whether all weights are whole numbers: they say how often an object stands in the table."""
        return bool((self.given_weight == np.round(self.given_weight)).all())

    @cached_property
    def weight(self) -> Array:
        """Return how many objects each object counts for: weights that are not whole are scaled to add up to the objects."""
        weight = self.given_weight
        return weight if self.whole else weight * (self.n_objects / max(float(weight.sum()), 1e-300))

    @cached_property
    def row_weight(self) -> Array:
        """Return how many objects each row counts for."""
        index, n_rows = self.consensus.index, len(self.consensus.row_proba)
        return self.weight if index is None else np.bincount(index, weights=self.weight, minlength=n_rows)

    @cached_property
    def total(self) -> float:
        """Return how many objects there are, by their weights."""
        return float(self.weight.sum()) if self.has_objects else 0.0

    @cached_property
    def scale(self) -> float:
        """Return by how much our weights differ from those of the votes."""
        return self.total / max(float(self.consensus.row_counts.sum()), 1e-300)

    @property
    def distinct(self) -> bool:
        """Return whether the objects are the distinct rows of a table."""
        return any(note.kind == DISTINCT_ROWS for note in self.consensus.notes)

    @cached_property
    def open_rows(self) -> Array:
        """Return which rows the method had to answer: all but those whose given label was held fixed."""
        known = self.consensus.known
        if known is None or not known.fixed:
            return np.ones(len(self.consensus.row_proba), dtype=bool)
        return ~known.labelled

    @cached_property
    def n_open(self) -> float:
        """Return how many objects the method had to answer."""
        return float(self.row_weight @ self.open_rows) if self.has_objects else 0.0

    @property
    def all_given(self) -> bool:
        """Return whether all labels were given and held fixed."""
        return self.n_objects > 0 and not self.open_rows.any()

    @property
    def names(self) -> list[str]:
        """Return the classes as text."""
        return [str(plain(label)) for label in self.consensus.classes]

    def of_objects(self, per_row: Array, objects: Array) -> Array:
        """Return for some objects what is known of their rows."""
        index = self.consensus.index
        return per_row[objects if index is None else index[objects]]

    @cached_property
    def number(self) -> Array:
        """Return which of our classes each class of the votes is; new objects may have votes for classes of their own (-1)."""
        assert self.votes is not None
        ours = {(kind_of(label), label): z for z, label in enumerate(self.consensus.classes.tolist())}
        return np.array([ours.get((kind_of(label), label), -1) for label in self.votes.classes.tolist()])

    @property
    def answers(self) -> Array:
        """Return the answer for each row, as the number of a class of the votes (-2: none of theirs)."""
        assert self.votes is not None
        theirs = np.full(len(self.consensus.classes) + 1, -2)  # the last is for their classes that are not ours
        theirs[self.number] = np.arange(self.votes.n_classes)
        return theirs[self.consensus.row_classes]

    @cached_property
    def majority(self) -> tuple[Array, Array] | None:
        """Return the majority vote of each row, as probabilities of our classes and as the number of one (-1: not ours)."""
        if self.votes is None or not self.has_objects:
            return None
        votes = self.votes.hardened()
        said, unanswered, _ = mean_votes(votes, membership(votes), votes.weights, None, hard=True)
        if not (votes.counts @ ~unanswered):  # no vote that counts
            return None
        proba = np.zeros((len(said), len(self.consensus.classes)))
        proba[:, self.number[self.number >= 0]] = said[:, self.number >= 0]
        return proba, self.number[top_classes(said, votes.counts @ said)]

    @cached_property
    def given(self) -> Array:
        """Return which objects' labels the method was given."""
        known = self.consensus.known
        if known is None:
            return np.zeros(self.n_objects, dtype=bool)
        return self.of_objects(known.labelled, np.arange(self.n_objects))

    @cached_property
    def true_codes(self) -> Array:
        """Return the class of each object by the labels to judge by, -1 where there is none."""
        if self.truth is None:
            return np.full(self.n_objects, -1)
        consensus = self.consensus
        return known_codes(self.truth, consensus.classes, self.n_objects, consensus.object_ids, "truth")


def facts_of(
    consensus: Outcome,
    *,
    truth: Any = None,
    title: str = "Consensus report",
    n_contested: int = 200,
    command: str | Sequence[str] | None = None,
    details: Mapping[str, Any] | None = None,
) -> Facts:
    """Return everything the report says.

    Parameters
    ----------
    consensus, truth, title, n_contested, command, details
        As in `Consensus.report`.

    Returns
    -------
    dict
    """
    subject = Subject(consensus, truth)
    if truth is not None and not subject.has_objects:
        raise ValueError("truth needs objects to judge, and this consensus was loaded from a file without them. Leave truth out.")
    changes, quality = _changes(subject), _quality(subject)
    models, pairs = _models(subject), _pairs(subject)
    return {
        "title": title,
        "n_objects": round(subject.total),
        "n_open": round(subject.n_open),
        "all_given": subject.has_objects and subject.all_given,
        "summary": _summary(subject),
        "lacks": _lacks(subject),
        "warnings": _warnings(subject, changes, quality, models),
        "notes": [str(note) for note in consensus.notes if note.kind != DISTINCT_ROWS],  # they are counted in the summary
        "counted": _counted(subject) if subject.has_objects else None,
        "cards": _cards(subject, changes, quality),
        "classes": _classes(subject) if subject.has_objects else None,
        "confidence": _confidence(subject) if subject.has_objects else None,
        "changes": changes,
        "quality": quality,
        "models": models,
        "pairs": pairs,
        "redundant_names": {name for facts in pairs for pair in facts["redundant"] for name in pair[:2]},
        "clusterings": _clusterings(subject),
        "contested": _contested(subject, n_contested),
        "how": _how(subject, command, details or {}),
    }


# ---- the answer --------------------------------------------------------------------------------------------------------


def _lacks(subject: Subject) -> list[str]:
    if subject.votes is not None:
        return []
    if subject.has_objects:
        return [
            "This consensus was loaded from a file, which keeps the answers but not the votes. Not shown here: the comparison "
            "with the majority vote, who agrees with whom, what the clusters hold, and the contested objects with their "
            "explanations. "
            "Nor does the file say which labels the method was given: leave these out of the labels to judge by."
        ]
    return [
        "This consensus was loaded from a file without objects: it can answer for new ones, but has none of its own. Not shown "
        "here: classes, confidence, the comparison with the majority vote, who agrees with whom, clusters and contested objects."
    ]


def _summary(subject: Subject) -> str:
    consensus = subject.consensus
    if not subject.has_objects:
        return consensus.description
    n_classifiers = sum(model.kind == "classifier" for model in consensus.models)
    made_of = f"{count(n_classifiers, 'classifier')} and {count(len(consensus.models) - n_classifiers, 'clustering')}"
    size = count(round(subject.total), "object")
    if subject.distinct:
        size = f"{count(round(subject.total), 'row')}, {subject.n_objects:,} of them distinct"
    sure = "all labels were given" if subject.all_given else f"mean confidence {_mean_confidence(subject):.3f}"
    n_classes = count(len(consensus.classes), "class", "classes")
    return f"{consensus.settings['method']} of {made_of}: {size}, {n_classes}, {sure}"


def _counted(subject: Subject) -> str:
    """Return how objects are counted, where it is not each once."""
    if subject.distinct:
        return "The objects are the rows of the table. Equal rows are solved as one and counted as often as they stand there."
    if (subject.weight == 1).all():
        return ""
    if subject.whole:
        return "Objects have weights: each is counted as often as its weight says."
    return "Objects have weights: each is counted by its weight, all weights together for as many objects as there are."


def _mean_confidence(subject: Subject) -> float:
    """Return the mean confidence of the objects the method had to answer."""
    counts = subject.row_weight * subject.open_rows
    return float(counts @ subject.consensus.row_proba.max(axis=1, initial=0.0)) / max(float(counts.sum()), 1e-300)


def _cards(subject: Subject, changes: Facts | None, quality: Facts | None) -> list[tuple[str, str, str]]:
    consensus = subject.consensus
    cards = []
    n_classifiers = sum(model.kind == "classifier" for model in consensus.models)
    if subject.has_objects:
        cards.append(("objects", f"{round(subject.total):,}", _repeats(subject)))
    cards.append(("classes", f"{len(consensus.classes):,}", ""))
    cards.append(
        (
            "base models",
            f"{len(consensus.models):,}",
            f"{count(n_classifiers, 'classifier')}, {count(len(consensus.models) - n_classifiers, 'clustering')}",
        )
    )
    without = "" if not subject.has_objects or subject.open_rows.all() else f"the {round(subject.n_open):,} without a given label"
    if subject.has_objects and subject.all_given:
        cards.append(("mean confidence", "–", "all labels were given"))
    elif subject.has_objects:
        close = float(subject.row_weight @ (subject.open_rows & (consensus.row_margin < CLOSE)))
        where = f"on {without}; " if without else ""
        hint = f"{where}{percent(close / max(subject.total, 1e-300))} of all objects are close calls"
        cards.append(("mean confidence", f"{_mean_confidence(subject):.3f}", hint))
    if changes is not None and not subject.all_given:
        where = f", of {without}" if without else ""
        cards.append(("labels changed", percent(changes["share"]), f"against the majority vote{where}"))
    if quality is not None and quality["fair"] is not None:
        ours, theirs = quality["fair"]["answers"][0], quality["fair"]["answers"][-1]
        beside = "" if ours is theirs else f"{percent(theirs['accuracy'])} by majority vote"
        cards.append(("right", percent(ours["accuracy"]), beside))
    return cards


def _repeats(subject: Subject) -> str:
    n_rows = len(subject.consensus.row_proba)
    return f"{count(n_rows, 'distinct row')}" if n_rows < round(subject.total) else ""


def _classes(subject: Subject) -> Facts:
    """Return the shares of the classes: by label, by probability, and by majority vote."""
    consensus = subject.consensus
    counts, n_classes = consensus.row_counts, len(consensus.classes)
    total = max(float(counts.sum()), 1e-300)
    labelled = np.bincount(consensus.row_classes, weights=counts, minlength=n_classes) / total
    columns = [labelled, consensus.mass / total]
    if subject.majority is not None:
        ours = np.flatnonzero(subject.majority[1] >= 0)
        columns.append(np.bincount(subject.majority[1][ours], weights=counts[ours], minlength=n_classes) / total)
    shown = _largest(labelled, MOST_CLASSES)
    rows = [(subject.names[z], [float(column[z]) for column in columns]) for z in shown]
    rest = np.setdiff1d(np.arange(n_classes), shown)
    return {"rows": rows, "others": (len(rest), [float(column[rest].sum()) for column in columns]) if len(rest) else None}


def _confidence(subject: Subject) -> Facts:
    consensus = subject.consensus
    confidence, counts = consensus.row_proba.max(axis=1, initial=0.0), subject.row_weight * subject.open_rows
    heights, edges = np.histogram(np.clip(confidence, 0, 1), bins=20, range=(0, 1), weights=counts)
    return {"edges": edges.tolist(), "shares": (heights / max(float(counts.sum()), 1e-300)).tolist()}


def _changes(subject: Subject) -> Facts | None:
    """Return where the consensus departs from the majority vote, of the objects whose label was not given."""
    if subject.majority is None or subject.votes is None:
        return None
    consensus, (proba, theirs) = subject.consensus, subject.majority
    ours, counts, names = consensus.row_classes, subject.row_weight, subject.names
    changed = subject.open_rows & (ours != theirs)
    tied = changed & ((proba >= proba.max(axis=1, keepdims=True) - 1e-9).sum(axis=1) > 1)
    n_classes = len(names)
    named = np.flatnonzero(changed & (theirs >= 0))
    pairs, place = np.unique(theirs[named] * n_classes + ours[named], return_inverse=True)
    moves = np.bincount(place, weights=counts[named], minlength=len(pairs))
    return {
        "any": bool(changed.any()),
        "n": round(float(counts @ changed)),
        "share": float(counts @ changed) / max(subject.n_open, 1e-300),
        "tied": round(float(counts @ tied)),
        "moves": [(names[pairs[i] // n_classes], names[pairs[i] % n_classes], round(moves[i])) for i in _largest(moves, 8)],
        "is_majority": consensus.made_by == MAJORITY,
    }


def _warnings(subject: Subject, changes: Facts | None, quality: Facts | None, models: Facts | None) -> list[str]:
    consensus, warnings = subject.consensus, []
    if not consensus.converged:
        warnings.append("The solver stopped before it reached its tolerance: raise max_iter or tol and solve again.")
    if len(consensus.classes) == 1:
        warnings.append("There is only one class, so every object has it.")
    elif changes is not None and not changes["any"] and not changes["is_majority"] and not subject.all_given:
        warnings.append(
            f"Nothing was gained over the majority vote in labels: every object {_without_given(subject)}has the label that most "
            "votes name. What may differ is how sure the answer is."
        )
    if models is not None and models["worse"]:
        worse = _some([isolated(name) for name in models["worse"]])
        warnings.append(f"Worse than chance: {worse}. Such votes agree with the answer less often than guesses would.")
    if models is not None and models["empty"]:
        empty = _some([isolated(name) + ("" if remark == SILENT else f" ({remark})") for name, remark in models["empty"]])
        warnings.append(f"Says nothing about the answer: {empty}. Such votes agree with it no more often than guesses would.")
    fair = None if quality is None else quality["fair"]
    if fair is not None and fair["difference"] is not None and not (changes or {}).get("is_majority"):
        ours, theirs = fair["difference"]["ours"], fair["difference"]["theirs"]
        if ours <= theirs and changes is not None and changes["any"]:
            warnings.append(
                f"Nothing was gained over the majority vote on the held-out labels: where the two differ, the consensus alone is "
                f"right {_times(ours)} and the majority vote alone {_times(theirs)}."
            )
    return warnings


# ---- the base models ----------------------------------------------------------------------------------------------------


def _models(subject: Subject) -> Facts | None:
    consensus = subject.consensus
    if subject.votes is None and consensus.stored_voters is None:
        return None
    table = list(voters(consensus).rows())
    accuracy, source = _accuracies(subject)
    doubts, rule = _doubts(subject)
    for m, row in enumerate(table):
        row["accuracy"] = accuracy.get(m)
        row["remark"] = doubts.get(m)
    classifiers = [row for row in table if row["kind"] == "classifier"]
    shown = sorted(classifiers, key=lambda row: -row["coverage"])[:MOST_MODELS]
    kept = {row["model"] for row in shown}
    return {
        "rows": [row for row in classifiers if row["model"] in kept],
        "n_left_out": len(classifiers) - len(shown),
        "accuracy_by": source,
        "worse": [row["model"] for row in classifiers if row["remark"] == WORSE],
        "empty": [(row["model"], row["remark"]) for row in classifiers if row["remark"] not in (None, WORSE)],
        "rule": rule,
        "clusterings": [row for row in table if row["kind"] == "clustering"],
    }


def _accuracies(subject: Subject) -> tuple[dict[int, float | None], str | None]:
    """Return how often each classifier is right, and by which labels: those to judge by, or else those the method was given."""
    judged = np.where(subject.given, -1, subject.true_codes)
    if (judged >= 0).any():
        return _agreement_with(subject, judged), "the held-out labels"
    known = subject.consensus.known
    if known is not None:
        codes = subject.of_objects(known.codes, np.arange(subject.n_objects))
        return _agreement_with(subject, codes), "the labels the method was given"
    return {}, None


def _agreement_with(subject: Subject, codes: Array) -> dict[int, float | None]:
    """Return for each classifier the share of its votes that name the object's class."""
    votes = subject.votes
    if votes is None:
        return {}
    split, row_codes = votes.split_by(codes)
    rows = np.flatnonzero(row_codes >= 0)
    labelled = split.only_rows(rows)
    one_hot = np.zeros((len(rows), len(subject.consensus.classes)))
    one_hot[np.arange(len(rows)), row_codes[rows]] = labelled.counts
    contingency = scatter_to_votes(labelled, membership(labelled), one_hot)
    return agreement_with(labelled, row_codes[rows], contingency, subject.number)


def _doubts(subject: Subject) -> tuple[dict[int, str], str]:
    """Return what speaks against classifiers, by their number, and the rule: they agree less than chance would, or no more."""
    consensus, votes = subject.consensus, subject.votes
    left_out = set(consensus.worse_than_chance)
    models = consensus.models if votes is None else votes.models
    classifiers = [m for m, model in enumerate(models) if model.kind == "classifier"]
    found = {m: WORSE for m in classifiers if models[m].name in left_out}
    rule = (
        f"Each is compared, on {FEW} votes or more, with guessers who name each class as often as it does, but at random. "
        f"Worse than chance: {100 * CLEARLY:.0f} % of them agree with the consensus more often. "
        "Says nothing: they agree about as often."
    )
    if left_out:
        rule = f"{rule} Worse than chance is also what the method itself left out for this reason."
    if votes is None or not subject.has_objects or len(consensus.classes) < 2:
        return found, rule
    hardened = votes.hardened()
    one_hot = np.zeros((votes.n_rows, len(consensus.classes)))
    one_hot[np.arange(votes.n_rows), consensus.row_classes] = subject.row_weight
    said = scatter_to_votes(hardened, membership(hardened), one_hot)
    for m in classifiers:
        own = said[votes.offsets[m] : votes.offsets[m + 1]]
        if own.sum() < FEW or m in found:
            continue
        remark = _doubt(own, subject)
        if remark is not None:
            found[m] = remark
    return found, rule


def _doubt(said: Array, subject: Subject) -> str | None:
    """Return what speaks against a classifier by what it said (rows) about objects of each class (columns)."""
    assert subject.votes is not None
    beside = agreement_of(said, subject.number)
    if beside is None:
        return None
    spoken = np.flatnonzero(said.sum(axis=1))
    if len(spoken) == 1:
        return f"always says {isolated(plain(subject.votes.classes[spoken[0]]))}"
    if beside.kappa < -beside.noise:
        return WORSE
    return SILENT if beside.kappa < beside.noise and beside.kappa + beside.noise < SOME else None


def _pairs(subject: Subject) -> list[Facts]:
    """Return who agrees with whom, for classifiers and for clusterings."""
    votes = subject.votes
    if votes is None or not subject.has_objects:
        return []
    kinds: tuple[Kind, ...] = ("classifier", "clustering")
    compared = [(kind, pairs_of(votes, kind, subject.answers, subject.row_weight)) for kind in kinds]
    return [_pair_facts(votes, kind, pairs) for kind, pairs in compared if len(pairs.models) > 1]


def _pair_facts(votes: Votes, kind: str, pairs: Pairs) -> Facts:
    names = [votes.models[m].name for m in pairs.models]
    shown = np.sort(_largest(np.diag(pairs.common), MOST_IN_HEAT_MAP))  # those with the most votes
    similarity = pairs.similarity[np.ix_(shown, shown)]
    worst_first = sorted(pairs.redundant, key=lambda pair: -pairs.similarity[pair])
    rules = {
        "classifier": f"they name the same class for at least {ALIKE:.0%} of the objects both spoke about ({FEW} or more), and "
        "where either departs from the consensus they mostly say the same",
        "clustering": f"their normalised mutual information is at least {ALIKE}, on {FEW} objects or more",
    }
    return {
        "kind": kind,
        "names": [names[i] for i in shown],
        "cells": [[None if np.isnan(value) else float(value) for value in row] for row in similarity],
        "redundant": [
            (names[a], names[b], float(pairs.similarity[a, b]), round(float(pairs.common[a, b])))
            for a, b in worst_first[:MOST_PAIRS]
        ],
        "n_redundant": len(pairs.redundant),
        "rule": rules[kind],
        "n_left_out": pairs.n_left_out + len(names) - len(shown),
        "share_of_rows": pairs.share_of_rows,
    }


def _clusterings(subject: Subject) -> Facts | None:
    """Return what each cluster holds, by the consensus."""
    consensus, votes = subject.consensus, subject.votes
    if votes is None or not subject.has_objects:
        return None
    clusterings = [m for m, model in enumerate(votes.models) if model.kind == "clustering"]
    share = np.bincount(consensus.row_classes, weights=consensus.row_counts, minlength=len(consensus.classes))
    colours = {int(z): i for i, z in enumerate(_largest(share, 8))}
    blocks = []
    for m in clusterings[:MOST_CLUSTERINGS]:
        counts = subject.scale * contingency(consensus)[votes.offsets[m] : votes.offsets[m + 1]]
        sizes = counts.sum(axis=1)
        rows: list[Facts] = [
            {
                "name": str(plain(votes.models[m].labels[j])),
                "size": float(sizes[j]),
                "share": float(sizes[j] / max(sizes.sum(), 1e-300)),
                "holds": [
                    (subject.names[z], colours.get(int(z), -1), float(counts[j, z] / sizes[j]))
                    for z in _largest(counts[j], 5)
                    if counts[j, z] > 0
                ],
            }
            for j in _largest(sizes, MOST_CLUSTERS)
            if sizes[j] > 0
        ]
        n_clusters = int((sizes > 0).sum())
        rest = 1 - sum(row["share"] for row in rows)
        blocks.append(
            {
                "name": votes.models[m].name,
                "rows": rows,
                "n_clusters": n_clusters,
                "rest": rest,
                "median_size": float(np.median(sizes[sizes > 0])) if n_clusters else 0.0,
            }
        )
    return {
        "blocks": blocks,
        "n_left_out": len(clusterings) - len(blocks),
        "largest_class": float(share.max() / max(share.sum(), 1e-300)),
    }


# ---- contested objects --------------------------------------------------------------------------------------------------


def _contested(subject: Subject, n: int) -> Facts | None:
    """Return the most contested objects with what was said and what tipped the answer."""
    votes = subject.votes
    if votes is None or not subject.has_objects:
        return None
    consensus = subject.consensus
    table = list(contested(replace(consensus, object_ids=None), n).rows())  # by number, since names are looked for among all
    objects = np.array([row["object"] for row in table], dtype=np.int64)
    few = votes[objects]
    rows = objects if votes.index is None else np.unique(votes.index[objects])
    small = replace(consensus, votes=few, index=few.index, solved_proba=consensus.row_proba[rows], object_ids=None, known=None)
    effort = votes.n_groups * (1 + len(consensus.classes) / 50)
    n_taken_apart = len(table) if consensus.rule is None else min(len(table), max(3, int(LOOKUPS / effort)))
    for place, row in enumerate(table):
        if subject.whole:
            row["alike"] = round(float(subject.of_objects(subject.row_weight, objects[place])))
        row["object"] = consensus.name_of(row["object"])
        said = few.said(place)
        row["given_by"], row["tally"] = (
            _said(said, votes),
            [(str(name), number_text(n)) for name, n in tally_of(said, votes.models)],
        )
        row["tipped"] = _tipped(explain(small, place), row) if place < n_taken_apart else None
    open_rows = np.ones(votes.n_rows, dtype=bool) if consensus.known is None else ~consensus.known.labelled
    close = open_rows & (consensus.row_margin < CLOSE)
    return {
        "rows": table,
        "n_close": round(float(subject.row_weight @ close)),
        "close": CLOSE,
        "n_rows": int(open_rows.sum()),
        "n_given": round(float(subject.weight @ subject.given)),
        "n_taken_apart": n_taken_apart,
        "has_parts": consensus.rule is not None,
        "unit": None if consensus.rule is None else consensus.rule.unit,
    }


def _said(said: Sequence[Any], votes: Votes) -> Facts:
    """Return who said what: classifiers by what they said, soft votes and clusters one by one."""
    by_label: dict[str, list[str]] = {}
    soft: list[tuple[str, str]] = []
    clusters: list[tuple[str, str]] = []
    silent = 0
    for model, answer in zip(votes.models, said, strict=True):
        if answer is None:
            silent += 1
            continue
        if isinstance(answer, dict):
            top = sorted(answer.items(), key=lambda item: -item[1])[:2]
            text = ", ".join(f"{label} {share:.2f}" for label, share in top if share > 0)
            (soft if model.kind == "classifier" else clusters).append((model.name, text))
        elif model.kind == "classifier":
            by_label.setdefault(str(answer), []).append(model.name)
        else:
            clusters.append((model.name, str(answer)))
    ordered = sorted(by_label.items(), key=lambda item: -len(item[1]))
    return {"votes": ordered, "soft": soft, "clusters": clusters, "silent": silent}


def _tipped(explanation: Explanation, row: Mapping[str, Any]) -> Facts | None:
    """Return by how much each base model and each term favours the label over the runner-up, the strongest first."""
    if not explanation.parts or row["runner_up"] is None:
        return None
    classes = [(kind_of(label), label) for label in explanation.classes.tolist()]
    label, other = (classes.index((kind_of(name), name)) for name in (row["label"], row["runner_up"]))
    models: dict[str, float] = {}
    terms: dict[str, float] = {}
    for (model, term), part in explanation.parts.items():
        lead = float(part[label] - part[other])
        models[model] = models.get(model, 0.0) + lead
        terms[term] = terms.get(term, 0.0) + lead

    def strongest(leads: dict[str, float]) -> list[tuple[str, float]]:
        return sorted(((name, lead) for name, lead in leads.items() if abs(lead) >= 5e-4), key=lambda item: -abs(item[1]))[:6]

    return {"models": strongest(models), "terms": strongest(terms) if len(terms) > 1 else []}


# ---- how good it is -----------------------------------------------------------------------------------------------------


def _quality(subject: Subject) -> Facts | None:
    known = subject.consensus.known
    asked = subject.true_codes >= 0
    if not asked.any() and (known is None or not known.labelled.any()):
        return None
    return {
        "fair": _fair(subject, np.flatnonzero(asked & ~subject.given)),
        "n_both": round(float(subject.weight @ (asked & subject.given))),
        "given": _given(subject) if known is not None and known.labelled.any() else None,
    }


def _fair(subject: Subject, judged: Array) -> Facts | None:
    """Judge the answer on labels it was not given, beside the majority vote."""
    if not len(judged):
        return None
    consensus, truth, weight = subject.consensus, subject.true_codes[judged], subject.weight[judged]
    if not weight.any():
        return None
    ours = subject.of_objects(consensus.row_classes, judged)
    method = str(consensus.settings.get("method", "Consensus"))
    proba = subject.of_objects(consensus.row_proba, judged)
    answers = [vars(quality_of(proba, ours, truth, weight)) | {"name": method}]
    difference = None
    if subject.majority is not None and consensus.made_by != MAJORITY:
        theirs = subject.of_objects(subject.majority[1], judged)
        # A vote for a class that is not ours is wrong: it counts as a class behind ours.
        padded = np.pad(subject.of_objects(subject.majority[0], judged), ((0, 0), (0, 1)))
        codes = np.where(theirs < 0, padded.shape[1] - 1, theirs)
        answers.append(vars(quality_of(padded, codes, truth, weight)) | {"name": "Majority vote"})
        only_ours, only_theirs = (
            round(float(weight @ (one & ~other)))
            for one, other in ((ours == truth, theirs == truth), (theirs == truth, ours == truth))
        )
        difference = {"ours": only_ours, "theirs": only_theirs, "chance": chance_of_difference(only_ours, only_theirs)}
    return {
        "n": round(float(weight.sum())),
        "n_judged": len(judged),
        "answers": answers,
        "difference": difference,
        "confusion": _confusion(subject.names, confusion(ours, truth, len(subject.names), weight)),
    }


def _confusion(names: list[str], table: Array) -> Facts:
    """Return the confusion matrix of the most frequent classes, the others as one."""
    seen = table.sum(axis=0) + table.sum(axis=1)
    shown = np.sort(_largest(seen, MOST_CLASSES - 1 if len(names) > MOST_CLASSES else MOST_CLASSES))
    rest = np.setdiff1d(np.flatnonzero(seen), shown)
    heads = [names[z] for z in shown]
    if len(rest):
        to = np.zeros((len(names), len(shown) + 1))
        to[shown, np.arange(len(shown))] = 1
        to[rest, len(shown)] = 1
        inside = round(float(np.diag(table)[rest].sum()))
        return {"names": heads, "table": _whole(to.T @ table @ to), "n_others": len(rest), "inside": inside}
    return {"names": heads, "table": _whole(table[np.ix_(shown, shown)]), "n_others": 0, "inside": 0}


def _given(subject: Subject) -> Facts:
    """Judge what can be judged by labels the method was given: the majority vote, which did not see them."""
    known = subject.consensus.known
    assert known is not None
    objects = np.flatnonzero(subject.given)
    truth, weight = subject.of_objects(known.codes, objects), subject.weight[objects]
    majority, n = None, float(weight.sum())
    if subject.majority is not None and n > 0:
        majority = float(weight @ (subject.of_objects(subject.majority[1], objects) == truth)) / n
    return {"n": round(n), "majority": majority, "fixed": known.fixed}


# ---- how it was made ----------------------------------------------------------------------------------------------------


def _how(subject: Subject, command: str | Sequence[str] | None, details: Mapping[str, Any]) -> Facts:
    consensus = subject.consensus
    settings = {name: value for name, value in consensus.settings.items() if name != "method"}
    versions = {"ec3learn": __version__, "numpy": np.__version__, "scipy": scipy.__version__, "Python": platform.python_version()}
    seed = next((str(settings[name]) for name in ("random_state", "seed") if settings.get(name) is not None), None)
    outcome: dict[str, Any] = {"rounds": consensus.n_iter} if consensus.n_iter else {}
    if consensus.objective is not None:
        outcome["objective"] = f"{consensus.objective:.6g}"
    return {
        "method": str(consensus.settings.get("method", "")),
        "settings": {name: repr(value) for name, value in settings.items()},
        "code": code_of(consensus),
        "seed": seed,
        "versions": versions,
        "platform": f"{platform.system()} {platform.machine()}, {sys.implementation.name}",
        "outcome": outcome,
        "time": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command if command is None or isinstance(command, str) else shlex.join(map(str, command)),
        # EC3Classifier asks its base models about rows they were not trained on.
        "trained_elsewhere": str(details.get("made by", "")) != "EC3Classifier",
        "details": {str(name): str(value) for name, value in details.items()},
    }


def code_of(consensus: Outcome) -> str | None:
    """Return the Python that solves the same votes with the same settings."""
    if not consensus.made_by:
        return None
    settings = {name: value for name, value in consensus.settings.items() if name != "method" and "__" not in name}
    names = {consensus.made_by}
    arguments = ", ".join(f"{name}={_python(value, names)}" for name, value in settings.items())
    known = "" if consensus.known is None else ", known=known"
    return f"from ec3learn import {', '.join(sorted(names))}\n\nconsensus = {consensus.made_by}({arguments}).solve(votes{known})"


def _python(value: Any, names: set[str]) -> str:
    """Return a stored setting as Python; `names` collects what has to be imported."""
    if value == "inf":
        return 'float("inf")'
    if isinstance(value, str) and value.endswith(")"):  # another method, as it prints itself
        names.add(value.split("(")[0])
        return " ".join(value.split())
    return repr(value)


# ---- small steps --------------------------------------------------------------------------------------------------------


def _largest(values: Array, n: int) -> Array:
    """Return the places of the largest values, largest first, equal ones in their order."""
    return np.argsort(-values, kind="stable")[:n]


def _without_given(subject: Subject) -> str:
    return "" if subject.open_rows.all() else "without a given label "


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _whole(table: Array) -> list[list[int]]:
    return [[round(value) for value in row] for row in table.tolist()]


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n:,} times")
