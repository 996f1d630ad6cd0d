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

from .. import __version__, methods
from ..coding import known_codes
from ..consensus import Consensus, agreement
from ..explanation import Explanation, number_text, tally_of
from ..labels import count, kind_of, plain
from ..matrices import membership, scatter_to_votes
from ..methods import METHODS, MajorityVote, Method
from ..stores import frozen
from ..votes import Kind, Votes
from .pairs import ALIKE, FEW, Pairs, pairs_of
from .quality import chance_of_difference, confusion, quality_of
from .wording import percent

Array = npt.NDArray[Any]
Facts = dict[str, Any]

MOST_CLASSES = 20  # shown; the others are added up
MOST_MODELS = 200  # in the table
MOST_IN_HEAT_MAP = 60
MOST_CLUSTERINGS, MOST_CLUSTERS = 20, 12
MOST_PAIRS = 50
LOOKUPS = 4e5  # of groups, for explanations: with very many groups only the first objects are taken apart
CLOSE = 0.1  # margin below which two classes are called close


@dataclass(frozen=True)
class Subject:
    """A consensus, what it is judged by, and what several sections ask for."""

    consensus: Consensus
    truth: Any = None

    @property
    def votes(self) -> Votes | None:
        """Return what the base models said, None where a file did not keep it."""
        return self.consensus.votes

    @property
    def has_objects(self) -> bool:
        """Return whether there are answers for objects."""
        return self.consensus.row_proba is not None

    @cached_property
    def n_objects(self) -> int:
        """Return how many objects there are."""
        index, rows = self.consensus.index, self.consensus.row_proba
        return len(index) if index is not None else 0 if rows is None else len(rows)

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
        return theirs[self.consensus._row_classes]

    @cached_property
    def majority(self) -> tuple[Array, Array] | None:
        """Return the majority vote of each row, as probabilities of our classes and as the number of one (-1: not ours)."""
        if self.votes is None or not self.has_objects:
            return None
        try:
            vote = MajorityVote().solve(self.votes)
        except ValueError:  # no vote that counts
            return None
        proba = np.zeros((len(vote._rows()), len(self.consensus.classes)))
        proba[:, self.number[self.number >= 0]] = vote._rows()[:, self.number >= 0]
        return proba, self.number[vote._row_classes]

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
    consensus: Consensus,
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
        "n_objects": subject.n_objects,
        "summary": consensus._summary(),
        "lacks": _lacks(subject),
        "warnings": _warnings(subject, changes, quality),
        "notes": list(consensus.notes),
        "cards": _cards(subject, changes, quality),
        "classes": _classes(subject) if subject.has_objects else None,
        "confidence": _confidence(subject) if subject.has_objects else None,
        "weighted": subject.votes is not None and subject.votes.sample_weight is not None,
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


def _cards(subject: Subject, changes: Facts | None, quality: Facts | None) -> list[tuple[str, str, str]]:
    consensus = subject.consensus
    cards = []
    n_classifiers = sum(model.kind == "classifier" for model in consensus.models)
    if subject.has_objects:
        cards.append(("objects", f"{subject.n_objects:,}", _repeats(subject)))
    cards.append(("classes", f"{len(consensus.classes):,}", ""))
    cards.append(
        (
            "base models",
            f"{len(consensus.models):,}",
            f"{count(n_classifiers, 'classifier')}, {count(len(consensus.models) - n_classifiers, 'clustering')}",
        )
    )
    if subject.has_objects:
        counts = consensus._row_counts
        total = max(float(counts.sum()), 1e-300)
        sure = float(counts @ consensus._rows().max(axis=1, initial=0.0)) / total
        close = float(counts @ (consensus._row_margin < CLOSE)) / total
        cards.append(("mean confidence", f"{sure:.3f}", f"{percent(close)} of the objects are close calls"))
    if changes is not None:
        cards.append(("labels changed", percent(changes["share"]), "against the majority vote"))
    if quality is not None and quality["fair"] is not None:
        ours, theirs = quality["fair"]["answers"][0], quality["fair"]["answers"][-1]
        beside = "" if ours is theirs else f"{percent(theirs['accuracy'])} by majority vote"
        cards.append(("right", percent(ours["accuracy"]), beside))
    return cards


