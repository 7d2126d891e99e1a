"""The same data where the rows are streamed: each look at all of them is a pass, and no copy of them is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base.streams import Streamed, reading
from gnpolyak.problem import streams
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hermitian, SymmetricCP
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import PowerSensing, Whitened
from gnpolyak.starts.leading import Action
from gnpolyak.starts.power.measured import Measured, wide
from gnpolyak.starts.power.voices import redescend

# Rows that tell the mean square of whitened ones: to a thousandth, of which nothing depends.
_SQUARES = 4096


@dataclass(frozen=True)
class Looked:
    """What all rows show at a first look."""

    size: float
    """The largest entry."""
    first: float
    """The largest term M(p, …) of a random M of rank one."""
    difference: float
    """The largest difference M(p, …) − M(q, …); infinite without q."""
    squares: tuple[float, ...] = ()
    """The mean squares of the entries of p, and of q."""


def looked_at(c: SymmetricCP | Hermitian, sensing: PowerSensing) -> Looked:
    """One pass over the rows, which also finds those that are no numbers."""
    m, d = sensing.p.shape
    x = np.random.default_rng(0).standard_normal(d)
    figures, squares = np.zeros(3), np.zeros(0)
    for block in streams.blocks(sensing):
        largest, sums = map(np.asarray, streams.compiled(partial(_looked, n=c.n), block.part, x))
        block.require_finite(sums)
        figures, squares = np.maximum(figures, largest), sums if not squares.size else squares + sums
    size, first, difference = map(float, figures)
    return Looked(size, first, difference if sensing.q is not None else np.inf, tuple(squares / (m * d)))


@partial(jax.jit, static_argnames="n")
def _looked(sensing: PowerSensing, x: Array, n: int) -> tuple[Array, Array]:
    rows = _sides(sensing)
    terms = [jnp.abs(each @ x) ** n if jnp.iscomplexobj(each) else (each @ x) ** n for each in rows]
    largest = [jnp.max(jnp.stack([jnp.max(jnp.abs(each)) for each in rows])), jnp.max(jnp.abs(terms[0]))]
    squares = [jnp.sum(jnp.square(jnp.abs(each))) for each in rows]
    return jnp.stack([*largest, jnp.max(jnp.abs(terms[0] - terms[-1]))]), jnp.stack(squares)


@dataclass(frozen=True)
class StreamedMeasured(Measured):
    """Rows that are not isotropic are not copied: what they are multiplied by is changed instead."""

    squares: tuple[float, ...] = ()
    """The mean squares of the entries of p, and of q, in these coordinates."""
    dtype: np.dtype = field(default_factory=lambda: np.dtype(np.float64))

    def isotropic(self) -> Measured:
        change = self.sensing.whitened()
        if not isinstance(change, Whitened):
            return self
        squares = tuple(_mean_square(rows, np.asarray(change.inverse)) for rows in _stored(self.sensing))
        return replace(self, change=change, squares=squares)

    def action(self, w: np.ndarray) -> Action:
        sign = 1.0 if self.n % 2 else -1.0
        scaled, signs = np.asarray(w, self.dtype) / len(w), (1.0, sign)[: len(self.squares)]
        shift = float(np.sum(scaled)) * sum(s * square for s, square in zip(signs, self.squares, strict=True))

        def act(z: np.ndarray) -> np.ndarray:
            total = streams.summed(self.sensing, _weighted, scaled, self._in(self.back(z)), sign)
            return self._adjoint(wide(total)) - shift * z

        return act

    def residual(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        problem = Composite(self.map, L1(self.b.astype(self.dtype)), self.sensing)
        at = self._in(self.back(x))
        residual = problem.penalty.residuals(streams.measured(problem, at)[0])
        pulled = streams.pulled(problem, at, redescend(residual))
        return wide(residual), self._adjoint(wide(pulled))

    def projected(self, basis: np.ndarray, kept: np.ndarray) -> list[np.ndarray]:
        columns = np.asarray(self._in(self.back(basis)))
        order = np.argsort(kept)
        return [_products(rows, kept[order], columns)[np.argsort(order)] for rows in _stored(self.sensing)]

    def _in(self, z: np.ndarray) -> Array:
        """In the type that is computed in: that of the factors."""
        return jnp.asarray(
            z, np.result_type(self.dtype, np.complex64) if isinstance(self.map, Hermitian) else self.dtype
        )

    def _adjoint(self, g: np.ndarray) -> np.ndarray:
        """What was pulled back to the user's coordinates, in these: Σ^(−½) is its own adjoint."""
        return self.back(g)


def _stored(sensing: PowerSensing) -> list[Any]:
    return [rows for rows in (sensing.p, sensing.q) if rows is not None]


def _sides(sensing: PowerSensing, dtype: Any = None) -> list[Array]:
    return [rows if dtype is None else rows.astype(dtype) for rows in _stored(sensing)]


@jax.jit
def _weighted(sensing: PowerSensing, w: Array, z: Array, sign: Array) -> Array:
    terms = [jnp.conj(rows.T @ jnp.conj(w[:, None] * (rows @ z))) for rows in _sides(sensing, z.dtype)]
    return terms[0] if len(terms) == 1 else terms[0] + sign * terms[1]


def _products(rows: Streamed, places: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Some rows times columns, no more than a block of them at a time."""
    return np.concatenate([wide(some) @ columns for some in _taken(rows, places)])


def _taken(rows: Streamed, places: np.ndarray) -> Iterator[np.ndarray]:
    length = max(reading.BLOCK_BYTES // rows.source.row_bytes, 1)
    for at in range(0, len(places), length):
        yield rows.take(places[at : at + length])


def _mean_square(rows: Streamed, inverse: np.ndarray) -> float:
    """That of the entries of rows·Σ^(−½), from some rows."""
    places = np.unique(np.linspace(0, rows.shape[0] - 1, _SQUARES).astype(np.int64))
    return float(np.mean(np.abs(_products(rows, places, inverse)) ** 2))
