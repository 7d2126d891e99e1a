"""Bilinear measurements and their fused passes against NumPy."""

import jax
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base import arrays
from gnpolyak.problem.oracles import native
from gnpolyak.problem.oracles.native.bilinear import bilinear_forms, bilinear_l1, bilinear_product
from passes import assert_close, needs_library, python

# m, d₁ and d₂: single entries, sides shorter and longer than a vector, more rows than one chunk.
SHAPES = [(1, 1, 1), (3, 7, 100), (5, 8, 3), (130, 31, 9), (513, 64, 17), (1031, 100, 41), (97, 2, 257)]
RANKS = [1, 2, 5, 7, 13]


def data(m, d1, d2, r, dtype=np.float64):
    rng = np.random.default_rng([m, d1, d2, r])
    p, q = rng.standard_normal((m, d1)), rng.standard_normal((m, d2))
    x = rng.standard_normal((d1, r)) / np.sqrt(d1), rng.standard_normal((d2, r)) / np.sqrt(d2)
    return jax.tree.map(lambda leaf: leaf.astype(dtype), (p, q, rng.standard_normal(m), x))


def by_numpy(p, q, b, x):
    p, q = p.astype(float), q.astype(float)
    matrix = x[0] @ x[1].T
    z = np.einsum("ij,jk,ik->i", p, matrix, q)
    v = np.sign(z - b)
    image = np.einsum("i,ij,ik->jk", v, p, q)
    return z, np.abs(z - b).sum(), image @ x[1], image.T @ x[0]


def fused(p, q, b, x):
    with arrays.computing_in(np.result_type(b)):
        value, g = jax.jit(bilinear_l1)(p, q, b, x)
    return np.asarray(value), *map(np.asarray, g)


@needs_library
@pytest.mark.parametrize("shape", SHAPES)
def test_value_and_subgradient_on_any_shape(shape):
    for r in RANKS:
        args = data(*shape, r)
        assert_close(fused(*args), by_numpy(*args)[1:], 1e-12)


@needs_library
@pytest.mark.parametrize("shape", SHAPES[1::2])
def test_forms_and_products(shape):
    for r in (1, 5, 7):
        p, q, _, x = data(*shape, r)
        rng = np.random.default_rng(0)
        z, w = tuple(rng.standard_normal(each.shape) for each in x), rng.standard_normal(len(p))
        with arrays.computing_in(np.dtype(np.float64)):
            values, slopes = bilinear_forms(p, q, x)
            pushed, pulled = bilinear_product(p, q, slopes, z, w)
            nothing, adjoint = bilinear_product(p, q, slopes, None, w)
        along = np.sum((p @ z[0]) * (q @ x[1]) + (p @ x[0]) * (q @ z[1]), axis=1)
        back = lambda v: (p.T @ (v[:, None] * (q @ x[1])), q.T @ (v[:, None] * (p @ x[0])))  # noqa: B023, E731
        assert_close((values, pushed), (np.sum((p @ x[0]) * (q @ x[1]), axis=1), along), 1e-12)
        assert_close(pulled, back(w * along), 1e-12)
        assert nothing is None
        assert_close(adjoint, back(w), 1e-12)


@needs_library
def test_single_precision_rows_lose_nothing_and_single_precision_throughout_little():
    p, q, b, x = data(1031, 100, 41, 5)
    narrow = p.astype(np.float32), q.astype(np.float32)
    assert_close(fused(*narrow, b, x), by_numpy(*narrow, b, x)[1:], 1e-12)
    single = data(1031, 100, 41, 5, np.float32)
    found = fused(*single)
    assert all(each.dtype == np.float32 for each in found)
    assert_close(found, by_numpy(*jax.tree.map(lambda leaf: leaf.astype(float), single))[1:], 1e-4)


@needs_library
def test_the_number_of_threads_does_not_change_a_bit():
    args = data(5000, 60, 45, 7)
    try:
        native.set_num_threads(1)
        alone = fused(*args)
        native.set_num_threads(None)
        together = fused(*args)
    finally:
        native.set_num_threads(None)
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))


@needs_library
def test_a_broken_row_is_seen_and_exact_data_have_no_slope():
    p, q, b, x = data(400, 30, 20, 5)
    q[200, 7] = np.nan
    found = fused(p, q, b, x)
    assert not any(np.isfinite(each).all() for each in found)
    rng = np.random.default_rng(0)
    p, q, u, v = (rng.integers(-2, 3, shape).astype(float) for shape in ((50, 12), (50, 9), (12, 3), (9, 3)))
    assert not any(each.any() for each in fused(p, q, np.sum((p @ u) * (q @ v), axis=1), (u, v)))
    assert not any(each.any() for each in fused(p[:0], q[:0], np.zeros(0), (u, v)))


@needs_library
@pytest.mark.parametrize("isa", ["baseline", "avx2"])
def test_every_instruction_set_computes_the_same(isa):
    code = (
        "import numpy as np, sys; sys.path.insert(0, 'tests/problem'); sys.path.insert(0, 'tests')\n"
        "from test_bilinear import by_numpy, data, fused\nfrom passes import assert_close\n"
        "import gnpolyak as gnp\n"
        "assert_close(fused(*data(513, 64, 17, 5)), by_numpy(*data(513, 64, 17, 5))[1:], 1e-12)\n"
        "print(gnp.native.status().instruction_set)"
    )
    assert python(code, GNPOLYAK_ISA=isa) in (isa, "baseline")


def test_what_does_not_fit_is_named():
    with pytest.raises(gnp.InputError, match="as many rows"):
        gnp.BilinearSensing(np.ones((3, 2)), np.ones((4, 2)))
    with pytest.raises(gnp.InputError, match="storage"):
        gnp.BilinearSensing(np.ones((3, 2)), np.ones((3, 2)), storage=np.int8)
    problem = gnp.composite(gnp.LowRank(), gnp.L1(np.ones(3)), sensing=gnp.BilinearSensing(*np.ones((2, 3, 2))))
    with pytest.raises(gnp.InputError, match="equal dimensions"):
        gnp.minimize(problem, (np.ones((4, 1)), np.ones((2, 1))))
