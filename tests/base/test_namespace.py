"""The same functions on NumPy's arrays and on JAX's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gnpolyak.base.namespace import cho_solver, cholesky, cond, each, eigh, solve, solve_triangular, svd, while_loop

RNG = np.random.default_rng(0)
SQUARE = RNG.standard_normal((5, 5))


@pytest.mark.parametrize("xp", [np, jnp])
def test_small_systems_are_solved_alike(xp):
    with jax.enable_x64(True):
        spd, upper, b = SQUARE @ SQUARE.T + np.eye(5), np.triu(SQUARE) + 3 * np.eye(5), RNG.standard_normal(5)
        np.testing.assert_allclose(spd @ cho_solver(xp, xp.asarray(spd))(xp.asarray(b)), b, atol=1e-12)
        np.testing.assert_allclose(upper @ solve_triangular(xp, xp.asarray(upper), xp.asarray(b)), b, atol=1e-12)
        back = solve_triangular(xp, xp.asarray(upper.T), xp.asarray(b), lower=True)
        np.testing.assert_allclose(upper.T @ back, b, atol=1e-12)
        across = solve_triangular(xp, xp.asarray(upper), xp.asarray(b), transposed=True)
        np.testing.assert_allclose(upper.T @ across, b, atol=1e-12)
        np.testing.assert_allclose(spd @ solve(xp, xp.asarray(spd), xp.asarray(b)), b, atol=1e-12)
        factor = np.asarray(cholesky(xp, xp.asarray(spd)))
        np.testing.assert_allclose(factor @ factor.T, spd, atol=1e-12)
        eigenvalues, vectors = map(np.asarray, eigh(xp, xp.asarray(spd)))
        np.testing.assert_allclose((vectors * eigenvalues) @ vectors.T, spd, atol=1e-12)
        left, values, right = svd(xp, xp.asarray(SQUARE[:, :3]))
        np.testing.assert_allclose((np.asarray(left) * values) @ np.asarray(right), SQUARE[:, :3], atol=1e-12)


def test_on_the_host_what_cannot_be_factorised_is_no_number_and_no_exception():
    """As in compiled code, where nothing can be raised: a step that is made of it is refused."""
    lost = np.full((3, 2), np.nan)
    assert all(np.all(np.isnan(part)) for part in svd(np, lost))
    assert [part.shape for part in svd(np, lost)] == [(3, 2), (2,), (2, 2)]
    assert np.all(np.isnan(cho_solver(np, -np.eye(3))(np.ones(3))))
    assert np.all(np.isnan(solve_triangular(np, np.zeros((3, 3)), np.ones(3))))
    assert np.all(np.isnan(solve(np, np.zeros((3, 3)), np.ones(3))))
    assert np.all(np.isnan(cholesky(np, -np.eye(3))))


@pytest.mark.parametrize("xp", [np, jnp])
def test_branches_and_loops(xp):
    with jax.enable_x64(True):
        assert float(cond(xp, xp.asarray(2.0) > 1, lambda: xp.asarray(3.0), lambda: xp.asarray(4.0))) == 3.0
        assert float(while_loop(xp, lambda a: a < 100, lambda a: 2 * a, xp.asarray(1.0))) == 128.0


def test_on_the_host_the_other_branch_is_not_computed():
    assert cond(np, np.asarray(False), lambda: pytest.fail("it was"), lambda: 1) == 1


@pytest.mark.parametrize("xp", [np, jnp])
def test_each_member_of_a_stack(xp):
    with jax.enable_x64(True):
        found = each(xp, lambda a, b: {"sum": a + b.sum()}, xp.arange(3.0), xp.ones((3, 2)))
        assert np.asarray(found["sum"]).tolist() == [2.0, 3.0, 4.0]
