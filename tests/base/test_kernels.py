"""The kernels for a GPU, run here by Pallas's interpreter, and the choice between them and a library's calls."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import hilbert

from gnpolyak.base import kernels, small
from gnpolyak.base.arrays import precise

eigh, inverse = (jax.jit(lambda a, f=f: f(a, interpret=True)) for f in (kernels.eigh, kernels.inverse))


def symmetric(r, condition, seed):
    """A positive definite matrix of known eigenvalues, 1 to 1/condition."""
    q = np.linalg.qr(np.random.default_rng(seed).standard_normal((r, r)))[0]
    values = np.geomspace(1.0, 1.0 / condition, r)
    return (q * values) @ q.T, values


@pytest.mark.parametrize("r", [1, 2, 4])
def test_eigenvalues_and_vectors_of_small_matrices(r):
    for seed, condition in enumerate((1.0, 1e3, 1e12)):
        matrix, known = symmetric(r, condition, seed)
        with precise(True):
            values, vectors = map(np.asarray, eigh(1e5 * matrix))
        assert np.allclose(np.sort(values) / 1e5, np.sort(known), rtol=0, atol=1e-14)
        assert np.allclose(vectors.T @ vectors, np.eye(r), atol=1e-14)
        assert np.allclose((vectors * values) @ vectors.T, 1e5 * matrix, rtol=0, atol=1e-14 * 1e5)


def test_small_eigenvalues_of_a_matrix_that_is_only_badly_scaled_keep_their_digits():
    """Of D(I + C)D with D from 1 to 1e-6 the determinant is known to rounding: what the eigenvalues multiply to."""
    scales = np.geomspace(1.0, 1e-6, 4)
    inner = np.eye(4) + 0.2 * (np.ones((4, 4)) - np.eye(4))
    with precise(True):
        values = np.asarray(eigh(scales[:, None] * inner * scales)[0])
    assert np.prod(values) == pytest.approx(np.prod(scales) ** 2 * np.linalg.det(inner), rel=1e-12)


def test_matrices_without_digits_to_rotate():
    with precise(True):
        for matrix in (np.zeros((4, 4)), np.diag([3.0, 0.0, 1.0, 0.0]), np.ones((4, 4))):
            values, vectors = map(np.asarray, eigh(matrix))
            assert np.allclose((vectors * values) @ vectors.T, matrix, atol=1e-14)
        assert np.all(np.isnan(eigh(np.full((4, 4), np.nan))[0]))
        assert np.all(np.isnan(eigh(np.diag([1.0, np.inf, 1.0, np.nan]))[0]))


@pytest.mark.parametrize("n", [1, 5, 8])
def test_inverse_of_a_positive_definite_matrix(n):
    matrix = hilbert(n) + 1e-3 * np.eye(n)
    with precise(True):
        found = np.asarray(inverse(matrix))
        assert np.linalg.norm(found - np.linalg.inv(matrix)) < 1e-11 * np.linalg.norm(found)
        assert np.all(np.isnan(np.diag(np.asarray(inverse(-matrix)))))


@pytest.mark.parametrize("pretended", [False, True])
def test_without_a_gpu_the_library_serves_wherever_the_program_is_traced(monkeypatch, pretended):
    """On a machine with a GPU arrays may still be on the CPU: the same program has to run there."""
    monkeypatch.setattr(small, "on_gpu", lambda: pretended)
    matrix, known = symmetric(3, 10.0, 0)
    with precise(True):
        x = jnp.asarray(np.random.default_rng(1).standard_normal((7, 3)))
        (values, vectors), inverted = jax.jit(lambda a: (small.eigh(jnp, a), small.inverse(jnp, a)))(matrix)
        assert np.allclose(np.sort(values), np.sort(known))
        assert np.allclose(inverted, np.linalg.inv(matrix))
        assert np.allclose(jax.jit(lambda a: small.gram(jnp, a, a))(x), x.T @ x)
        assert np.allclose(jax.vmap(lambda v: small.times(jnp, x, v))(vectors[None]), x @ vectors)
        # Kernels have no derivative; that of the library is what is given.
        slope = jax.grad(lambda t: small.eigh(jnp, t * jnp.asarray(matrix))[0].sum())(2.0)
    assert slope == pytest.approx(np.trace(matrix))


@pytest.mark.filterwarnings("ignore:.*Triton")
def test_the_program_for_a_gpu_calls_no_library(monkeypatch):
    monkeypatch.setattr(small, "on_gpu", lambda: True)
    with precise(True):
        solve = jax.jit(lambda a: (small.eigh(jnp, a), small.inverse(jnp, a)))
        text = solve.trace(jnp.eye(5)).lower(lowering_platforms=("cuda",)).as_text()
    assert set(re.findall(r"custom_call @([\w$.]+)", text)) == {"__gpu$xla.gpu.triton"}
