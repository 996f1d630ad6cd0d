"""What a report is about, and facts on its answer: classes, quality, trust, contested objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from .._checks import InputError
from .._table import Table
from .._text import number_text
from .._typing import Array
from ..algebra.membership import normalised
from ..answer.solution import Solution
from ..diagnosis import (
    agreement,
    ask,
    contested,
    effective_voters,
    estimate,
    explain,
    judge,
)
from ..diagnosis.correlation import independent_votes
from ..diagnosis.estimate import LEAST_DRAWN, class_shares
from ..diagnosis.labels import HARD, given_labels, measuring, read_labels, taught_labels
from ..diagnosis.metrics import (
    CLOSE,
    are_counts,
    changed_rows,
    close_calls,
    given_weights,
    is_majority,
    majority,
    object_weights,
    open_rows,
    row_weights,
)
from ..diagnosis.objects import Explanation, tally_of
from ..diagnosis.summary import Summary
from ..votes import Votes, votes_on
from ..votes.labels import plain

MOST_CLASSES = 20  # shown; the others are added up


Facts = dict[str, Any]


class Subject:
    """A consensus, the labels it is judged by, and what several sections ask for."""

    def __init__(self, consensus: Solution, truth: Any = None) -> None:
        self.consensus, self.votes = consensus, consensus.votes
        self.has_objects, self.majority = consensus.has_objects, majority(consensus)
        self.names = [str(plain(label)) for label in consensus.classes]
        # Whether the objects are the distinct rows of a table.
        self.distinct = any(note.kind == "distinct rows" for note in consensus.notes)
        self.given = given_labels(consensus)  # objects whose labels the method was given
        self.true_labels = read_labels(consensus, truth, "truth")
        self.judged = self.true_labels.only(~self.given)  # those that judge the answer
        self.weight = self.row_weight = self.open_rows = np.zeros(0)
        self.chosen, self.whole = False, True
        if self.has_objects:
            self.weight = object_weights(consensus)  # how many objects each object counts for
            self.row_weight = row_weights(consensus)  # the same for distinct rows
            self.open_rows = open_rows(consensus)  # those that the method had to answer
            # Whether weights say how often an object occurs, and whether labels measure nothing.
            self.whole = are_counts(given_weights(consensus))
            labels = (self.judged, taught_labels(consensus))
            self.chosen = any(measuring(consensus, each) is None for each in labels)
        self.open_weight = self.row_weight * self.open_rows
        self.total, self.n_open = float(self.weight.sum()), float(self.open_weight.sum())
        # Whether all labels were given and held fixed.
        self.all_given = consensus.n_objects > 0 and not self.open_rows.any()

    @cached_property
    def class_shares(self) -> Array:
        """The share of the objects that got each class."""
        classes, n_classes = self.consensus.row_classes, len(self.names)
        return np.bincount(classes, self.row_weight, n_classes) / max(self.total, 1e-300)

    @cached_property
    def confidence(self) -> Array:
        """The probability of the class of each distinct row."""
        return np.asarray(self.consensus.row_proba.max(axis=1, initial=0.0))

    @cached_property
    def n_close(self) -> float:
        """How many objects are close calls."""
        return float(self.row_weight @ close_calls(self.consensus))


def largest(values: Array, n: int) -> Array:
    """The places of the largest values, largest first, equal ones in their order."""
    return np.argsort(-values, kind="stable")[:n]


# ---- the answer ----------------------------------------------------------------------------------


def class_facts(subject: Subject) -> Facts:
    """The shares of the classes: by label, by probability, and by majority vote."""
    counts, n_classes = subject.consensus.row_counts, len(subject.names)
    total = max(float(counts.sum()), 1e-300)
    columns = [subject.class_shares, subject.consensus.mass / total]
    if subject.majority is not None:
        most = subject.majority.most_votes
        columns.append(counts @ normalised(most * 1.0) / total)  # tied classes share
    shown = largest(subject.class_shares, MOST_CLASSES)
    rows = [(subject.names[z], [float(column[z]) for column in columns]) for z in shown]
    rest = np.setdiff1d(np.arange(n_classes), shown)
    sums = [float(column[rest].sum()) for column in columns]
    return {
        "rows": rows,
        "others": (len(rest), sums) if len(rest) else None,
    }


def confidence_facts(subject: Subject) -> Facts:
    """A histogram of the confidence in the answers."""
    confidence = np.clip(subject.confidence, 0, 1)
    heights, edges = np.histogram(confidence, bins=20, range=(0, 1), weights=subject.open_weight)
    return {"edges": edges.tolist(), "shares": (heights / max(subject.n_open, 1e-300)).tolist()}


def change_facts(subject: Subject) -> Facts | None:
    """Where the consensus departs from the majority vote, of objects without a given label."""
    if subject.majority is None:
        return None
    n = float(subject.row_weight @ changed_rows(subject.consensus, subject.majority))
    share = n / max(subject.n_open, 1e-300)
    return {"n": round(n), "share": share, "is_majority": is_majority(subject.consensus)}


def quality_facts(subject: Subject, summary: Summary | None) -> Facts | None:
    """How good the answer is, by labels to judge by and by those the method was given."""
    asked, given = subject.true_labels.codes >= 0, _given(subject)
    if not asked.any() and given is None:
        return None
    n_both = round(float(subject.weight @ (asked & subject.given)))
    return {
        "fair": _fair(subject) if asked.any() else None,
        "chosen": f"{HARD}." if subject.chosen else None,
        "n_both": n_both,
        "all_both": n_both and not subject.judged.n,
        "given": given,
        "held_out": None if summary is None else summary.held_out,
    }


def _fair(subject: Subject) -> Facts | None:
    """Judge the answer on labels it was not given, beside the majority vote."""
    found = judge(subject.consensus, subject.judged)
    if found is None:
        return None
    answers = [vars(found.consensus) | {"name": "This answer"}]
    if found.majority is not None:
        answers.append(vars(found.majority) | {"name": "Majority vote"})
    seen = found.confusion.sum(axis=0) + found.confusion.sum(axis=1)
    shown = np.sort(largest(seen, MOST_CLASSES))
    return {
        "n": round(found.n_labels),
        "answers": answers,
        "judgement": found,
        "confusion": {  # of the most frequent classes
            "names": [subject.names[z] for z in shown],
            "table": found.confusion[np.ix_(shown, shown)].round().astype(int).tolist(),
            "n_others": int((seen > 0).sum() - (seen[shown] > 0).sum()),
        },
    }


def _given(subject: Subject) -> Facts | None:
    """The labels the method was given; they judge the majority vote, which did not see them."""
    known = subject.consensus.known
    if known is None or not known.labelled.any():
        return None
    share, labels = None, measuring(subject.consensus, taught_labels(subject.consensus))
    if subject.majority is not None and labels is not None:
        weight = subject.weight * (labels.codes >= 0)
        rows = subject.consensus.expand(np.arange(len(subject.row_weight)))
        right = subject.majority.share_of(rows, labels.codes)
        share = float(weight @ right) / max(float(weight.sum()), 1e-300)
    n = float(subject.row_weight @ known.labelled)
    return {"n": round(n), "majority": share, "fixed": known.fixed}


# ---- "Can I trust it?" ---------------------------------------------------------------------------


def trust_facts(subject: Subject) -> Facts | None:
    """The section on trust; None for a consensus without votes, or with a single class."""
    consensus, votes = subject.consensus, subject.votes
    if votes is None or not subject.has_objects or len(consensus.classes) < 2:
        return None
    labels = subject.judged if subject.judged.n else taught_labels(consensus)
    estimates = Table({})
    if not subject.judged.n:
        estimates = class_shares(consensus, labels)
    elif subject.whole and subject.weight @ (subject.judged.codes >= 0) >= LEAST_DRAWN:
        estimates = estimate(consensus, None, subject.judged)
    return {
        "calibration": [str(note) for note in consensus.notes if note.kind == "calibration"],
        "agreement": _agreement(votes),
        "n_votes": effective_voters(votes, 0.0),
        **independent_votes(votes, None if subject.chosen else labels),
        "estimates": list(estimates.rows()),
        "estimated_by": "the held-out" if subject.judged.n else "the known",
        "ask": list(ask(consensus, 50).rows()),
    }


def _agreement(votes: Votes) -> list[Facts]:
    """Measures of agreement; none where voters answer on scales of their own."""
    scores = any(model.kind == "grader" for model in votes.models)
    try:
        rows = agreement(votes, "ordinal" if scores else "nominal").rows()
        return [row for row in rows if row["value"] == row["value"]]
    except InputError:
        return []


# ---- the most contested objects ------------------------------------------------------------------


def contested_facts(subject: Subject, n: int, texts: Mapping[Any, str | None]) -> Facts | None:
    """The most contested objects with their votes and what tipped the answer."""
    votes, consensus = subject.votes, subject.consensus
    if votes is None or not subject.has_objects:
        return None
    # By number, since names are looked up among all.
    numbered = replace(consensus, object_ids=None)
    table = list(contested(numbered, n).rows())
    n_explained = len(table)
    if consensus.rule is not None:  # an explanation looks all groups up: with many, few get one
        effort = votes.models.n_groups * (1 + len(consensus.classes) / 50)
        n_explained = min(len(table), max(3, int(4e5 / effort)))
    for place, row in enumerate(table):
        i, spoken = row["object"], votes_on(votes, row["object"])
        row["object"] = consensus.name_of(i)
        row["text"] = texts.get(row["object"])
        row["given_by"] = _votes_by_label(spoken, votes)
        row["tally"] = [(str(name), number_text(n)) for name, n in tally_of(spoken, votes.models)]
        row["tipped"] = _tipped(explain(numbered, i), row) if place < n_explained else None
    return {
        "rows": table,
        "has_texts": bool(texts),
        "any_alike": any(row["alike"] > 1 for row in table),
        "n_close": round(subject.n_close),
        "close": CLOSE,
        "n_rows": votes.n_rows
        if consensus.known is None
        else int((~consensus.known.labelled).sum()),
        "n_given": round(float(subject.weight @ subject.given)),
        "n_explained": n_explained,
        "has_parts": consensus.rule is not None,
        "unit": None if consensus.rule is None else consensus.rule.unit,
    }


def _votes_by_label(spoken: Mapping[int, Any], votes: Votes) -> Facts:
    """The votes on one object: classifiers by label, soft votes and clusters one by one."""
    by_label: dict[str, list[str]] = defaultdict(list)
    soft: list[tuple[str, str]] = []
    clusters: list[tuple[str, str]] = []
    for m, answer in spoken.items():
        model, text = votes.models[m], str(answer)
        if isinstance(answer, dict):
            top = sorted(answer.items(), key=lambda item: -item[1])[:2]
            text = ", ".join(f"{label} {share:.2f}" for label, share in top if share > 0)
        if not model.is_voter:
            clusters.append((model.name, text))
        elif isinstance(answer, dict):
            soft.append((model.name, text))
        else:
            by_label[text].append(model.name)
    return {
        "votes": sorted(by_label.items(), key=lambda item: -len(item[1])),
        "soft": soft,
        "clusters": clusters,
        "n_missing": len(votes.models) - len(spoken),
    }


def _tipped(explanation: Explanation, row: Mapping[str, Any]) -> Facts | None:
    """By how much each base model and term favours the label over the runner-up."""
    if not explanation.parts or row["runner_up"] is None:
        return None

    def strongest(table: Table, names: str) -> list[tuple[str, float]]:
        ours, theirs = (table[f"to {row[which]}"] for which in ("label", "runner_up"))
        leads = [
            (name, one - other)
            for name, one, other in zip(table[names], ours, theirs, strict=True)
            if abs(one - other) >= 5e-4
        ]
        return sorted(leads, key=lambda lead: -abs(lead[1]))[:6]

    terms = strongest(explanation.by_term, "term") if len(explanation.by_term) > 1 else []
    return {"models": strongest(explanation.by_model, "model"), "terms": terms}
