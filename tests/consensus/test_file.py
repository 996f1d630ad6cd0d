"""The file of a consensus: whole or not at all; damaged, foreign and newer files are refused in clear words."""

import hashlib
import io
import json
import os
import re
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ec3learn import EC3, Consensus, Votes
from ec3learn.consensus.file import read_archive, write_archive


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
        contents["manifest.json"] = json.dumps({**json.loads(contents["manifest.json"]), **changes}).encode()

    rewritten(path, change)


def refused(path, message):
    return pytest.raises(ValueError, match=re.escape(f"{path} {message}"))


def test_facts_and_arrays_come_back(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([], dtype=np.int8), "c": np.asfortranarray(np.eye(3))}
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
    EC3(balanced=False).solve(w8).save(saved)
    assert Consensus.load(saved).settings["method"] == "EC3"
    assert os.listdir(saved.parent) == [saved.name]


def test_a_failed_save_leaves_the_older_file_as_it_was(saved):
    before = saved.read_bytes()
    with pytest.raises(ValueError, match=r"[Oo]bject arrays|allow_pickle"):
        write_archive(saved, {}, {"a": np.array([object()])})
    with pytest.raises(TypeError):
        write_archive(saved, {"x": object()}, {})
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_the_file_has_the_rights_of_an_ordinary_one(saved):
    ordinary = saved.parent / "ordinary"
    ordinary.write_text("")
    assert saved.stat().st_mode == ordinary.stat().st_mode


def test_a_file_holds_no_object(tmp_path):
    votes = Votes.from_long([f"patient {i}" for i in range(50)] * 2, ["ann"] * 50 + ["bob"] * 50, list("xy") * 50)
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
    rewritten(saved, lambda contents: contents.update({"facts.json": contents["facts.json"].replace(b"iEC3", b"jEC3")}))
    with refused(saved, "is damaged (the checksum of facts.json does not match). Save the consensus again."):
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
    with_manifest(saved, version=3)
    with refused(saved, "has format version 3, this ec3learn reads up to 2. Update ec3learn to read it."):
        Consensus.load(saved)


@pytest.mark.parametrize("change", [{"version": "two"}, {"version": None}, {"sha256": None}, {"sha256": {}}])
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
    with pytest.raises(FileNotFoundError, match=re.escape(f"path must lie in a folder that exists, got {path}.")):
        EC3().solve(w8).save(path)


@pytest.mark.parametrize("act", [lambda path: EC3().solve(Votes.from_labels([[0], [1]])).save(path), Consensus.load])
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
        monkeypatch.setattr(os, name, lambda *given, name=name, step=step: (steps.append(name), step(*given)))
    EC3().solve(w8).save(saved)
    EC3().solve(w8).report(saved.with_suffix(".html"))
    assert steps == ["fsync", "replace", "fsync", "replace"]


def test_a_file_that_was_signed_without_a_part_is_damaged(tmp_path, w8):
    path = tmp_path / "model.ec3"
    EC3().solve(w8).save(path)
    facts, arrays = read_archive(path)
    write_archive(path, facts, {name: array for name, array in arrays.items() if name != "weights"})
    with pytest.raises(ValueError, match=re.escape(f"{path} is damaged (weights is missing). Save the consensus again.")):
        Consensus.load(path)
