"""A start from the data alone, for intensities of coded patterns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.numbers import is_whole, require_seed
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hermitian, Map, SymmetricCP
from gnpolyak.problem.penalties import L1, L2
from gnpolyak.problem.sensing import CodedSensing
from gnpolyak.starts.power import core
from gnpolyak.starts.power.measured import span
from gnpolyak.starts.power.voices import redescend, weights_of_squares
from gnpolyak.starts.table import STARTS

# Products of the search for the leading eigenvectors, each with all patterns; as many vectors are kept.
_PRODUCTS = 20
# Times the small space is renewed.
_ROUNDS = 3
# Data that a small matrix is fitted to, for each of its numbers: enough to average their noise.
_FOR_EACH = 256


@STARTS.register(SymmetricCP, CodedSensing)
@STARTS.register(Hermitian, CodedSensing)
def coded(problem: Composite, rank: int | str = 1, *, seed: int = 0) -> np.ndarray:
    """A start X₀ near the solution, from the codes and the data alone and in the face of gross outliers.

    As `spectral`, with fast transforms for products with rows: the leading eigenvectors of Σ w(bᵢ) (p̄ᵢpᵢᵀ − I), by
    Lanczos' method, in coordinates in which the rows are isotropic. The weights w grow with √b up to a few medians and
    fall back to zero from there. Then, a few times, a small matrix in the span of the factors and of the direction in
    which they would move is fitted to some of the data by least absolute deviations.

    Parameters
    ----------
    problem : Composite
        L1 or L2 of `FourierSensing` or `HadamardSensing` of `SymmetricCP(2)` or `Hermitian`.
    rank : int or "auto"
        The number of factors; "auto" is one, as for phase retrieval.
    seed : int
        Seed of the few random numbers used.

    Returns
    -------
    numpy.ndarray
        X₀ of shape (d, r), in the problem's floating type.
    """
    require_seed(seed)
    data, dtype = _measured(problem)
    r = _checked_rank(rank, data.sensing.d)
    rng = np.random.default_rng(seed)
    with arrays.computing_in(dtype):
        basis, residual = data.leading(min(2 * r, data.sensing.d), rng), data.b
        best, lowest = basis, np.inf
        for _ in range(1 + _ROUNDS):
            x = basis @ core.factors(data.fit(basis, residual, rng), r, rng)
            residual, direction = data.residual(x)
            value = float(np.sum(np.abs(residual)))
            if value < lowest:
                best, lowest = x, value
            basis = span(x, direction)
        return arrays.cast(best, dtype)


@dataclass(frozen=True)
class _Coded:
    """b = A(XXᴴ) + outliers."""

    map: Map
    sensing: CodedSensing
    b: np.ndarray

    @property
    def field(self) -> np.dtype:
        """The type of the factors."""
        return np.dtype(complex if isinstance(self.map, Hermitian) else float)

    def leading(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """The leading eigenvectors of the weighted moment, nearly: Rayleigh–Ritz on a Krylov space."""
        w = jnp.asarray(weights_of_squares(self.b.ravel()).reshape(self.b.shape))
        v = rng.standard_normal(self.sensing.d).astype(self.field)
        basis: list[np.ndarray] = []
        images: list[np.ndarray] = []
        for _ in range(min(_PRODUCTS, self.sensing.d)):
            # Twice is enough to keep the basis orthonormal.
            for _ in range(2):
                for each in basis:
                    v = v - each * np.vdot(each, v)
            basis.append(v / np.linalg.norm(v))
            images.append(np.asarray(_moment(self.sensing, w, jnp.asarray(basis[-1])[:, None]))[:, 0])
            v = images[-1]
        small = np.array([[np.vdot(a, b) for b in images] for a in basis])
        rotation = np.linalg.eigh((small + small.conj().T) / 2)[1][:, ::-1][:, :count]
        found = np.column_stack([sum(c * v for c, v in zip(column, basis, strict=True)) for column in rotation.T])
        return span(np.asarray(_isotropic(self.sensing, jnp.asarray(v))) * found)

    def residual(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """b − A(c(x)), and the direction along which residuals of ordinary size fall."""
        residual, direction = _residual(self.map, self.sensing, jnp.asarray(self.b), jnp.asarray(x))
        return np.asarray(residual), np.asarray(direction)

    def fit(self, basis: np.ndarray, residual: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The small matrix T for which VTVᴴ explains the data best in the l1 sense, begun from known residuals."""
        wanted = _FOR_EACH * basis.shape[1] ** 2
        kept = rng.choice(self.b.size, min(wanted, self.b.size), replace=False)
        columns = [np.asarray(_some(self.sensing, jnp.asarray(v)[:, None], kept)).astype(complex) for v in basis.T]
        fitted = core.fit_hermitian(np.column_stack(columns), None, self.b.ravel()[kept], residual.ravel()[kept])
        return fitted if np.iscomplexobj(basis) else fitted.real


