"""A start from the data alone, for power measurements of symmetric CP tensors and of Hermitian matrices."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.halting import is_hurried, rounds
from gnpolyak.base.numbers import is_whole, require_seed
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hermitian, SymmetricCP
from gnpolyak.problem.sensing import PowerSensing
from gnpolyak.starts.host import on_host
from gnpolyak.starts.leading import leading
from gnpolyak.starts.power import core
from gnpolyak.starts.power import measured as moments
from gnpolyak.starts.power import rank as ranks
from gnpolyak.starts.power.given import measured
from gnpolyak.starts.power.measured import Measured, span
from gnpolyak.starts.table import STARTS

# An eigenvalue counts when it exceeds the largest of this many shuffles of the data by this factor.
_SHUFFLES, _MARGIN = 3, 1.1
# A start that leaves less than this of the median datum is taken for a good one.
_EXPLAINED = 0.5
# Times the small space is renewed. Each divides the error by two (n = 2) to three (n = 3, 4).
_ROUNDS = 3


class WeakStartWarning(UserWarning):
    """The data show no more than unrelated data would: a start from them is little better than a guess."""


@STARTS.register(SymmetricCP, PowerSensing)
@STARTS.register(Hermitian, PowerSensing)
@on_host
def spectral(problem: Composite, rank: int | str, *, seed: int = 0) -> np.ndarray:
    """A start X₀ near the solution, from the data (P, Q, b) alone and in the face of gross outliers in b.

    1. *Where.* With a weight w(y) that grows like |y|^(2/n) and, past a few medians, falls back to zero,

           B = (1/m) Σ w(bᵢ) [(pᵢpᵢᵀ − I) ± (qᵢqᵢᵀ − I)],   − for even n,

       has an expectation whose range is span(X⋆) (Stein's identity), for every order n and any w. Its leading
       eigenvectors span a first guess of that space. For n = 2 and small b this is the classical
       (1/4m) Σ bᵢ (pᵢpᵢᵀ − qᵢqᵢᵀ) up to scale. No fraction of outliers need be known and their size is immaterial.
    2. *What.* In a space V of s = 2r directions the data are linear in a small symmetric tensor T,
       bᵢ ≈ T(Vᵀpᵢ, …) − T(Vᵀqᵢ, …), which least absolute deviations fit at its true scale. Its factors are
       its eigenpairs (n = 2), or come from simultaneous diagonalisation of random contractions (n = 3, 4).
    3. *Again.* V is renewed three times as the span of the factors and of the direction JᵀAᵀψ(b − A(c(X))), in which
       they would move. This finds what the spectral noise had hidden, such as the small directions at large κ.

    The cost is that of some tens of oracle calls and of the small fits. Never is an array of size dⁿ formed, nor,
    above d = 200, of size d².

    Parameters
    ----------
    problem : Composite
        L1 or L2 of `PowerSensing` (with or without q) of `SymmetricCP` with n = 2, 3 or 4, or of `Hermitian`, where
        p̄pᵀ takes the place of ppᵀ. The rows of P and Q should be Gaussian, or near it. Where their entries are far
        from independent, or of one variance, a whitened copy of them is worked with.
    rank : int or "auto"
        The number r of factors, or "auto" to use `estimate_rank`.
    seed : int
        Seed of the few random numbers used: the same seed, the same start.

    Returns
    -------
    numpy.ndarray
        X₀ of shape (d, r), in the problem's floating type, without a zero column.

    Raises
    ------
    InputError
        If the problem is of another kind, the data are zero, or the rank does not fit.

    Warns
    -----
    WeakStartWarning
        If the largest eigenvalue of B is within 10% of what shuffled data give, and the start leaves more than half of
        the median datum unexplained.

    Notes
    -----
    Nothing is proved about step 3. Measured at r = 5, with m = 8dr (n = 2, κ = 1, 10, 100) or 8ndr (n = 3, 4, κ = 3),
    without and with 20% corrupted data: an image within 0.01–0.1 of the truth, from which GNP recovered the truth on
    every seed tried, except 1 of 10 for plain n = 2 with one-signed corruption. The small fit has C(s+n−1, n) unknowns,
    so the start weakens once s = 2r directions are too many for it: GNP failed from it at r = 20 for n = 3 and at
    r = 10 for n = 4.

    Examples
    --------
    >>> import gnpolyak as gnp
    >>> case = gnp.instances.tensor_sensing(d=20, r=2, kappa=2.0, p_fail=0.2)
    >>> start = gnp.starts.spectral(case.problem, rank=2)
    >>> bool(case.recovery_error(start) < 0.3)
    True
    """
    require_seed(seed)
    data, dtype = measured(problem)
    _check_rank(data, rank)
    rng = np.random.default_rng(seed)
    data = data.isotropic()
    r = ranks.estimate(data, rng)[0] if isinstance(rank, str) else int(rank)
    x, residual = _refined(data, r, rng) if r <= data.largest_rank() else _eigenpairs(data, r, rng)
    _warn_if_weak(data, residual, rng)
    return arrays.cast(data.back(x), dtype)


@on_host
def estimate_rank(problem: Composite, *, seed: int = 0) -> int:
    """The rank the data speak for: where the spectrum of a small tensor, fitted to them, falls most steeply.

    As in `spectral`, a small space is renewed round after round; here it also takes in the leading directions of what
    is still unexplained, so that weak factors surface once strong ones are fitted. The rank is the k with the largest
    ratio σ_k / σ_{k+1} among the eigenvalues (n = 2) or the singular values of the unfolding of the last fit.

    It is a guess. It was right on every seed tried with r ≤ 5 and κ(X⋆) ≤ 10 for n = 2 and κ(X⋆) ≤ 3 for n = 3, at
    m = 8dr and 8ndr with and without 20% corrupted data. It is too small when the spectrum has a wider gap than the one
    at its end, as it must be for eigenvalues below 10⁻⁴ of the largest (κ(X⋆) = 100 for n = 2).

    Parameters
    ----------
    problem : Composite
        As for `spectral`.
    seed : int
        Seed of the few random numbers used.

    Returns
    -------
    int
    """
    require_seed(seed)
    data, rng = measured(problem)[0].isotropic(), np.random.default_rng(seed)
    rank, residual = ranks.estimate(data, rng)
    _warn_if_weak(data, residual, rng)
    return rank


def _refined(data: Measured, rank: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Steps 1 to 3 of `spectral`: the best of the rounds in the l1 sense, and its residual."""
    width = data.width(2 * rank, rank)
    basis, residual = data.leading(width, rng)[1], data.b
    best, lowest = (np.empty(0), residual), np.inf
    # With no room beside the factors the space cannot be renewed.
    for _ in rounds(1 if width == rank else 1 + _ROUNDS):
        x = basis @ core.factors(data.fit(basis, residual, rng), rank, rng)
        residual, direction = data.residual(x)
        value = float(np.sum(np.abs(residual)))
        if value < lowest:
            best, lowest = (x, residual), value
        basis = span(x, direction)[:, :width]
    return best


def _eigenpairs(data: Measured, rank: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """For matrices of a rank too large to fit r(r+1)/2 numbers: eigenpairs of B, and one scale for all of them."""
    x = core.matrix_factors(*data.leading(rank, rng))
    image = data.b - data.residual(x)[0]
    t = _scale(image, data.b)
    return x * np.sqrt(t), data.b - t * image


def _scale(image: np.ndarray, b: np.ndarray) -> float:
    """The t > 0 that minimises Σ |t aᵢ − bᵢ|: the median of bᵢ/aᵢ weighted by |aᵢ|, blind to gross outliers."""
    used = image != 0
    ratio, weight = b[used] / image[used], np.abs(image[used])
    order = np.argsort(ratio)
    mass = np.cumsum(weight[order])
    middle = float(ratio[order][np.searchsorted(mass, mass[-1] / 2)])
    return middle if middle > 0 else float(np.median(np.abs(b)) / np.median(np.abs(image)))


def _warn_if_weak(data: Measured, residual: np.ndarray, rng: np.random.Generator) -> None:
    # Few data can hide the gap of a start that is good all the same, and a start that explains them is good.
    if is_hurried() or np.median(np.abs(residual)) < _EXPLAINED * np.median(np.abs(data.b)):
        return
    w, act = data.moment()
    largest = float(leading(act, data.d, 1, rng)[0][0])
    chance = moments.edge(data, w, rng, _SHUFFLES)
    if not largest > _MARGIN * chance:
        warnings.warn(
            f"the data show no clear signal: their largest eigenvalue is {largest:.3g}, and shuffled data reach "
            f"{chance:.3g}. Take more measurements, check that b belongs to p and q, or pass an x0 of your own.",
            WeakStartWarning,
            stacklevel=4,
        )


def _check_rank(data: Measured, rank: Any) -> None:
    if isinstance(rank, str) and rank == "auto":
        return
    most = data.d if data.n == 2 else data.largest_rank()
    if not is_whole(rank, 1) or rank > most:
        raise InputError(
            given=f"rank={shown(rank)} with {len(data.b)} measurements of order {data.n} in dimension {data.d}",
            needed=f'a whole number from 1 to {most}, or "auto"',
            missing="a rank this start can be made for",
            advice='try rank="auto"; for a larger rank, pass an x0 of your own',
        )
