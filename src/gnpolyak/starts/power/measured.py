"""The data a start is made from, and where the factors live: second moments weighted by a bounded function of them.

For Gaussian p and any function w of y = Σⱼ (pᵀxⱼ)ⁿ, Stein's identity gives

    E[w(y) (ppᵀ − I)] = E[∇²(w∘y)(p)],

a matrix whose range lies in span(x₁, …, x_r): away from that span p is independent of y. So w may be chosen freely
to tame outliers; it changes the eigenvalues and never the space. Only d² numbers are estimated, whatever the order,
which is why a multiple of dr measurements is enough for tensors too. For complex rows and y = Σⱼ |pᵀxⱼ|² the same holds
of E[w(y) (p̄pᵀ − I)].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hermitian, SymmetricCP
from gnpolyak.problem.penalties import L1, L2
from gnpolyak.problem.sensing import PowerSensing, Sensing, Whitened
from gnpolyak.starts.leading import Action, leading
from gnpolyak.starts.power import core

# The orders whose success has been measured.
_ORDERS = (2, 3, 4)
# Entries of the small tensor that may be fitted at all (half a minute), and that a wider space than the rank asks for
# may have (seconds).
LARGEST_CORE, _LARGEST_WIDE = 1600, 800
# Measurements for each entry: enough to average their noise, and no more than the fit can afford in time and, with this
# many numbers (128 MB), in memory.
_MOST_ROWS, _FEWEST_ROWS = 16, 2
_LARGEST_FIT = 2**24
# A weight grows with the datum up to 2 medians and falls from there to zero at 6: data of the signal's own size keep
# their voice, and gross outliers have none at all, however large.
_FLAT, _GONE = 2.0, 6.0


@dataclass(frozen=True)
class Measured:
    """b = A(Σ xⱼ^⊗n) + outliers, or A(XXᴴ) + outliers, seen through P, Q and b alone."""

    map: SymmetricCP | Hermitian
    sensing: PowerSensing
    b: np.ndarray
    change: Sensing | None = None
    """What takes the user's factors to the coordinates of these rows, and back."""

    @property
    def n(self) -> int:
        """The order."""
        return self.map.n

    @property
    def d(self) -> int:
        """The dimension."""
        return int(self.sensing.p.shape[1])

    def isotropic(self) -> Measured:
        """The same in coordinates in which the rows are isotropic, if they are not: a copy of them."""
        change = self.sensing.whitened()
        if not isinstance(change, Whitened):
            return self
        inverse = change.inverse.astype(self.sensing.p.dtype)
        rows = [None if stored is None else stored @ inverse for stored in (self.sensing.p, self.sensing.q)]
        return replace(self, sensing=PowerSensing(*rows), change=change)

    def into(self, x: np.ndarray) -> np.ndarray:
        """The user's factors in the coordinates of these rows."""
        return x if self.change is None else np.asarray(self.change.into(x))

    def back(self, x: np.ndarray) -> np.ndarray:
        """Factors in the coordinates of these rows in the user's."""
        return x if self.change is None else np.asarray(self.change.back(x))

    def moment(self, left: np.ndarray | None = None) -> tuple[np.ndarray, Action]:
        """The weights of the data, or of what is left of them, and their second moment of the measurement vectors."""
        centred = self.sensing.q is not None
        if left is None and self.n == 2 and not centred:
            w = weights_of_squares(self.b)
        else:
            w = weights(self.b if left is None else left, self.n, centred=centred)
        return w, moment(self.sensing, w, self.n)

    def leading(
        self, count: int, rng: np.random.Generator, left: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The leading eigenpairs of the moment weighted by the data, or by what is left of them."""
        return leading(self.moment(left)[1], self.d, count, rng)

    def residual(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """b − A(c(x)), and JᵀAᵀψ(b − A(c(x))), along which residuals of ordinary size fall."""
        residual, direction = _residual(self.map, self.sensing, jnp.asarray(self.b), jnp.asarray(x))
        return _wide(residual), _wide(direction)

    def fit(self, basis: np.ndarray, residual: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The small tensor in this basis that explains the data best in the l1 sense, begun from known residuals."""
        columns = jnp.asarray(basis, self.sensing.p.dtype)
        entries = self.unknowns(basis.shape[1])
        wanted = min(_MOST_ROWS * entries, _LARGEST_FIT // entries)
        # Drawn, not the first ones: data may come sorted, and outliers in bursts.
        kept = rng.permutation(len(self.b))[:wanted]
        p = _wide(self.sensing.p @ columns)[kept]
        q = None if self.sensing.q is None else _wide(self.sensing.q @ columns)[kept]
        if isinstance(self.map, Hermitian):
            return core.fit_hermitian(p, q, self.b[kept], residual[kept])
        return core.fit(p, q, self.b[kept], residual[kept], self.n)

    def unknowns(self, s: int) -> int:
        """Real numbers in the small tensor of s directions."""
        return s * s if isinstance(self.map, Hermitian) else core.unknowns(s, self.n)

    def width(self, wanted: int, rank: int) -> int:
        """How many directions, of those wanted, a fit can afford; never fewer than the rank."""
        affordable = max(_LARGEST_WIDE, min(2 * self.unknowns(rank), LARGEST_CORE))
        most = min(affordable, len(self.b) // (2 * _FEWEST_ROWS))
        width = min(wanted, self.d)
        while width > rank and self.unknowns(width) > most:
            width -= 1
        return width

    def largest_rank(self) -> int:
        """The largest rank whose small tensor can be fitted to this many measurements."""
        most = min(LARGEST_CORE, len(self.b) // _FEWEST_ROWS)
        rank = 1
        while rank < self.d and self.unknowns(rank + 1) <= most:
            rank += 1
        return rank


@eqx.filter_jit
def _residual(c: SymmetricCP | Hermitian, sensing: PowerSensing, b: Array, x: Array) -> tuple[Array, Array]:
    z, pullback = sensing.measure(c, x.astype(sensing.p.dtype))
    residual = b - z
    return residual, pullback(redescend(residual).astype(z.dtype))


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
    problem = _of_one_field(problem.cast(dtype))
    sensing, b = problem.sensing, np.asarray(problem.penalty.b, np.float64)
    problem.penalty.check((sensing.p.shape[0],))
    if np.median(np.abs(b)) == 0:
        raise InputError(
            given=f"data b of which {np.mean(b == 0):.0%} are exactly zero",
            needed="data that measure something",
            missing="a signal: with most data zero, x = 0 already explains them",
            advice="check how b was filled, or pass an x0 of your own",
        )
    _require_measuring(sensing, problem.map.n, dtype)
    return Measured(problem.map, sensing, b), dtype


def _require_measuring(sensing: PowerSensing, n: int, dtype: np.dtype) -> None:
    """Raise InputError where the rows measure nothing, or leave the arithmetic when their powers are taken."""
    rows = [_wide(each) for each in (sensing.p, sensing.q) if each is not None]
    size = max(float(np.max(np.abs(each))) for each in rows)
    # Moments of the rows are of order 2n.
    reach = float(np.finfo(dtype).max) ** (1 / (2 * n + 1))
    if size == 0 or not 1 / reach < size < reach:
        raise InputError(
            given=f"measurement vectors p whose largest entry is {size:.3g}",
            needed=f"numbers whose powers of order {2 * n} can be computed with",
            missing="vectors that are not zero" if size == 0 else "a scale near 1",
            advice="check how p was filled"
            if size == 0
            else "divide p, and q, by their typical size: x is scaled with it",
        )
    x = np.random.default_rng(0).standard_normal(rows[0].shape[1])
    terms = [np.abs(each @ x) ** n if np.iscomplexobj(each) else (each @ x) ** n for each in rows]
    if len(terms) == 2 and np.max(np.abs(terms[0] - terms[1])) <= 1e-10 * np.max(np.abs(terms[0])):
        raise InputError(
            given="measurement vectors q that equal p, up to a sign",
            needed="differences M(p, …) − M(q, …) that depend on M",
            missing="any measurement: each of them is zero, whatever x is",
            advice="leave q out for measurements that are not centred, or check how q was filled",
        )


def _of_one_field(problem: Composite) -> Composite:
    """The problem with complex rows where its factors are complex."""
    if not isinstance(problem.map, Hermitian):
        return problem
    sensing: Any = problem.sensing
    with arrays.precise(True):
        rows = [None if stored is None else stored + 0j for stored in (sensing.p, sensing.q)]
        return Composite(problem.map, problem.penalty, PowerSensing(*rows))


def _wide(array: Any) -> np.ndarray:
    """The array in double precision, real or complex."""
    return np.asarray(array, np.result_type(array.dtype, np.float64))


def _require_kind(problem: Any) -> None:
    fits = (
        isinstance(problem, Composite)
        and isinstance(problem.map, (SymmetricCP, Hermitian))
        and problem.map.n in _ORDERS
        and isinstance(problem.sensing, PowerSensing)
        and isinstance(problem.penalty, (L1, L2))
    )
    if not fits:
        raise InputError(
            given=problem.label if isinstance(problem, Composite) else f"a problem of type {type(problem).__name__}",
            needed=f"L1 or L2 of PowerSensing of SymmetricCP(n) with n in {_ORDERS}, or of Hermitian",
            missing="a known way from the data of this problem to a start",
            advice="pass x0, a point of your own to start from",
        )


def redescend(values: Array) -> Array:
    """ψ(v): v over its median size up to 2, then falling to 0 at 6, so that no share of outliers need be known."""
    size = jnp.abs(values)
    middle = jnp.median(size)
    ratio = size / jnp.where(middle > 0, middle, 1.0)
    falling = _FLAT * (_GONE - ratio) / (_GONE - _FLAT)
    return jnp.sign(values) * jnp.clip(jnp.minimum(ratio, falling), 0.0, _FLAT)


def weights(b: np.ndarray, n: int, *, centred: bool) -> np.ndarray:
    """The weight w(y) of each p.

    E[(pᵀu)² | y] − 1 grows like |y|^(2/n), and a weight of that shape separates best. For odd n the sign of y says
    nothing about ppᵀ, since p and −p are equally likely. For even n it tells large p from small p, or from large q.
    """
    if n % 2:
        size = np.abs(b) ** (2 / n)
        shaped = size - np.median(size)
    else:
        shifted = b if centred else b - np.median(b)
        shaped = np.sign(shifted) * np.abs(shifted) ** (2 / n)
    return np.asarray(redescend(jnp.asarray(shaped)))


def weights_of_squares(b: np.ndarray) -> np.ndarray:
    """The weight of each p for sums of squares y = Σⱼ |pᵀxⱼ|²: of √y, and none for negative data, which are outliers.

    The squares of a single factor are often near zero and seldom large. On the scale of their roots a large one, which
    says most about its p, is no outlier.
    """
    amplitude = np.sqrt(np.maximum(b, 0.0))
    shifted = amplitude - np.median(amplitude[b > 0])
    return np.where(b > 0, np.asarray(redescend(jnp.asarray(shifted))), 0.0)


def moment(sensing: PowerSensing, w: np.ndarray, n: int) -> Action:
    """Z ↦ (1/m) [Σ wᵢ (p̄ᵢpᵢᵀ − σ²I) ± Σ wᵢ (q̄ᵢqᵢᵀ − σ²I)] Z, with − for even n, where large q make y small.

    σ² is the mean square of the entries: 1 for the paper's rows.
    """
    sign = 1.0 if n % 2 else -1.0
    scaled = (jnp.asarray(w, sensing.p.dtype) / len(w))[:, None]

    def act(z: np.ndarray) -> np.ndarray:
        columns = jnp.asarray(z, sensing.p.dtype)
        total = _weighted(sensing.p, scaled, columns)
        if sensing.q is not None:
            total = total + sign * _weighted(sensing.q, scaled, columns)
        return _wide(total)

    return act


@eqx.filter_jit
def _weighted(rows: Array, w: Array, z: Array) -> Array:
    variance = jnp.mean(jnp.square(jnp.abs(rows)))
    return jnp.conj(rows.T @ jnp.conj(w * (rows @ z))) - variance * jnp.sum(w) * z


def edge(sensing: PowerSensing, w: np.ndarray, n: int, rng: np.random.Generator, trials: int) -> float:
    """The largest eigenvalue of the moment when the weights are shuffled, so that they know nothing of their rows."""
    d = sensing.p.shape[1]
    return max(float(leading(moment(sensing, rng.permutation(w), n), d, 1, rng)[0][0]) for _ in range(trials))
