"""A start from the data alone, for Pauli strings measured in a state of low rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.halting import rounds
from gnpolyak.base.numbers import is_whole, require_seed
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hermitian
from gnpolyak.problem.sensing import PauliSensing
from gnpolyak.starts.host import on_host
from gnpolyak.starts.power.core import matrix_factors
from gnpolyak.starts.power.rank import steepest
from gnpolyak.starts.power.voices import redescend
from gnpolyak.starts.table import LARGER, STARTS

# Rounds for each rank; one divides the error by 1.2 to 2.
_ROUNDS = 15
# Measurements for each unknown that a state may have for its rank to be looked for.
_FOR_EACH = 4


@STARTS.register(Hermitian, PauliSensing)
@on_host
def tomography(problem: Composite, rank: int | str, *, seed: int = 0) -> np.ndarray:
    """A state of rank r near the data, in the face of gross outliers among the expectation values.

    Strings are orthogonal, Aᵀ(A(M)) = (m/d) M on average over which m of them were measured, so a step of linear
    inversion needs no system to be solved:

        M ← the k largest eigenpairs of M + (d/m) Aᵀ ψ(b − A(M)),

    begun at M = 0 with k = 1. ψ keeps residuals up to two medians, and lets larger ones fall back to zero, so no share
    of outliers need be known. After fifteen rounds k grows by one, up to r: small eigenvalues, which no inversion shows
    beside large ones and outliers, surface when the large ones are explained.

    Parameters
    ----------
    problem : Composite
        Any penalty with data of `PauliSensing` of `Hermitian`.
    rank : int or "auto"
        The rank r, or "auto" for the one after which the eigenvalues of a state of larger rank fall most steeply.
    seed : int
        Not used: nothing here is random.

    Returns
    -------
    numpy.ndarray
        X₀ of shape (2^q, r), complex, without a zero column.

    Notes
    -----
    Nothing is proved about it. Its cost is that of 15 oracle calls and 15 eigendecompositions for each rank.
    """
    require_seed(seed)
    data, dtype = _measured(problem)
    _check_rank(data, rank)
    r = _estimated(data) if isinstance(rank, str) else int(rank)
    return arrays.cast(data.grown(r), dtype)


@LARGER.register(Hermitian, PauliSensing)
@on_host
def larger(problem: Composite, x: np.ndarray, *, seed: int = 0) -> np.ndarray | None:
    """The same rounds for one rank more, begun at the state XXᴴ; None where that rank is larger than the dimension."""
    data, dtype = _measured(problem)
    if x.shape[1] == data.d:
        return None
    return arrays.cast(data.refined(np.asarray(x, complex), x.shape[1] + 1), dtype)


@dataclass(frozen=True)
class _Measured:
    """Expectation values b of strings i^|x∧z| Xˣ Zᶻ, of which `PauliSensing` tells."""

    qubits: int
    x: np.ndarray
    z: np.ndarray
    b: np.ndarray

    @property
    def d(self) -> int:
        return 2**self.qubits

    def grown(self, rank: int) -> np.ndarray:
        """The factor of this rank, by way of all smaller ones."""
        x = np.zeros((self.d, 1), complex)
        for k in range(1, rank + 1):
            x = self.refined(x, k)
        return x

    def refined(self, x: np.ndarray, rank: int) -> np.ndarray:
        """The factor of this rank after the rounds of `tomography` from XXᴴ."""
        transform = _Transform(self)
        for _ in rounds(_ROUNDS):
            state = x @ x.conj().T
            left = self.b - transform.apply(state)
            moved = state + self.d / len(self.b) * transform.adjoint(float(np.median(np.abs(left))) * redescend(left))
            values, vectors = np.linalg.eigh((moved + moved.conj().T) / 2)
            x = matrix_factors(values[::-1][:rank], vectors[:, ::-1][:, :rank])
        return x


class _Transform:
    """The measurements A of states, as one Walsh–Hadamard transform for each x, and their adjoint."""

    def __init__(self, data: _Measured) -> None:
        every = np.arange(data.d)
        self.d, self.places = data.d, (data.x, data.z)
        # Row x has the entries ρ[a, a ⊕ x], for all a.
        self.flipped = every, every ^ every[:, None]
        odd = np.bitwise_count(data.x & data.z)
        # i^|x∧z|.
        self.turn = np.array([1, 1j, -1, -1j])[odd % 4]
        self.halves = [hadamard_matrix(q) for q in (data.qubits // 2, data.qubits - data.qubits // 2)]

    def apply(self, state: np.ndarray) -> np.ndarray:
        return (self.turn * self._transformed(state[self.flipped])[self.places]).real

    def adjoint(self, v: np.ndarray) -> np.ndarray:
        place, size = self.places[0] * self.d + self.places[1], self.d**2
        turned = v * self.turn.conj()
        spread = np.bincount(place, turned.real, size) + 1j * np.bincount(place, turned.imag, size)
        state = np.empty((self.d, self.d), complex)
        state[self.flipped] = self._transformed(spread.reshape(self.d, self.d))
        return state

    def _transformed(self, rows: np.ndarray) -> np.ndarray:
        """Σₐ (−1)^(z·a) rows[:, a] for all z."""
        high, low = self.halves
        return (high @ (rows.reshape(len(rows), len(high), len(low)) @ low)).reshape(rows.shape)


def hadamard_matrix(bits: int) -> np.ndarray:
    """The matrix (−1)^(a·b) of order 2^bits."""
    every = np.arange(2**bits)
    return 1.0 - 2.0 * (np.bitwise_count(every & every[:, None]) % 2)


def _estimated(data: _Measured) -> int:
    most = 1
    while most < data.d and _FOR_EACH * _unknowns(data.d, most + 1) <= len(data.b):
        most += 1
    spectrum = np.linalg.svd(data.grown(most), compute_uv=False) ** 2
    return steepest(spectrum)


def _unknowns(d: int, r: int) -> int:
    return 2 * d * r - r * r


def _measured(problem: Any) -> tuple[_Measured, np.dtype]:
    b = getattr(problem.penalty, "b", None)
    if b is None or b.shape != problem.sensing.x.shape or np.median(np.abs(np.asarray(b))) == 0:
        raise InputError(
            given=f"{problem.label} with data of shape {getattr(b, 'shape', None)}",
            needed="a datum for each string, of which most are not zero",
            missing="expectation values that tell one state from another",
            advice="check how b was filled, or pass an x0 of your own",
        )
    dtype = arrays.working_dtype(problem)
    x, z = (np.asarray(each, np.int64) for each in (problem.sensing.x, problem.sensing.z))
    return _Measured(problem.sensing.qubits, x, z, np.asarray(b, np.float64)), dtype


def _check_rank(data: _Measured, rank: Any) -> None:
    if rank == "auto" or (is_whole(rank, 1) and rank <= data.d):
        return
    raise InputError(
        given=f"rank={shown(rank)} for a state of {data.qubits} qubits",
        needed=f'a whole number from 1 to {data.d}, or "auto"',
        missing="a rank that a state can have",
        advice='try rank="auto"',
    )
