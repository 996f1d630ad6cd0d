"""Facts about a consensus, as a dict that the template shows: numbers and names, no markup.

Every judgement is made in `diagnosis`; here it is only arranged for the page.
"""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from .. import __version__
from .._checks import InputTypeError, require_integer
from .._text import count, isolated, number_text, percent
from ..answer.extension import matching_labels
from ..answer.notes import CALIBRATION, DISTINCT_ROWS, WARNINGS, Note, one_per_kind
from ..answer.outcome import Outcome
from ..diagnosis import (
    Explanation,
    by_trouble,
    close_calls,
    contested,
    doubts,
    explain,
    judge,
    majority,
    pairs,
    summarise,
    without,
)
from ..diagnosis.contested import CLOSE
from ..diagnosis.counting import are_counts, given_weights, object_weights, open_rows, row_weights
from ..diagnosis.doubts import ALWAYS, RULE, WORSE
from ..diagnosis.explanation import tally_of
from ..diagnosis.held_out import given_labels, true_codes
from ..diagnosis.majority import changed_rows, is_majority
from ..diagnosis.pairs import ALIKE, FEW, FEW_DEPARTURES, Pairs
from ..diagnosis.summary import Summary, judged_notes
from ..diagnosis.voters import contingency
from ..votes import Kind, Votes
from ..votes.labels import label_array, plain
from .trust import trust_facts

Array = npt.NDArray[Any]
Facts = dict[str, Any]

MOST_CLASSES = 20  # shown; the others are added up
MOST_MODELS = 200  # in the table
FOLDED_FROM = 15  # rows of the table that are shown at first; style.css has this number too
MOST_IN_HEAT_MAP = 60
MOST_CLUSTERINGS, MOST_CLUSTERS = 20, 12
MOST_PAIRS = 50
FEW_CHANGES = 5  # objects below which it may be chance that all changes go to one class
LOOKUPS = 4e5  # of groups, for explanations: with very many groups only the first objects are explained


class Subject:
    """A consensus, the labels it is judged by, and what several sections ask for."""

    def __init__(self, consensus: Outcome, truth: Any = None) -> None:
        self.consensus, self.truth = consensus, truth
        self.votes, self.has_objects = consensus.votes, consensus.has_objects
        self.names = [str(plain(label)) for label in consensus.classes]
        self.distinct = any(note.kind == DISTINCT_ROWS for note in consensus.notes)  # the objects are distinct rows of a table
        self.true_codes = true_codes(consensus, truth)  # the class of each object by the labels to judge by, -1 for none
        self.given = given_labels(consensus)  # objects whose labels the method was given
        self.majority = majority(consensus)
        nothing: Array = np.zeros(0)
        self.weight = object_weights(consensus) if self.has_objects else nothing  # how many objects each object counts for
        self.row_weight = row_weights(consensus) if self.has_objects else nothing  # the same for distinct rows
        self.whole = not self.has_objects or are_counts(given_weights(consensus))  # weights say how often an object occurs
        self.open_rows = open_rows(consensus) if self.has_objects else nothing  # rows that the method had to answer
        self.total, self.n_open = float(self.weight.sum()), float(self.row_weight @ self.open_rows)
        self.all_given = consensus.n_objects > 0 and not self.open_rows.any()  # all labels were given and held fixed


