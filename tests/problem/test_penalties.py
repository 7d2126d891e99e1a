import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as numpy_arrays

import gnpolyak as gnp
from gnpolyak.base.arrays import precise

VECTORS = numpy_arrays(np.float64, 6, elements=st.floats(-1e3, 1e3, allow_subnormal=False))


def custom(b):
    return gnp.CustomPenalty(
        lambda z, b: jnp.max(jnp.abs(z - b)),
        lambda z, b: jnp.where(jnp.arange(z.size) == jnp.argmax(jnp.abs(z - b)), jnp.sign(z - b), 0.0),
        args=(b,),
        infimum=0.0,
    )


@pytest.mark.parametrize("make", [gnp.L1, gnp.L2, custom])
@given(VECTORS, VECTORS, VECTORS)
@settings(max_examples=60, deadline=None)
def test_subgradient_inequality(make, b, z, y):
    """h(y) ≥ h(z) + ⟨v, y − z⟩ for convex h: what a subgradient is, kinks included."""
    with precise(True):
        h = make(b)
        v = np.asarray(h.subgradient(jnp.asarray(z)))
        slack = float(h.value(jnp.asarray(y))) - float(h.value(jnp.asarray(z))) - v @ (y - z)
    assert slack >= -1e-9 * (1 + np.abs(b).sum() + np.abs(z).sum() + np.abs(y).sum())


@pytest.mark.parametrize("norm", [gnp.L1, gnp.L2])
def test_norms_at_their_kink(norm):
    with precise(True):
        h = norm(np.array([1.0, 2.0]))
        z = jnp.array([1.0, 2.0])
        assert float(h.value(z)) == 0.0
        assert np.array_equal(h.subgradient(z), [0.0, 0.0])


def test_values_against_numpy():
    b, z = np.array([1.0, -2.0, 0.5]), np.array([0.0, 1.0, 0.25])
    with precise(True):
        assert float(gnp.L1(b).value(z)) == pytest.approx(np.abs(z - b).sum(), rel=1e-15)
        assert float(gnp.L2(b).value(z)) == pytest.approx(np.linalg.norm(z - b), rel=1e-15)
        assert np.allclose(gnp.L2(b).subgradient(z), (z - b) / np.linalg.norm(z - b), rtol=1e-15)


def test_l2_of_tiny_residuals_does_not_underflow():
    with precise(True):
        assert float(gnp.L2(np.zeros(2)).value(jnp.array([3e-200, 4e-200]))) == pytest.approx(5e-200, rel=1e-14)


def test_infima():
    assert gnp.L1(np.zeros(2)).infimum == 0.0
    assert gnp.CustomPenalty(jnp.sum, jnp.ones_like).infimum is None
