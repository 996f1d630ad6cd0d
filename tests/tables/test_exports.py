"""Exports of annotation tools: what was said by whom about what, and which files are refused in which words."""

import json
import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ec3learn import combine
from ec3learn._checks import InputError
from ec3learn.tables import read_argilla, read_label_studio
from ec3learn.tables.columns import Naming
from ec3learn.tables.files import combine_file, open_file

SAID = ["id", "annotator", "mood"]

pytestmark = pytest.mark.filterwarnings("ignore:.* have no annotation that votes")


def rows_of(table, columns=SAID):
    return [list(row) for row in table.select(columns).rows()]


# ---- Label Studio --------------------------------------------------------------------------------


def choice(question, *labels):
    return {
        "id": "r1",
        "from_name": question,
        "to_name": "text",
        "type": "choices",
        "value": {"choices": list(labels)},
    }


def annotation(annotator, *results, **others):
    plain = {
        "id": 5,
        "was_cancelled": False,
        "ground_truth": False,
        "lead_time": 2.5,
        "created_at": "2024-05-17T08:00:00Z",
    }
    return plain | {"completed_by": annotator, "result": list(results)} | others


def task(number, *annotations, predictions=(), **data):
    return {
        "id": number,
        "data": data,
        "annotations": list(annotations),
        "predictions": list(predictions),
        "drafts": [],
    }


def label_studio(tasks, **options):
    return read_label_studio(tasks, backend="polars", **options)


def test_each_annotation_of_label_studio_is_a_row():
    tasks = [
        task(
            1,
            annotation(7, choice("mood", "good")),
            annotation(8, choice("mood", "bad")),
            text="fine",
            meta={"x": 1},
        ),
        task(2, annotation(7, choice("mood", "bad")), text="rain"),
    ]
    table = label_studio(tasks)
    assert table.columns == ["text", "id", "annotator", "mood"]
    assert table.rows() == [
        ("fine", 1, "7", "good"),
        ("fine", 1, "8", "bad"),
        ("rain", 2, "7", "bad"),
    ]


def test_skipped_annotations_and_what_is_said_about_regions_are_no_votes():
    region = choice("mood", "bad")
    region["value"] |= {"start": 0, "end": 4, "text": "fine"}
    relation = {"from_id": "a", "to_id": "b", "type": "relation", "direction": "right"}
    text = {
        "from_name": "why",
        "to_name": "text",
        "type": "textarea",
        "value": {"text": ["because"]},
    }
    skipped = annotation(8, choice("mood", "bad"), was_cancelled=True)
    table = label_studio(
        [task(1, annotation(7, region, relation, text, choice("mood", "good")), skipped)]
    )
    assert table.rows() == [(1, "7", "good")]


def test_tasks_without_a_vote_are_counted():
    region = {"from_name": "box", "type": "rectanglelabels", "value": {"x": 1}}
    tasks = [
        task(1, annotation(7, choice("mood", "good"))),
        task(2),
        task(3, annotation(7, region)),
    ]
    with pytest.warns(UserWarning, match="2 of 3 items in source have no annotation that votes"):
        assert label_studio(tasks)["id"].to_list() == [1, 3]
    with pytest.raises(
        ValueError, match=r"got 1 item without any, of rectanglelabels only\. What can"
    ):
        label_studio(tasks[2:])


@pytest.mark.parametrize(
    ("kind", "value", "answer"),
    [
        ("rating", {"rating": 4}, 4),
        ("number", {"number": 7}, 7),
        ("pairwise", {"selected": "left"}, "left"),
    ],
)
def test_ratings_numbers_and_comparisons_are_votes(kind, value, answer):
    result = {"from_name": "mood", "to_name": "text", "type": kind, "value": value}
    assert rows_of(label_studio([task(1, annotation(7, result))])) == [[1, "7", answer]]


def test_a_question_with_several_choices_is_a_question_for_each_choice():
    tasks = [
        task(
            1,
            annotation(7, choice("topics", "sport", "news")),
            annotation(8, choice("topics", "sport")),
            annotation(9),
        )
    ]
    table = label_studio(tasks)
    assert table.select("topics=news", "topics=sport").rows() == [
        (True, True),
        (False, True),
        (None, None),
    ]


