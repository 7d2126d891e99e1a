"""Aborts of C++ code, held up where they come of lost processes; in processes of their own, without JAX."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import gnpolyak.base.leaving

PROGRAM = """
import os, runpy, sys, threading, time
leaving = runpy.run_path(sys.argv[1])
aborts = leaving["Aborts"]
is_ours = lambda: sys.argv[2] == "lost"
aborts.held(is_ours)
aborts.held(print)
aborts.let_go(print)
if sys.argv[3] == "let go":
    aborts.let_go(is_ours)
if sys.argv[3] == "main":
    os.abort()
threading.Thread(target=os.abort, daemon=True).start()
time.sleep(0.5)
print("still here")
leaving["leave"](leaving["LEAVING"])
"""


@pytest.mark.parametrize(
    ("kind", "where", "code", "said"),
    [
        ("lost", "thread", 75, "still here\n"),
        ("lost", "main", 75, ""),
        ("other", "thread", -signal.SIGABRT, ""),
        ("lost", "let go", -signal.SIGABRT, ""),
    ],
)
def test_an_abort_is_held_up_where_it_comes_of_lost_processes(kind, where, code, said):
    module = Path(gnpolyak.base.leaving.__file__)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, module, kind, where], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (code, said), done.stderr
