"""What a file of each kind is taken for, what is refused of it, and what is drawn of its answer."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

import gnpolyak as gnp
from gnpolyak.cli.main import main
from gnpolyak.cli.solve.answer import Answer
from gnpolyak.cli.solve.classes import KINDS
from gnpolyak.cli.solve.understanding import example, from_file


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*args):
    return CliRunner().invoke(main, ["solve", *(str(arg) for arg in args)])


def names():
    return sorted(path.name for path in Path().iterdir())


def test_every_class_can_be_in_a_file():
    assert set(KINDS) == set(gnp.instances.INSTANCES)


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
        ({"p": FULL * 1j, "b": np.ones(6)}, "phase_retrieval"),
        ({"A": FULL.T, "b": np.ones(5)}, "sparse_recovery"),
        ({"p": FULL, "q": FULL[:, :2], "b": np.ones(6)}, "bilinear_sensing"),
        ({"p": FULL, "q": FULL, "b": np.ones(6), "n": 3}, "tensor_sensing"),
        ({"p": FULL, "q": FULL[:, :2], "b": np.ones(6), "kind": "blind_deconvolution"}, "blind_deconvolution"),
        ({"anything": np.ones((2, 3, 4))}, "tensor_decomposition"),
        ({"T": np.ones((2, 3, 4)), "ranks": [1, 1, 1]}, "tucker"),
        ({"paulis": ["IX", "ZY"], "b": np.ones(2)}, "quantum_tomography"),
        ({"paulis": [[0, 1], [2, 3]], "b": np.ones(2), "qubits": 2}, "quantum_tomography"),
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
    "unknowns": ({"A": FULL.T, "b": np.ones(5)}, "regression", "5 rows for 6 unknowns"),
    "words": ({"M": np.array([["a", "b"], ["c", "d"]])}, "robust_pca", "M is text"),
    "words in a table": ({"M": np.array([["a", "b"], ["c", "d"]])}, "matrix_completion", "type <U1"),
    "kind": ({"M": FULL, "kind": "nonsense"}, None, "a known kind"),
    "kinds": ({"M": FULL, "kind": ["tucker", "tucker"]}, None, "a known kind"),
    "number of a kind": ({"M": FULL, "kind": 3.5}, None, "a known kind"),
    "negative": ({"rows": [-1, 0], "cols": [0, 1], "values": [1.0, 2.0]}, None, "no indices"),
    "wide rows": ({"p": np.ones((3, 10**5)), "q": np.ones((3, 10**5)), "b": np.ones(3)}, None, "199,999 unknowns"),
    "wide p": ({"p": np.ones((3, 5)), "b": np.ones(3)}, None, "3 rows for 5 unknowns"),
    "unlike": ({"p": FULL, "q": FULL[:, :2], "b": np.ones(6), "n": 2}, None, "q (6, 2)"),
    "order": ({"p": FULL, "b": np.ones(6), "n": 10**9}, None, "n is 1000000000"),
    "orders": ({"p": FULL, "b": np.ones(6), "n": [2, 3]}, None, "n is of shape (2,)"),
    "matrix": ({"T": FULL}, "tucker", "T has shape (6, 5)"),
    "flat": ({"T": np.ones((1, 5, 5))}, "tucker", "T has shape (1, 5, 5)"),
    "holes": ({"T": np.where(np.ones((2, 3, 4)) > 0, np.nan, 1)}, None, "24 of the 24 entries of T are NaN"),
    "complex tensor": ({"T": np.ones((2, 3, 4)) * 1j}, None, "complex"),
    "letters": ({"paulis": ["XQ"], "b": [1.0]}, None, "the Pauli string 'XQ'"),
    "lengths": ({"paulis": ["XX", "XXX"], "b": [1.0, 1.0]}, None, "'XXX'"),
    "grid": ({"paulis": [["XX"], ["XX"]], "b": [1.0, 1.0]}, None, "text of shape (2, 1)"),
    "long": ({"paulis": ["X" * 40], "b": [1.0]}, None, "40 letters"),
    "no letters": ({"paulis": [""], "b": [1.0]}, None, "0 letters"),
    "masks": ({"paulis": [[0, 1]], "b": [1.0]}, None, "qubits, which masks do not tell"),
    "mask": ({"paulis": [[0, 4]], "b": [1.0], "qubits": 2}, None, "no masks"),
    "qubits": ({"paulis": [[0, 1]], "b": [1.0], "qubits": 60}, None, "qubits is 60"),
}

BUNDLE = {"camera": [0, 1] * 20, "point": [0, 1, 2, 3] * 10, "seen": np.ones((40, 2)), "quaternions": np.eye(4)[[0, 0]]}
BUNDLE |= {"translations": np.ones((2, 3)), "points": np.ones((4, 3))}
WRONG |= {
    "cameras": (BUNDLE | {"camera": [0, 9] * 20}, None, "camera reaches to 9, and there are 2"),
    "points": (BUNDLE | {"point": [0, 9] * 20}, None, "point reaches to 9, and there are 4"),
    "places": (BUNDLE | {"seen": np.ones((40, 3))}, None, "seen has shape (40, 3)"),
    "quaternions": (BUNDLE | {"quaternions": np.ones((2, 3))}, None, "quaternions has shape (2, 3)"),
    "plane": (BUNDLE | {"translations": -np.ones((2, 3))}, None, "in the plane of its camera"),
    "no rotation": (BUNDLE | {"quaternions": np.zeros((2, 4))}, None, "all zero"),
    "observations": (BUNDLE | {"points": np.ones((90, 3))}, None, "80 rows for 275 unknowns"),
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


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_an_answer_and_a_picture(kind):
    """At the truth, so that nothing is compiled for long: a tenth or so of its example is wrong, and no more."""
    example(kind, Path("data.npz"))
    understood = from_file(Path("data.npz"))
    res = SimpleNamespace(x=TRUTHS[kind](), value=1.0, outliers=None)
    wrong = np.flatnonzero(np.abs(Answer(understood, res).residuals).ravel() > 1e-6)
    answer = Answer(understood, SimpleNamespace(x=res.x, value=1.0, outliers=wrong))
    assert 0 < answer.outliers.mean() < 0.5
    assert "{" not in answer.found
    figure, caption = KINDS[kind].picture(answer)
    figure.draw_without_rendering()
    assert caption.endswith(".")
    answer.save(Path("data.answer.npz"))
    with np.load("data.answer.npz", allow_pickle=False) as saved:
        assert {"residuals", "outliers", "value"} < set(saved)


# The truths of the examples.
TRUTHS = {
    "robust_pca": lambda: gnp.instances.robust_pca(d1=60, d2=50, r=3).truth,
    "matrix_completion": lambda: gnp.instances.matrix_completion(d1=80, d2=60, r=3, observed=0.5).truth,
    "bilinear_sensing": lambda: gnp.instances.bilinear_sensing(d1=20, d2=25, r=2).truth,
    "blind_deconvolution": lambda: gnp.instances.blind_deconvolution(d=30).truth,
    "synchronisation": lambda: gnp.instances.synchronisation(n=30).truth,
    "bundle_adjustment": lambda: gnp.instances.bundle_adjustment(cameras=8, points=30).truth,
    "phase_retrieval": lambda: gnp.instances.phase_retrieval(d=30).truth,
    "tensor_sensing": lambda: gnp.instances.tensor_sensing(d=20, r=2, p_fail=0.1).truth,
    "quantum_tomography": lambda: gnp.instances.quantum_tomography(qubits=3, r=1).truth,
    "tensor_decomposition": lambda: gnp.instances.tensor_decomposition(shape=(16, 14, 12), r=3).truth,
    "tucker": lambda: gnp.instances.tucker(shape=(16, 14, 12), ranks=(2, 3, 2)).truth,
    "regression": lambda: gnp.instances.regression().truth,
    "sparse_recovery": lambda: gnp.instances.sparse_recovery(d=60, m=300).truth,
}


def test_a_state_that_would_not_fit_is_refused_before_it_is_formed(monkeypatch):
    np.savez("data.npz", paulis=["X" * 12], b=[1.0])
    monkeypatch.setattr("gnpolyak.cli.solve.opening.available", lambda: 10**9)
    result = invoke("data.npz")
    assert result.exit_code == 2
    assert "a solve takes 2 GB of numbers, and there is room for 250 MB" in result.output
