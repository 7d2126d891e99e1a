"""A run that is killed or interrupted keeps what is done, and the same command goes on from there."""

import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from gnpolyak.cli.main import main
from gnpolyak.paper import findings, rows
from paper.made import without_times

# A shell that runs the suite in the background has it ignore SIGINT, and all its children with it.
COMMAND = """import signal; signal.signal(signal.SIGINT, signal.default_int_handler)
from gnpolyak.cli.main import main; main()"""


def started(folder, *what):
    words = [sys.executable, "-c", COMMAND, "reproduce", *what, "--out", str(folder)]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for_curves(process, path, count, seconds=120):
    """Until so many curves are kept; False if the process ended first."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit and process.poll() is None:
        if len(rows.load(path)) >= count:
            return True
        time.sleep(0.02)
    return False


def kill_and_go_on(folder, what, path, count):
    process = started(folder, *what)
    assert wait_for_curves(process, path, count), "it ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (folder / "report.html").exists()
    again = started(folder, *what)
    assert again.wait(timeout=300) == 0


def test_a_killed_run_goes_on_to_the_same_rows(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    result = CliRunner().invoke(main, ["reproduce", "conditioning", "--out", str(whole)])
    assert result.exit_code == 0, result.output
    kill_and_go_on(broken, ["conditioning"], broken / "conditioning.csv.gz", 5)
    assert without_times(whole) == without_times(broken)
    # A draft that the kill caught may be left behind, hidden.
    names = [{path.name for path in folder.iterdir() if path.name[0] != "."} for folder in (whole, broken)]
    assert names[0] == names[1]


@pytest.mark.slow
def test_the_whole_quick_run_killed_half_way(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    began = time.monotonic()
    assert started(whole, "all").wait() == 0
    assert time.monotonic() - began < 180
    kill_and_go_on(broken, ["all"], broken / "order.csv.gz", 10)
    assert without_times(whole) == without_times(broken)
    found = [[record.finding for record in findings.load(folder / "theory.csv")] for folder in (whole, broken)]
    assert found[0] == found[1]


@pytest.mark.parametrize("jobs", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_ctrl_c_keeps_what_is_done(tmp_path, jobs):
    process = started(tmp_path, "conditioning", "restarts", "--jobs", jobs)
    assert wait_for_curves(process, tmp_path / "conditioning.csv.gz", 2)
    process.send_signal(signal.SIGINT)
    try:
        assert process.wait(timeout=60) == 130
    finally:
        process.kill()
        process.wait()
    kept = rows.load(tmp_path / "conditioning.csv.gz")
    assert 2 <= len(kept) <= 12
    assert "interrupted" not in {one.facts["status"] for one in kept}
