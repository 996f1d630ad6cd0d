"""Numbers of a consensus under names that MLflow takes."""

from __future__ import annotations

import re
from typing import Any

from ..consensus import Consensus
from ..diagnosis import agreement, effective_voters

__all__ = ["metrics"]


def metrics(consensus: Consensus, known: Any = None) -> dict[str, float]:
    """The agreement and number of independent judges, and estimates from labels, for `log_metrics`.

    Parameters
    ----------
    consensus : Consensus
        The answer; without its votes there are only estimates.
    known : as in `estimate`
        True labels of objects drawn at random, which give the shares of the classes and the
        accuracy of the answer with 95 % intervals.

    Examples
    --------
    >>> from ec3learn import MajorityVote, Votes
    >>> from ec3learn.compat.mlflow import metrics
    >>> judges = {"ann": ["ok", "ok", "bad"] * 9, "bob": ["ok", "bad", "bad"] * 9}
    >>> found = metrics(MajorityVote().solve(Votes.from_labels(judges)))
    >>> {name: round(value, 2) for name, value in found.items()}
    {'agreement': 0.35, 'effective_judges': 2.0, 'mean_confidence': 0.83}
    """
    votes = consensus.solution.require_votes("metrics")
    found = {
        "agreement": float(agreement(votes, draws=0)["value"][0]),
        "effective_judges": effective_voters(votes),
        "mean_confidence": float(consensus.confidence.mean()),
    }
    for row in consensus.estimate(known=known).rows() if known is not None else ():
        name = re.sub(r"[^\w.\-/]+", "_", row["measure"])
        found |= {name: row["value"], f"{name}_low": row["low"], f"{name}_high": row["high"]}
    return found
