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


WEIGHTS = np.array([0.0, 1.0, 2.0, 0.5, 1.0, 0.0])
MAKERS = [
    gnp.L1,
    gnp.L2,
    custom,
    lambda b: gnp.L1(b, weights=WEIGHTS),
    lambda b: gnp.L2(b, weights=WEIGHTS),
    lambda b: gnp.L21(b, groups=[0, 7, 7, 0, 3, 7]),
    lambda b: gnp.Pinball(b, 0.8),
]


@pytest.mark.parametrize("make", MAKERS)
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


def test_values_of_weighted_grouped_and_asymmetric_penalties():
    rng = np.random.default_rng(0)
    b, z = rng.standard_normal((2, 3, 4))
    w = rng.random((3, 4))
    r = b - z
    groups = rng.integers(5, 8, (3, 4))
    expected = [
        (gnp.L1(b, weights=w), np.sum(w * np.abs(r))),
        (gnp.L2(b, weights=w), np.sqrt(np.sum(w * r**2))),
        (gnp.L21(b), sum(np.linalg.norm(row) for row in r)),
        (gnp.L21(b, axis=0), sum(np.linalg.norm(column) for column in r.T)),
        (gnp.L21(b, axis=(0, 1)), np.linalg.norm(r)),
        (gnp.L21(b, groups=groups), sum(np.linalg.norm(r[groups == g]) for g in np.unique(groups))),
        (gnp.Pinball(b, 0.5), np.sum(np.abs(r)) / 2),
        (gnp.Pinball(b, 0.9), 0.9 * np.sum(r[r > 0]) - 0.1 * np.sum(r[r < 0])),
    ]
    with precise(True):
        for penalty, value in expected:
            assert float(penalty.value(jnp.asarray(z))) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("norm", [gnp.L1, gnp.L2])
def test_weights_of_one_change_nothing_and_those_of_zero_ignore(norm):
    b, z = np.random.default_rng(1).standard_normal((2, 5))
    w = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    with precise(True):
        full, z = norm(b), jnp.asarray(z)
        assert float(norm(b, weights=np.ones(5)).value(z)) == pytest.approx(float(full.value(z)), rel=1e-15)
        few, some = norm(b[w > 0]), norm(b, weights=w)
        assert float(some.value(z)) == pytest.approx(float(few.value(z[w > 0])), rel=1e-15)
        v = np.asarray(some.subgradient(z))
        assert np.allclose(v[w > 0], few.subgradient(z[w > 0]), rtol=1e-14)
        assert np.all(v[w == 0] == 0)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: gnp.L1(np.ones(3), weights=np.ones(2)), "as many"),
        (lambda: gnp.L1(np.ones(3), weights=[1.0, -1.0, 0.0]), "smallest is -1"),
        (lambda: gnp.L2(np.ones(3), weights=1.0), "as many"),
        (lambda: gnp.L21(np.ones(3), axis=1), "axes along"),
        (lambda: gnp.L21(np.ones((3, 2)), axis=(0, -2)), "axes along"),
        (lambda: gnp.L21(np.ones(3), groups=[0, 1]), "equal shapes"),
        (lambda: gnp.L21(np.ones(2), groups=[0.5, 1.0]), "whole numbers"),
        (lambda: gnp.Pinball(np.ones(3), 1.0), "between 0 and 1"),
    ],
)
def test_what_is_no_weight_group_or_quantile_is_named(make, told):
    with pytest.raises(gnp.InputError, match=told):
        make()


def test_l2_of_tiny_residuals_does_not_underflow():
    with precise(True):
        assert float(gnp.L2(np.zeros(2)).value(jnp.array([3e-200, 4e-200]))) == pytest.approx(5e-200, rel=1e-14)


def test_infima():
    assert gnp.L1(np.zeros(2)).infimum == 0.0
    assert gnp.CustomPenalty(jnp.sum, jnp.ones_like).infimum is None