def test_several_choices_at_once_have_one_consensus_with_all_that_were_chosen():
    said = [("sport", "news"), ("sport",), ("news", "sport")]
    tasks = [task(1, *(annotation(7 + i, choice("topics", *each)) for i, each in enumerate(said)))]
    how = {"objects": "id", "voters": "annotator", "classifiers": "topics", "method": "majority"}
    answered = combine(label_studio(tasks), **how, separator=",", per_object=True)
    assert answered["consensus"].to_list() == ["news,sport"]


def test_a_ground_truth_is_a_known_label_and_no_vote():
    tasks = [
        task(
            1,
            annotation(7, choice("mood", "bad")),
            annotation(9, choice("mood", "good"), ground_truth=True),
        ),
        task(2, annotation(7, choice("mood", "good"))),
        task(3, annotation(9, choice("mood", "bad"), ground_truth=True)),
    ]
    table = label_studio(tasks)
    assert rows_of(table, [*SAID, "mood_known"]) == [
        [1, "7", "bad", "good"],
        [2, "7", "good", None],
        [3, "9", None, "bad"],
    ]
    answers = combine(
        table,
        objects="id",
        voters="annotator",
        classifiers="mood",
        known="mood_known",
        method="majority",
    )
    assert answers["consensus"].to_list() == ["good", "good", "bad"]


def test_predictions_vote_if_asked_to():
    predictions = [
        {"id": 3, "model_version": "bert", "score": 0.9, "result": [choice("mood", "bad")]}
    ]
    tasks = [task(1, annotation(7, choice("mood", "good")), predictions=predictions)]
    assert rows_of(label_studio(tasks)) == [[1, "7", "good"]]
    assert rows_of(label_studio(tasks, predictions=True)) == [[1, "7", "good"], [1, "bert", "bad"]]


def test_annotators_exported_in_full_go_by_their_address():
    tasks = [
        task(
            1,
            annotation(
                {"id": 7, "email": "ann@example.org", "first_name": "Ann"}, choice("mood", "good")
            ),
        )
    ]
    assert rows_of(label_studio(tasks)) == [[1, "ann@example.org", "good"]]


TASKS = [
    task(
        1,
        annotation(7, choice("mood", "good"), choice("topics", "a", "b")),
        annotation(8, choice("mood", "bad")),
        text="[hm",
    ),
    task(2, annotation(7, choice("mood", "bad"), choice("topics", "a")), text="{no JSON"),
]
TASKS[0]["annotations"][1]["result"].append(
    {"from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": 2}}
)


def test_a_file_and_the_tasks_in_it_are_one(tmp_path):
    (tmp_path / "full.json").write_text(json.dumps(TASKS), encoding="utf-8-sig")
    columns = ["text", "annotator", "mood", "topics=a", "topics=b", "stars"]
    expected = [
        ["[hm", "7", "good", True, True, None],
        ["[hm", "8", "bad", None, None, 2],
        ["{no JSON", "7", "bad", True, False, None],
    ]
    for source in (TASKS, tmp_path / "full.json"):
        assert rows_of(label_studio(source), columns) == expected


def test_values_of_several_types_become_text():
    table = label_studio(
        [
            task(1, annotation(7, choice("mood", "good")), source=5, size=1, large=2**70),
            task(2, annotation(7, choice("mood", "bad")), source="web", size=1.5),
        ]
    )
    assert table["source"].to_list() == ["5", "web"]
    assert table["size"].to_list() == [1.0, 1.5]
    assert table["large"].to_list() == [str(2**70), None]


# ---- Argilla -------------------------------------------------------------------------------------

NESTED = [
    {
        "id": "r1",
        "fields": {"text": "fine"},
        "metadata": {"source": "web"},
        "suggestions": {"mood": {"value": "bad", "score": 0.7, "agent": "gpt"}},
        "responses": {
            "mood": [{"value": "good", "user_id": "ann"}, {"value": "bad", "user_id": "bob"}],
            "stars": [{"value": 4, "user_id": "ann"}],
            "topics": [{"value": ["a", "b"], "user_id": "ann"}, {"value": ["b"], "user_id": "bob"}],
            "order": [{"value": [{"value": "x", "rank": 1}], "user_id": "ann"}],
        },
        "vectors": {},
        "status": "pending",
        "_server_id": None,
    },
    {
        "id": "r2",
        "fields": {"text": "rain"},
        "metadata": {},
        "suggestions": {},
        "responses": {},
        "vectors": {},
    },
]


