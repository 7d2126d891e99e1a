"""Two processes of two devices each solve one problem, as one process does; and what one of them does, all do."""

import signal
from pathlib import Path

import pytest

from hosts.group import Group

PROGRAM = Path(__file__).with_name("program.py")


@pytest.fixture(scope="module")
def solved():
    """Sensing and completion, and then a solve that Ctrl-C on the second process ends."""
    with Group(PROGRAM, "agree", "none") as group:
        group.await_word('"at"', index=1)
        group.send(1, signal.SIGINT)
        assert group.codes() == [0, 0], group.everything()
        yield group


@pytest.mark.parametrize("place", [0, 1], ids=["sensing", "completion"])
def test_values_and_iterates_are_those_of_one_process(solved, place):
    first, second = (solved.told(index)[place] for index in (0, 1))
    assert first["status"] == "TARGET_REACHED"
    assert first["values"] < 1e-12
    assert first["points"] < 1e-12
    assert first["outliers"]
    assert second["digest"] == first["digest"]


def test_ctrl_c_on_one_ends_both_with_the_same_point(solved):
    first, second = (solved.told(index)[-1] for index in (0, 1))
    assert first["end"] == "INTERRUPTED"
    assert first == second


def test_only_what_was_printed_is_on_their_terminals(solved):
    assert [solved.complained(index) for index in (0, 1)] == ["", ""]
