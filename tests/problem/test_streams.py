"""Passes over streamed rows against dense algebra in NumPy, whatever the blocks."""

import jax
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base import trees
from gnpolyak.base.streams import reading
from gnpolyak.oracles import host_oracle, streamed

M = 150


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def filed(tmp_path, monkeypatch):
    """An array in a file, to be read in blocks of some tens of rows."""
    monkeypatch.setattr(reading, "BLOCK_BYTES", 4096)

    def filed(array):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npy"
        np.save(path, array)
        return np.load(path, mmap_mode="r")

    return filed


def power(rng, filed):
    p, q = rng.standard_normal((2, M, 6))
    x, b = rng.standard_normal((6, 2)), rng.standard_normal(M)
    slopes = [3 * (p @ x) ** 2, -3 * (q @ x) ** 2]
    jacobian = sum(np.einsum("ij,ik->ijk", rows, slope) for rows, slope in zip((p, q), slopes, strict=True))
    z = np.sum((p @ x) ** 3 - (q @ x) ** 3, axis=1)
    problem = gnp.composite(gnp.SymmetricCP(3), gnp.L1(b), sensing=gnp.PowerSensing(filed(p), filed(q)))
    return problem, x, z, jacobian.reshape(M, -1), np.sum(np.abs(z - b)), np.sign(z - b), np.ones(M)


def bilinear(rng, filed):
    """With weights, some of them zero."""
    p, q = rng.standard_normal((M, 4)), np.float32(rng.standard_normal((M, 3)))
    (u, v), b, w = (
        (rng.standard_normal((4, 2)), rng.standard_normal((3, 2))),
        rng.standard_normal(M),
        np.arange(M) % 3.0,
    )
    z = np.sum((p @ u) * (q @ v), axis=1)
    left, right = np.einsum("ij,ik->ijk", p, q @ v), np.einsum("ij,ik->ijk", q, p @ u)
    jacobian = np.hstack([left.reshape(M, -1), right.reshape(M, -1)])
    problem = gnp.composite(gnp.LowRank(), gnp.L1(b, w), sensing=gnp.BilinearSensing(filed(p), filed(q)))
    return problem, (u, v), z, jacobian, np.sum(w * np.abs(z - b)), w * np.sign(z - b), w


def linear(rng, filed):
    """With a penalty that is no sum over measurements, and rows that are matrices."""
    a, x, b = rng.standard_normal((M, 2, 5)), rng.standard_normal((2, 5)), rng.standard_normal(M)
    flat = a.reshape(M, -1)
    z = flat @ np.tanh(x).ravel()
    jacobian = flat / np.cosh(x).ravel() ** 2
    problem = gnp.composite(jax.numpy.tanh, gnp.L2(b), sensing=gnp.LinearSensing(filed(a)))
    return problem, x, z, jacobian, np.linalg.norm(z - b), (z - b) / np.linalg.norm(z - b), np.ones(M)


def flat(tree):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])


@pytest.mark.parametrize("case", [power, bilinear, linear])
def test_the_oracle_and_the_products_are_those_of_dense_algebra(rng, filed, case):
    problem, x, z, jacobian, value, v, weights = case(rng, filed)
    used = weights > 0
    with jax.enable_x64(True):
        oracle = host_oracle(problem, x)
        point, (measured, kept) = oracle.evaluate(x), oracle.measure(x)
        assert np.isclose(point.value, value, rtol=1e-12)
        assert np.allclose(flat(point.subgradient), jacobian.T @ v, atol=1e-11)
        assert np.allclose(measured, z, atol=1e-12)
        dense = (weights[:, None] * jacobian)[used]
        along, w = rng.standard_normal(jacobian.shape[1]), rng.random(len(dense))
        _, unravel = trees.ravel(x, np)
        # What was kept of the measurements changes nothing but the arithmetic.
        for products in (oracle.linearise(x, kept), oracle.linearise(x)):
            assert np.allclose(products.push(unravel(along)), dense @ along, atol=1e-11)
            assert np.allclose(flat(products.pull(w)), dense.T @ w, atol=1e-11)
            pushed, pulled = products.product(unravel(along), w)
            assert np.allclose(pushed, dense @ along, atol=1e-11)
            assert np.allclose(flat(pulled), dense.T @ (w * (dense @ along)), atol=1e-10)


