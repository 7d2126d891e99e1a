"""Commands that are asked to end: within two seconds, with the right code, one line, and no figure that is false."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

from gnpolyak.base.interrupts import interruptible
from gnpolyak.cli.main import main

# A shell that runs the suite in the background has it ignore SIGINT, and all its children with it.
HEEDED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
# In place of XLA's compiler: seconds without the GIL from which no signal returns, while a file is being written.
COMPILING = """
import hashlib, sys
from pathlib import Path
import gnpolyak as gnp
from gnpolyak.base.files import replacing
from gnpolyak.cli.main import main
def compile(*args, **more):
    with replacing(Path("rows.csv")) as draft:
        draft.write_text("half")
        sys.stderr.write("compiling\\n")
        hashlib.pbkdf2_hmac("sha256", b"", b"", 200_000_000)
gnp.minimize = compile
main(sys.argv[1:])
"""
PLAIN = "import sys; from gnpolyak_command import main; main()"


def started(code, *words, **more):
    command = [sys.executable, "-c", HEEDED + code, *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def ended(process, number):
    """Send the signal; the code, the seconds until the end, and what was said on either stream."""
    began = time.monotonic()
    process.send_signal(number)
    try:
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, time.monotonic() - began, out, err


@pytest.fixture(autouse=True)
def _heeded():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("name", ["demo", "bench", "check", "reproduce"])
def test_ctrl_c_inside_of_a_solve_raises_where_half_of_it_is_worth_nothing(name, monkeypatch):
    said = []

    def press(**given):
        with interruptible():
            signal.raise_signal(signal.SIGINT)
            said.append("a false row")

    monkeypatch.setattr(main.commands[name], "callback", press)
    result = CliRunner().invoke(main, [name])
    assert result.exit_code == 130
    assert result.output == "Interrupted.\n"
    assert not said


def test_ctrl_c_in_a_run_tells_the_best_so_far(monkeypatch):
    from gnpolyak.solve.driver import Run

    observe = Run._observe

    def pressed(*args):
        if len(args[0].rows) == 2:
            signal.raise_signal(signal.SIGINT)
        return observe(*args)

    monkeypatch.setattr(Run, "_observe", pressed)
    result = CliRunner().invoke(main, ["run", "regression", "--start", "data"])
    assert result.exit_code == 130
    assert result.stdout.startswith("status          interrupted\nsuccess         False")
    assert result.stderr == "Interrupted.\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("SIGINT", "Interrupted."),
        pytest.param("SIGTERM", "Terminated.", marks=pytest.mark.slow),
        pytest.param("SIGHUP", "The terminal is gone.", marks=pytest.mark.slow),
    ],
)
def test_the_compiler_is_not_waited_for(tmp_path, name, said):
    number = getattr(signal, name)
    process = started(COMPILING, "demo", cwd=tmp_path)
    assert process.stderr.readline() == "compiling\n"
    time.sleep(0.3)  # It says so just before.
    code, seconds, out, err = ended(process, number)
    assert code == 128 + number
    assert seconds < 2
    assert err == f"{said}\n"
    assert "│" not in out, "a row of the table"
    assert list(tmp_path.iterdir()) == []


COMMANDS = [
    ("demo",),
    ("bench",),
    ("check",),
    ("run", "robust_pca", "--start", "data"),
    ("solve", "data.npz", "--rank", "3"),
    ("reproduce", "--out", "folder"),
    ("reproduce", "--out", "folder", "--jobs", "2"),
]


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("delay", [0.3, 2.0, 3.5, 5.0, 7.0])
def test_every_command_ends_whenever_it_is_asked(tmp_path, words, delay):
    np.savez(tmp_path / "data.npz", M=np.random.default_rng(0).standard_cauchy((200, 150)))
    process = started(PLAIN, *words, cwd=tmp_path)
    time.sleep(delay)
    code, seconds, _, err = ended(process, signal.SIGINT)
    assert code == 130
    assert seconds < 2
    assert "Traceback" not in err
    assert sum("Interrupted" in line for line in err.splitlines()) == 1
    assert not list(tmp_path.rglob(".*")), "drafts"
