"""Two processes of two devices each solve one problem, as one process does; and what one of them does, all do."""

import signal
from pathlib import Path

import pytest

from hosts.group import Group

PROGRAM = Path(__file__).with_name("program.py")


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """What both said of solves to the end, of calls that differ, of ends that one of them wants, and of Ctrl-C."""
    with Group(PROGRAM, "agree", tmp_path_factory.mktemp("hosts") / "file") as group:
        group.await_word('"at"', index=1, times=7)
        group.send(1, signal.SIGINT)
        assert group.codes() == [0, 0], group.everything()
        assert [group.complained(index) for index in (0, 1)] == ["", ""]
        yield [[line for line in group.told(index) if "at" not in line] for index in (0, 1)]


@pytest.mark.parametrize("place", [0, 1], ids=["sensing", "completion"])
def test_values_and_iterates_are_those_of_one_process(lines, place):
    first, second = lines[0][place], lines[1][place]
    assert first["status"] == "TARGET_REACHED"
    assert first["alike"]
    assert first["values"] < 1e-12
    assert first["points"] < 1e-12
    assert first["outliers"]
    assert second["digest"] == first["digest"]


def test_calls_that_differ_are_refused_in_all(lines):
    assert lines[0][2:5] == lines[1][2:5]
    assert all("in process 1 than in process 0" in line["error"] for line in lines[0][2:4])


def test_a_checkpoint_that_the_first_refuses_is_refused_by_all(lines):
    assert "nowhere" in lines[1][4]["error"]


def test_several_starts_of_a_problem_in_parts_are_refused_in_one_line(lines):
    assert lines[0][5:7] == lines[1][5:7]
    for line, given in zip(lines[0][5:7], ("starts=3", "a batch"), strict=True):
        assert f"Given: {given} of a problem that 2 processes have the parts of." in line["error"]


@pytest.mark.parametrize(("place", "status"), [(7, "STOPPED_BY_CALLBACK"), (8, "TIME_LIMIT"), (9, "INTERRUPTED")])
def test_what_ends_one_ends_both_with_the_same_point(lines, place, status):
    """A callback of the second that wants an end, the clock, and Ctrl-C on the second."""
    assert lines[0][place]["end"] == status
    assert lines[0][place] == lines[1][place]
