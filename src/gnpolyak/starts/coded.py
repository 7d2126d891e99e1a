"""A start from the data alone, for intensities of coded patterns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.halting import rounds
from gnpolyak.base.numbers import is_whole, require_seed
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hermitian, SymmetricCP
from gnpolyak.problem.penalties import L1, L2
from gnpolyak.problem.sensing import CodedSensing, FourierSensing
from gnpolyak.starts.host import cores, of_parts, on_host, on_threads, wide
from gnpolyak.starts.pauli import hadamard_matrix
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
# Bits that one pass of a Walsh–Hadamard transform takes, by a product with a matrix of order 2⁴.
_BITS = 4
# Numbers in a part of the patterns that is worth a thread of its own.
_PIECE = 2**17


@STARTS.register(SymmetricCP, CodedSensing)
@STARTS.register(Hermitian, CodedSensing)
@on_host
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
    r = _checked_rank(rank, data.d)
    rng = np.random.default_rng(seed)
    basis, residual = data.leading(min(2 * r, data.d), rng), data.b
    best, lowest = basis, np.inf
    for _ in rounds(1 + _ROUNDS):
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

    codes: np.ndarray
    """Of shape (L, *shape), in the precision that is computed in."""
    transform: Callable[[np.ndarray], np.ndarray]
    """That of a signal behind a code, and its adjoint, of the same but for the axis of codes."""
    adjoint: Callable[[np.ndarray], np.ndarray]
    b: np.ndarray
    is_complex: bool
    """Whether the factors are."""

    @property
    def d(self) -> int:
        """The size of the signal."""
        return self.codes[0].size

    def leading(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """The leading eigenvectors of the weighted moment, nearly: Rayleigh–Ritz on a Krylov space."""
        w = weights_of_squares(self.b.ravel()).reshape(self.b.shape).astype(self.codes.real.dtype)
        isotropic = self._isotropic()
        v = rng.standard_normal(self.d).astype(complex if self.is_complex else float)
        # A vector a row.
        basis, images = np.zeros((2, min(_PRODUCTS, self.d), self.d), v.dtype)
        for k in range(len(basis)):
            # Twice is enough to keep the basis orthonormal.
            for _ in range(2):
                v = v - (basis[:k].conj() @ v) @ basis[:k]
            basis[k] = v / np.linalg.norm(v)
            # (1/m) Σ wᵢ (p̄ᵢpᵢᵀ − I) v, with rows that are isotropic.
            v = isotropic * self._weighted(isotropic * basis[k], w) / w.size - np.mean(w) * basis[k]
            images[k] = v
        small = basis.conj() @ images.T
        rotation = np.linalg.eigh((small + small.conj().T) / 2)[1][:, ::-1][:, :count]
        return span(isotropic[:, None] * (basis.T @ rotation))

    def residual(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """b − A(c(x)), and the direction along which residuals of ordinary size fall."""
        residual = self.b - sum(np.abs(self._patterns(column)) ** 2 for column in x.T)
        voice = redescend(residual).astype(self.codes.real.dtype)
        return residual, np.column_stack([self._weighted(column, voice) for column in x.T])

    def fit(self, basis: np.ndarray, residual: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The small matrix T for which VTVᴴ explains the data best in the l1 sense, begun from known residuals."""
        wanted = _FOR_EACH * basis.shape[1] ** 2
        kept = rng.choice(self.b.size, min(wanted, self.b.size), replace=False)
        columns = [self._patterns(v).ravel()[kept].astype(complex) for v in basis.T]
        fitted = core.fit_hermitian(np.column_stack(columns), None, self.b.ravel()[kept], residual.ravel()[kept])
        return fitted if self.is_complex else fitted.real

    def _patterns(self, v: np.ndarray) -> np.ndarray:
        """The patterns of a signal before their moduli are taken."""
        return np.concatenate(on_threads(lambda codes: self.transform(self._behind(v, codes)), self._pieces()))

    def _weighted(self, v: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Σ wᵢ p̄ᵢpᵢᵀ v, for real factors what of it is real."""

        def some(given: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
            codes, weights = given
            back = self.adjoint(weights * self.transform(self._behind(v, codes)))
            return np.sum(np.conj(codes) * back, axis=0)

        pieces = self._pieces()
        total = wide(sum(on_threads(some, list(zip(pieces, np.array_split(w, len(pieces)), strict=True))))).ravel()
        return total if self.is_complex else total.real

    def _behind(self, v: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """A signal behind codes."""
        narrow = v.astype(of_parts(self.codes.real.dtype, is_complex=np.iscomplexobj(v)))
        return codes * narrow.reshape(self.codes.shape[1:])

    def _pieces(self) -> list[np.ndarray]:
        """The codes in parts that are worth a thread of their own."""
        return np.array_split(self.codes, min(cores(), len(self.codes), 1 + self.codes.size // _PIECE))

    def _isotropic(self) -> np.ndarray:
        """What makes the rows isotropic, each times these: Σ p̄ᵢpᵢᵀ is diagonal. Zero for entries no pattern sees."""
        energy = wide(np.mean(np.abs(self.codes) ** 2, axis=0)).ravel()
        return np.where(energy > 0, 1 / np.sqrt(np.where(energy > 0, energy, 1.0)), 0.0)


def _walsh_hadamard(z: np.ndarray) -> np.ndarray:
    """Σₐ (−1)^(a·b) z[k, a] for all b, over all axes but the first, raveled: of 2^bits numbers."""
    found, bits = z, z[0].size.bit_length() - 1
    while bits > 0:
        some = min(bits, _BITS)
        bits -= some
        matrix = hadamard_matrix(some).astype(z.real.dtype)
        found = matrix @ found.reshape(-1, 2**some, 2**bits) if bits else found.reshape(-1, 2**some) @ matrix
    return found.reshape(z.shape)


def _fourier(z: np.ndarray) -> np.ndarray:
    return np.fft.fftn(z, axes=range(1, z.ndim))


def _fourier_adjoint(z: np.ndarray) -> np.ndarray:
    # Not the inverse: without its factor 1/d.
    return np.fft.ifftn(z, axes=range(1, z.ndim), norm="forward")


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
    real, *imaginary = (np.asarray(part).astype(dtype) for part in problem.sensing.codes)
    codes = real + 1j * imaginary[0] if imaginary else real
    fourier = isinstance(problem.sensing, FourierSensing)
    both = (_fourier, _fourier_adjoint) if fourier else (_walsh_hadamard, _walsh_hadamard)
    return _Coded(codes, *both, b, isinstance(problem.map, Hermitian)), dtype


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
