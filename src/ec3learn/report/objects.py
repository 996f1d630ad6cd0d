"""The facts about the most contested objects: their votes, and what tipped the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._text import number_text
from ..answer.extension import matching_labels
from ..diagnosis import Explanation, close_calls, contested, explain
from ..diagnosis.contested import CLOSE
from ..diagnosis.explanation import tally_of
from ..votes import Votes
from ..votes.labels import label_array
from .subject import Facts, Subject

LOOKUPS = 4e5  # of groups, for explanations: with very many groups only the first objects are explained


def contested_facts(subject: Subject, n: int) -> Facts | None:
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