def facts_of(
    consensus: Outcome,
    *,
    truth: Any = None,
    title: str = "Consensus report",
    n_contested: int = 200,
    command: str | Sequence[str] | None = None,
    details: Mapping[str, Any] | None = None,
    summary: Summary | None = None,
) -> Facts:
    """Return everything the report says.

    Parameters
    ----------
    consensus, truth, title, n_contested, command, details, summary
        As in `Consensus.report`.

    Returns
    -------
    dict
    """
    _require_kind("title", title, str, "a string")
    require_integer("n_contested", n_contested, 0)
    _require_kind("command", command, (str, Sequence, type(None)), "a string or a list of strings")
    _require_kind("details", details, (Mapping, type(None)), "a dict of name -> value")
    _require_kind("summary", summary, (Summary, type(None)), "what Consensus.summary returns")
    subject = Subject(consensus, truth)
    if summary is None and subject.votes is not None and subject.has_objects:
        summary = summarise(consensus)
    changes, quality = _changes(subject), _quality(subject, summary)
    compared = _pairs(subject)
    return {
        "title": title,
        "n_objects": round(subject.total),
        "n_open": round(subject.n_open),
        "all_given": subject.has_objects and subject.all_given,
        "summary": _summary(subject),
        "lacks": _lacks(subject),
        **_notes(subject, summary, quality),
        "counted": _counted(subject) if subject.has_objects else None,
        "cards": _cards(subject, changes, quality),
        "classes": _classes(subject) if subject.has_objects else None,
        "confidence": _confidence(subject) if subject.has_objects else None,
        "changes": changes,
        "quality": quality,
        "trust": trust_facts(consensus, np.where(subject.given, -1, subject.true_codes)),
        "models": _models(subject),
        "pairs": compared,
        "redundant_names": {name for facts in compared for pair in facts["redundant"] for name in pair[:2]},
        "clusterings": _clusterings(subject),
        "contested": _contested(subject, n_contested),
        "how": _how(subject, command, details or {}),
    }


def _require_kind(name: str, value: Any, kinds: Any, must: str) -> None:
    if not isinstance(value, kinds):
        raise InputTypeError(name, f"must be {must}", got=value)


# ---- the answer --------------------------------------------------------------------------------------------------------


def _lacks(subject: Subject) -> list[str]:
    if subject.votes is not None:
        return []
    if subject.has_objects:
        return [
            "This consensus was loaded from a file, which keeps the answers but not the votes. Not shown here: the comparison "
            "with the majority vote, who agrees with whom, what the clusters contain, and the contested objects with their "
            "explanations. The file does not say either which labels the method was given: leave these out of the labels to "
            "judge by."
        ]
    return [
        "This consensus was loaded from a file without objects: it can answer for new ones, but has none of its own. Not shown "
        "here: classes, confidence, the comparison with the majority vote, who agrees with whom, clusters and contested objects."
    ]


def _notes(subject: Subject, summary: Summary | None, quality: Facts | None) -> Facts:
    """Return warnings and other notes: those of the summary, and what the labels to judge by show."""
    notes: list[Note] = list(subject.consensus.notes if summary is None else summary.notes)
    fair = None if quality is None else quality["fair"]
    if fair is not None:
        notes += [note for note in judged_notes(fair["judgement"]) if note not in notes]
    elsewhere = (DISTINCT_ROWS, CALIBRATION)  # in the summary, and in the section on trust
    shown = one_per_kind(note for note in notes if note.kind not in elsewhere)
    return {
        "warnings": [str(note) for note in shown if note.kind in WARNINGS],
        "notes": [str(note) for note in shown if note.kind not in WARNINGS],
    }


def _made_of(consensus: Outcome) -> list[str]:
    n_classifiers = sum(model.is_voter for model in consensus.models)
    n_clusterings = len(consensus.models) - n_classifiers
    return [count(n_classifiers, consensus.voter_noun), *([count(n_clusterings, "clustering")] if n_clusterings else ())]


def _summary(subject: Subject) -> str:
    consensus = subject.consensus
    if not subject.has_objects:
        return consensus.description
    size = count(round(subject.total), "object")
    if subject.distinct:
        size = f"{count(round(subject.total), 'row')}, {consensus.n_objects:,} of them distinct"
    sure = "all labels were given" if subject.all_given else f"mean confidence {_mean_confidence(subject):.3f}"
    n_classes = count(len(consensus.classes), "class", "classes")
    return f"{consensus.settings['method']} of {' and '.join(_made_of(consensus))}: {size}, {n_classes}, {sure}"


