"""Facts about a consensus, as a dict that the template shows: numbers and names, no markup.

Every judgement is made in `diagnosis`; here it is only arranged for the page.
"""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy

from .. import __version__
from .._checks import require_integer
from .._text import count, isolated, percent
from .._typing import Array
from ..answer.notes import WARNINGS, Note, one_per_kind
from ..answer.solution import Solved, solution_of
from ..diagnosis import pairs, voter_checks
from ..diagnosis.agreement import ALIKE
from ..diagnosis.metrics import FEW
from ..diagnosis.summary import Summary, score_notes, summarise
from ..diagnosis.voters import RULE, contingency, worst_first
from ..votes.labels import plain
from .answers import (
    Facts,
    Subject,
    change_facts,
    class_facts,
    confidence_facts,
    contested_facts,
    largest,
    quality_facts,
    trust_facts,
)

MOST_MODELS = 200  # in the table
FOLDED_FROM = 15  # rows of the table that are shown at first; style.css has this number too


def facts_of(
    consensus: Solved,
    *,
    truth: Any = None,
    title: str = "Consensus report",
    n_contested: int = 200,
    command: str | Sequence[str] | None = None,
    details: Mapping[str, Any] | None = None,
    summary: Summary | None = None,
    texts: Mapping[Any, str | None] | None = None,
) -> Facts:
    """Everything the report says; the arguments are those of `Consensus.report`."""
    solution = solution_of(consensus)
    require_integer("n_contested", n_contested, 0)
    subject = Subject(solution, truth)
    if summary is None and subject.votes is not None and subject.has_objects:
        summary = summarise(consensus)
    quality, compared = quality_facts(subject, summary), pair_facts(subject)
    return {
        "title": title,
        "n_objects": round(subject.total),
        "n_open": round(subject.n_open),
        "all_given": subject.has_objects and subject.all_given,
        "summary": _summary(subject),
        "lack": _lack(subject),
        **_notes(subject, summary, quality),
        "counted": not subject.distinct and bool((subject.weight != 1).any()),
        "cards": _cards(subject, quality),
        "classes": class_facts(subject) if subject.has_objects else None,
        "confidence": confidence_facts(subject) if subject.has_objects else None,
        "changes": change_facts(subject),
        "quality": quality,
        "trust": trust_facts(subject),
        "models": model_facts(subject),
        "pairs": compared,
        "redundant_names": {name for pair in compared["redundant"] for name in pair[:2]}
        if compared
        else set(),
        "clusterings": clustering_facts(subject),
        "contested": contested_facts(subject, n_contested, texts or {}),
        "how": _how(subject, command, details or {}),
    }


def _lack(subject: Subject) -> str | None:
    """What cannot be shown of a consensus that was loaded from a file."""
    if subject.votes is not None:
        return None
    if subject.has_objects:
        return (
            "This consensus was loaded from a file, which keeps the answers but not the votes. "
            "What depends on the votes is not shown. The file does not say which labels the method "
            "was given: leave these out of the labels to judge by."
        )
    return (
        "This consensus was loaded from a file without objects: it can answer for new ones, but "
        "has none of its own to show."
    )


def _notes(subject: Subject, summary: Summary | None, quality: Facts | None) -> Facts:
    """Warnings and other notes: those of the summary, and what the labels to judge by show."""
    notes: list[Note] = list(subject.consensus.notes if summary is None else summary.notes)
    fair = None if quality is None else quality["fair"]
    if fair is not None:
        notes += [note for note in score_notes(fair["judgement"]) if note not in notes]
    elsewhere = ("distinct rows", "calibration")  # in the summary, and in the section on trust
    shown = one_per_kind(note for note in notes if note.kind not in elsewhere)
    return {
        "warnings": [str(note) for note in shown if note.kind in WARNINGS],
        "notes": [str(note) for note in shown if note.kind not in WARNINGS],
    }


