"""The facts about the answer: classes, confidence, what it changed against the majority vote, and how good it is."""

from __future__ import annotations

import numpy as np

from .._typing import Array
from ..diagnosis import judge
from ..diagnosis.majority import changed_rows, is_majority
from ..diagnosis.summary import Summary
from .subject import Facts, Subject, largest

MOST_CLASSES = 20  # shown; the others are added up
FEW_CHANGES = 5  # objects below which it may be chance that all changes go to one class


def mean_confidence(subject: Subject) -> float:
    """Return the mean confidence of the objects the method had to answer."""
    counts = subject.row_weight * subject.open_rows
    return float(counts @ subject.consensus.row_proba.max(axis=1, initial=0.0)) / max(float(counts.sum()), 1e-300)


def class_facts(subject: Subject) -> Facts:
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
    shown = largest(labelled, MOST_CLASSES)
    rows = [(subject.names[z], [float(column[z]) for column in columns]) for z in shown]
    rest = np.setdiff1d(np.arange(n_classes), shown)
    return {"rows": rows, "others": (len(rest), [float(column[rest].sum()) for column in columns]) if len(rest) else None}


def confidence_facts(subject: Subject) -> Facts:
    """Return a histogram of the confidence in the answers."""
    confidence, counts = subject.consensus.row_proba.max(axis=1, initial=0.0), subject.row_weight * subject.open_rows
    heights, edges = np.histogram(np.clip(confidence, 0, 1), bins=20, range=(0, 1), weights=counts)
    return {"edges": edges.tolist(), "shares": (heights / max(float(counts.sum()), 1e-300)).tolist()}


def change_facts(subject: Subject) -> Facts | None:
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
        "moves": [(names[moves[i] // n_classes], names[moves[i] % n_classes], round(sizes[i])) for i in largest(sizes, 8)],
        "is_majority": is_majority(consensus),
        "to_common": _common_class(subject, theirs, ours, named),
    }


def _common_class(subject: Subject, theirs: Array, ours: Array, changed: Array) -> str | None:
    """Return the most common class by majority vote if all changes, of 5 objects or more, go from other classes to it."""
    voted = np.flatnonzero(theirs >= 0)
    common = int(np.bincount(theirs[voted], weights=subject.row_weight[voted], minlength=len(subject.names)).argmax())
    many = float(subject.row_weight[changed].sum()) >= FEW_CHANGES
    return subject.names[common] if many and (ours[changed] == common).all() else None


def quality_facts(subject: Subject, summary: Summary | None) -> Facts | None:
    """Return how good the answer is, by labels to judge by and by those the method was given; None without either."""
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
    shown = np.sort(largest(seen, MOST_CLASSES - 1 if len(names) > MOST_CLASSES else MOST_CLASSES))
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