def _counted(subject: Subject) -> str:
    """Return how objects are counted, where it is not each once."""
    if subject.distinct:
        return "The objects are the rows of the table. Equal rows are solved as one and counted as often as they occur."
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
    if subject.has_objects:
        cards.append(("objects", f"{round(subject.total):,}", _repeats(subject)))
    cards.append(("classes", f"{len(consensus.classes):,}", ""))
    cards.append(("base models", f"{len(consensus.models):,}", ", ".join(_made_of(consensus))))
    without = "" if not subject.has_objects or subject.open_rows.all() else f"the {round(subject.n_open):,} without a given label"
    if subject.has_objects and subject.all_given:
        cards.append(("mean confidence", "–", "all labels were given"))
    elif subject.has_objects:
        close = float(subject.row_weight @ close_calls(consensus))
        where = f"on {without}; " if without else ""
        hint = f"{where}{percent(close / max(subject.total, 1e-300))} of all objects are close calls"
        cards.append(("mean confidence", f"{_mean_confidence(subject):.3f}", hint))
    if changes is not None and not subject.all_given:
        where = f", of {without}" if without else ""
        cards.append(("labels changed", percent(changes["share"]), f"against the majority vote{where}"))
    if quality is not None and quality["fair"] is not None:
        ours, theirs = quality["fair"]["answers"][0], quality["fair"]["answers"][-1]
        beside = "" if ours is theirs else f"{percent(theirs['accuracy'])} by majority vote"
        cards.append(("correct", percent(ours["accuracy"]), beside))
    elif quality is not None and quality["held_out"] is not None:
        score = quality["held_out"]
        beside = "" if score.majority is None else f"; {percent(score.majority)} by majority vote"
        cards.append(("correct", percent(score.accuracy), f"cross-validated{beside}"))
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
        theirs = subject.majority.classes
        ours = np.flatnonzero(theirs >= 0)
        columns.append(np.bincount(theirs[ours], weights=counts[ours], minlength=n_classes) / total)
    shown = _largest(labelled, MOST_CLASSES)
    rows = [(subject.names[z], [float(column[z]) for column in columns]) for z in shown]
    rest = np.setdiff1d(np.arange(n_classes), shown)
    return {"rows": rows, "others": (len(rest), [float(column[rest].sum()) for column in columns]) if len(rest) else None}


def _confidence(subject: Subject) -> Facts:
    confidence, counts = subject.consensus.row_proba.max(axis=1, initial=0.0), subject.row_weight * subject.open_rows
    heights, edges = np.histogram(np.clip(confidence, 0, 1), bins=20, range=(0, 1), weights=counts)
    return {"edges": edges.tolist(), "shares": (heights / max(float(counts.sum()), 1e-300)).tolist()}