def _summary(subject: Subject) -> str:
    consensus = subject.consensus
    if not subject.has_objects:
        return consensus.description
    size = count(round(subject.total), "object")
    if subject.distinct:
        n_distinct = len(consensus.solution.row_counts)
        size = f"{count(round(subject.total), 'row')}, {n_distinct:,} of them distinct"
    n_classes = count(len(consensus.classes), "class", "classes")
    return f"{size}, answered by {consensus.made_of}; {n_classes}"


def _cards(subject: Subject, quality: Facts | None) -> list[tuple[str, str, str]]:
    """The numbers at the top, each with a label and a hint."""
    if not subject.has_objects:
        return []
    n_rows, total = len(subject.consensus.row_proba), round(subject.total)
    sure, hint = "–", "all labels were given"
    if not subject.all_given:
        close = percent(subject.n_close / max(subject.total, 1e-300))
        mean = float(subject.open_weight @ subject.confidence) / max(subject.n_open, 1e-300)
        sure, hint = percent(mean), f"{close} of all objects are close calls"
    cards = [
        ("objects", f"{total:,}", count(n_rows, "distinct row") if n_rows < total else ""),
        ("mean confidence", sure, hint),
    ]
    fair, held_out = (quality or {}).get("fair"), (quality or {}).get("held_out")
    score = held_out if fair is None else fair["judgement"]
    if score is not None:
        hint = "cross-validated"
        if not score.cross_validated:
            hint = f"by {count(round(score.n_labels), 'label')}"
        if score.by_majority is not None:
            hint += f"; {percent(score.by_majority)} by majority vote"
        cards.append(("correct", percent(score.accuracy), hint))
    return cards


# ---- the base models -----------------------------------------------------------------------------


def model_facts(subject: Subject) -> Facts | None:
    """The table of base models, those in trouble first, and what to say about them."""
    consensus = subject.consensus
    if subject.votes is None and consensus.stored_voters is None:
        return None
    labels = subject.judged if subject.votes is not None and subject.judged.n else None
    table, source = worst_first(consensus, labels), None
    if any(n is not None for n in table["labels"]):
        source = "the labels the method was given" if labels is None else "the held-out labels"
    remarks = {
        row["model"]: row["doubt"]
        if row["says"] is None
        else f"always says {isolated(row['says'])}"
        for row in voter_checks(consensus).rows()
    }
    classifiers = [
        row | {"remark": remarks.get(row["model"])}
        for row in table.rows()
        if row["kind"] != "clustering"
    ]
    # Those in trouble are named above the table, so it has them all.
    shown = sorted(classifiers, key=lambda row: (not row["remark"], -row["coverage"]))[:MOST_MODELS]
    kept = {row["model"] for row in shown}
    return {
        "rows": [row for row in classifiers if row["model"] in kept],
        "n_left_out": len(classifiers) - len(shown),
        "n_folded": max(0, len(shown) - FOLDED_FROM) if len(shown) > FOLDED_FROM + 5 else 0,
        "noun": f"{consensus.voter_noun}s",
        "varies": {  # a column of ones says nothing
            "coverage": any(abs(row["coverage"] - 1) >= 5e-4 for row in shown),
            "weight": any(row["weight"] is not None for row in shown),
        },
        "accuracy_by": source,
        "estimated": any(row["estimated"] is not None for row in classifiers),
        "leans": any(row["leans_to"] is not None for row in classifiers),
        "worse": [row["model"] for row in classifiers if row["remark"] == "worse than chance"],
        "empty": [
            (row["model"], row["remark"])
            for row in classifiers
            if row["remark"] not in (None, "worse than chance")
        ],
        "order": table.note,
        "rule": RULE
        + " The method itself left out some for this reason." * bool(consensus.worse_than_chance),
        "clusterings": [row for row in table.rows() if row["kind"] == "clustering"],
    }