def test_what_is_large_is_not_kept(rng, filed, monkeypatch):
    problem, x, *_ = power(rng, filed)
    enough = 2 * M * 2 * 8 * 4
    for most, kept in ((enough, True), (enough - 1, False)):
        monkeypatch.setattr(streamed, "_KEPT_BYTES", most)
        assert (host_oracle(problem, x).measure(x)[1] is not None) is kept


def test_one_pass_a_call(rng, filed, monkeypatch):
    problem, x, *_ = power(rng, filed)
    passes = []
    blocks = reading.blocks
    monkeypatch.setattr(reading, "blocks", lambda sources: passes.append(1) or blocks(sources))
    oracle = host_oracle(problem, x)
    oracle.evaluate(x)
    assert len(passes) == 1
    products = oracle.linearise(x, oracle.measure(x)[1])
    products.product(x, np.ones(M))
    assert len(passes) == 3


def test_rows_that_are_no_numbers_are_named_in_the_first_pass(rng, filed):
    p = rng.standard_normal((M, 6))
    p[[77, 99], 2] = np.nan, np.inf
    problem = gnp.composite(gnp.SymmetricCP(2), gnp.L1(np.ones(M)), sensing=gnp.PowerSensing(filed(p)))
    x = np.ones((6, 1))
    with pytest.raises(gnp.InputError, match="p with entries NaN or infinite in row 77"):
        host_oracle(problem, x).evaluate(x)
    with pytest.raises(gnp.InputError, match="in row 77"):
        gnp.starts.spectral(problem, rank=1)


def test_streamed_rows_cannot_be_traced_and_say_so(rng, filed):
    problem, x, *_ = power(rng, filed)
    evaluate = jax.jit(gnp.Composite.evaluate)
    for use in (lambda: evaluate(problem, x), lambda: gnp.diagnostics.sharpness(problem, x)):
        with pytest.raises(gnp.InputError, match="p, 150 rows that are streamed"):
            use()


def test_a_start_from_rows_that_are_not_isotropic_is_that_of_the_same_rows_in_memory(rng, filed):
    """Whose own copies are whitened, where here what they are multiplied by is."""
    spread = np.diag(np.geomspace(1, 30, 8))
    p, q = rng.standard_normal((2, 600, 8)) @ spread
    x = np.linalg.solve(spread, rng.standard_normal((8, 2)))
    b = np.sum((p @ x) ** 2 - (q @ x) ** 2, axis=1)
    b[::5] += 40 * rng.standard_normal(120)
    parts = gnp.SymmetricCP(2), gnp.L1(b)
    in_memory, streamed = (
        gnp.composite(*parts, sensing=gnp.PowerSensing(*rows)) for rows in ((p, q), (filed(p), filed(q)))
    )
    assert streamed.streamed
    assert not in_memory.streamed
    assert np.allclose(gnp.starts.spectral(streamed, rank=2), gnp.starts.spectral(in_memory, rank=2), rtol=1e-9)
    assert gnp.starts.estimate_rank(streamed) == 2


def test_a_first_factor_from_bilinear_rows_is_that_of_the_same_rows_in_memory(rng, filed):
    p, q = rng.standard_normal((M, 5)), rng.standard_normal((M, 4))
    b = (p @ rng.standard_normal(5)) * (q @ rng.standard_normal(4))
    both = [
        gnp.composite(gnp.LowRank(), gnp.L1(b), sensing=gnp.BilinearSensing(*rows))
        for rows in ((p, q), (filed(p), filed(q)))
    ]
    ours, theirs = (gnp.starts.LARGER[gnp.LowRank, gnp.BilinearSensing](problem) for problem in both)
    assert all(np.allclose(a, b, rtol=1e-9) for a, b in zip(ours, theirs, strict=True))
