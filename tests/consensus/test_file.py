"""The file of a consensus: whole or not at all; damaged, foreign and newer files are refused in clear words."""

import io
import json
import os
import re
import warnings
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ec3learn import BGCM, BWA, EC3, UPE, Consensus, DawidSkene, MajorityVote, Panel, Scale, Votes
from ec3learn.consensus.file import VERSION

REFUSED = "is not a consensus that this version of ec3learn can load"


@pytest.fixture
def saved(tmp_path, w8):
    path = tmp_path / "w8.consensus"
    EC3().solve(w8).save(path)
    return path


def refused(path, message):
    return pytest.raises(ValueError, match=re.escape(f"{path} {message}"))


def rewritten(path, change):
    """Change the contents of the archive (a dict of name -> bytes) and write it again."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    change(contents)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def with_facts(path, **changes):
    def change(contents):
        with np.load(path) as archive:
            facts = json.loads(bytes(archive["facts"])) | changes
        contents["facts.npy"] = npy(np.frombuffer(json.dumps(facts).encode(), np.uint8))

    rewritten(path, change)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


# ---- saving --------------------------------------------------------------------------------------


def test_the_format_is_open(saved):
    with np.load(saved, allow_pickle=False) as archive:
        facts = json.loads(bytes(archive["facts"]))
        assert facts["solution"]["settings"]["method"] == "iEC3"
        name = facts["solution"]["weights"]["name"]
        assert archive[name].shape == (len(facts["solution"]["models"]),)


def test_a_file_holds_no_object(tmp_path):
    votes = Votes.from_long(
        [f"patient {i}" for i in range(50)] * 2, ["ann"] * 50 + ["bob"] * 50, list("xy") * 50
    )
    EC3().solve(votes).save(tmp_path / "file")
    with np.load(tmp_path / "file") as archive:
        assert not any(b"patient" in archive[name].tobytes() for name in archive)
        assert all(50 not in archive[name].shape for name in archive)


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


# ---- what is no saved consensus ------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.999])
def test_a_file_cut_short_is_damaged(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with refused(saved, REFUSED):
        Consensus.load(saved)


def test_a_flipped_byte_is_found_or_changes_nothing(saved, w8):
    whole, answer = saved.read_bytes(), Consensus.load(saved).extend(w8).proba
    for place in range(0, len(whole), 97):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            loaded = Consensus.load(saved)
        except ValueError as error:
            assert str(saved) in str(error)
        else:
            assert_array_equal(loaded.extend(w8).proba, answer)


def test_a_missing_part_is_named(saved):
    rewritten(saved, lambda contents: contents.pop("array0.npy"))
    with refused(saved, f"{REFUSED}: array0 is not a file in the archive"):
        Consensus.load(saved)


def test_pickled_arrays_are_not_read(saved):
    class Trap:
        def __reduce__(self):
            return print, ("executed",)

    trap = npy(np.array([Trap()], dtype=object))
    rewritten(saved, lambda contents: contents.update({"array0.npy": trap}))
    with refused(saved, f"{REFUSED}: Object arrays cannot be loaded"):
        Consensus.load(saved)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89PNG\r\n"])
def test_a_file_of_another_kind_is_refused(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with refused(tmp_path / "file", f"{REFUSED}: File is not a zip file. Save the"):
        Consensus.load(tmp_path / "file")


def test_somebody_else_s_archive_is_refused(tmp_path):
    np.savez(tmp_path / "file.npz", a=np.zeros(3))
    with refused(tmp_path / "file.npz", f"{REFUSED}: facts is not a file in the archive"):
        Consensus.load(tmp_path / "file.npz")


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
def test_another_version_is_refused(saved, version):
    with_facts(saved, version=version)
    with refused(saved, f"{REFUSED}: its format is {version}, not {VERSION}. Save the"):
        Consensus.load(saved)


def test_a_file_that_is_not_there_is_an_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        Consensus.load(tmp_path / "nothing")


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
        (5, TypeError, "path must be the name of a file, without NUL, got 5."),
        (None, TypeError, "path must be the name of a file, without NUL, got None."),
        ("", ValueError, "path must be the name of a file, without NUL, got ''."),
    ],
)
def test_what_is_no_file_s_name_is_refused(act, path, error, words):
    with pytest.raises(error, match=re.escape(words)):
        act(path)


# ---- what comes back -----------------------------------------------------------------------------


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
        Panel(),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [method.solve(votes) for method in methods for votes in (w8, long)] + [
            Panel().solve(graded),
            EC3().solve(w8, known={0: 1}),
        ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("objects", [False, True])
def test_everything_that_is_saved_is_loaded(tmp_path, w8, objects):
    for place, consensus in enumerate(every_kind(w8)):
        path, solution = tmp_path / str(place), consensus.solution
        consensus.save(path, objects=objects)
        loaded = Consensus.load(path)
        assert repr(loaded.solution.settings) == repr(dict(solution.settings))
        assert loaded.voters().columns == consensus.voters().columns
        if objects:
            assert_array_equal(loaded.proba, consensus.proba)
        if solution.rule is not None and solution.votes.prior is None:
            answers = (one.extend(solution.votes).proba for one in (loaded, consensus))
            assert_array_equal(*answers)
        loaded.save(path, objects=objects, overwrite=True)
        assert_array_equal(Consensus.load(path).group_proba, consensus.group_proba)


@pytest.mark.filterwarnings(
    "ignore::ec3learn.answer.ExtendWarning"
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


def test_half_of_a_pair_of_surrogates_comes_back(tmp_path):
    votes = Votes.from_labels({"a\ud800": ["\ud801", "b"], "ü": ["b", "b"]})
    EC3().solve(votes).save(tmp_path / "file", objects=True)
    loaded = Consensus.load(tmp_path / "file")
    assert loaded.classes.tolist() == ["b", "\ud801"]
    assert [model.name for model in loaded.solution.models] == ["a\ud800", "ü"]