def pair_facts(subject: Subject) -> Facts | None:
    """Which classifiers agree with which; None where there are fewer than two."""
    found = None if subject.votes is None or not subject.has_objects else pairs(subject.consensus)
    if found is None or len(found.names) < 2:
        return None
    names = found.names
    shown = np.sort(largest(np.diag(found.common), 60))  # those with the most votes
    similarity = found.similarity[np.ix_(shown, shown)]
    return {
        "names": [names[i] for i in shown],
        "any": bool((~np.isnan(similarity)).sum() > len(shown)),  # each is compared with itself
        "cells": [
            [None if np.isnan(value) else float(value) for value in row] for row in similarity
        ],
        "redundant": [
            (names[a], names[b], float(found.similarity[a, b]), round(float(found.common[a, b])))
            for a, b in sorted(found.redundant, key=lambda pair: -found.similarity[pair])[:50]
        ],
        "n_redundant": len(found.redundant),
        "rule": f"the same label on at least {100 * ALIKE:.0f} % of {FEW} objects or more, even "
        "where they depart from the answer",
        "n_left_out": found.n_left_out + len(names) - len(shown),
        "share_of_rows": found.share_of_rows,
    }


def clustering_facts(subject: Subject) -> Facts | None:
    """Which classes each cluster contains, by the consensus."""
    consensus, votes = subject.consensus, subject.votes
    if votes is None or not subject.has_objects:
        return None
    clusterings = [m for m, model in enumerate(votes.models) if model.kind == "clustering"]
    colours = {int(z): i for i, z in enumerate(largest(subject.class_shares, 8))}
    counts = contingency(consensus)
    blocks = [
        {"name": votes.models[m].name}
        | _clusters(
            votes.models[m].labels,
            counts[votes.models.offsets[m] : votes.models.offsets[m + 1]].toarray(),
            subject.names,
            colours,
        )
        for m in clusterings[:20]
    ]
    return {
        "blocks": blocks,
        "n_left_out": len(clusterings) - len(blocks),
        "largest_class": float(subject.class_shares.max()),
    }


def _clusters(labels: Array, counts: Array, names: list[str], colours: Mapping[int, int]) -> Facts:
    """The largest clusters of one clustering, from counts of clusters x classes."""
    sizes = counts.sum(axis=1)
    rows: list[Facts] = [
        {
            "name": str(plain(labels[j])),
            "size": float(sizes[j]),
            "share": float(sizes[j] / sizes.sum()),
            "holds": [
                (names[z], colours.get(int(z), -1), float(counts[j, z] / sizes[j]))
                for z in largest(counts[j], 5)
                if counts[j, z] > 0
            ],
        }
        for j in largest(sizes, 12)
        if sizes[j] > 0
    ]
    return {
        "rows": rows,
        "n_clusters": int((sizes > 0).sum()),
        "rest": 1 - sum(row["share"] for row in rows),
        "median_size": float(np.median(sizes[sizes > 0])) if rows else 0.0,
    }


# ---- how it was made -----------------------------------------------------------------------------


def _how(
    subject: Subject, command: str | Sequence[str] | None, details: Mapping[str, Any]
) -> Facts:
    consensus = subject.consensus
    settings = {name: value for name, value in consensus.settings.items() if name != "method"}
    versions = {
        "ec3learn": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "Python": platform.python_version(),
    }
    outcome: dict[str, Any] = {"rounds": consensus.n_iter} if consensus.n_iter else {}
    if consensus.objective is not None:
        outcome["objective"] = f"{consensus.objective:.6g}"
    return {
        "method": str(consensus.settings.get("method", "")),
        "settings": {name: repr(value) for name, value in settings.items()},
        "versions": versions,
        "outcome": outcome,
        "time": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": command
        if command is None or isinstance(command, str)
        else shlex.join(map(str, command)),
        # EC3Classifier asks its base models about rows they were not trained on.
        "trained_elsewhere": details.get("made by") != "EC3Classifier",
        "details": {str(name): str(value) for name, value in details.items()},
    }
