"""A start from the data alone, for power measurements of symmetric CP tensors."""

from __future__ import annotations

import warnings
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak import arrays
from gnpolyak.errors import InputError
from gnpolyak.maps import SymmetricCP
from gnpolyak.penalties import L1, L2
from gnpolyak.problem import Composite
from gnpolyak.sensing import PowerSensing
from gnpolyak.starts import core, stein

# The orders whose success has been measured.
_ORDERS = (2, 3, 4)
# Entries of the small tensor that may be fitted (normal equations of 32 MB), and measurements used for each of them.
_LARGEST_CORE, _ROWS_EACH = 2000, 16
# Times the small space is renewed. Each divides the error by about three.
_ROUNDS = 3
# An eigenvalue counts when it exceeds those of shuffled data by this factor.
_SHUFFLES, _MARGIN = 3, 1.1


class WeakStartWarning(UserWarning):
    """The data show no signal above what unrelated data would show: the start is little better than a guess."""


@eqx.filter_jit
def _residual(problem: Composite, x: Array) -> tuple[Array, Array]:
    """b − A(c(x)), and the direction JᵀAᵀψ(b − A(c(x))) in which the residuals that are not gross would fall."""
    z, pullback = problem.sensing.measure(problem.map, x)
    residual = problem.penalty.b - z
    return residual, pullback(stein.redescend(residual))


def spectral(problem: Composite, rank: int | str, *, seed: int = 0) -> np.ndarray:
    """to be written."""
    with arrays.computing_in(np.dtype(np.float64)):
        return _start(problem, rank, seed)


def _start(problem: Any, rank: Any, seed: int) -> np.ndarray:
    n, sensing = problem.map.n, problem.sensing
    d = sensing.p.shape[1]
    b = np.asarray(problem.penalty.b, np.float64)
    rng = np.random.default_rng(seed)
    w = stein.weights(b, n, centred=sensing.q is not None)
    s = min(2 * rank, d)
    values, basis = stein.leading(stein.moment(sensing, w, n), d, s, rng)
    residual = b
    best = None
    for k in range(_ROUNDS + 1):
        kept = slice(0, _ROWS_EACH * core.unknowns(s, n))
        p, q = stein.rows_in(sensing, basis, kept)
        tensor = core.fit(p, q, b[kept], residual[kept], n)
        x = basis @ core.factors(tensor, rank, rng)
        res, direction = _residual(problem, jnp.asarray(x))
        residual = np.asarray(res); value = np.abs(residual).sum()
        if best is None or value < best[0]: best = (value, x)
        _start.trace.append(x)
        basis = np.linalg.qr(np.hstack([x/np.linalg.norm(x,axis=0), np.asarray(direction)/np.linalg.norm(direction,axis=0)]))[0][:, :s]
    return best[1]
_start.trace=[]
