"""The methods with the interface of crowd-kit: change the import, and keep the rest.

A dataframe of pandas has the columns `task`, `worker` and `label`, one row per vote. What `fit`
finds is in `labels_`, `probas_` and `skills_`, and the `Consensus` with everything else in
`consensus_`.
"""

from __future__ import annotations

from typing import Any

from .._checks import require_library
from .._table import Table
from ..consensus import Consensus
from ..methods import METHODS, Method
from ..votes import Votes

__all__ = ["Aggregator", "DawidSkene", "MajorityVote", "OneCoinDawidSkene", "Wawa"]


class Aggregator:
    """What `ec3learn.solve` does, as an aggregator; settings are those of the method.

    Examples
    --------
    >>> import pandas as pd
    >>> from ec3learn.compat.crowdkit import Aggregator
    >>> votes = [("q1", "ann", "yes"), ("q1", "bob", "yes"), ("q2", "ann", "no")]
    >>> df = pd.DataFrame(votes, columns=["task", "worker", "label"])
    >>> Aggregator().fit_predict(df).to_dict()
    {'q1': 'yes', 'q2': 'no'}
    """

    method = "auto"

    def __init__(self, **settings: Any) -> None:
        self.solver: Method = METHODS[self.method]().set_params(**settings)

    def fit(self, data: Any, true_labels: Any = None, skills: Any = None) -> Any:
        """Combine the votes in a dataframe with the columns `task`, `worker` and `label`.

        Parameters
        ----------
        data : dataframe of pandas
            One row per vote.
        true_labels : Series indexed by task
            Known labels.
        skills : Series indexed by worker
            How much each worker counts; 1 for workers that it does not name.
        """
        require_library("The interface of crowd-kit", "pandas")
        import pandas as pd

        weights = None if skills is None else skills.to_dict()
        votes = Votes.from_long(data["task"], data["worker"], data["label"], weights=weights)
        known = None if true_labels is None else true_labels.to_dict()
        consensus: Consensus = self.solver.solve(votes, known=known)
        tasks = pd.Index(consensus.object_ids, name="task")
        voters: Table = consensus.voters()
        workers = pd.Index(voters["model"], name="worker")
        self.consensus_ = consensus
        self.labels_ = pd.Series(consensus.labels(), tasks, name="agg_label")
        classes = pd.Index(consensus.classes, name="label")
        self.probas_ = pd.DataFrame(consensus.proba, tasks, classes)
        self.skills_ = pd.Series(voters["agreement"], workers, name="skill")
        return self

    def fit_predict(self, data: Any, true_labels: Any = None, skills: Any = None) -> Any:
        """The label of each task, a Series; arguments as in `fit`."""
        return self.fit(data, true_labels, skills).labels_

    def fit_predict_proba(self, data: Any, true_labels: Any = None, skills: Any = None) -> Any:
        """The class probabilities of each task, a DataFrame; arguments as in `fit`."""
        return self.fit(data, true_labels, skills).probas_


class DawidSkene(Aggregator):
    """A confusion matrix per worker; with `prior="uniform"` by maximum likelihood, as there."""

    method = "dawid-skene"

    def __init__(self, n_iter: int = 1000, tol: float | None = None, **settings: Any) -> None:
        super().__init__(max_iter=n_iter, tol=tol, **settings)


class OneCoinDawidSkene(DawidSkene):
    """One number per worker; with `prior="uniform"` by maximum likelihood, as there."""

    method = "dawid-skene-one-coin"


class MajorityVote(Aggregator):
    """The class with most votes."""

    method = "majority"


class Wawa(Aggregator):
    """Votes weighted by agreement with the majority, by another formula than crowd-kit's."""

    method = "weighted-vote"
