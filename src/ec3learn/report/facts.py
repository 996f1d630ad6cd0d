"""Facts about a consensus, as a dict that the template shows: numbers and names, no markup.

Every judgement is made in `diagnosis`; here it is only arranged for the page.
"""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy

from .. import __version__
from .._checks import InputTypeError, require_integer
from .._text import count, percent
from ..answer.notes import CALIBRATION, DISTINCT_ROWS, WARNINGS, Note, one_per_kind
from ..answer.solution import Solution, Solved, solution_of
from ..diagnosis.summary import Summary, summarise
from ..diagnosis.warnings import score_notes
from .answers import (
    change_facts,
    class_facts,
    confidence_facts,
    contested_facts,
    quality_facts,
    trust_facts,
)
from .models import clustering_facts, model_facts, pair_facts
from .subject import Facts, Subject


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
    """Return everything the report says; the arguments are those of `Consensus.report`."""
    solution = solution_of(consensus)
    _require_kind("title", title, str, "a string")
    require_integer("n_contested", n_contested, 0)
    _require_kind("command", command, (str, Sequence, type(None)), "a string or a list of strings")
    _require_kind("details", details, (Mapping, type(None)), "a dict of name -> value")
    _require_kind("summary", summary, (Summary, type(None)), "what Consensus.summary returns")
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
        "redundant_names": {
            name for facts in compared for pair in facts["redundant"] for name in pair[:2]
        },
        "clusterings": clustering_facts(subject),
        "contested": contested_facts(subject, n_contested),
        "how": _how(subject, command, details or {}),
    }


def _require_kind(name: str, value: Any, kinds: Any, must: str) -> None:
    if not isinstance(value, kinds):
        raise InputTypeError(name, f"must be {must}", got=value)


def _lack(subject: Subject) -> str | None:
    """Return what a consensus that was loaded from a file does not have."""
    if subject.votes is not None:
        return None
    if subject.has_objects:
        return (
            "This consensus was loaded from a file, which keeps the answers but not the votes. Not shown here: the comparison "
            "with the majority vote, who agrees with whom, what the clusters contain, and the contested objects with their "
            "explanations. The file does not say either which labels the method was given: leave these out of the labels to "
            "judge by."
        )
    return (
        "This consensus was loaded from a file without objects: it can answer for new ones, but has none of its own. Not shown "
        "here: classes, confidence, the comparison with the majority vote, who agrees with whom, clusters and contested objects."
    )


def _notes(subject: Subject, summary: Summary | None, quality: Facts | None) -> Facts:
    """Return warnings and other notes: those of the summary, and what the labels to judge by show."""
    notes: list[Note] = list(subject.consensus.notes if summary is None else summary.notes)
    fair = None if quality is None else quality["fair"]
    if fair is not None:
        notes += [note for note in score_notes(fair["judgement"]) if note not in notes]
    elsewhere = (DISTINCT_ROWS, CALIBRATION)  # in the summary, and in the section on trust
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


def _cards(
    subject: Subject, changes: Facts | None, quality: Facts | None
) -> list[tuple[str, str, str]]:
    consensus = subject.consensus
    cards = []
    if subject.has_objects:
        n_rows = len(consensus.row_proba)
        cards.append(
            (
                "objects",
                f"{round(subject.total):,}",
                count(n_rows, "distinct row") if n_rows < round(subject.total) else "",
            )
        )
    cards.append(("classes", f"{len(consensus.classes):,}", ""))
    cards.append(("base models", f"{len(consensus.models):,}", ", ".join(_made_of(consensus))))
    without = (
        ""
        if not subject.has_objects or subject.open_rows.all()
        else f"the {round(subject.n_open):,} without a given label"
    )
    if subject.has_objects and subject.all_given:
        cards.append(("mean confidence", "–", "all labels were given"))
    elif subject.has_objects:
        where = f"on {without}; " if without else ""
        hint = f"{where}{percent(subject.n_close / max(subject.total, 1e-300))} of all objects are close calls"
        cards.append(("mean confidence", f"{subject.mean_confidence:.3f}", hint))
    if changes is not None and not subject.all_given:
        where = f", of {without}" if without else ""
        cards.append(
            ("labels changed", percent(changes["share"]), f"against the majority vote{where}")
        )
    if quality is not None and quality["fair"] is not None:
        ours, theirs = quality["fair"]["answers"][0], quality["fair"]["answers"][-1]
        beside = "" if ours is theirs else f"{percent(theirs['accuracy'])} by majority vote"
        cards.append(("correct", percent(ours["accuracy"]), beside))
    elif quality is not None and quality["held_out"] is not None:
        score = quality["held_out"]
        beside = (
            "" if score.by_majority is None else f"; {percent(score.by_majority)} by majority vote"
        )
        cards.append(("correct", percent(score.accuracy), f"cross-validated{beside}"))
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
    seed = next(
        (
            str(settings[name])
            for name in ("random_state", "seed")
            if settings.get(name) is not None
        ),
        None,
    )
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
        "command": command
        if command is None or isinstance(command, str)
        else shlex.join(map(str, command)),
        # EC3Classifier asks its base models about rows they were not trained on.
        "trained_elsewhere": str(details.get("made by", "")) != "EC3Classifier",
        "details": {str(name): str(value) for name, value in details.items()},
    }


def code_of(consensus: Solution) -> str | None:
    """Return the Python that solves the same votes with the same settings."""
    if not consensus.made_by:
        return None
    settings = {
        name: value
        for name, value in consensus.settings.items()
        if name != "method" and "__" not in name
    }
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
