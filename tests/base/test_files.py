"""Files that are whole or absent, and refused before the work where they cannot be written."""

import os
import resource

import pytest

from gnpolyak.base import files


def test_a_file_is_replaced_as_a_whole_or_left(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), files.replacing(path) as draft:
        draft.write_text(f"half of {1 / 0}")
    assert path.read_text() == "old"
    with files.replacing(path) as draft:
        draft.write_text("new")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["rows.csv"]


def test_drafts_are_removed_by_a_process_that_ends(tmp_path):
    with pytest.raises(FileNotFoundError), files.replacing(tmp_path / "rows.csv"):
        files.remove_drafts()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_what_is_no_plain_file_is_not_replaced(tmp_path, make):
    path = tmp_path / "rows.csv"
    make(path)
    for write in (files.require_writable, files.require_plain):
        with pytest.raises(OSError, match="no plain file"):
            write(path)
    with pytest.raises(OSError, match="no plain file"), files.replacing(path):
        pass
    assert os.listdir(tmp_path) == ["rows.csv"]


@pytest.fixture
def _no_room():
    """Files may have 1,000 bytes, as on a disk that is full: the system refuses the next."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("_no_room")
def test_a_disk_without_room_is_told_before(tmp_path):
    with pytest.raises(OSError, match="large"):
        files.require_writable(tmp_path / "rows.csv")
    assert os.listdir(tmp_path) == []


def test_a_folder_that_takes_no_files_is_told_before(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        files.require_writable(tmp_path / "missing" / "rows.csv")
    files.require_writable(tmp_path / "rows.csv")
    assert os.listdir(tmp_path) == []
