"""The data a start is made from, checked once, and what is computed from them in a small space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import SymmetricCP
from gnpolyak.problem.penalties import L1, L2
from gnpolyak.problem.sensing import PowerSensing
from gnpolyak.starts.power import core, stein

# The orders whose success has been measured.
_ORDERS = (2, 3, 4)
# Entries of the small tensor that may be fitted at all (half a minute), and that a wider space than the rank asks for
# may have (seconds).
LARGEST_CORE, _LARGEST_WIDE = 1600, 800
# Measurements for each entry: enough to average their noise, and no more than the fit can afford in time and, with this
# many numbers (128 MB), in memory.
_MOST_ROWS, _FEWEST_ROWS = 16, 2
_LARGEST_FIT = 2**24


@dataclass(frozen=True)
class Measured:
    """b = A(Σ xⱼ^⊗n) + outliers, seen through P, Q and b alone."""

    map: SymmetricCP
    sensing: PowerSensing
    b: np.ndarray

    @property
    def n(self) -> int:
        """The order."""
        return self.map.n

    @property
    def d(self) -> int:
        """The dimension."""
        return int(self.sensing.p.shape[1])

    def moment(self, data: np.ndarray) -> tuple[np.ndarray, stein.Action]:
        """The weights of these data, and their second moment of the measurement vectors."""
        w = stein.weights(data, self.n, centred=self.sensing.q is not None)
        return w, stein.moment(self.sensing, w, self.n)

    def leading(self, data: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The leading eigenpairs of the moment weighted by these data: b itself, or what is left of it."""
        return stein.leading(self.moment(data)[1], self.d, count, rng)

    def residual(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """b − A(c(x)), and JᵀAᵀψ(b − A(c(x))), along which residuals of ordinary size fall."""
        residual, direction = _residual(self.map, self.sensing, jnp.asarray(self.b), jnp.asarray(x))
        return np.asarray(residual, np.float64), np.asarray(direction, np.float64)

    def fit(self, basis: np.ndarray, residual: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The small tensor in this basis that explains the data best in the l1 sense, begun from known residuals."""
        columns = jnp.asarray(basis, self.sensing.p.dtype)
        entries = core.unknowns(basis.shape[1], self.n)
        wanted = min(_MOST_ROWS * entries, _LARGEST_FIT // entries)
        # Drawn, not the first ones: data may come sorted, and outliers in bursts.
        kept = rng.permutation(len(self.b))[:wanted]
        p = np.asarray(self.sensing.p @ columns, np.float64)[kept]
        q = None if self.sensing.q is None else np.asarray(self.sensing.q @ columns, np.float64)[kept]
        return core.fit(p, q, self.b[kept], residual[kept], self.n)

    def width(self, wanted: int, rank: int) -> int:
        """How many directions, of those wanted, a fit can afford; never fewer than the rank."""
        affordable = max(_LARGEST_WIDE, min(2 * core.unknowns(rank, self.n), LARGEST_CORE))
        most = min(affordable, len(self.b) // (2 * _FEWEST_ROWS))
        width = min(wanted, self.d)
        while width > rank and core.unknowns(width, self.n) > most:
            width -= 1
        return width

    def largest_rank(self) -> int:
        """The largest rank whose small tensor can be fitted to this many measurements."""
        most = min(LARGEST_CORE, len(self.b) // _FEWEST_ROWS)
        rank = 1
        while rank < self.d and core.unknowns(rank + 1, self.n) <= most:
            rank += 1
        return rank


@eqx.filter_jit
def _residual(c: SymmetricCP, sensing: PowerSensing, b: Array, x: Array) -> tuple[Array, Array]:
    z, pullback = sensing.measure(c, x.astype(sensing.p.dtype))
    residual = b - z
    return residual, pullback(stein.redescend(residual).astype(z.dtype))


def span(*blocks: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the blocks' columns: block after block, and in each the strongest direction first."""
    ordered = [np.linalg.svd(block, full_matrices=False)[0] for block in blocks]
    return np.linalg.qr(np.hstack(ordered))[0]


def measured(problem: Any) -> tuple[Measured, np.dtype]:
    """The data of a problem that a start can be made for, all in one floating type, and that type.

    Raises
    ------
    InputError
        If the problem is of another kind, or its data carry no signal.
    """
    _require_kind(problem)
    dtype = arrays.working_dtype(problem)
    problem = problem.cast(dtype)
    sensing, b = problem.sensing, np.asarray(problem.penalty.b, np.float64)
    problem.penalty.check((sensing.p.shape[0],))
    if np.median(np.abs(b)) == 0:
        raise InputError(
            given=f"data b of which {np.mean(b == 0):.0%} are exactly zero",
            needed="data that measure something",
            missing="a signal: with most data zero, x = 0 already explains them",
            advice="check how b was filled, or pass an x0 of your own",
        )
    return Measured(problem.map, sensing, b), dtype


def _require_kind(problem: Any) -> None:
    fits = (
        isinstance(problem, Composite)
        and isinstance(problem.map, SymmetricCP)
        and problem.map.n in _ORDERS
        and isinstance(problem.sensing, PowerSensing)
        and isinstance(problem.penalty, (L1, L2))
    )
    if not fits:
        raise InputError(
            given=problem.label if isinstance(problem, Composite) else f"a problem of type {type(problem).__name__}",
            needed=f"L1 or L2 of PowerSensing of SymmetricCP(n) with n in {_ORDERS}",
            missing="a known way from the data of this problem to a start",
            advice="pass x0, a point of your own to start from",
        )
