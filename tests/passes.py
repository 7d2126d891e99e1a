"""What the tests of the fused passes share: shapes, data, the formulas in NumPy."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from gnpolyak.problem.oracles import native

needs_library = pytest.mark.skipif(
    not native.status().available or jax.default_backend() != "cpu", reason=f"no fused oracle: {native.status().reason}"
)
# m and d: single entries, sizes around vector and block lengths, and more rows than one chunk.
SHAPES = [(1, 1), (1, 100), (3, 7), (5, 8), (127, 9), (129, 16), (130, 31), (513, 64), (1031, 100), (97, 257)]
RANKS = [1, 2, 3, 4, 5, 6, 7, 8, 13, 32]


def data(m, d, r, seed=0):
    rng = np.random.default_rng([seed, m, d, r])
    p, q = rng.standard_normal((2, m, d))
    return p, q, rng.standard_normal(m), rng.standard_normal((d, r)) / np.sqrt(d)


def by_numpy(p, q, b, x, n):
    """f and its subgradient; q may be None, here and below."""
    value = measured(p, q, x, n) - b
    return np.abs(value).sum(), pulled(p, q, x, n, np.sign(value))


def measured(p, q, x, n):
    """Σⱼ (pᵢ·xⱼ)ⁿ − (qᵢ·xⱼ)ⁿ."""
    return sum(sign * ((rows @ x) ** n).sum(1) for sign, rows in sides(p, q, x))


def pushed(p, q, x, n, z):
    """Its derivative along z."""
    return sum(sign * n * ((rows @ x) ** (n - 1) * (rows @ z)).sum(1) for sign, rows in sides(p, q, x))


def pulled(p, q, x, n, v):
    """The adjoint of that derivative."""
    return sum(sign * n * rows.T @ (v[:, None] * (rows @ x) ** (n - 1)) for sign, rows in sides(p, q, x))


def sides(p, q, x):
    return [(sign, rows.astype(x.dtype)) for sign, rows in ((1, p), (-1, q)) if rows is not None]


def assert_close(found, expected, rtol):
    for a, b in zip(found, expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)  # noqa: PLW2901
        assert np.abs(a - b).max() <= rtol * np.abs(b).max()


def python(code, **variables):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
