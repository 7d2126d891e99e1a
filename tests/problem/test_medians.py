"""The medians of many rows, and what a batch is spared, against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from gnpolyak.oracles import Reductions, reductions
from gnpolyak.problem.oracles import native
from passes import data, needs_library


def by_sorting(row, counted):
    """The upper median of what counts; NaN comes last, as infinity."""
    held = np.sort(np.where(np.isnan(row), np.inf, row)[counted])
    return held[held.size // 2] if held.size else 0.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("length", [1, 2, 7, 320])
def test_medians_of_rows_are_those_of_sorted_rows(monkeypatch, dtype, compiled, length):
    if not compiled:
        monkeypatch.setattr(reductions, "finds_medians", lambda dtype: False)
    rng = np.random.default_rng(length)
    rows = np.abs(rng.standard_normal((6, length))).astype(dtype)
    counted = rng.random((6, length)) < 0.7
    rows[1], rows[2, 0], counted[3], counted[4] = 2.0, np.nan, False, True
    with jax.enable_x64(True):
        found = jax.jit(jax.vmap(Reductions(jnp).median))(rows, counted)
        shared = jax.vmap(Reductions(jnp).median, in_axes=(0, None))(rows, counted[4])
    np.testing.assert_array_equal(found, [by_sorting(*each) for each in zip(rows, counted, strict=True)])
    np.testing.assert_array_equal(shared, [by_sorting(row, counted[4]) for row in rows])
    assert found.dtype == dtype


@needs_library
def test_medians_take_batches_of_batches():
    rows = np.random.default_rng(0).random((2, 3, 9))
    with jax.enable_x64(True):
        found = jax.vmap(jax.vmap(Reductions(jnp).median))(jnp.asarray(rows))
    np.testing.assert_array_equal(found, np.median(rows, axis=2))


@needs_library
def test_a_direction_of_a_batch_that_is_zero_has_no_product():
    p, q, b, x = data(50, 8, 2)
    w, z = np.abs(b), np.stack([np.zeros_like(x), x])
    with jax.enable_x64(True):
        slopes = native.power_forms(p, q, x, 3)[1]
        pushed, pulled = jax.vmap(lambda z: native.power_product(p, q, slopes, z, w))(z)
        alone = native.power_product(p, q, slopes, x, w)
    np.testing.assert_array_equal(pushed, [np.zeros_like(b), alone[0]])
    np.testing.assert_array_equal(pulled, [np.zeros_like(x), alone[1]])