@eqx.filter_jit
def _moment(sensing: CodedSensing, w: Array, z: Array) -> Array:
    """(1/m) Σ wᵢ (p̄ᵢpᵢᵀ − I) z, with rows that are isotropic."""
    scale = _isotropic(sensing, z)
    back = scale * sensing.backward(w * sensing.forward(scale * z)) / w.size
    return (back if jnp.iscomplexobj(z) else back.real) - jnp.mean(w) * z


def _isotropic(sensing: CodedSensing, like: Array) -> Array:
    """What makes the rows isotropic, each times these: Σ p̄ᵢpᵢᵀ is diagonal. Zero for entries that no pattern sees."""
    energy = sensing.energy(like)[:, None]
    return jnp.where(energy > 0, 1 / jnp.sqrt(jnp.where(energy > 0, energy, 1.0)), 0.0)


@eqx.filter_jit
def _residual(c: Map, sensing: CodedSensing, b: Array, x: Array) -> tuple[Array, Array]:
    z, pullback = sensing.measure(c, x)
    return b - z, pullback(redescend(b - z))


@eqx.filter_jit
def _some(sensing: CodedSensing, z: Array, kept: np.ndarray) -> Array:
    return sensing.forward(z).ravel()[kept]


def _measured(problem: Any) -> tuple[_Coded, np.dtype]:
    fits = (
        isinstance(problem, Composite)
        and (isinstance(problem.map, Hermitian) or (isinstance(problem.map, SymmetricCP) and problem.map.n == 2))
        and isinstance(problem.sensing, CodedSensing)
        and isinstance(problem.penalty, (L1, L2))
    )
    if not fits:
        raise InputError(
            given=problem.label if isinstance(problem, Composite) else f"a problem of type {type(problem).__name__}",
            needed="L1 or L2 of FourierSensing or HadamardSensing of SymmetricCP(2) or Hermitian",
            missing="a known way from the data of this problem to a start",
            advice="pass x0, a point of your own to start from",
        )
    dtype = arrays.working_dtype(problem)
    problem = problem.cast(dtype)
    b: np.ndarray = np.asarray(problem.penalty.b, np.float64)
    shape = problem.sensing.codes[0].shape
    problem.penalty.check(shape)
    if np.median(np.abs(b)) == 0:
        raise InputError(
            given=f"data b of which {np.mean(b == 0):.0%} are exactly zero",
            needed="data that measure something",
            missing="a signal: with most data zero, x = 0 already explains them",
            advice="check how b was filled, or pass an x0 of your own",
        )
    return _Coded(problem.map, problem.sensing, b), dtype


def _checked_rank(rank: Any, d: int) -> int:
    if isinstance(rank, str) and rank == "auto":
        return 1
    if not is_whole(rank, 1) or rank > d:
        raise InputError(
            given=f"rank={shown(rank)} for signals of {d} entries",
            needed=f'a whole number from 1 to {d}, or "auto"',
            missing="a valid rank",
            advice="pass rank=1 for phase retrieval",
        )
    return int(rank)
