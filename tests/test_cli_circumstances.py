"""Commands in odd circumstances: one line, the right code, told before the work where it can be."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gnpolyak.cli import terminal
from gnpolyak.cli.main import main
from gnpolyak.cli.solve.understanding import example

# One import for all circumstances: each child is forked before JAX computes, and ends as any process does.
STREAMS = """
import os, sys
from gnpolyak.cli.main import main
def full(): os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
def shut():
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)
def none():
    os.close(0), os.close(1)
    sys.stdin = sys.stdout = None
def silent():
    os.close(2)
    sys.stderr = None
for circumstance in (full, shut, none, silent):
    child = os.fork()
    if not child:
        circumstance()
        main(["info", "--json"])
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sys.stderr.write(f"{circumstance.__name__} {code}\\n")
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def refused(*words):
    """The line with which a command refuses, with the code for bad usage."""
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_streams_that_are_full_closed_or_not_there():
    done = subprocess.run([sys.executable, "-c", STREAMS], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.splitlines() == [
        "Error: The output cannot be written: no space left on device",
        "full 1",
        "shut 1",
        "none 0",
        "silent 0",
    ]


def test_nobody_watches_where_there_is_no_stream(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert not terminal.is_watched()


@pytest.mark.parametrize("words", [("demo", "--figure"), ("bench", "--figure"), ("bench", "--json")])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_what_is_no_file_is_refused_as_one_to_write(words, make):
    make("a.png")
    assert "no plain file" in refused(*words, "a.png")


def test_a_device_is_refused_as_one_to_write():
    assert "no plain file" in refused("bench", "--json", "/dev/full")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no folder here that nobody can write to")
@pytest.mark.parametrize(
    "words",
    [("demo", "--figure", "/proc/a.png"), ("bench", "--json", "/proc/a"), ("solve", "data.npz", "--out", "/proc")],
)
def test_a_folder_that_takes_no_files_is_told_before_the_work(words):
    assert "written" in refused(*words)


def test_a_picture_of_another_kind_is_refused_before_the_work():
    assert "name one of .png, .svg, .pdf" in refused("bench", "--figure", "a.xyz")


def test_two_outputs_in_one_file_are_refused():
    assert "name two" in CliRunner().invoke(main, ["bench", "--json", "a.png", "--figure", "a.png"]).stderr


@pytest.mark.parametrize("name", ["data.csv", "data.npz", "data.answer.npz", "data.html"])
def test_a_pipe_is_not_waited_for(name):
    if name not in {"data.csv", "data.npz"}:
        example("regression", Path("data.npz"))
    os.mkfifo(name)
    line = refused("solve", name if name == "data.csv" else "data.npz")
    assert "no plain file" in line or "not of gnpolyak solve" in line


@pytest.mark.parametrize("name", ["conditioning.csv.gz", "theory.csv"])
def test_a_pipe_among_the_rows_is_not_waited_for(name):
    os.mkfifo(name)
    result = CliRunner().invoke(main, ["reproduce", "--out", "."])
    assert result.exit_code == 2
    assert name in result.stderr


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("words", [(), ("run", "robust_pca"), *((name,) for name in sorted(main.commands))], ids=str)
def test_help_fits(words, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    result = CliRunner().invoke(main, [*words, "--help"])
    assert result.exit_code == 0
    # An option and the words it takes are one name.
    lines = [line for line in result.output.splitlines() if not (columns == 40 and re.match(r"  +--", line))]
    assert max(map(len, lines)) <= columns


def test_a_latin_1_terminal_gets_question_marks():
    runner = CliRunner(charset="latin-1")
    result = runner.invoke(main, ["demo", "--help"])
    assert result.exit_code == 0
    assert "? = 1, 10 and 100" in " ".join(result.output.split())
