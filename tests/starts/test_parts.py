"""The parts of the start against independent formulas."""

import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base.arrays import precise
from gnpolyak.starts.power import core, measured, spectral, voices
from gnpolyak.starts.rows import Rows
from starts.cases import SENSING, corrupted, sensing_case

# --- its parts against independent formulas


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("sensing", SENSING)
def test_moment_is_the_weighted_sum_it_says(sensing, n):
    rng = np.random.default_rng(0)
    p, q, w = rng.standard_normal((50, 6)), rng.standard_normal((50, 6)), rng.standard_normal(50)
    rows = Rows.of([p, q] if SENSING[sensing] else [p], np.dtype(float))
    sign = (1 if n == 3 else -1) * SENSING[sensing]
    expected = sum(
        weight * (np.outer(a, a) - np.mean(p**2) * np.eye(6) + sign * (np.outer(c, c) - np.mean(q**2) * np.eye(6)))
        for weight, a, c in zip(w, p, q, strict=True)
    )
    squares = tuple(float(np.mean(each**2)) for each in rows.stored)
    act = measured.Measured(rows, n, w, squares).action(w)
    for matrix in (act(np.eye(6)), act(None)):
        assert np.allclose(matrix, expected / 50, atol=1e-12)


def test_weights_are_bounded_and_blind_to_gross_outliers():
    values = np.array([-1e9, -7.0, -2.0, -1.0, 0.5, 1.0, 1.0, 3.0, 1e300])
    w = voices.redescend(values)
    assert np.allclose(w, [0, -1.25, -1.0, -0.5, 0.25, 0.5, 0.5, 1.5, 0])


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("sensing", SENSING)
def test_small_fit_is_exact_despite_gross_outliers(sensing, n):
    case = sensing_case(n=n, d=4, r=2, m=600, centred=SENSING[sensing])
    problem = corrupted(case, "one-signed huge")
    rows = case.problem.sensing
    p, q, b = (None if a is None else np.asarray(a) for a in (rows.p, rows.q, problem.penalty.b))
    tensor, residual = None, b
    for _ in range(10):
        tensor = core.fit(p, q, b, residual, n)
        residual = b - image(tensor, p) + (0 if q is None else image(tensor, q))
    expected = sum(power(x, n) for x in case.truth.T)
    assert np.allclose(tensor, expected, atol=1e-3)


def image(tensor, rows):
    """T(p, …, p) for each row, by contraction of the formed power."""
    return np.array([np.sum(tensor * power(row, tensor.ndim)) for row in rows])


def power(x, n):
    tensor = x
    for _ in range(n - 1):
        tensor = np.multiply.outer(tensor, x)
    return tensor


@pytest.mark.parametrize("n", [2, 3, 4])
def test_factors_of_an_exact_tensor(n):
    rng = np.random.default_rng(1)
    truth = rng.standard_normal((6, 4))
    tensor = sum(power(x, n) for x in truth.T)
    found = core.factors(tensor, 4, rng)
    assert np.allclose(sum(power(x, n) for x in found.T), tensor, atol=1e-8)


def test_scale_minimises_the_absolute_deviations():
    rng = np.random.default_rng(2)
    a = rng.standard_normal(101)
    b = 3 * a + np.where(rng.random(101) < 0.3, 1e4, 0.1) * rng.standard_normal(101)
    grid = np.linspace(2, 4, 4001)
    losses = np.abs(grid[:, None] * a - b).sum(axis=1)
    assert spectral._scale(a, b) == pytest.approx(grid[np.argmin(losses)], abs=1e-3)


# --- plain power sensing


@pytest.mark.parametrize("n", [2, 3])
def test_plain_power_sensing_measures_one_form(n):
    case = sensing_case(n=n, d=8, r=2, m=30, centred=False)
    p = np.asarray(case.problem.sensing.p)
    assert case.problem.sensing.q is None
    assert np.allclose(case.problem.penalty.b, ((p @ case.truth) ** n).sum(axis=1))
    v = np.arange(30.0)
    with precise(True):
        z, pullback = case.problem.sensing.measure(case.problem.map, case.x0)
        pulled = np.asarray(pullback(v))
    assert np.allclose(z, ((p @ case.x0) ** n).sum(axis=1))
    assert np.allclose(pulled, n * sum(v[i] * np.outer(p[i], (p[i] @ case.x0) ** (n - 1)) for i in range(30)))


def test_centring_changes_neither_rows_nor_truth():
    plain, centred = (sensing_case(d=8, r=2, m=30, centred=choice) for choice in (False, True))
    assert np.array_equal(plain.problem.sensing.p, centred.problem.sensing.p)
    assert np.array_equal(plain.truth, centred.truth)
    again = gnp.instances.tensor_sensing(**plain.settings)
    assert np.array_equal(again.problem.penalty.b, plain.problem.penalty.b)
