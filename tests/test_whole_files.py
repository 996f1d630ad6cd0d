"""Files that appear whole or not at all, by one set of rules for every output."""

import os
import re
import threading

import pytest

from ec3learn._files import place_for, whole_file


def written(target, content=b"new"):
    with whole_file(target) as file:
        file.write(content)


def test_a_file_appears_when_it_is_whole(tmp_path):
    target = tmp_path / "x"
    target.write_text("old")
    with pytest.raises(RuntimeError), whole_file(target) as file:
        file.write(b"half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["x"]
    written(target)
    assert target.read_text() == "new"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.posix
def test_an_existing_file_keeps_its_mode_and_a_new_one_gets_the_usual(tmp_path):
    for name, mode in (("mine", 0o600), ("new", None)):
        target = tmp_path / name
        if mode is not None:
            target.touch(mode)
        umask = os.umask(0o027)
        try:
            written(target)
        finally:
            os.umask(umask)
        assert target.stat().st_mode & 0o777 == (mode or 0o640)


@pytest.mark.posix
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "real")
    written(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "real").read_bytes() == b"new"


@pytest.mark.posix
def test_a_pipe_gets_the_bytes_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    written(pipe)
    reader.join()
    assert read == [b"new"]
    assert pipe.is_fifo()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "path must be a file, got the folder "),
        ("none/x", "path must lie in a folder that exists, got "),
        ("here", "here exists already. Pass overwrite=True to replace it."),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, name, words):
    (tmp_path / "here").touch()
    with pytest.raises(ValueError, match=re.escape(words)) as refused:
        place_for(tmp_path / name, overwrite=False)
    assert isinstance(refused.value, OSError)
    assert place_for(tmp_path / "here", overwrite=True) == tmp_path / "here"