def test_each_user_of_a_record_of_argilla_is_a_row():
    table = read_argilla(NESTED, backend="polars")
    assert table.columns == ["text", "source", *SAID, "stars", "topics", "topics=a", "topics=b"]
    assert table.rows() == [
        ("fine", "web", "r1", "ann", "good", 4, ["a", "b"], True, True),
        ("fine", "web", "r1", "bob", "bad", None, ["b"], False, True),
    ]


def test_suggestions_vote_if_asked_to():
    expected = [["r1", "ann", "good"], ["r1", "bob", "bad"], ["r1", "gpt", "bad"]]
    assert rows_of(read_argilla(NESTED, suggestions=True, backend="polars")) == expected


@pytest.mark.filterwarnings("ignore")
def test_records_that_argilla_makes_are_read():
    rg = pytest.importorskip("argilla", reason="argilla is not installed")
    users = ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"]
    responses = [
        rg.Response("mood", label, user_id=user)
        for user, label in zip(users, ["good", "bad"], strict=True)
    ]
    suggestions = [rg.Suggestion("mood", "bad", agent="gpt")]
    record = rg.Record(
        id="r1", fields={"text": "fine"}, responses=responses, suggestions=suggestions
    )
    table = read_argilla([record.to_dict()], suggestions=True, backend="polars")
    assert rows_of(table) == [
        ["r1", users[0], "good"],
        ["r1", users[1], "bad"],
        ["r1", "gpt", "bad"],
    ]


# ---- the command, and what is refused ------------------------------------------------------------


@pytest.mark.parametrize(("tool", "items"), [("label-studio", TASKS), ("argilla", NESTED)])
def test_the_command_reads_an_export_as_the_library_does(tmp_path, tool, items):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(items), encoding="utf-16")
    read = {"label-studio": read_label_studio, "argilla": read_argilla}[tool]
    naming = Naming("mood", objects="id", voters="annotator", missing=())
    with open_file(str(path), format=tool, encoding="utf-16") as table:
        answered = combine_file(table, naming, "majority", prefix="")
        answered.write(str(tmp_path / "out.csv"))
    written = pl.read_csv(tmp_path / "out.csv")
    expected = combine(
        read(items, backend="polars"),
        objects="id",
        voters="annotator",
        classifiers="mood",
        method="majority",
    )
    assert written.columns == expected.columns
    assert written["consensus"].to_list() == expected["consensus"].to_list()


@pytest.mark.parametrize(
    ("read", "content", "words"),
    [
        (
            read_label_studio,
            b'[{"id": 1',
            "must be an export of Label Studio: Expecting ',' delimiter",
        ),
        (
            read_label_studio,
            b"\xff\xfe[]",
            "must be an export of Label Studio: Expecting value",
        ),
        (read_label_studio, b"[" * 100_000, "must be an export of Label Studio: "),
        (
            read_label_studio,
            json.dumps([TASKS[0], {"text": "x"}]).encode(),
            "must be an export of Label Studio: an item is not as Label Studio writes it. Export it as JSON",
        ),
        (
            read_label_studio,
            b"[5]",
            "must be an export of Label Studio: an item is not as Label Studio writes it.",
        ),
        (
            read_label_studio,
            b"[]",
            "must have annotations with labels or ratings, got 0 items",
        ),
        (
            read_label_studio,
            json.dumps(task(1, annotation(7))).encode(),
            "labels or ratings, got 1 item without any.",
        ),
        (read_argilla, b"no JSON", "must be an export of Argilla: Expecting value"),
        (
            read_argilla,
            json.dumps(TASKS).encode(),
            "must be an export of Argilla: an item is not as Argilla writes it. Export it by",
        ),
        (
            read_argilla,
            b'[{"id": 1, "responses": [5]}]',
            "must be an export of Argilla: an item is not as Argilla writes it.",
        ),
    ],
)
def test_what_is_no_export_is_refused_in_one_sentence(tmp_path, read, content, words):
    path = tmp_path / "export.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(words)) as refused:
        read(path)
    assert str(refused.value).startswith(f"{path} ")
    assert "\n" not in str(refused.value)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(["choices", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "id",
                    "data",
                    "annotations",
                    "annotator",
                    "result",
                    "value",
                    "responses",
                    "type",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("read", [read_label_studio, read_argilla])
@given(st.lists(JSON, max_size=3))
@settings(max_examples=100)
def test_any_json_is_a_table_or_is_refused(read, items):
    try:
        table = read(items, backend="pyarrow")
    except InputError:
        return
    assert table.column_names
