"""Least absolute deviations row by row, against linear programs."""

import numpy as np
import pytest
from scipy.optimize import linprog

pytest.importorskip("sklearn")

from gnpolyak.estimators import projection


def least(x, b):
    """The smallest Σ |x − bu|, by the dual program: maximise ⟨x, v⟩ over Bᵀv = 0, |v| ≤ 1."""
    return -linprog(-x, A_eq=b.T, b_eq=np.zeros(b.shape[1]), bounds=(-1, 1)).fun


def table(n, p, k, noise, wrong, seed=0):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((p, k)))[0].T
    scores = rng.standard_normal((n, k))
    x = scores @ basis + noise * rng.standard_normal((n, p))
    x[rng.random(x.shape) < wrong] += 9.0
    return x, basis, scores, rng.random(x.shape) < 0.9


@pytest.mark.parametrize(
    ("p", "k", "noise", "wrong"), [(30, 3, 0.0, 0.3), (30, 3, 0.1, 0.2), (6, 3, 1.0, 0.0), (40, 8, 0.1, 0.2)]
)
def test_the_value_is_the_least_there_is(p, k, noise, wrong, monkeypatch):
    monkeypatch.setattr(projection, "_program", lambda *row: pytest.fail("no edge led down, and it was not the end"))
    x, basis, _, seen = table(40, p, k, noise, wrong)
    u = projection.project(np.where(seen, x, np.nan), basis, seen)
    value = np.sum(np.abs(x - u @ basis), axis=1, where=seen)
    best = [least(row[mask], basis.T[mask]) for row, mask in zip(x, seen, strict=True)]
    assert value == pytest.approx(best, rel=1e-7)


def test_rows_that_are_ruined_here_and_there_are_read_right():
    x, basis, scores, _ = table(50, 60, 3, 0.0, 0.2)
    assert np.allclose(projection.project(x, basis), scores, atol=1e-9)


def test_large_tables_go_in_batches(monkeypatch):
    x, basis, scores, _ = table(50, 60, 3, 0.0, 0.2)
    monkeypatch.setattr(projection, "_BATCH", 500)
    assert np.allclose(projection.project(x, basis), scores, atol=1e-9)
    assert projection.project(x[:0], basis).shape == (0, 3)


def test_of_what_is_not_determined_the_shortest_is_taken():
    x, basis, _, _ = table(4, 12, 3, 0.0, 0.0)
    seen = np.zeros(x.shape, bool)
    seen[1:, :2] = True
    u = projection.project(x, basis, seen)
    shortest = np.linalg.pinv(basis[:, :2].T) @ x[1:, :2].T
    assert np.array_equal(u[0], np.zeros(3))
    assert np.allclose(u[1:], shortest.T)


def test_a_linear_program_is_there_for_the_rest(monkeypatch):
    monkeypatch.setattr(projection, "_EDGES", 0)
    x, basis, _, seen = table(10, 20, 3, 1.0, 0.1)
    value = np.sum(np.abs(x - projection.project(x, basis, seen) @ basis), axis=1, where=seen)
    assert value == pytest.approx([least(row[mask], basis.T[mask]) for row, mask in zip(x, seen, strict=True)])
