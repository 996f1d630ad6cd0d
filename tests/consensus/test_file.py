"""The file of a consensus: whole or not at all; damaged, foreign and newer files are refused in clear words."""

import hashlib
import io
import json
import os
import re
import tracemalloc
import warnings
import zipfile
from random import Random

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ec3learn import BGCM, BWA, EC3, UPE, Auto, Consensus, DawidSkene, MajorityVote, Scale, Votes
from ec3learn._checks import InputError
from ec3learn.consensus.file import VERSION, read_archive, write_archive


@pytest.fixture
def saved(tmp_path, w8):
    path = tmp_path / "w8.consensus"
    EC3().solve(w8).save(path)
    return path


def rewritten(path, change):
    """Change the contents of the archive (a dict of name -> bytes) and write it again."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    change(contents)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def with_manifest(path, **changes):
    def change(contents):
        contents["manifest.json"] = json.dumps(
            {**json.loads(contents["manifest.json"]), **changes}
        ).encode()

    rewritten(path, change)


def refused(path, message):
    return pytest.raises(ValueError, match=re.escape(f"{path} {message}"))


def test_facts_and_arrays_come_back(tmp_path):
    arrays = {
        "a": np.arange(6.0).reshape(2, 3),
        "b": np.array([], dtype=np.int8),
        "c": np.asfortranarray(np.eye(3)),
    }
    write_archive(tmp_path / "file", {"x": [1, None, "ü"]}, arrays)
    facts, read = read_archive(tmp_path / "file")
    assert facts == {"x": [1, None, "ü"]}
    for name, array in arrays.items():
        assert_array_equal(read[name], array)
        assert read[name].dtype == array.dtype


def test_the_format_is_open(saved):
    with zipfile.ZipFile(saved) as archive:
        assert json.loads(archive.read("manifest.json"))["format"] == "ec3learn consensus"
        assert json.loads(archive.read("facts.json"))["classes"] == [0, 1, 2]
        with archive.open("fallback.npy") as file:
            assert np.load(file, allow_pickle=False).shape == (3,)


def test_paths_may_be_text(saved, w8):
    assert len(Consensus.load(str(saved)).extend(w8).proba) == 8


def test_saving_replaces_an_older_file_and_leaves_nothing_behind(saved, w8):
    EC3(balanced=False).solve(w8).save(saved, overwrite=True)
    assert Consensus.load(saved).solution.settings["method"] == "EC3"
    assert os.listdir(saved.parent) == [saved.name]


def test_an_older_file_is_replaced_only_if_asked(saved, w8):
    before = saved.read_bytes()
    with pytest.raises(
        FileExistsError,
        match=re.escape(f"{saved} exists already. Pass overwrite=True to replace it."),
    ):
        EC3().solve(w8).save(saved)
    assert saved.read_bytes() == before


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_failed_save_leaves_the_older_file_as_it_was(saved, w8, monkeypatch, step):
    before, reached = saved.read_bytes(), []

    def fail(*given):
        reached.append([name for name in os.listdir(saved.parent) if name != saved.name])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        EC3(balanced=False).solve(w8).save(saved, overwrite=True)
    assert [len(parts) for parts in reached] == [1]  # a file was being written beside it
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_a_save_that_fails_while_writing_leaves_nothing_behind(saved, w8, monkeypatch):
    before = saved.read_bytes()

    class Full(io.FileIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdopen", Full)
    with pytest.raises(OSError, match="No space left"):
        EC3(balanced=False).solve(w8).save(saved, overwrite=True)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_what_can_not_be_written_is_refused_before_a_file_is_opened(saved):
    before = saved.read_bytes()
    with pytest.raises(ValueError, match=r"[Oo]bject arrays|allow_pickle"):
        write_archive(saved, {}, {"a": np.array([object()])}, overwrite=True)
    with pytest.raises(TypeError):
        write_archive(saved, {"x": object()}, {}, overwrite=True)
    assert saved.read_bytes() == before


def test_the_file_has_the_rights_of_an_ordinary_one(saved):
    ordinary = saved.parent / "ordinary"
    ordinary.write_text("")
    assert saved.stat().st_mode == ordinary.stat().st_mode


def test_a_file_holds_no_object(tmp_path):
    votes = Votes.from_long(
        [f"patient {i}" for i in range(50)] * 2, ["ann"] * 50 + ["bob"] * 50, list("xy") * 50
    )
    EC3().solve(votes).save(tmp_path / "file")
    facts, arrays = read_archive(tmp_path / "file")
    assert "patient" not in json.dumps(facts)
    assert all(50 not in array.shape for array in arrays.values())


def test_a_flipped_byte_is_found_or_changes_nothing(saved):
    whole = saved.read_bytes()
    facts, arrays = read_archive(saved)
    for place in [*range(0, len(whole) - 100, 17), *range(len(whole) - 100, len(whole))]:
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            read = read_archive(saved)
        except ValueError as error:
            assert str(saved) in str(error)
        else:
            assert read[0] == facts
            assert all(np.array_equal(read[1][name], array) for name, array in arrays.items())


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.999])
def test_a_file_cut_short_is_damaged(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with refused(saved, "is damaged"):
        Consensus.load(saved)


def test_changed_contents_do_not_match_their_checksum(saved):
    rewritten(
        saved,
        lambda contents: contents.update(
            {"facts.json": contents["facts.json"].replace(b"iEC3", b"jEC3")}
        ),
    )
    with refused(
        saved, "is damaged (the checksum of facts.json does not match). Save the consensus again."
    ):
        Consensus.load(saved)


@pytest.mark.parametrize("name", ["facts.json", "fallback.npy", "manifest.json"])
def test_a_missing_part_is_told_apart(saved, name):
    rewritten(saved, lambda contents: contents.pop(name))
    with pytest.raises(ValueError, match=re.escape(str(saved))):
        Consensus.load(saved)


def test_a_consensus_that_lacks_a_part_is_damaged_not_foreign(saved):
    rewritten(saved, lambda contents: contents.pop("fallback.npy"))
    with refused(saved, "is damaged"):
        Consensus.load(saved)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89PNG\r\n", b"{}"])
def test_a_file_of_another_kind_is_refused(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    with refused(path, "is not a consensus saved by ec3learn"):
        Consensus.load(path)


@pytest.mark.parametrize("manifest", [None, "[]", '"text"', "{}", '{"format": "other"}'])
def test_somebody_else_s_archive_is_refused(tmp_path, manifest):
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.txt" if manifest is None else "manifest.json", manifest or "hello")
    with refused(path, "is not a consensus saved by ec3learn."):
        Consensus.load(path)


def test_a_manifest_that_is_no_json_is_refused(saved):
    rewritten(saved, lambda contents: contents.update({"manifest.json": b"\xff\xfe{"}))
    with pytest.raises(ValueError, match=re.escape(str(saved))):
        Consensus.load(saved)


def test_a_newer_version_is_refused(saved):
    with_manifest(saved, version=5)
    with refused(
        saved, "has format version 5, this ec3learn reads version 4. Update ec3learn to read it."
    ):
        Consensus.load(saved)


def test_an_older_version_is_refused(saved):
    with_manifest(saved, version=3)
    with refused(
        saved, "has format version 3, this ec3learn reads version 4. Save the consensus again."
    ):
        Consensus.load(saved)


@pytest.mark.parametrize(
    "change", [{"version": "two"}, {"version": None}, {"sha256": None}, {"sha256": {}}]
)
def test_a_manifest_that_makes_no_sense_is_refused(saved, change):
    with_manifest(saved, **change)
    with pytest.raises(ValueError, match=re.escape(str(saved))):
        Consensus.load(saved)


def test_pickled_arrays_are_not_read(saved):
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"x": 1}], dtype=object), allow_pickle=True)

    def change(contents):
        manifest = json.loads(contents["manifest.json"])
        contents["weights.npy"] = buffer.getvalue()
        manifest["sha256"]["weights.npy"] = hashlib.sha256(buffer.getvalue()).hexdigest()
        contents["manifest.json"] = json.dumps(manifest).encode()

    rewritten(saved, change)
    with pytest.raises(ValueError, match=re.escape(str(saved))):
        Consensus.load(saved)


def test_a_file_that_is_not_there_is_an_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        Consensus.load(tmp_path / "nothing")


def test_saving_into_a_folder_that_is_not_there_is_an_ordinary_error(tmp_path, w8):
    with pytest.raises(FileNotFoundError):
        EC3().solve(w8).save(tmp_path / "no folder" / "file")


def test_a_folder_that_is_not_there_is_named(tmp_path, w8):
    path = tmp_path / "nowhere" / "model.ec3"
    with pytest.raises(
        FileNotFoundError, match=re.escape(f"path must lie in a folder that exists, got {path}.")
    ):
        EC3().solve(w8).save(path)


@pytest.mark.parametrize(
    "act", [lambda path: EC3().solve(Votes.from_labels([[0], [1]])).save(path), Consensus.load]
)
@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        (5, TypeError, "path must be the name of a file, got 5."),
        (None, TypeError, "path must be the name of a file, got None."),
        ("", IsADirectoryError, "path must be a file, got the folder ."),
    ],
)
def test_what_is_no_file_s_name_is_refused(act, path, error, words):
    with pytest.raises(error, match=re.escape(words)):
        act(path)


def test_a_file_is_on_the_disk_before_it_gets_its_name(saved, w8, monkeypatch):
    steps = []
    for name in ("fsync", "replace"):
        step = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *given, name=name, step=step: (steps.append(name), step(*given))
        )
    EC3().solve(w8).save(saved, overwrite=True)
    EC3().solve(w8).report(saved.with_suffix(".html"))
    assert steps == ["fsync", "replace", "fsync", "replace"]


def test_a_file_that_was_signed_without_a_part_is_damaged(tmp_path, w8):
    path = tmp_path / "model.ec3"
    EC3().solve(w8).save(path)
    facts, arrays = read_archive(path)
    write_archive(
        path,
        facts,
        {name: array for name, array in arrays.items() if name != "weights"},
        overwrite=True,
    )
    with pytest.raises(
        ValueError,
        match=re.escape(f"{path} is damaged (weights is missing). Save the consensus again."),
    ):
        Consensus.load(path)


# ---- files that were signed, but that `save` would not have written ------------------------------


def every_kind(w8):
    """A consensus of each kind of rule, with objects and with names, with clusterings and with a scale."""
    scores = Scale(range(4), unordered=["unsure"])
    graded = Votes.from_labels(
        {"g": [0, 3, "unsure", 1] * 3, "h": [1, 3, 2, None] * 3},
        {"k": ["x", "y", "y", "z"] * 3},
        classes=["n", "y"],
        scale=scores,
    )
    long = Votes.from_long(
        ["q1", "q1", "q2", "q3"], ["ann", "bob", "ann", "bob"], ["yes", "no", "yes", "no"]
    )
    methods = [
        EC3(),
        EC3(towards=DawidSkene()),
        BGCM(),
        MajorityVote(),
        DawidSkene(),
        DawidSkene(one_coin=True),
        BWA(),
        UPE(random_state=0),
        Auto(),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [method.solve(votes) for method in methods for votes in (w8, long)] + [
            Auto().solve(graded),
            EC3().solve(w8, known={0: 1}),
        ]


@pytest.mark.parametrize("objects", [False, True])
def test_everything_that_is_saved_is_loaded(tmp_path, w8, objects):
    for place, consensus in enumerate(every_kind(w8)):
        path = tmp_path / str(place)
        consensus.save(path, objects=objects)
        loaded = Consensus.load(path)
        assert repr(loaded.solution.settings) == repr(dict(consensus.solution.settings))
        if objects:
            assert_array_equal(loaded.proba, consensus.proba)
        loaded.save(tmp_path / f"{place} again", objects=objects)
        assert read_archive(tmp_path / f"{place} again")[0].keys() == read_archive(path)[0].keys()


def use(loaded, votes):
    """Ask a loaded consensus for everything it can answer, and check it."""
    if loaded.solution.has_objects:
        assert_distributions(loaded.proba)
    assert_distributions(loaded.group_proba)
    assert np.isfinite(loaded.weights).all()
    str(loaded), loaded._repr_html_(), loaded.voters()
    if loaded.solution.rule is not None:
        try:
            assert_distributions(loaded.extend(votes).proba)
        except InputError as error:  # one weight may be so large that all others count for nothing
            assert str(error).startswith("The answer is no distribution")


def assert_distributions(table):
    assert (table >= 0).all()
    assert np.allclose(table.sum(axis=1), 1, rtol=0, atol=1e-5)


BROKEN_NUMBERS = [np.nan, np.inf, -np.inf, -1.0, 2.0, 1e299, -1e-3, 0.0, 1e-320]


def changed_array(random, array):
    """Return an array with another number, shape, type or length."""
    array = array.copy()
    how = random.randrange(6)
    if how <= 2 and array.size:
        array.flat[random.randrange(array.size)] = random.choice(
            BROKEN_NUMBERS if array.dtype.kind == "f" else [0, 1, 2, 99, 120]
        )
        return array
    if how == 3:
        return array[: random.randrange(len(array) + 1)] if array.ndim else array
    if how == 4:
        return random.choice(
            [
                array.reshape(-1),
                array[None],
                np.concatenate([array, array]),
                array * 2 if array.dtype.kind != "b" else ~array,
            ]
        )
    return array.astype(
        random.choice(
            [np.float32, np.int64, np.int8, np.uint64, np.bool_, np.complex128, "S4", ">f8"]
        )
    )


def changed_fact(random, value):
    """Return a fact of which something, at any depth, is something else."""
    if isinstance(value, dict) and value and random.random() < 0.8:
        name = random.choice(sorted(value))
        if random.random() < 0.2:
            return {key: own for key, own in value.items() if key != name}
        return value | {name: changed_fact(random, value[name])}
    if isinstance(value, list) and value and random.random() < 0.8:
        place = random.randrange(len(value))
        return (
            value[:place]
            + random.choice([[], [changed_fact(random, value[place])], [value[place]] * 2])
            + value[place + 1 :]
        )
    return random.choice(
        [
            None,
            True,
            0,
            -1,
            2**70,
            0.5,
            float("nan"),
            "",
            "x",
            [],
            {},
            [[]],
            {"x": 1},
            "classifier",
            "clustering",
        ]
    )


@pytest.mark.filterwarnings("ignore")
def test_a_file_signed_by_somebody_else_is_valid_or_refused(tmp_path, w8):
    random, path, accepted = Random(0), tmp_path / "signed.ec3", 0
    originals = []
    for consensus in every_kind(w8):
        consensus.save(path, objects=True, overwrite=True)
        originals.append((*read_archive(path), consensus.solution.votes))
    for _ in range(1500):
        facts, arrays, votes = random.choice(originals)
        if random.random() < 0.3:
            facts = changed_fact(random, facts)
        else:
            name = random.choice(sorted(arrays))
            arrays = arrays | {name: changed_array(random, arrays[name])}
        sign(path, facts, arrays)
        try:
            loaded = Consensus.load(path)
        except InputError as error:
            assert str(error).startswith(f"{path} is damaged (")
            continue
        use(loaded, votes)
        accepted += 1
    assert 0 < accepted < 600  # a change may well make another valid file, such as another weight


@pytest.mark.filterwarnings(
    "ignore::ec3learn.ExtendWarning"
)  # of base models that are missing or were never seen
@pytest.mark.parametrize("method", [EC3(), DawidSkene(), MajorityVote()])
def test_answers_for_new_objects_of_other_voters_can_be_saved_and_loaded(tmp_path, method):
    consensus = method.solve(
        Votes.from_labels({"svm": [0, 1, 1], "knn": [0, 1, 0], "tree": [0, 1, 1]})
    )
    extended = consensus.extend(Votes.from_labels({"knn": [1, 0], "new": [0, 0]}))
    extended.save(tmp_path / "new.ec3", objects=True)
    loaded = Consensus.load(tmp_path / "new.ec3")
    assert loaded.labels().tolist() == extended.labels().tolist()
    assert loaded.voters()["model"] == extended.voters()["model"] == ["knn", "new"]
    loaded.report(tmp_path / "new.html")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("high", "x"),
        ("coverage", None),
        ("weight", "1"),
        ("weight", -1.0),
        ("agreement", 1.5),
        ("labels", 10**400),
        ("kind", ""),
    ],
)
def test_a_table_of_voters_that_is_none_is_refused(tmp_path, w8, column, value):
    path = tmp_path / "signed.ec3"
    EC3().solve(w8).save(path, objects=True)
    facts, arrays = read_archive(path)
    facts["voters"][column][0] = value
    sign(path, facts, arrays)
    with pytest.raises(InputError, match=re.escape(f"{path} is damaged (")):
        Consensus.load(path)
    del facts["voters"][column]
    sign(path, facts, arrays)
    with pytest.raises(InputError, match=re.escape("voters is not what ec3learn writes")):
        Consensus.load(path)


def test_an_array_of_another_type_is_refused_though_its_shape_is_right(tmp_path, w8):
    path = tmp_path / "signed.ec3"
    DawidSkene().solve(w8).save(path, objects=True)
    facts, arrays = read_archive(path)
    for name, array in arrays.items():
        other = array.astype(np.float64 if array.dtype.kind in "iub" else np.complex128)
        sign(path, facts, arrays | {name: other})
        with pytest.raises(InputError, match=r" is damaged \("):
            Consensus.load(path)


def sign(path, facts, arrays):
    """Write an archive with valid checksums, whatever is in it."""
    contents = {"facts.json": json.dumps(facts).encode()}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        contents[f"{name}.npy"] = buffer.getvalue()
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    contents["manifest.json"] = json.dumps(
        {"format": "ec3learn consensus", "version": VERSION, "sha256": checksums}
    ).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("name", "number", "reason"),
    [
        ("row_proba", np.nan, "row_proba"),
        ("row_proba", -0.5, "row_proba"),
        ("row_proba", 2.3e299, "row_proba"),
        ("group_table", 1.17, "group_table"),
        ("weights", -1.0, "weights"),
        ("term0_weight", np.inf, "term0_weight"),
        ("index", 200, "index"),
        ("group_order", 99, "group_order"),
    ],
)
def test_a_signed_number_that_makes_no_sense_is_named(tmp_path, w8, name, number, reason):
    path = tmp_path / "signed.ec3"
    EC3().solve(w8[[0, 1, 2, 3, 4, 5, 6, 7, 7]]).save(path, objects=True)
    facts, arrays = read_archive(path)
    arrays[name] = arrays[name].copy()
    arrays[name].flat[0] = number
    sign(path, facts, arrays)
    with refused(
        path, f"is damaged ({reason} is not what ec3learn writes). Save the consensus again."
    ):
        Consensus.load(path)


def test_a_small_file_does_not_unfold_into_a_large_one(saved):
    facts, arrays = read_archive(saved)
    sign(saved, facts, arrays | {"fallback": np.zeros(20_000_000)})
    assert saved.stat().st_size < 300_000
    tracemalloc.start()
    try:
        with refused(saved, "is damaged (it would unfold into more than"):
            Consensus.load(saved)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


def test_an_array_that_claims_to_be_large_is_refused_before_it_is_made(saved):
    def change(contents):
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
        )
        contents["weights.npy"] = header.getvalue()
        manifest = json.loads(contents["manifest.json"])
        manifest["sha256"]["weights.npy"] = hashlib.sha256(header.getvalue()).hexdigest()
        contents["manifest.json"] = json.dumps(manifest).encode()

    rewritten(saved, change)
    with refused(saved, "is damaged (an array is not what ec3learn writes)"):
        Consensus.load(saved)


def test_what_is_nearly_empty_is_stored_so_that_it_can_be_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr("ec3learn.consensus.file._most_bytes", lambda size: 100 * size)
    write_archive(tmp_path / "file", {}, {"a": np.zeros(100_000)})
    assert len(read_archive(tmp_path / "file")[1]["a"]) == 100_000


def test_parts_that_nobody_asked_for_are_refused(saved):
    facts, arrays = read_archive(saved)
    sign(saved, facts, arrays | {"more": np.zeros(3)})
    with refused(saved, "is damaged (more is not what ec3learn writes)"):
        Consensus.load(saved)
    rewritten(saved, lambda contents: contents.update({"unsigned.npy": b""}))
    with refused(saved, "is damaged (the list of parts is not what ec3learn writes)"):
        Consensus.load(saved)


def test_half_of_a_pair_of_surrogates_comes_back(tmp_path):
    votes = Votes.from_labels({"a\ud800": ["\ud801", "b"], "ü": ["b", "b"]})
    EC3().solve(votes).save(tmp_path / "file", objects=True)
    loaded = Consensus.load(tmp_path / "file")
    assert loaded.classes.tolist() == ["b", "\ud801"]
    assert [model.name for model in loaded.solution.models] == ["a\ud800", "ü"]
