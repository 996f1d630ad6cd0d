"""The methods with the interface of crowd-kit: change the import, and keep the rest.

A dataframe of pandas has the columns `task`, `worker` and `label`, one row per vote. What `fit`
finds is in `labels_`, `probas_` and `skills_`, and the `Consensus` with everything else in
`consensus_`.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from ..consensus import Consensus
from ..methods import METHODS, Method
from ..votes import Votes

__all__ = [
    "Aggregator",
    "BinaryRelevance",
    "DawidSkene",
    "MajorityVote",
    "OneCoinDawidSkene",
    "Wawa",
]


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
        import pandas as pd

        if data.empty:
            self.probas_, self.labels_ = pd.DataFrame(), pd.Series(dtype=float, name="agg_label")
            self.skills_ = pd.Series(dtype=float, name="skill")
            return self
        weights = None if skills is None else dict(skills)
        votes = Votes.from_long(data["task"], data["worker"], data["label"], weights=weights)
        known = None if true_labels is None else dict(true_labels)
        self.consensus_: Consensus = self.solver.solve(votes, known=known)
        tasks = pd.Index(self.consensus_.object_ids, name="task")
        classes = pd.Index(self.consensus_.classes, name="label")
        self.labels_ = pd.Series(self.consensus_.labels(), tasks, name="agg_label")
        self.probas_ = pd.DataFrame(self.consensus_.proba, tasks, classes)
        voters = self.consensus_.voters().to_frame().set_index("model")
        self.skills_ = voters["agreement"].rename_axis("worker").rename("skill")
        return self

    def fit_predict(self, data: Any, true_labels: Any = None, skills: Any = None) -> Any:
        """The label of each task, a Series; arguments as in `fit`."""
        return self.fit(data, true_labels, skills).labels_

    def fit_predict_proba(self, data: Any, true_labels: Any = None, skills: Any = None) -> Any:
        """The class probabilities of each task, a DataFrame; arguments as in `fit`."""
        return self.fit(data, true_labels, skills).probas_


class DawidSkene(Aggregator):
    """A confusion matrix per worker; with `prior="uniform"` by maximum likelihood, as there.

    The matrices are in `errors_`: rows are workers and labels, columns the true labels.
    """

    method = "dawid-skene"

    def __init__(self, n_iter: int = 1000, tol: float | None = None, **settings: Any) -> None:
        super().__init__(max_iter=n_iter, tol=tol, **settings)

    def fit(self, data: Any, true_labels: Any = None, skills: Any = None) -> Any:
        """Combine the votes; arguments as in `Aggregator`."""
        super().fit(data, true_labels, skills)
        said = self.probas_.loc[data["task"]].set_axis([data["worker"], data["label"]])
        counts = said.groupby(level=[0, 1]).sum().clip(lower=1e-10)
        self.errors_ = counts / counts.groupby(level=0).sum()
        self.priors_ = self.probas_.mean().rename("prior")
        return self


class OneCoinDawidSkene(DawidSkene):
    """One number per worker; with `prior="uniform"` by maximum likelihood, as there."""

    method = "dawid-skene-one-coin"


class MajorityVote(Aggregator):
    """The class with most votes."""

    method = "majority"


class Wawa(MajorityVote):
    """Votes weighted by each worker's agreement with the majority, which is in `skills_`."""

    def fit(self, data: Any, true_labels: Any = None, skills: Any = None) -> Any:
        """Combine the votes; arguments as in `Aggregator`."""
        agreement = super().fit(data, true_labels, skills).skills_
        super().fit(data, true_labels, agreement)
        self.skills_ = agreement
        return self


class BinaryRelevance:
    """Several labels per vote: a yes or no for each label by an aggregator, and lists of the yeses.

    The column `label` has lists. `aggregators_` has the aggregator of each label.
    """

    def __init__(self, base_aggregator: Any = None) -> None:
        self.base_aggregator = base_aggregator or MajorityVote()

    def fit(self, data: Any) -> BinaryRelevance:
        """Combine the votes in a dataframe with the columns `task`, `worker` and `label`."""
        import pandas as pd

        self.aggregators_ = {}
        for name in sorted({name for names in data["label"] for name in names}):
            said = data.assign(label=[int(name in names) for names in data["label"]])
            self.aggregators_[name] = copy(self.base_aggregator).fit(said)
        found = pd.DataFrame({name: each.labels_ for name, each in self.aggregators_.items()})
        chosen = [[name for name in row if row[name]] for row in found.to_dict("records")]
        self.labels_ = pd.Series(chosen, found.index, name="agg_label", dtype=object)
        return self

    def fit_predict(self, data: Any) -> Any:
        """The list of labels of each task, a Series."""
        return self.fit(data).labels_
