"""Four processes of two devices each; one that dies, leaves or is told to end; and solves that go on after it."""

import signal
import time
from pathlib import Path

import pytest

from hosts.group import Group

PROGRAM = Path(__file__).with_name("program.py")
LEFT = 75

pytestmark = pytest.mark.slow


def test_values_and_iterates_of_four_processes_are_those_of_one():
    with Group(PROGRAM, "everything", "none", count=4, limit=600) as group:
        assert group.codes() == [0] * 4, group.everything()
        told = [group.told(index) for index in range(4)]
    assert len(told[0]) == 4
    for lines in zip(*told, strict=True):
        assert lines[0]["alike"]
        assert lines[0]["values"] < 1e-12
        assert lines[0]["points"] < 1e-12
        assert lines[0]["outliers"]
        assert len({line["digest"] for line in lines}) == 1


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    with Group(PROGRAM, "kept", tmp_path_factory.mktemp("hosts") / "run.ckpt", count=4, limit=300) as group:
        assert group.codes() == [0] * 4, group.everything()
        return group.told(0)[-1]


@pytest.mark.parametrize("victim", [0, 2])
@pytest.mark.parametrize("moment", ["compiling", "solving"])
def test_the_others_of_a_killed_process_end_by_themselves_and_the_next_solve_ends_exact(
    victim, moment, undisturbed, tmp_path
):
    file = tmp_path / "run.ckpt"
    with Group(PROGRAM, "kept", file, count=4, limit=300) as group:
        group.await_word('"at"', index=victim, times=1 if moment == "compiling" else 6)
        group.send(victim)
        killed = time.monotonic()
        codes = group.codes()
        assert time.monotonic() - killed < 60
        others = [index for index in range(4) if index != victim]
        assert [codes[index] for index in others] == [LEFT] * 3, group.everything()
        for index in others:
            assert f"gnpolyak, process {index} of 4: " in group.complained(index)
            if moment == "solving":
                assert group.told(index)[-1]["end"] == "PEER_LOST"
                assert not group.told(index)[-1]["success"]
    assert file.exists() == (moment == "solving")
    with Group(PROGRAM, "kept", file, count=4, limit=300) as group:
        assert group.codes() == [0] * 4, group.everything()
        assert group.told(0)[-1] == group.told(3)[-1] == undisturbed
    assert undisturbed["success"]


def test_sigterm_on_one_ends_all():
    with Group(PROGRAM, "endless", "none", count=3) as group:
        group.await_word('"at"', index=2, times=3)
        group.send(2, signal.SIGTERM)
        assert group.codes() == [0] * 3, group.everything()
        ends = [group.told(index)[-1] for index in range(3)]
    assert ends[0]["end"] == "INTERRUPTED"
    assert ends[0] == ends[1] == ends[2]


def test_an_exception_in_one_ends_the_others_and_says_whose_it_was():
    with Group(PROGRAM, "one_raises", "none", count=3) as group:
        assert group.codes() == [LEFT, 1, LEFT], group.everything()
        for index in (0, 2):
            assert [line.get("end", "error") for line in group.told(index) if "at" not in line] == [
                "PEER_LOST",
                "error",
            ]
            assert "This process has lost another one" in group.told(index)[-1]["error"]
            assert "process 1 left it: ZeroDivisionError: my own mistake" in group.complained(index)


def test_data_that_are_refused_in_one_end_the_others_while_they_are_spread():
    with Group(PROGRAM, "unfit", "none", count=3) as group:
        assert group.codes() == [LEFT, 1, LEFT], group.everything()
        assert "process 1 left it: InputError" in group.told(0)[-1]["error"]
        assert group.told(0) == group.told(2)
        assert "InputError: Given: a problem of type NoneType" in group.complained(1)


def test_a_second_ctrl_c_raises_there_and_ends_the_others():
    with Group(PROGRAM, "asleep", "none") as group:
        group.await_word('"at"', index=1, times=4)
        time.sleep(1.0)
        group.send(1, signal.SIGINT)
        time.sleep(1.0)
        group.send(1, signal.SIGINT)
        assert group.codes() == [LEFT, 1], group.everything()
        assert group.complained(1).endswith("KeyboardInterrupt\n")
        assert group.told(0)[-1]["end"] == "PEER_LOST"
        assert "process 1 left it: KeyboardInterrupt" in group.complained(0)
