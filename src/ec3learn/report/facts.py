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
from .._text import count, percent
from ..answer.notes import WARNINGS, Note, one_per_kind
from ..answer.solution import Solved, solution_of
from ..diagnosis.summary import Summary, score_notes, summarise
from .answers import (
    Facts,
    Subject,
    change_facts,
    class_facts,
    confidence_facts,
    contested_facts,
    quality_facts,
    trust_facts,
)
from .models import clustering_facts, model_facts, pair_facts


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
        "counted": _counted(subject) if subject.has_objects else None,
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
        size = f"{count(round(subject.total), 'row')}, {consensus.n_objects:,} of them distinct"
    n_classes = count(len(consensus.classes), "class", "classes")
    return f"{size}, answered by {consensus.made_of}; {n_classes}"


def _counted(subject: Subject) -> str:
    """How objects are counted, where it is not each once."""
    if subject.distinct:
        return "The objects are the rows of the table; equal rows are solved as one."
    if (subject.weight == 1).all():
        return ""
    if subject.whole:
        return "Objects have weights: each is counted as often as its weight says."
    return "Objects are counted by their weights, which sum to the number of objects."


def _cards(subject: Subject, quality: Facts | None) -> list[tuple[str, str, str]]:
    """The numbers at the top, each with a label and a hint."""
    if not subject.has_objects:
        return []
    n_rows, total = len(subject.consensus.row_proba), round(subject.total)
    sure, hint = "–", "all labels were given"
    if not subject.all_given:
        close = percent(subject.n_close / max(subject.total, 1e-300))
        sure, hint = percent(subject.mean_confidence), f"{close} of all objects are close calls"
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
