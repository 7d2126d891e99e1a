"""Entries: which are meant, which cannot be, and the passes over them in C++ against XLA."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.oracles import oracle_for
from gnpolyak.problem.oracles.products import linearised

NONE = np.zeros(0, int)
needs_library = pytest.mark.skipif(not gnp.native.status().available, reason=gnp.native.status().reason)


def problem(rng, d1=30, d2=20, r=3, m=400, dtype=np.float64, ordered=False):
    places = rng.choice(d1 * d2, m, replace=False)
    places = np.sort(places) if ordered else places
    sensing = gnp.Entries(places // d2, places % d2)
    x = tuple(rng.standard_normal((d, r)).astype(dtype) for d in (d1, d2))
    return gnp.composite(gnp.LowRank(), gnp.L1(rng.standard_normal(m).astype(dtype)), sensing=sensing), x


def test_a_mask_means_the_entries_that_numpy_takes():
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal((4, 2)), rng.standard_normal((5, 2))
    mask = rng.random((4, 5)) < 0.5
    with jax.enable_x64(True):
        z = gnp.Entries(mask).measure(gnp.LowRank(), (jnp.asarray(u), jnp.asarray(v)))[0]
    np.testing.assert_allclose(z, (u @ v.T)[mask], rtol=1e-14)
    assert gnp.Entries(mask).shape == (4, 5)


def test_entries_of_any_image_and_any_order():
    data = np.arange(24.0).reshape(2, 3, 4)
    i, j, k = [1, 0, 1], [2, 0, 0], [3, 1, 0]
    seen = gnp.composite(lambda x: x, gnp.L1(data[i, j, k]), sensing=gnp.Entries(i, j, k))
    res = gnp.minimize(seen, np.zeros((2, 3, 4)))
    assert res.success
    np.testing.assert_allclose(res.x[i, j, k], data[i, j, k], atol=1e-8)


@pytest.mark.parametrize(
    "indices",
    [
        (),
        ([0.5], [1.0]),
        ([0, 1], [1]),
        ([-1], [0]),
        (np.zeros(0, int), np.zeros(0, int)),
        (np.zeros((2, 2), bool),),
        ([2**40], [0]),
    ],
    ids=["none", "floats", "lengths", "negative", "empty", "empty mask", "huge"],
)
def test_indices_that_are_none(indices):
    with pytest.raises(gnp.InputError, match="Do: "):
        gnp.Entries(*indices)


@pytest.mark.parametrize("shape", [(3, 3), (5,), "ab", (5.5, 5)])
def test_shapes_that_have_not_these_entries(shape):
    with pytest.raises(gnp.InputError, match="shape="):
        gnp.Entries([4], [1], shape=shape)


def test_an_image_that_has_not_these_entries():
    # JAX would silently take the last row instead.
    seen = gnp.composite(gnp.LowRank(), gnp.L1(np.ones(2)), sensing=gnp.Entries([0, 7], [0, 1]))
    with pytest.raises(gnp.InputError, match=r"image of shape \(5, 4\)"):
        gnp.minimize(seen, (np.ones((5, 1)), np.ones((4, 1))))


@needs_library
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("shape", "r", "ordered"), [((30, 20), 3, True), ((20, 300), 9, False), ((3, 2), 20, False)])
def test_passes_against_xla(shape, r, ordered, dtype):
    rng = np.random.default_rng(1)
    d1, d2 = shape
    given, x = problem(rng, d1, d2, r, min(400, d1 * d2 - 1), dtype, ordered)
    bound = 1e-12 if dtype == np.float64 else 1e-4
    with jax.enable_x64(dtype == np.float64):
        given, x = given.cast(np.dtype(dtype)), jax.tree.map(jnp.asarray, x)
        z, w = jax.tree.map(lambda leaf: leaf[::-1] + 1, x), jnp.abs(given.penalty.b)
        assert given.kernel(x) is not None
        fused, plain = oracle_for(given, x).linearise(x), linearised(given.map, given.sensing, given.penalty, x)
        image, pullback = given.sensing.measure(given.map, x)
        point = given.evaluate(x)
        found = point.value, point.subgradient, given.measure(x), fused.product(z, w), fused.pull(w), fused.push(z)
        values = given.penalty.value(image), pullback(given.penalty.subgradient(image)), image
        wanted = *values, plain.product(z, w), plain.pull(w), plain.push(z)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            assert float(jnp.max(jnp.abs(a - b))) <= bound * float(jnp.max(jnp.abs(b)))


@needs_library
def test_bits_do_not_depend_on_threads():
    rng = np.random.default_rng(2)
    given, x = problem(rng, 300, 200, 5, 30_000)
    with jax.enable_x64(True):
        x = jax.tree.map(jnp.asarray, x)
        compute = jax.jit(
            lambda given, x: (given.evaluate(x).subgradient, oracle_for(given, x).linearise(x).pull(given.penalty.b))
        )
        found = []
        for count in (1, 2, 7):
            gnp.native.set_num_threads(count)
            found.append(jax.tree.leaves(compute(given, x)))
        gnp.native.set_num_threads(None)
    assert len(given.sensing.sweep.bounds) > 8
    for others in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], others, strict=True))
