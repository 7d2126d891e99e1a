"""`gnpolyak solve`: what a file is taken for, what is written, and how it ends."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import gnpolyak as gnp
from gnpolyak.cli.main import main
from gnpolyak.cli.solve.kinds import KINDS
from gnpolyak.cli.solve.understanding import example, from_file


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*args):
    return CliRunner().invoke(main, ["solve", *(str(arg) for arg in args)])


def names():
    return sorted(path.name for path in Path().iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_writes_an_example_and_knows_it_again(kind):
    result = invoke("--example", kind.replace("_", "-"))
    assert result.exit_code == 0, result.output
    assert f"gnpolyak solve {kind}.npz" in result.output
    assert from_file(Path(f"{kind}.npz")).kind == kind
    assert from_file(Path(f"{kind}.npz"), kind).built.found
    assert names() == [f"{kind}.npz"]
    assert invoke("--example", kind).exit_code == 2, "a file that is there is not replaced"


RNG = np.random.default_rng(0)
FULL = RNG.standard_normal((6, 5))
HOLES = np.where(RNG.random((6, 5)) < 0.2, np.nan, FULL)


@pytest.mark.parametrize(
    ("arrays", "kind"),
    [
        ({"anything": FULL}, "robust_pca"),
        ({"anything": HOLES}, "matrix_completion"),
        ({"rows": [0, 1, 1, 0, 0], "cols": [0, 1, 0, 1, 1], "values": np.ones(5)}, "matrix_completion"),
        ({"A": FULL, "b": np.ones(6)}, "regression"),
        ({"p": FULL, "b": np.ones(6)}, "phase_retrieval"),
        ({"i": [0, 1], "j": [1, 2], "R": np.stack([np.eye(3)] * 2)}, "synchronisation"),
    ],
)
def test_names_and_shapes_say_what_it_is(arrays, kind):
    np.savez("data.npz", **arrays)
    found = from_file(Path("data.npz"))
    assert found.kind == kind
    assert kind in found.description


def test_a_table_of_entries_is_a_matrix_with_the_rest_unknown():
    Path("seen.csv").write_text("rows,cols,values\n" + "".join(f"{k % 3},{k // 3},{k}.5\n" for k in range(9)))
    found = from_file(Path("seen.csv"))
    assert found.kind == "matrix_completion"
    assert np.array_equal(found.built.data, (np.arange(9) + 0.5).reshape(3, 3).T)


def test_a_stack_of_images_is_a_matrix_with_an_image_a_row():
    np.save("video.npy", np.arange(24.0).reshape(2, 3, 4))
    assert from_file(Path("video.npy"), "robust_pca").built.data.shape == (2, 12)


WRONG = {
    "ends": ({"i": [0], "j": [1], "R": np.eye(3)}, None, "R is of shape"),
    "gaps": ({"i": [0, 10**6], "j": [1, 2], "R": np.ones((2, 3, 3))}, None, "1,000,001 rotations for 2 pairs"),
    "fractions": ({"i": [0.5], "j": [1], "R": np.ones((1, 3, 3))}, None, "no indices"),
    "rows": ({"A": FULL, "b": np.ones(5)}, None, "A has 6, b has 5"),
    "nan": ({"A": HOLES, "b": np.ones(6)}, None, "NaN"),
    "infinite": ({"M": np.where(FULL > 0, np.inf, 1.0)}, None, "infinite"),
    "complex": ({"M": FULL * 1j}, None, "complex"),
    "vector": ({"M": np.ones(5)}, "robust_pca", "of shape (5,)"),
    "few": ({"rows": [0, 99], "cols": [0, 99], "values": [1.0, 2.0]}, None, "2 entries"),
    "shape": ({"rows": [0, 3], "cols": [0, 3], "values": [1.0, 2.0], "shape": [2, 2]}, None, "shape is (2, 2)"),
    "far": ({"rows": [0, 2**40], "cols": [0, 1], "values": [1.0, 2.0]}, None, "no indices"),
    "all nan": ({"M": np.full((3, 3), np.nan)}, None, "NaN everywhere"),
    "nameless": ({"a": FULL, "c": FULL}, None, "a problem class"),
    "other": ({"A": FULL, "b": np.ones(6)}, "synchronisation", "arrays of these names"),
    "unknowns": ({"A": FULL.T, "b": np.ones(5)}, None, "5 rows for 6 unknowns"),
}


@pytest.mark.parametrize("name", WRONG)
def test_arrays_that_make_no_problem_are_refused_in_one_line(name):
    arrays, kind, expected = WRONG[name]
    np.savez("data.npz", **arrays)
    result = invoke("data.npz", *(("--kind", kind) if kind else ()))
    assert result.exit_code == 2, result.output
    assert expected in result.output
    assert len(result.output.strip().splitlines()) <= (1 if "taken for" not in result.output else 2)
    assert names() == ["data.npz"]


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
    assert page.count("data:image/png;base64,") == 2
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
    assert names() == ["data.answer.npz", "data.html", "data.npz"], "the best so far is written all the same"


def test_ctrl_c_before_the_solve_writes_nothing(monkeypatch):
    example("regression", Path("data.npz"))

    def press(*args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(gnp, "minimize", press)
    assert invoke("data.npz").exit_code == 130
    assert names() == ["data.npz"]