def _repeats(subject: Subject) -> str:
    n_rows = len(subject.consensus._rows())
    return f"{n_rows:,} distinct rows" if n_rows < subject.n_objects else ""


def _classes(subject: Subject) -> Facts:
    """Return the shares of the classes: by label, by probability, and by majority vote."""
    consensus = subject.consensus
    counts, n_classes = consensus._row_counts, len(consensus.classes)
    total = max(float(counts.sum()), 1e-300)
    labelled = np.bincount(consensus._row_classes, weights=counts, minlength=n_classes) / total
    columns = [labelled, consensus._mass / total]
    if subject.majority is not None:
        ours = np.flatnonzero(subject.majority[1] >= 0)
        columns.append(np.bincount(subject.majority[1][ours], weights=counts[ours], minlength=n_classes) / total)
    shown = _largest(labelled, MOST_CLASSES)
    rows = [(subject.names[z], [float(column[z]) for column in columns]) for z in shown]
    rest = np.setdiff1d(np.arange(n_classes), shown)
    return {"rows": rows, "others": (len(rest), [float(column[rest].sum()) for column in columns]) if len(rest) else None}


def _confidence(subject: Subject) -> Facts:
    consensus = subject.consensus
    confidence, counts = consensus._rows().max(axis=1, initial=0.0), consensus._row_counts
    heights, edges = np.histogram(np.clip(confidence, 0, 1), bins=20, range=(0, 1), weights=counts)
    return {"edges": edges.tolist(), "shares": (heights / max(float(counts.sum()), 1e-300)).tolist()}


