"""A consensus back in annotation tools: what the tools' own libraries read, and in which order."""

import json

import pytest

from ec3learn import InputError, MajorityVote, Votes, solve, votes_from
from ec3learn.tables import (
    argilla_suggestions,
    label_studio_predictions,
    read_argilla,
    read_label_studio,
)

CONFIG = """<View><Text name="text" value="$text"/><Choices name="mood" toName="text">
<Choice value="good"/><Choice value="bad"/></Choices><Rating name="stars" toName="text"/></View>"""


def result(question, kind, value):
    return {"from_name": question, "to_name": "text", "type": kind, "value": value}


def task(number, *moods):
    """A task that has a mood, and a rating, by each annotator."""
    return {
        "id": number,
        "data": {"text": f"text {number}"},
        "annotations": [
            {
                "completed_by": j,
                "result": [
                    result("mood", "choices", {"choices": [mood]}),
                    result("stars", "rating", {"rating": 4 if mood == "good" else 2}),
                ],
            }
            for j, mood in enumerate(moods)
        ],
    }


TASKS = [
    task(1, "good", "good", "good"),
    task(2, "good", "bad", "bad"),
    task(3, "bad", "bad", "bad"),
]


def consensus_of(tasks, question="mood"):
    table = read_label_studio(tasks)
    return solve(votes_from(table, objects="id", voters="annotator", classifiers=question))


def test_each_task_gets_the_answer_and_its_confidence():
    consensus = consensus_of(TASKS)
    back = label_studio_predictions(consensus, TASKS, "mood")
    assert [each["id"] for each in back] == [1, 2, 3]
    assert back[1]["data"] == {"text": "text 2"}
    predictions = [each["predictions"][0] for each in back]
    assert [p["result"][0]["value"] for p in predictions] == [
        {"choices": [label]} for label in ("good", "bad", "bad")
    ]
    assert [p["score"] for p in predictions] == consensus.confidence.tolist()


def test_a_rating_stays_a_number():
    back = label_studio_predictions(consensus_of(TASKS, "stars"), TASKS, "stars")
    assert back[0]["predictions"][0]["result"][0]["value"] == {"rating": 4}


def test_tasks_to_label_next_come_in_the_order_of_ask_and_a_file_is_read(tmp_path):
    consensus = consensus_of(TASKS)
    (tmp_path / "export.json").write_text(json.dumps(TASKS))
    back = label_studio_predictions(consensus, tmp_path / "export.json", "mood", n=2)
    assert [each["id"] for each in back] == list(consensus.ask(2)["object"])
    assert back[0]["id"] == 2  # the one that is contested


def test_predictions_are_votes_when_the_export_is_read_again():
    back = label_studio_predictions(consensus_of(TASKS), TASKS, "mood")
    both = [
        each | {"annotations": old["annotations"]} for each, old in zip(back, TASKS, strict=True)
    ]
    table = read_label_studio(both, predictions=True)
    assert table[table["annotator"] == "ec3learn"]["mood"].tolist() == ["good", "bad", "bad"]


def test_label_studio_takes_the_predictions():
    sdk = pytest.importorskip("label_studio_sdk.label_interface")
    for each in label_studio_predictions(consensus_of(TASKS), TASKS, "mood"):
        assert sdk.LabelInterface(CONFIG).validate_prediction(each["predictions"][0])


def test_a_question_that_nobody_answered_is_refused():
    with pytest.raises(InputError, match=r"question must be a question with choices.*got 'tone'"):
        label_studio_predictions(consensus_of(TASKS), TASKS, "tone")


RECORDS = [
    {
        "id": f"r{i}",
        "fields": {"text": "fine"},
        "metadata": {"source": "web"},
        "responses": {
            "mood": [{"value": mood, "user_id": f"u{j}"} for j, mood in enumerate(moods)]
        },
        "suggestions": {},
    }
    for i, moods in enumerate(
        [("good", "good", "good"), ("good", "bad", "bad"), ("bad", "bad", "bad")]
    )
]


def argilla_consensus():
    table = read_argilla(RECORDS)
    return solve(votes_from(table, objects="id", voters="annotator", classifiers="mood"))


def test_each_record_gets_a_suggestion_and_keeps_what_it_is():
    consensus = argilla_consensus()
    back = argilla_suggestions(consensus, RECORDS, "mood")
    assert set(back[0]) == {"id", "fields", "metadata", "suggestions"}  # responses stay in Argilla
    assert [each["suggestions"]["mood"]["value"] for each in back] == ["good", "bad", "bad"]
    assert [each["id"] for each in argilla_suggestions(consensus, RECORDS, "mood", n=1)] == ["r1"]


def test_argilla_reads_the_records():
    argilla = pytest.importorskip("argilla")
    for each in argilla_suggestions(argilla_consensus(), RECORDS, "mood"):
        suggestion = argilla.Record.from_dict(each).suggestions["mood"]
        said = each["suggestions"]["mood"]
        assert (suggestion.value, suggestion.score) == (said["value"], said["score"])


def test_answers_without_names_cannot_go_back():
    unnamed = MajorityVote().solve(Votes.from_labels({"ann": ["good"], "bob": ["bad"]}))
    with pytest.raises(InputError, match="consensus must have the names of its objects"):
        argilla_suggestions(unnamed, RECORDS, "mood")
