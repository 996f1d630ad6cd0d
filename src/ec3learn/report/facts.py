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
from ..answer.solution import Solution, Solved, solution_of
from ..diagnosis.summary import Summary, summarise
from ..diagnosis.warnings import score_notes
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
) -> Facts:
    """Everything the report says; the arguments are those of `Consensus.report`."""
    solution = solution_of(consensus)
    require_integer("n_contested", n_contested, 0)
    subject = Subject(solution, truth)
    if summary is None and subject.votes is not None and subject.has_objects:
        summary = summarise(consensus)
    changes, quality = change_facts(subject), quality_facts(subject, summary)
    compared = pair_facts(subject)
    return {
        "title": title,
        "n_objects": round(subject.total),
        "n_open": round(subject.n_open),
        "all_given": subject.has_objects and subject.all_given,
        "summary": _summary(subject),
        "lack": _lack(subject),
        **_notes(subject, summary, quality),
        "counted": _counted(subject) if subject.has_objects else None,
        "cards": _cards(subject, changes, quality),
        "classes": class_facts(subject) if subject.has_objects else None,
        "confidence": confidence_facts(subject) if subject.has_objects else None,
        "changes": changes,
        "quality": quality,
        "trust": trust_facts(subject),
        "models": model_facts(subject),
        "pairs": compared,
        "redundant_names": {name for pair in compared["redundant"] for name in pair[:2]}
        if compared
        else set(),
        "clusterings": clustering_facts(subject),
        "contested": contested_facts(subject, n_contested),
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


def _made_of(consensus: Solution) -> list[str]:
    n_classifiers = sum(model.is_voter for model in consensus.models)
    n_clusterings = len(consensus.models) - n_classifiers
    return [
        count(n_classifiers, consensus.voter_noun),
        *([count(n_clusterings, "clustering")] if n_clusterings else ()),
    ]


def _summary(subject: Subject) -> str:
    consensus = subject.consensus
    if not subject.has_objects:
        return consensus.description
    size = count(round(subject.total), "object")
    if subject.distinct:
        size = f"{count(round(subject.total), 'row')}, {consensus.n_objects:,} of them distinct"
    sure = (
        "all labels were given"
        if subject.all_given
        else f"mean confidence {subject.mean_confidence:.3f}"
    )
    n_classes = count(len(consensus.classes), "class", "classes")
    made_of = " and ".join(_made_of(consensus))
    return f"{consensus.settings['method']} of {made_of}: {size}, {n_classes}, {sure}"


def _counted(subject: Subject) -> str:
    """How objects are counted, where it is not each once."""
    if subject.distinct:
        return "The objects are the rows of the table; equal rows are solved as one."
    if (subject.weight == 1).all():
        return ""
    if subject.whole:
        return "Objects have weights: each is counted as often as its weight says."
    return "Objects are counted by their weights, which sum to the number of objects."


def _cards(
    subject: Subject, changes: Facts | None, quality: Facts | None
) -> list[tuple[str, str, str]]:
    """The numbers at the top, each with a label and a hint."""
    consensus, open_only = subject.consensus, ""
    if subject.has_objects and not subject.open_rows.all():
        open_only = f", of the {round(subject.n_open):,} without a given label"
    cards = [
        ("classes", f"{len(consensus.classes):,}", ""),
        ("base models", f"{len(consensus.models):,}", ", ".join(_made_of(consensus))),
    ]
    if subject.has_objects:
        n_rows, total = len(consensus.row_proba), round(subject.total)
        distinct = count(n_rows, "distinct row") if n_rows < total else ""
        cards.insert(0, ("objects", f"{total:,}", distinct))
        close = percent(subject.n_close / max(subject.total, 1e-300))
        value, hint = f"{subject.mean_confidence:.3f}", f"{close} of all objects are close calls"
        if subject.all_given:
            value, hint = "–", "all labels were given"
        cards.append(("mean confidence", value, hint))
    if changes is not None and not subject.all_given:
        against = f"against the majority vote{open_only}"
        cards.append(("labels changed", percent(changes["share"]), against))
    return [*cards, *_correct(quality)]


def _correct(quality: Facts | None) -> list[tuple[str, str, str]]:
    """How often the answer is right, by labels to judge by or else by cross-validation."""
    if quality is None:
        return []
    if quality["fair"] is not None:
        ours, theirs = quality["fair"]["answers"][0], quality["fair"]["answers"][-1]
        beside = "" if ours is theirs else f"{percent(theirs['accuracy'])} by majority vote"
        return [("correct", percent(ours["accuracy"]), beside)]
    score = quality["held_out"]
    if score is None:
        return []
    hint = "cross-validated"
    if score.by_majority is not None:
        hint += f"; {percent(score.by_majority)} by majority vote"
    return [("correct", percent(score.accuracy), hint)]


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
        "trained_elsewhere": str(details.get("made by", "")) != "EC3Classifier",
        "details": {str(name): str(value) for name, value in details.items()},
    }
