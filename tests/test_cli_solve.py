"""`gnpolyak solve`: what is written, and how it ends."""

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import gnpolyak as gnp
from gnpolyak.cli.main import main
from gnpolyak.cli.solve.classes import KINDS
from gnpolyak.cli.solve.understanding import example


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*args):
    return CliRunner().invoke(main, ["solve", *(str(arg) for arg in args)])


def names():
    return sorted(path.name for path in Path().iterdir())


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((), "name a FILE"),
        (("missing.npy",), "cannot be opened"),
        (("missing.npy", "--out", "nowhere"), "does not exist"),
        (("missing.npy", "--kind", "nonsense"), "nonsense"),
        (("--example", "regression", "nowhere/a.npz"), "name another"),
    ],
)
def test_bad_usage_exits_2(args, expected):
    result = invoke(*args)
    assert result.exit_code == 2
    assert expected in result.output
    assert names() == []


def test_another_page_of_that_name_is_left_alone():
    example("regression", Path("data.npz"))
    Path("data.html").write_text("<p>mine</p>")
    result = invoke("data.npz")
    assert result.exit_code == 2
    assert "there already" in result.output
    assert Path("data.html").read_text() == "<p>mine</p>"


def test_a_file_is_solved_and_the_answer_written_twice_over():
    case = gnp.instances.regression()
    np.savez("<b>&.npz", A=np.asarray(case.problem.map.a), b=np.asarray(case.problem.penalty.b))
    for _ in range(2):
        result = invoke("<b>&.npz")
        assert result.exit_code == 0, result.output
    assert "taken for regression" in result.stderr
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == ["Found", "How good", "Outliers"]
    assert names() == ["<b>&.answer.npz", "<b>&.html", "<b>&.npz"]
    with np.load("<b>&.answer.npz", allow_pickle=False) as answer:
        assert case.recovery_error(answer["x"]) < 1e-10
        bad = np.abs(np.asarray(case.problem.penalty.b) - np.asarray(case.problem.map.a) @ case.truth) > 1e-6
        assert np.array_equal(answer["outliers"], bad)
    page = Path("<b>&.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 3
    assert not re.search(r"<script|https?:|<b>", page)


def test_the_outliers_of_a_matrix_are_drawn_where_they_are():
    case = gnp.instances.robust_pca(d1=20, d2=15, r=1)
    np.save("m.npy", np.asarray(case.problem.penalty.b))
    Path("out").mkdir()
    result = invoke("m.npy", "--rank", 1, "--out", "out")
    assert result.exit_code == 0, result.output
    assert "a 20×15 matrix of rank 1" in result.stdout
    assert names() == ["m.npy", "out"]
    with np.load("out/m.answer.npz", allow_pickle=False) as answer:
        truth = case.truth[0] @ case.truth[1].T
        assert np.allclose(answer["M"], truth, atol=1e-10)
        assert np.array_equal(answer["outliers"], np.abs(np.asarray(case.problem.penalty.b) - truth) > 1e-8)
    assert Path("out/m.html").read_text(encoding="utf-8").count("data:image/png") == 3


@pytest.mark.parametrize(("status", "code"), [("CALL_LIMIT", 1), ("INTERRUPTED", 130), ("NOISE", 0)])
def test_the_exit_code_says_how_it_ended(status, code, monkeypatch):
    example("regression", Path("data.npz"))
    solve = gnp.minimize
    ended = gnp.Status[status]
    monkeypatch.setattr(gnp, "minimize", lambda *args, **more: dataclasses.replace(solve(*args, **more), status=ended))
    result = invoke("data.npz")
    assert result.exit_code == code, result.output
    page = [] if status == "INTERRUPTED" else ["data.html"]
    assert names() == ["data.answer.npz", *page, "data.npz"], "the best so far is written all the same"


def test_ctrl_c_before_the_solve_writes_nothing(monkeypatch):
    example("regression", Path("data.npz"))

    def press(*args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(gnp, "minimize", press)
    assert invoke("data.npz").exit_code == 130
    assert names() == ["data.npz"]


def test_a_full_disk_still_tells_the_answer(monkeypatch):
    example("regression", Path("data.npz"))

    def full(*args, **more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    result = invoke("data.npz")
    assert result.exit_code == 2
    assert result.stdout.startswith("Found:")
    assert "no space left" in result.stderr
    assert names() == ["data.npz"]


@pytest.mark.parametrize("there", [np.savez, "text"])
def test_another_answer_of_that_name_is_left_alone(there):
    example("regression", Path("data.npz"))
    path = Path("data.answer.npz")
    path.write_text("mine") if there == "text" else there(path, mine=np.ones(2))
    before = path.read_bytes()
    result = invoke("data.npz")
    assert result.exit_code == 2
    assert "not of gnpolyak solve" in result.output
    assert path.read_bytes() == before


@pytest.mark.parametrize("rank", ["two", "2,x", "2,"])
def test_a_rank_that_is_none_is_refused(rank):
    assert "commas" in invoke("data.npz", "--rank", rank).output


def test_a_rank_where_there_is_none_to_choose_is_refused():
    example("regression", Path("data.npz"))
    assert "leave out --rank" in invoke("data.npz", "--rank", "2").output


@pytest.mark.parametrize("columns", [40, 80])
def test_the_help_names_every_kind_and_fits(columns):
    text = CliRunner().invoke(main, ["solve", "--help"], terminal_width=columns).output
    assert all(f"\n  {kind} " in text or f"\n  {kind}\n" in text for kind in KINDS)
    assert columns == 40 or max(map(len, text.splitlines())) <= 80


def test_ctrl_c_ends_a_real_solve_with_the_best_so_far():
    """In an ASCII terminal of 40 columns, besides."""
    rng = np.random.default_rng(0)
    np.savez("data.npz", M=rng.standard_cauchy((300, 200)))
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "40"}
    command = [sys.executable, "-c", PRESSED, "solve", "data.npz", "--rank", "3"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 130, done.stderr
    assert "not solved (interrupted)" in done.stdout
    assert "Traceback" not in done.stderr
    assert float(done.stderr.rsplit("ended after", 1)[1]) < 2
    assert names() == ["data.answer.npz", "data.npz"]


# The signal comes from outside of Python's main thread as from a terminal, once the loop has its first results.
PRESSED = """
import os, signal, sys, threading, time
from gnpolyak.cli.main import main
from gnpolyak.solve.driver import Run
sent = []
def press():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
first, observe = [], Run._observe
def observed(*args):
    if not first:
        first.append(threading.Thread(target=press, daemon=True))
        first[0].start()
    return observe(*args)
Run._observe = observed
try:
    main(sys.argv[1:])
finally:
    print("ended after", time.perf_counter() - sent[0], file=sys.stderr)
"""


def untimed(output):
    return re.sub(r"[\d.]+ s\b", "", output)


def test_a_solve_is_kept_in_a_file_and_that_of_another_refused():
    example("regression", Path("data.npz"))
    first = invoke("data.npz", "--checkpoint", "run.ckpt")
    kept, answer = Path("run.ckpt").read_bytes(), Path("data.answer.npz").read_bytes()
    again = invoke("data.npz", "--checkpoint", "run.ckpt", "--checkpoint-seconds", 0)
    assert (first.exit_code, again.exit_code) == (0, 0)
    # The same calls, and what the caller has waited in all: nothing was solved a second time.
    assert untimed(again.output) == untimed(first.output)
    assert Path("data.answer.npz").read_bytes() == answer
    ran = CliRunner().invoke(main, ["run", "regression", "--seed", "1", "--checkpoint", "run.ckpt"])
    assert ran.exit_code == 2
    assert "the problem" in ran.output
    assert Path("run.ckpt").read_bytes() == kept