def _changes(subject: Subject) -> Facts | None:
    """Return where the consensus departs from the majority vote."""
    if subject.majority is None or subject.votes is None:
        return None
    consensus, (proba, theirs) = subject.consensus, subject.majority
    ours, counts, names = consensus._row_classes, consensus._row_counts, subject.names
    total = max(float(counts.sum()), 1e-300)
    changed = ours != theirs
    tied = changed & ((proba >= proba.max(axis=1, keepdims=True) - 1e-9).sum(axis=1) > 1)
    n_classes = len(names)
    per_row = subject.votes.objects_per_row
    named = np.flatnonzero(changed & (theirs >= 0))
    pairs, place = np.unique(theirs[named] * n_classes + ours[named], return_inverse=True)
    moves = np.bincount(place, weights=per_row[named], minlength=len(pairs))
    return {
        "n": round(float(per_row @ changed)),
        "share": float(counts @ changed) / total,
        "tied": round(float(per_row @ tied)),
        "moves": [(names[pairs[i] // n_classes], names[pairs[i] % n_classes], round(moves[i])) for i in _largest(moves, 8)],
        "is_majority": consensus.settings.get("method") == MajorityVote.title,
    }


def _warnings(subject: Subject, changes: Facts | None, quality: Facts | None) -> list[str]:
    consensus, warnings = subject.consensus, []
    if not consensus.converged:
        warnings.append("The solver stopped before it reached its tolerance: raise max_iter or tol and solve again.")
    if len(consensus.classes) == 1:
        warnings.append("There is only one class, so every object has it.")
    elif changes is not None and changes["n"] == 0 and not changes["is_majority"]:
        warnings.append(
            "Nothing was gained over the majority vote in labels: every object has the label that most votes name. "
            "What may differ is how sure the answer is."
        )
    fair = None if quality is None else quality["fair"]
    if fair is not None and fair["difference"] is not None and not (changes or {}).get("is_majority"):
        ours, theirs = fair["difference"]["ours"], fair["difference"]["theirs"]
        if ours <= theirs and changes is not None and changes["n"]:
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
    table = list(consensus.voters().rows())
    accuracy, source = _accuracies(subject)
    worse, rule = _worse_than_chance(subject)
    for m, row in enumerate(table):
        row["accuracy"] = accuracy.get(m)
        row["worse"] = row["model"] in worse and row["kind"] == "classifier"
    classifiers = [row for row in table if row["kind"] == "classifier"]
    shown = sorted(classifiers, key=lambda row: -row["coverage"])[:MOST_MODELS]
    kept = {row["model"] for row in shown}
    return {
        "rows": [row for row in classifiers if row["model"] in kept],
        "n_left_out": len(classifiers) - len(shown),
        "accuracy_by": source,
        "worse": worse,
        "worse_rule": rule,
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
    """Return for each classifier the share of its votes that name the object's class, each object counted once."""
    votes = subject.votes
    if votes is None:
        return {}
    split, row_codes = votes.split_by(codes)
    rows = np.flatnonzero(row_codes >= 0)
    labelled = replace(split.only_rows(rows), counts=frozen(split.objects_per_row[rows]))
    one_hot = np.zeros((len(rows), len(subject.consensus.classes)))
    one_hot[np.arange(len(rows)), row_codes[rows]] = labelled.counts
    contingency = scatter_to_votes(labelled, membership(labelled), one_hot)
    return agreement(labelled, row_codes[rows], contingency, subject.number)


def _worse_than_chance(subject: Subject) -> tuple[list[str], str]:
    """Return the classifiers that agree with the consensus less than guessing would, and the rule by which."""
    consensus, votes = subject.consensus, subject.votes
    if consensus.worse_than_chance or votes is None:
        return list(consensus.worse_than_chance), "Worse than chance: the method itself left it out for this reason."
    n_classes = len(consensus.classes)
    rule = (
        "Worse than chance: the share of a class's objects that it names as the consensus does is, in the mean over classes, "
        f"below 1 in {n_classes}, on {FEW} votes or more."
    )
    if n_classes < 2 or not subject.has_objects:
        return [], rule
    worse = []
    for m, model in enumerate(votes.models):
        if model.kind == "classifier" and votes.n_votes[m] >= FEW:
            counts = consensus._contingency[votes.offsets[m] : votes.offsets[m + 1]]
            total = counts.sum(axis=0)
            right = np.zeros(n_classes)
            same = np.flatnonzero(subject.number >= 0)
            right[subject.number[same]] = counts[same, subject.number[same]]
            if (right[total > 0] / total[total > 0]).mean() < 1 / n_classes:
                worse.append(model.name)
    return worse, rule


def _pairs(subject: Subject) -> list[Facts]:
    """Return who agrees with whom, for classifiers and for clusterings."""
    votes = subject.votes
    if votes is None or not subject.has_objects:
        return []
    answers = subject.answers
    kinds: tuple[Kind, ...] = ("classifier", "clustering")
    return [_pair_facts(votes, kind, pairs) for kind in kinds if len((pairs := pairs_of(votes, kind, answers)).models) > 1]


def _pair_facts(votes: Votes, kind: str, pairs: Pairs) -> Facts:
    names = [votes.models[m].name for m in pairs.models]
    by_votes = np.argsort(-np.array([votes.n_votes[m] for m in pairs.models]), kind="stable")
    shown = np.sort(by_votes[:MOST_IN_HEAT_MAP])
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
    share = np.bincount(consensus._row_classes, weights=consensus._row_counts, minlength=len(consensus.classes))
    colours = {int(z): i for i, z in enumerate(_largest(share, 8))}
    blocks = []
    for m in clusterings[:MOST_CLUSTERINGS]:
        counts = consensus._contingency[votes.offsets[m] : votes.offsets[m + 1]]
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
    table = list(replace(consensus, object_ids=None).contested(n).rows())  # by number, since names are looked for among all
    objects = np.array([row["object"] for row in table], dtype=np.int64)
    few = votes[objects]
    rows = objects if votes.index is None else np.unique(votes.index[objects])
    small = replace(consensus, votes=few, index=few.index, row_proba=consensus._rows()[rows], object_ids=None, known=None)
    effort = votes.n_groups * (1 + len(consensus.classes) / 50)
    n_taken_apart = len(table) if consensus.rule is None else min(len(table), max(3, int(LOOKUPS / effort)))
    for place, row in enumerate(table):
        row["object"] = consensus._name(row["object"])
        said = few.said(place)
        row["given_by"], row["tally"] = (
            _said(said, votes),
            [(str(name), number_text(n)) for name, n in tally_of(said, votes.models)],
        )
        row["tipped"] = _tipped(small.explain(place), row) if place < n_taken_apart else None
    open_rows = np.ones(votes.n_rows, dtype=bool) if consensus.known is None else ~consensus.known.labelled
    close = open_rows & (consensus._row_margin < CLOSE)
    return {
        "rows": table,
        "n_close": round(float(votes.objects_per_row @ close)),
        "close": CLOSE,
        "n_rows": int(open_rows.sum()),
        "n_given": int(subject.given.sum()),
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
        "n_both": int((asked & subject.given).sum()),
        "given": _given(subject) if known is not None and known.labelled.any() else None,
    }


def _fair(subject: Subject, judged: Array) -> Facts | None:
    """Judge the answer on labels it was not given, beside the majority vote."""
    if not len(judged):
        return None
    consensus, truth = subject.consensus, subject.true_codes[judged]
    ours = subject.of_objects(consensus._row_classes, judged)
    method = str(consensus.settings.get("method", "Consensus"))
    proba = subject.of_objects(consensus._rows(), judged)
    answers = [vars(quality_of(proba, ours, truth)) | {"name": method}]
    difference = None
    if subject.majority is not None and method != MajorityVote.title:
        theirs = subject.of_objects(subject.majority[1], judged)
        # A vote for a class that is not ours is wrong: it counts as a class behind ours.
        padded = np.pad(subject.of_objects(subject.majority[0], judged), ((0, 0), (0, 1)))
        codes = np.where(theirs < 0, padded.shape[1] - 1, theirs)
        answers.append(vars(quality_of(padded, codes, truth)) | {"name": MajorityVote.title})
        only_ours, only_theirs = (
            int(np.sum(one & ~other)) for one, other in ((ours == truth, theirs == truth), (theirs == truth, ours == truth))
        )
        difference = {"ours": only_ours, "theirs": only_theirs, "chance": chance_of_difference(only_ours, only_theirs)}
    return {
        "n": len(judged),
        "answers": answers,
        "difference": difference,
        "confusion": _confusion(subject.names, confusion(ours, truth, len(subject.names))),
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
        inside = int(np.diag(table)[rest].sum())
        table, n_others = (to.T @ table @ to).astype(np.int64), len(rest)
        return {"names": heads, "table": table.tolist(), "n_others": n_others, "inside": inside}
    return {"names": heads, "table": table[np.ix_(shown, shown)].tolist(), "n_others": 0, "inside": 0}


def _given(subject: Subject) -> Facts:
    """Judge what can be judged by labels the method was given: the majority vote, which did not see them."""
    known = subject.consensus.known
    assert known is not None
    objects = np.flatnonzero(subject.given)
    truth = subject.of_objects(known.codes, objects)
    majority = None
    if subject.majority is not None:
        majority = float(np.mean(subject.of_objects(subject.majority[1], objects) == truth))
    return {"n": len(objects), "majority": majority, "fixed": known.fixed}


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
        "details": {str(name): str(value) for name, value in details.items()},
    }


def code_of(consensus: Consensus) -> str | None:
    """Return the Python that solves the same votes by the same settings, or None for a method that is not ours."""
    settings = {name: value for name, value in consensus.settings.items() if "__" not in name}  # those are another method's
    title = str(settings.pop("method", ""))
    public = [getattr(methods, name) for name in methods.__all__]
    for cls in (thing for thing in public if isinstance(thing, type) and issubclass(thing, Method) and thing is not Method):
        if set(cls._get_param_names()) == set(settings) and title.startswith(getattr(cls, "title", "")):
            names = {cls.__name__}
            arguments = ", ".join(f"{name}={_python(value, names)}" for name, value in settings.items())
            known = "" if consensus.known is None else ", known=known"
            return (
                f"from ec3learn import {', '.join(sorted(names))}\n\nconsensus = {cls.__name__}({arguments}).solve(votes{known})"
            )
    return None


def _python(value: Any, names: set[str]) -> str:
    """Return a stored setting as Python; `names` collects what has to be imported."""
    if value == "inf":
        return 'float("inf")'
    if isinstance(value, str) and value not in METHODS and value.endswith(")"):
        method = value.split("(")[0]
        if method in methods.__all__:
            names.add(method)
            return " ".join(value.split())
    return repr(value)


# ---- small steps --------------------------------------------------------------------------------------------------------


def _largest(values: Array, n: int) -> Array:
    """Return the places of the largest values, largest first, equal ones in their order."""
    return np.argsort(-values, kind="stable")[:n]


def _times(n: int) -> str:
    return {1: "once", 2: "twice"}.get(n, f"{n:,} times")
