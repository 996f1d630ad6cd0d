"""All methods side by side: who differs, on which objects, and how often each is right."""

import re

import numpy as np
import pytest

from ec3learn import EC3, METHODS, DawidSkene, MajorityVote, Votes, WeightedVote, compare, plan
from ec3learn.diagnosis import held_out, judge
from ec3learn.methods import planning
from ec3learn.methods.planning import Plan, solving_cost


def noisy_votes(n=120, seed=0):
    """Five voters of falling quality on two classes, and a clustering that follows the classes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n)
    said = {
        f"v{j}": np.where(rng.random(n) < right, truth, 1 - truth)
        for j, right in enumerate((0.95, 0.8, 0.7, 0.6, 0.55))
    }
    return Votes.from_labels(said, {"km": np.where(rng.random(n) < 0.9, truth, 1 - truth)}), truth


def test_the_share_on_which_methods_disagree_is_counted_by_object():
    votes = Votes.from_labels(
        {"a": [0, 0, 1, 1, 0], "b": [0, 1, 1, 1, 0], "c": [0, 1, 0, 1, 1]},
        sample_weight=[1, 1, 1, 5, 2],
        weights=[5, 1, 1],
    )
    compared = compare(votes, methods={"weighted": WeightedVote(), "majority": MajorityVote()})
    by_hand = compared.answers["weighted"].labels() != compared.answers["majority"].labels()
    assert compared.disagreement == pytest.approx(by_hand @ votes.sample_weight / 10)
    assert compare(votes, methods={"once": "majority", "again": "majority"}).disagreement == 0


def test_by_default_every_method_answers_once():
    votes, _ = noisy_votes()
    compared = compare(votes, fast=True)
    assert [*compared.answers, *compared.refused] == list(METHODS)


def test_each_method_is_cross_validated_on_the_same_known_labels():
    votes, truth = noisy_votes()
    known = {i: int(truth[i]) for i in range(40)}
    methods = {"majority": MajorityVote(), "ds": DawidSkene(), "upe": METHODS["upe"]()}
    compared = compare(votes, known, methods)
    rows = {row["method"]: row for row in compared.table.rows()}
    for name in ("majority", "ds"):
        score = held_out(compared.answers[name], methods[name])
        assert (rows[name]["correct"], rows[name]["low"], rows[name]["high"]) == (
            score.accuracy,
            *score.interval,
        )
    without = judge(
        methods["upe"].solve(votes), known
    )  # it supports no known labels, and so has seen none of them
    assert rows["upe"]["correct"] == without.consensus.accuracy
    assert compared.table["correct"] == sorted(compared.table["correct"], reverse=True)
    assert "80 objects without a known label" in str(compared)
    assert "Cross-validated on 40 known labels, with 95 % intervals" in str(compared)


def test_few_known_labels_give_no_score():
    votes, truth = noisy_votes()
    compared = compare(votes, {0: int(truth[0])}, ["majority", "upe"])
    assert compared.scores == {}
    assert "correct" not in compared.table.columns


def test_true_labels_judge_every_method():
    votes, truth = noisy_votes()
    compared = compare(votes, methods=["majority", "dawid-skene"], truth=truth)
    right = {name: (answer.labels() == truth).mean() for name, answer in compared.answers.items()}
    assert dict(
        zip(compared.table["method"], compared.table["correct"], strict=True)
    ) == pytest.approx(right)


def test_disputed_objects_come_first_and_say_who_says_what():
    votes, _ = noisy_votes()
    compared = compare(votes, methods=["majority", "dawid-skene", "bgcm", "ebcc"])
    codes = np.stack([answer.labels() for answer in compared.answers.values()])
    against = np.minimum((codes == 0).sum(axis=0), (codes == 1).sum(axis=0))
    disputed = compared.disputed(1000)
    assert [against[i] for i in disputed["object"]] == sorted(
        (against[i] for i in disputed["object"]), reverse=True
    )
    assert sum(disputed["alike"]) == (against > 0).sum() > 0
    first = next(disputed.rows())
    names = [
        name
        for name, code in zip(compared.answers, codes[:, first["object"]], strict=True)
        if code == first["label"]
    ]
    assert f"{first['label']}: {', '.join(names)}" in first["who"]
    assert "majority" in names


def test_shares_of_pairs_and_methods_fit_together():
    votes, _ = noisy_votes()
    compared = compare(votes, methods=["majority", "dawid-skene", "bgcm"])
    majority, bgcm = (compared.answers[name].labels() for name in ("majority", "bgcm"))
    assert compared.pairs["bgcm"][0] == pytest.approx((majority != bgcm).mean())
    assert 0 < compared.divided == compared.disagreement  # one of three is over a quarter
    assert sum(compared.table["differs"]) >= compared.disagreement - 1e-9


def test_a_method_that_cannot_answer_is_left_out_with_the_reason():
    compared = compare(
        noisy_votes()[0], methods={"majority": "majority", "bad": DawidSkene(max_iter=-1)}
    )
    assert list(compared.answers) == ["majority"]
    assert "Left out: bad. max_iter must be an integer >= 1, got -1." in str(compared)


@pytest.mark.parametrize(
    ("methods", "sentence"),
    [
        (["majority", "ebcd"], "Unknown method 'ebcd'. Did you mean 'ebcc'?"),
        ("majority", "methods must be a list of methods or of their names, got 'majority'."),
        ([], "methods must name at least one method, got none."),
        (["majority", "majority"], "methods must not repeat, got ['majority', 'majority']."),
    ],
)
def test_wrong_methods_are_refused(methods, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        compare(noisy_votes()[0], methods=methods)


def test_wrong_labels_are_an_error_and_not_a_reason_to_leave_a_method_out():
    with pytest.raises(
        ValueError, match=re.escape("known must hold classes, [0, 1], got 7 for object 3")
    ):
        compare(noisy_votes()[0], {3: 7}, ["majority"])


# ---- plans ---------------------------------------------------------------------------------------


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
    filled = 3 * (30_000 - 1000) * 1e3  # bytes beyond those of the rows that were solved
    assert expected.seconds == pytest.approx(30 + 90 + filled / planning.FILLING)


def test_few_voters_have_as_many_distinct_rows_as_random_votes(by_rows):
    assert plan(1_000_000, n_classifiers=3, method=EC3()).distinct_rows == 8


@pytest.mark.parametrize(
    ("n_distinct", "different"), [(50, 50), (5_000, 1_000), (300_000, 1_200), (900_000, 1_600)]
)
def test_the_share_of_rows_that_differ_is_kept_where_rows_are_read(n_distinct, different):
    assert planning._n_different(1_000_000, n_distinct, 1_000, 4_000) == different


def test_what_solving_takes_is_measured():
    votes = Votes.from_labels({"a": [0, 1, 0, 1], "b": [0, 0, 1, 1]})
    found = solving_cost(votes, EC3().solve, 4)
    assert found.seconds > 0
    assert 1e3 < found.bytes < 1e7


def test_votes_that_exist_are_solved_in_part_and_scaled_up(by_rows, monkeypatch):
    solved = []
    monkeypatch.setattr(EC3, "solve", lambda self, votes: _Solved(votes.n_rows, solved))
    monkeypatch.setattr(
        planning._Cost,
        "of",
        classmethod(lambda cls, work: (work(), cls(solved[-1] / 1e3, solved[-1] * 1e3))[1]),
    )
    votes = Votes.from_labels(
        {f"k{m}": [(i >> m) & 1 for i in range(4096)] for m in range(12)},
        sample_weight=[2.0] * 4096,
    )
    seconds = 4.096 + 3096 * 1e3 / planning.FILLING
    assert planning.plan_votes(votes, EC3()) == Plan(
        8192, 4096, pytest.approx(seconds), pytest.approx(0.004096)
    )
    assert solved == [1000, 250]


def test_of_many_classes_fewer_votes_are_solved():
    rows = {n_classes: planning._most_rows(4, n_classes) for n_classes in (2, 10, 11, 50, 1000)}
    assert rows == {2: 1_250_000, 10: 1_250_000, 11: 619_834, 50: 30_000, 1000: 5_000}


@pytest.mark.parametrize(
    ("n_classes", "per_row", "seconds", "n_solved"),
    [(11, 0.1, 20, 1), (11, 0.02, 8, 2), (5, 0.1, 40, 2)],
)
def test_what_is_slow_because_of_many_classes_is_solved_once(
    monkeypatch, n_classes, per_row, seconds, n_solved
):
    solved = []
    monkeypatch.setattr(
        planning._Cost,
        "of",
        classmethod(lambda cls, work: (work(), cls(per_row * solved[-1], 0))[1]),
    )
    votes = Votes.from_labels(
        {"a": np.arange(100) % n_classes}, {f"k{m}": np.arange(100) >> m for m in range(7)}
    )
    assert solving_cost(
        votes, lambda part: solved.append(part.n_rows), 400
    ).seconds == pytest.approx(seconds)
    assert len(solved) == n_solved


@pytest.mark.parametrize(("seconds", "n_runs"), [(5.0, 1), (2.0, 2), (0.1, 3)])
def test_slow_work_is_not_run_again(monkeypatch, seconds, n_runs):
    runs = []
    monkeypatch.setattr(planning.time, "process_time", lambda: seconds * len(runs))
    assert planning._Cost.of(lambda: runs.append(0)).seconds == pytest.approx(seconds)
    assert len(runs) == n_runs


def test_more_distinct_rows_than_there_can_be_are_refused():
    words = "n_distinct must be at most 9, the rows that differ in so few votes and clusters, with missing ones, got 900,000."
    with pytest.raises(ValueError, match=re.escape(words)):
        plan(1_000_000, 900_000, n_classifiers=2, n_classes=2)


class _Solved:
    """A consensus that notes how many rows were solved when it is summed up."""

    def __init__(self, n_rows, solved):
        self.n_rows, self.solved = n_rows, solved

    def summary(self, method, fast):
        self.solved.append(self.n_rows)


@pytest.mark.parametrize(
    ("seconds", "gigabytes", "says"),
    [
        (0.4321, 12.3, "about 0.43 seconds and 12 GB."),
        (123.4, 0.0456, "about 123 seconds and 46 MB."),
        (0.0031, 0.00091, "less than 0.1 seconds and less than 1 MB."),
    ],
)
def test_a_plan_reads_as_a_sentence(seconds, gigabytes, says):
    assert (
        str(Plan(1_000_000, 4096, seconds, gigabytes))
        == f"1,000,000 rows, 4,096 of them distinct: {says}"
    )


@pytest.mark.parametrize(
    ("argument", "value"),
    [("n_rows", 0), ("n_distinct", 0), ("n_classes", 1.5), ("n_clusterings", -1)],
)
def test_sizes_must_be_whole_numbers(argument, value):
    with pytest.raises(ValueError, match=f"{argument} must be"):
        plan(**{"n_rows": 10, argument: value})


def test_methods_are_told_apart_by_their_log_loss_too():
    votes = Votes.from_labels({"a": [0, 0, 1, 1], "b": [0, 1, 1, 1], "c": [0, 0, 1, 0]})
    compared = compare(votes, methods=["majority"], truth=[0, 1, 1, 1])
    (row,) = compared.table.rows()
    assert row["log_loss"] == pytest.approx(-np.log([1, 1 / 3, 1, 2 / 3]).mean())
