"""`solve`: one answer in one call, by the default or by a method of one's choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from .._checks import InputError
from .._text import arg
from ..consensus import Consensus
from ..votes import Votes
from .base import Method, method_of


def solve(
    votes: Votes,
    known: Any = None,
    method: str | Method = "auto",
    prior: Any = None,
    class_prior: Mapping[Any, float] | None = None,
) -> Consensus:
    """Combine votes into one classification, in one call.

    Parameters
    ----------
    votes : Votes
        What classifiers, annotators or judges said, and clusterings if there are any.
    known : array with missing values, dict of object -> label, or pair (objects, labels)
        Labels of a few objects.
    method : str or method
        By default `Panel`, a mean of several methods. A name in `METHODS`, or a method with parameters
        of your own.
    prior : table with one row per object and one column per class, or dict of object -> row
        Class probabilities that the object's own votes had no part in, such as those of a
        classifier of its features, out of fold. How far to trust them is learned from the votes.
    class_prior : dict of class -> share
        Shares of the classes that are known otherwise, such as `{"toxic": 0.1}`. The answer gets
        them on average.

    Examples
    --------
    >>> import ec3learn
    >>> votes = ec3learn.Votes.from_labels({"ann": ["a", "b", "b"], "bob": ["a", "a", "b"], "cy": ["a", "b", None]})
    >>> ec3learn.solve(votes).labels()
    array(['a', 'b', 'b'], dtype=object)
    """
    chosen = method_of(method, "method")
    if class_prior is not None:
        chosen = with_class_prior(chosen, class_prior)
    return chosen.solve(votes, known, prior)


def with_class_prior(method: Method, class_prior: Mapping[Any, float]) -> Method:
    """A method that gives the classes these shares."""
    if "class_prior" not in method.get_params(deep=False):
        remedy = f"Leave {arg('class_prior')} out, or take {arg('method', 'auto')}."
        raise InputError(
            "class_prior",
            phrase=f"{method.title} does not support {arg('class_prior')}",
            remedy=remedy,
        )
    return clone(method).set_params(class_prior=class_prior)
