"""What a run will take: tables of the same make, scaled up."""

import pytest

from ec3learn import EC3, Votes, plan
from ec3learn.methods import planning
from ec3learn.methods.planning import Plan, solving_cost


@pytest.fixture
def by_rows(monkeypatch):
    """Reading takes a second and a megabyte per thousand rows, solving three times that for each distinct row."""
    n_rows = {}
    reading = planning._votes

    def read(table, n_classifiers):
        n_rows["last"] = len(table)
        return reading(table, n_classifiers)

    monkeypatch.setattr(planning, "_votes", read)
    monkeypatch.setattr(planning, "LEAST_ROWS", 1000)
    monkeypatch.setattr(planning, "MOST_VOTES", 0)
    monkeypatch.setattr(planning, "MOST_READ", 0)
    monkeypatch.setattr(EC3, "solve", lambda self, votes: n_rows.update(last=3 * votes.n_rows))

    def cost(cls, work):
        work()
        return cls(n_rows["last"] / 1e3, n_rows["last"] * 1e3)

    monkeypatch.setattr(planning._Cost, "of", classmethod(cost))


@pytest.mark.parametrize("n_rows", [800, 50_000])
def test_a_plan_grows_with_the_rows_and_the_distinct_rows(by_rows, n_rows):
    expected = plan(n_rows, 500, n_classifiers=5, n_clusterings=3, n_classes=4, method=EC3())
    assert expected.distinct_rows == 500
    assert expected.seconds == pytest.approx(n_rows / 1e3 + 3 * 500 / 1e3, rel=1e-3)
    assert expected.gigabytes == pytest.approx(max(n_rows * 1e3, 3 * 500 * 1e3 + n_rows * 32) / 1e9)


def test_rows_of_many_models_are_all_distinct_unless_told_otherwise(by_rows):
    expected = plan(30_000, n_classifiers=8, n_clusterings=5, n_classes=5, method=EC3())
    assert expected.distinct_rows == 30_000
    assert expected.seconds == pytest.approx(30 + 90)


def test_few_voters_have_as_many_distinct_rows_as_random_votes(by_rows):
    assert plan(1_000_000, n_classifiers=3, method=EC3()).distinct_rows == 8


def test_what_solving_takes_is_measured():
    votes = Votes.from_labels({"a": [0, 1, 0, 1], "b": [0, 0, 1, 1]})
    found = solving_cost(votes, EC3(), 4)
    assert found.seconds > 0
    assert 1e3 < found.bytes < 1e7


def test_a_plan_reads_as_a_sentence():
    assert str(Plan(1_000_000, 4096, 0.4321, 12.3)) == "1,000,000 rows, 4,096 of them distinct: about 0.43 seconds and 12 GB."


@pytest.mark.parametrize(("argument", "value"), [("n_rows", 0), ("n_distinct", 0), ("n_classes", 1.5), ("n_clusterings", -1)])
def test_sizes_must_be_whole_numbers(argument, value):
    with pytest.raises(ValueError, match=f"{argument} must be"):
        plan(**{"n_rows": 10, argument: value})
