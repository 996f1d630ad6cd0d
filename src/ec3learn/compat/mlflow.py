"""MLflow: the numbers of a consensus to log, and a consensus that decides for several scorers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..consensus import Consensus
from ..diagnosis import agreement, effective_voters
from ..votes import Votes
from ..votes.labels import plain

__all__ = ["ensemble", "metrics"]


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


def ensemble(consensus: Consensus) -> Callable[[Any], Any]:
    """A consensus as the function that `make_scorer_ensemble` of MLflow takes.

    Parameters
    ----------
    consensus : Consensus
        Made from earlier values of the same scorers, by a method that can `extend`. Scorers are
        found by name; the values of others do not count.

    Returns
    -------
    function
        From the feedback of each scorer to one with the label and, as metadata, its confidence.
    """

    def decide(feedbacks: Any) -> Any:
        said = {each.name: [each.value] for each in feedbacks}
        answer = consensus.extend(Votes.from_labels(said, classes=consensus.classes))
        about = {"confidence": f"{answer.confidence[0]:.3f}"}
        kind = type(feedbacks[0])  # MLflow's Feedback, which need not be loaded here
        return kind(value=plain(answer.labels()[0]), metadata=about)

    return decide