def _changes(subject: Subject) -> Facts | None:
    """Return where the consensus departs from the majority vote, of the objects whose label was not given."""
    if subject.majority is None:
        return None
    consensus, theirs = subject.consensus, subject.majority.classes
    ours, counts, names = consensus.row_classes, subject.row_weight, subject.names
    changed, n_classes = changed_rows(consensus, subject.majority), len(names)
    named = np.flatnonzero(changed & (theirs >= 0))
    moves, place = np.unique(theirs[named] * n_classes + ours[named], return_inverse=True)
    sizes = np.bincount(place, weights=counts[named], minlength=len(moves))
    return {
        "any": bool(changed.any()),
        "n": round(float(counts @ changed)),
        "share": float(counts @ changed) / max(subject.n_open, 1e-300),
        "tied": round(float(counts @ (changed & subject.majority.tied))),
        "moves": [(names[moves[i] // n_classes], names[moves[i] % n_classes], round(sizes[i])) for i in _largest(sizes, 8)],
        "is_majority": is_majority(consensus),
        "to_common": _common_class(subject, theirs, ours, named),
    }


def _common_class(subject: Subject, theirs: Array, ours: Array, changed: Array) -> str | None:
    """Return the most common class by majority vote if all changes, of 5 objects or more, go from other classes to it."""
    voted = np.flatnonzero(theirs >= 0)
    common = int(np.bincount(theirs[voted], weights=subject.row_weight[voted], minlength=len(subject.names)).argmax())
    many = float(subject.row_weight[changed].sum()) >= FEW_CHANGES
    return subject.names[common] if many and (ours[changed] == common).all() else None


# ---- the base models ----------------------------------------------------------------------------------------------------


def _models(subject: Subject) -> Facts | None:
    consensus = subject.consensus
    if subject.votes is None and consensus.stored_voters is None:
        return None
    labels, source = _labels_for_voters(subject)
    table = list(by_trouble(consensus, labels).rows())
    remarks = {row["model"]: _remark(row) for row in doubts(consensus).rows()}
    for row in table:
        row["remark"] = remarks.get(row["model"]) if row["kind"] != "clustering" else None
    classifiers = [row for row in table if row["kind"] != "clustering"]
    shown = sorted(classifiers, key=lambda row: -row["coverage"])[:MOST_MODELS]
    kept = {row["model"] for row in shown}
    left_out = " The method itself left out some for this reason." if consensus.worse_than_chance else ""
    return {
        "rows": [row for row in classifiers if row["model"] in kept],
        "n_left_out": len(classifiers) - len(shown),
        "n_folded": max(0, len(shown) - FOLDED_FROM) if len(shown) > FOLDED_FROM + 5 else 0,
        "noun": f"{consensus.voter_noun}s",
        "accuracy_by": source,
        "estimated": any(row["estimated"] is not None for row in classifiers),
        "leans": any(row["leans_to"] is not None for row in classifiers),
        "worse": [row["model"] for row in classifiers if row["remark"] == WORSE],
        "empty": [(row["model"], row["remark"]) for row in classifiers if row["remark"] not in (None, WORSE)],
        "rule": RULE + left_out,
        "clusterings": [row for row in table if row["kind"] == "clustering"],
    }


def _remark(doubt: Mapping[str, Any]) -> str:
    return f"always says {isolated(doubt['says'])}" if doubt["doubt"] == ALWAYS else doubt["doubt"]


def _labels_for_voters(subject: Subject) -> tuple[Array | None, str | None]:
    """Return the labels to judge voters by, None for those the method was given, and what they are called."""
    judged = np.where(subject.given, -1, subject.true_codes)
    if (judged >= 0).any():
        labels = subject.consensus.classes.astype(object)[judged]
        labels[judged < 0] = None
        return labels, "the held-out labels"
    return None, None if subject.consensus.known is None else "the labels the method was given"


def _pairs(subject: Subject) -> list[Facts]:
    """Return who agrees with whom, for classifiers and for clusterings."""
    if subject.votes is None or not subject.has_objects:
        return []
    kinds: tuple[Kind, ...] = ("classifier", "clustering")
    compared = [(kind, pairs(subject.consensus, kind)) for kind in kinds]
    return [_pair_facts(subject.consensus, kind, found) for kind, found in compared if len(found.names) > 1]


def _pair_facts(consensus: Outcome, kind: str, found: Pairs) -> Facts:
    names = found.names
    shown = np.sort(_largest(np.diag(found.common), MOST_IN_HEAT_MAP))  # those with the most votes
    similarity = found.similarity[np.ix_(shown, shown)]
    closest_first = sorted(found.redundant, key=lambda pair: -found.similarity[pair])
    rules = {
        "classifier": f"they name the same class for at least {ALIKE:.0%} of the objects both voted on ({FEW} or more), clearly "
        f"more often than chance, and mostly so too where either departs from the consensus ({FEW_DEPARTURES} or more)",
        "clustering": f"their normalised mutual information is at least {ALIKE}, on {FEW} objects or more",
    }
    return {
        "kind": kind,
        "names": [names[i] for i in shown],
        "cells": [[None if np.isnan(value) else float(value) for value in row] for row in similarity],
        "redundant": [
            (
                names[a],
                names[b],
                float(found.similarity[a, b]),
                round(float(found.common[a, b])),
                [round(n) for n in without(consensus, names[b])] if kind == "classifier" else None,
            )
            for a, b in closest_first[:MOST_PAIRS]
        ],
        "n_redundant": len(found.redundant),
        "rule": rules[kind],
        "n_left_out": found.n_left_out + len(names) - len(shown),
        "share_of_rows": found.share_of_rows,
    }


def _clusterings(subject: Subject) -> Facts | None:
    """Return which classes each cluster contains, by the consensus."""
    consensus, votes = subject.consensus, subject.votes
    if votes is None or not subject.has_objects:
        return None
    clusterings = [m for m, model in enumerate(votes.models) if model.kind == "clustering"]
    share = np.bincount(consensus.row_classes, weights=consensus.row_counts, minlength=len(consensus.classes))
    share = share / max(share.sum(), 1e-300)
    colours = {int(z): i for i, z in enumerate(_largest(share, 8))}
    counts = contingency(consensus) * (subject.total / max(float(consensus.row_counts.sum()), 1e-300))
    blocks = [
        {"name": votes.models[m].name}
        | _clusters(votes.models[m].labels, counts[votes.offsets[m] : votes.offsets[m + 1]].toarray(), subject.names, colours)
        for m in clusterings[:MOST_CLUSTERINGS]
    ]
    return {"blocks": blocks, "n_left_out": len(clusterings) - len(blocks), "largest_class": float(share.max())}


def _clusters(labels: Array, counts: Array, names: list[str], colours: Mapping[int, int]) -> Facts:
    """Return the largest clusters of one clustering, from the objects of each class (columns) in each cluster (rows)."""
    sizes = counts.sum(axis=1)
    rows: list[Facts] = [
        {
            "name": str(plain(labels[j])),
            "size": float(sizes[j]),
            "share": float(sizes[j] / sizes.sum()),
            "holds": [
                (names[z], colours.get(int(z), -1), float(counts[j, z] / sizes[j]))
                for z in _largest(counts[j], 5)
                if counts[j, z] > 0
            ],
        }
        for j in _largest(sizes, MOST_CLUSTERS)
        if sizes[j] > 0
    ]
    return {
        "rows": rows,
        "n_clusters": int((sizes > 0).sum()),
        "rest": 1 - sum(row["share"] for row in rows),
        "median_size": float(np.median(sizes[sizes > 0])) if rows else 0.0,
    }


# ---- contested objects --------------------------------------------------------------------------------------------------


def _contested(subject: Subject, n: int) -> Facts | None:
    """Return the most contested objects with their votes and what tipped the answer."""
    votes, consensus = subject.votes, subject.consensus
    if votes is None or not subject.has_objects:
        return None
    table = list(contested(replace(consensus, object_ids=None), n).rows())  # by number, since names are looked up among all
    objects = np.array([row["object"] for row in table], dtype=np.int64)
    row_of = objects if votes.index is None else votes.index[objects]
    few, rows = votes[objects], objects if votes.index is None else np.unique(row_of)
    small = replace(consensus, votes=few, index=few.index, solved_proba=consensus.row_proba[rows], object_ids=None, known=None)
    effort = votes.n_groups * (1 + len(consensus.classes) / 50)
    n_explained = len(table) if consensus.rule is None else min(len(table), max(3, int(LOOKUPS / effort)))
    for place, row in enumerate(table):
        spoken = few.spoken(place)
        if subject.whole:
            row["alike"] = round(float(subject.row_weight[row_of[place]]))
        row["object"] = consensus.name_of(row["object"])
        row["given_by"] = _votes_by_label(spoken, votes)
        row["tally"] = [(str(name), number_text(n)) for name, n in tally_of(spoken, votes.models)]
        row["tipped"] = _tipped(explain(small, place), row) if place < n_explained else None
    return {
        "rows": table,
        "n_close": round(float(subject.row_weight @ close_calls(consensus))),
        "close": CLOSE,
        "n_rows": votes.n_rows if consensus.known is None else int((~consensus.known.labelled).sum()),
        "n_given": round(float(subject.weight @ subject.given)),
        "n_explained": n_explained,
        "has_parts": consensus.rule is not None,
        "unit": None if consensus.rule is None else consensus.rule.unit,
    }


def _votes_by_label(spoken: Mapping[int, Any], votes: Votes) -> Facts:
    """Return the votes on one object: classifiers by the label they gave, soft votes and clusters one by one."""
    by_label: dict[str, list[str]] = {}
    soft: list[tuple[str, str]] = []
    clusters: list[tuple[str, str]] = []
    for m, answer in spoken.items():
        model = votes.models[m]
        if isinstance(answer, dict):
            top = sorted(answer.items(), key=lambda item: -item[1])[:2]
            text = ", ".join(f"{label} {share:.2f}" for label, share in top if share > 0)
            (soft if model.is_voter else clusters).append((model.name, text))
        elif model.is_voter:
            by_label.setdefault(str(answer), []).append(model.name)
        else:
            clusters.append((model.name, str(answer)))
    ordered = sorted(by_label.items(), key=lambda item: -len(item[1]))
    return {"votes": ordered, "soft": soft, "clusters": clusters, "n_missing": len(votes.models) - len(spoken)}


def _tipped(explanation: Explanation, row: Mapping[str, Any]) -> Facts | None:
    """Return by how much each base model and each term favours the label over the runner-up, the strongest first."""
    if not explanation.parts or row["runner_up"] is None:
        return None
    label, other = matching_labels(label_array([row["label"], row["runner_up"]]), explanation.classes)
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


def _quality(subject: Subject, summary: Summary | None) -> Facts | None:
    known = subject.consensus.known
    asked = subject.true_codes >= 0
    if not asked.any() and (known is None or not known.labelled.any()):
        return None
    return {
        "fair": _fair(subject) if asked.any() else None,
        "n_both": round(float(subject.weight @ (asked & subject.given))),
        "given": _given(subject) if known is not None and known.labelled.any() else None,
        "held_out": None if summary is None else summary.held_out,
    }


def _fair(subject: Subject) -> Facts | None:
    """Judge the answer on labels it was not given, beside the majority vote."""
    found = judge(subject.consensus, subject.truth)
    if found is None:
        return None
    answers = [vars(found.consensus) | {"name": str(subject.consensus.settings.get("method", "Consensus"))}]
    if found.majority is not None:
        answers.append(vars(found.majority) | {"name": "Majority vote"})
    return {
        "n": round(found.n_labels),
        "n_judged": found.n_objects,
        "answers": answers,
        "difference": found.difference,
        "judgement": found,
        "confusion": _confusion(subject.names, found.confusion),
    }


def _confusion(names: list[str], table: Array) -> Facts:
    """Return the confusion matrix of the most frequent classes, the others as one."""
    seen = table.sum(axis=0) + table.sum(axis=1)
    shown = np.sort(_largest(seen, MOST_CLASSES - 1 if len(names) > MOST_CLASSES else MOST_CLASSES))
    rest = np.setdiff1d(np.flatnonzero(seen), shown)
    to = np.zeros((len(names), len(shown) + (len(rest) > 0)))  # classes x columns shown: adds up the rest
    to[shown, np.arange(len(shown))] = 1
    to[rest, len(shown) :] = 1
    return {
        "names": [names[z] for z in shown],
        "table": [[round(n) for n in row] for row in (to.T @ table @ to).tolist()],
        "n_others": len(rest),
        "inside": round(float(np.diag(table)[rest].sum())),
    }


def _given(subject: Subject) -> Facts:
    """Judge what can be judged by labels the method was given: the majority vote, which did not see them."""
    known = subject.consensus.known
    assert known is not None
    weight = subject.row_weight * known.labelled
    share, n = None, float(weight.sum())
    if subject.majority is not None and n > 0:
        share = float(weight @ (subject.majority.classes == known.codes)) / n
    return {"n": round(n), "majority": share, "fixed": known.fixed}


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
