"""`solve`: one answer in one call, by the default or by a method of one's choice."""

from __future__ import annotations

from typing import Any

from ..consensus import Consensus
from ..kernels import threads
from ..votes import Votes
from .base import Method, method_of


def solve(
    votes: Votes, known: Any = None, method: str | Method = "auto", prior: Any = None, n_jobs: int | None = None
) -> Consensus:
    """Combine votes into one classification, in one call.

    Parameters
    ----------
    votes : Votes
        What classifiers, annotators or judges said, and clusterings if there are any.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Labels of a few objects.
    method : str or method
        By default the one that suits what there is: `Auto`. A name in `METHODS`, or a method with parameters of your own.
    prior : table with one row per object and one column per class, or dict of object -> row
        Class probabilities that the object's own votes had no part in, such as those of a classifier of its features, out of
        fold. How far to trust them is learned from the votes, and from 30 known labels or more.
    n_jobs : int or None
        How many threads the compiled loops of the extra `fast` use on large tables: None is 1, or what joblib's
        `parallel_config` says; -1 is one per core.

    Examples
    --------
    >>> import ec3learn
    >>> votes = ec3learn.Votes.from_labels({"ann": ["a", "b", "b"], "bob": ["a", "a", "b"], "cy": ["a", "b", None]})
    >>> ec3learn.solve(votes).labels()
    array(['a', 'b', 'b'], dtype=object)
    """
    chosen = method_of(method, "method")
    if n_jobs is None:
        return chosen.solve(votes, known, prior)
    with threads(n_jobs):
        return chosen.solve(votes, known, prior)
