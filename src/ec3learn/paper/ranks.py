"""Which differences between methods are significant: mean ranks, critical difference, paired tests (Demsar, 2006)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon

LEVEL = 0.05


def mean_ranks(scores: Any) -> Any:
    """Return the mean rank of each method, the best (rank 1) first; tied methods share their ranks.

    Parameters
    ----------
    scores : pandas.DataFrame
        One row per data set, one column per method; higher is better.

    Returns
    -------
    pandas.Series

    Examples
    --------
    >>> import pandas as pd
    >>> from ec3learn.paper.ranks import mean_ranks
    >>> mean_ranks(pd.DataFrame({"a": [0.9, 0.8], "b": [0.7, 0.8]})).to_dict()
    {'a': 1.25, 'b': 1.75}
    """
    import pandas as pd

    whole = scores.dropna()
    ranks = rankdata(-whole.to_numpy(), axis=1).mean(axis=0)
    return pd.Series(ranks, index=scores.columns).sort_values(kind="stable")


def friedman(scores: Any) -> float:
    """Return the p-value of Friedman's test that all methods are alike.

    Examples
    --------
    >>> import pandas as pd
    >>> from ec3learn.paper.ranks import friedman
    >>> scores = pd.DataFrame({"a": [0.9, 0.8, 0.7, 0.9], "b": [0.8, 0.7, 0.6, 0.8], "c": [0.7, 0.6, 0.5, 0.7]})
    >>> round(friedman(scores), 3)
    0.018
    """
    return float(friedmanchisquare(*scores.dropna().to_numpy().T).pvalue)


def critical_difference(n_methods: int, n_datasets: int) -> float:
    """Return by how much mean ranks must differ to be significantly different (Nemenyi's test at 5 %).

    Parameters
    ----------
    n_methods, n_datasets : int
        Number of methods compared, and of data sets.

    Returns
    -------
    float

    Examples
    --------
    >>> from ec3learn.paper.ranks import critical_difference
    >>> round(critical_difference(5, 30), 3)
    1.114
    """
    q = float(studentized_range.ppf(1 - LEVEL, n_methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def paired_tests(scores: Any, control: str) -> Any:
    """Compare one method with each of the others by Wilcoxon's signed-rank test, corrected by Holm's method.

    Parameters
    ----------
    scores : pandas.DataFrame
        One row per data set, one column per method.
    control : str
        The method to compare with the others.

    Returns
    -------
    pandas.DataFrame
        One row per other method: on how many data sets the control is better and worse, the mean difference, and the corrected
        p-value.

    Examples
    --------
    >>> import pandas as pd
    >>> from ec3learn.paper.ranks import paired_tests
    >>> scores = pd.DataFrame({"new": [0.9, 0.8, 0.95, 0.7, 0.6], "old": [0.7, 0.7, 0.9, 0.65, 0.3]})
    >>> float(paired_tests(scores, "new").loc["old", "p"])
    0.0625
    """
    import pandas as pd

    whole = scores.dropna()
    found = {}
    for name in whole.columns.drop(control):
        gain = (whole[control] - whole[name]).to_numpy()
        p = float(wilcoxon(gain, method="auto").pvalue) if np.any(gain) else 1.0
        found[name] = {"better": int((gain > 0).sum()), "worse": int((gain < 0).sum()), "difference": float(gain.mean()), "p": p}
    table = (
        pd.DataFrame.from_dict(found, orient="index").sort_values("p", kind="stable").astype({"better": object, "worse": object})
    )
    corrected = table["p"].to_numpy() * np.arange(len(table), 0, -1)
    return table.assign(p=np.minimum(np.maximum.accumulate(corrected), 1.0))
