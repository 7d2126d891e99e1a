"""Rank and singular values, against dense linear algebra."""

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak import diagnostics
from reference import cp_jacobian, factor


def matrix_rank(d, r):
    return d * r - r * (r - 1) // 2


def wide_model(x):
    """Seven outputs of forty variables."""
    a = np.random.default_rng(0).standard_normal((7, 40))
    return jnp.sin(a @ x)


@pytest.mark.parametrize(("d", "r"), [(5, 3), (6, 1), (20, 5)])
def test_rank_of_a_matrix_factor_is_not_the_papers(d, r):
    """dr − r(r−1)/2; the appendix prints r(r+1)/2, which is 6 instead of 12 at d=5, r=3."""
    x = factor(d, r, 3.0 if r > 1 else 1.0, seed=1)
    expected = matrix_rank(d, r)
    assert diagnostics.spectrum(gnp.SymmetricCP(2), x).rank == expected
    assert diagnostics.jacobian_rank(gnp.SymmetricCP(2), x).rank == expected
    assert diagnostics.jacobian_rank(gnp.SymmetricCP(2), x).rank == np.linalg.matrix_rank(cp_jacobian(x, 2))


def test_rank_without_forming_anything_at_the_papers_size():
    found = diagnostics.jacobian_rank(gnp.SymmetricCP(2), factor(1000, 5, 10.0, seed=1))
    assert found.rank == 4990
    assert found.variables == 5000
    assert found.distinct == 20


@pytest.mark.parametrize("n", [3, 4])
def test_tensor_factors_have_no_gauge_freedom(n):
    x = factor(7, 3, 3.0, seed=n)
    assert diagnostics.spectrum(gnp.SymmetricCP(n), x).rank == 21
    assert diagnostics.jacobian_rank(gnp.SymmetricCP(n), x).rank == 21


def test_rank_at_a_rank_deficient_factor():
    x = factor(12, 4, 3.0, seed=1, rank=2)
    assert diagnostics.spectrum(gnp.SymmetricCP(2), x).rank == matrix_rank(12, 2)
    assert diagnostics.jacobian_rank(gnp.SymmetricCP(2), x).rank == matrix_rank(12, 2)


def test_rank_of_a_model_with_more_variables_than_outputs():
    x = np.random.default_rng(1).standard_normal(40)
    found = diagnostics.spectrum(wide_model, x)
    assert found.shape == (7, 40)
    assert found.rank == diagnostics.jacobian_rank(wide_model, x).rank == 7


def test_zero_has_rank_zero():
    assert diagnostics.spectrum(gnp.SymmetricCP(2), np.zeros((5, 2))).rank == 0
    assert diagnostics.jacobian_rank(gnp.SymmetricCP(2), np.zeros((5, 2))).rank == 0


@pytest.mark.parametrize(("d", "r", "n", "kappa"), [(20, 5, 2, 100.0), (12, 3, 3, 20.0)])
def test_extreme_singular_values_against_the_dense_jacobian(d, r, n, kappa):
    x = factor(d, r, kappa, seed=2)
    values = np.linalg.svd(cp_jacobian(x, n), compute_uv=False)
    rank = matrix_rank(d, r) if n == 2 else d * r
    dense, free = diagnostics.spectrum(gnp.SymmetricCP(n), x), diagnostics.jacobian_rank(gnp.SymmetricCP(n), x)
    assert np.allclose(dense.singular_values[:rank], values[:rank], rtol=1e-9)
    assert dense.condition == pytest.approx(values[0] / values[rank - 1], rel=1e-8)
    assert free.largest == pytest.approx(values[0], rel=1e-9)
    assert free.smallest == pytest.approx(values[rank - 1], rel=1e-6)


def test_distinct_singular_values_are_why_conjugate_gradients_end_so_soon():
    """2σᵢ² and 2(σᵢ² + σⱼ²): 20 values for r = 5, of a Jacobian of rank 90 (and not 15)."""
    x = factor(20, 5, 10.0, seed=1)
    sigma = np.linspace(1.0, 0.1, 5)
    squares = {round(2 * s**2, 9) for s in sigma} | {round(2 * (s**2 + t**2), 9) for s in sigma for t in sigma}
    assert len(squares) == 20
    found = diagnostics.spectrum(gnp.SymmetricCP(2), x)
    assert found.distinct() == 20
    assert found.rank == 90
    case = gnp.instances.tensor_sensing(d=20, r=5, kappa=10.0)
    res = gnp.minimize(case.problem, case.x0, gnp.GNP(solver="cg", rtol=1e-8), target=0.0, max_calls=8)
    assert 15 < np.median(res.history.inner_iterations[1:]) <= 22
    assert diagnostics.spectrum(gnp.SymmetricCP(2), factor(12, 5, 1.0, seed=1)).distinct() == 2


def test_an_unsettled_rank_is_not_claimed(monkeypatch):
    monkeypatch.setattr("gnpolyak.diagnostics.rank.LARGEST_ARRAY", 100)
    x = factor(12, 4, 3.0, seed=1, rank=2)
    found = diagnostics.jacobian_rank(gnp.SymmetricCP(2), x)
    assert found.rank is None
    assert found.lower <= matrix_rank(12, 2) <= found.upper
    assert diagnostics.constant_rank(gnp.SymmetricCP(2), x).holds is None


def test_constant_rank_holds_where_the_factor_has_full_rank():
    full = diagnostics.constant_rank(gnp.SymmetricCP(2), factor(12, 4, 3.0, seed=1))
    assert full.holds is True
    assert set(full.ranks) == {matrix_rank(12, 4)}
    lost = diagnostics.constant_rank(gnp.SymmetricCP(2), factor(12, 4, 3.0, seed=1, rank=3))
    assert lost.holds is False
    assert lost.ranks[0] == matrix_rank(12, 3)
