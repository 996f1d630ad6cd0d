"""The example votes."""

import numpy as np

from ec3learn.demo import demo_votes, solve_demo


def test_a_missing_vote_is_neither_right_nor_wrong():
    table = demo_votes()
    cast = [(row["svm"], row["truth"]) for row in table.rows() if row["gold"] is None and row["svm"] is not None]
    scores = dict(zip(*solve_demo()[0].columns.values(), strict=True))
    assert scores["svm"] == np.mean([vote == truth for vote, truth in cast])
    assert scores["iEC3"] > scores["majority vote"]
