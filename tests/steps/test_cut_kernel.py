"""The small problem of the cuts as one kernel for a GPU, run here by Pallas's interpreter."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import nnls

from gnpolyak.base.arrays import precise
from gnpolyak.steps import cuts

in_a_kernel = jax.jit(lambda *parts: cuts.in_a_kernel(*parts, interpret=True))


@pytest.mark.parametrize("size", [2, 6])
def test_multipliers_of_a_kernel_against_scipy(size):
    """With g = s and all heights at the value, ½λᵀMλ − gap Σλ over λ ≥ 0 is a least-squares problem in M^½."""
    rng, gap = np.random.default_rng(size), 0.7
    for filled in (np.ones(size, bool), np.arange(size) % 2 == 0):
        a = rng.standard_normal((size + 3, size)) + 0.8
        root = np.linalg.cholesky(a.T @ a)
        kept = np.flatnonzero(filled)
        small = np.linalg.cholesky((a.T @ a)[np.ix_(kept, kept)])
        expected = nnls(small.T, np.linalg.solve(small, np.full(len(kept), gap)))[0]
        with precise(True):
            found, sound = in_a_kernel(root @ root.T, np.full(size, 2.0), filled, np.float64(2.0), np.float64(gap))
        assert np.allclose(np.asarray(found)[kept], expected, atol=1e-9)
        assert not np.any(np.asarray(found)[~filled])
        assert bool(sound) == bool(np.all((a.T @ a)[np.ix_(kept, kept)] @ expected > gap * (1 - 1e-6)))


def test_a_kernel_says_what_the_library_says():
    """Nearly equal cuts, cuts that claim too much, and cuts that contradict each other."""
    rng, plain = np.random.default_rng(0), jax.jit(partial(cuts.multipliers, jnp))
    verdicts = set()
    for trial in range(60):
        a = rng.standard_normal((9, 6))
        a[:, 3] = a[:, 1] + 10.0 ** -(trial % 9) * a[:, 3]
        a[:, 4] = -a[:, 0] if trial % 7 == 0 else a[:, 4]
        value, gap = np.float64(3.0), np.float64(rng.exponential())
        height = np.append(value, value + rng.standard_normal(5))
        with precise(True):
            given = a.T @ a, height, np.arange(6) < 6 - trial % 3, value, gap
            (found, sound), (known, really) = in_a_kernel(*given), plain(*given)
        assert bool(sound) == bool(really)
        verdicts.add(bool(sound))
        if sound:
            # The ridge of 1e4 ε leaves nearly equal cuts a condition of 1e12.
            assert np.allclose(a @ np.asarray(found), a @ np.asarray(known), atol=1e-7 * np.max(np.abs(known)))
    assert verdicts == {True, False}
