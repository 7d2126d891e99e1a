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

from gnpolyak.problem.maps import Hermitian, SymmetricCP
from gnpolyak.problem.sensing import PowerSensing, Sensing, Whitened
from gnpolyak.starts.leading import Action, leading
from gnpolyak.starts.power import core
from gnpolyak.starts.power.voices import redescend, weights, weights_of_squares

# Entries of the small tensor that may be fitted at all (half a minute), and that a wider space than the rank asks for
# may have (seconds).
LARGEST_CORE, _LARGEST_WIDE = 1600, 800
# Measurements for each entry: enough to average their noise, and no more than the fit can afford in time and, with this
# many numbers (128 MB), in memory.
_MOST_ROWS, _FEWEST_ROWS = 16, 2
_LARGEST_FIT = 2**24


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
        return w, self.action(w)

    def action(self, w: np.ndarray) -> Action:
        """The second moment of the measurement vectors with these weights."""
        return moment(self.sensing, w, self.n)

    def leading(
        self, count: int, rng: np.random.Generator, left: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The leading eigenpairs of the moment weighted by the data, or by what is left of them."""
        return leading(self.moment(left)[1], self.d, count, rng)

    def residual(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """b − A(c(x)), and JᵀAᵀψ(b − A(c(x))), along which residuals of ordinary size fall."""
        residual, direction = _residual(self.map, self.sensing, jnp.asarray(self.b), jnp.asarray(x))
        return wide(residual), wide(direction)

    def fit(self, basis: np.ndarray, residual: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The small tensor in this basis that explains the data best in the l1 sense, begun from known residuals."""
        entries = self.unknowns(basis.shape[1])
        wanted = min(_MOST_ROWS * entries, _LARGEST_FIT // entries)
        # Drawn, not the first ones: data may come sorted, and outliers in bursts.
        kept = rng.permutation(len(self.b))[:wanted]
        p, *others = self.projected(basis, kept)
        q = others[0] if others else None
        if isinstance(self.map, Hermitian):
            return core.fit_hermitian(p, q, self.b[kept], residual[kept])
        return core.fit(p, q, self.b[kept], residual[kept], self.n)

    def projected(self, basis: np.ndarray, kept: np.ndarray) -> list[np.ndarray]:
        """The products of some rows with a basis, of p and, where there is one, of q."""
        columns = jnp.asarray(basis, self.sensing.p.dtype)
        return [wide(rows @ columns)[kept] for rows in (self.sensing.p, self.sensing.q) if rows is not None]

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


def wide(array: Any) -> np.ndarray:
    """The array in double precision, real or complex."""
    return np.asarray(array, np.result_type(array.dtype, np.float64))


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
        return wide(total)

    return act


@eqx.filter_jit
def _weighted(rows: Array, w: Array, z: Array) -> Array:
    variance = jnp.mean(jnp.square(jnp.abs(rows)))
    return jnp.conj(rows.T @ jnp.conj(w * (rows @ z))) - variance * jnp.sum(w) * z


def edge(data: Measured, w: np.ndarray, rng: np.random.Generator, trials: int) -> float:
    """The largest eigenvalue of the moment when the weights are shuffled, so that they know nothing of their rows."""
    return max(float(leading(data.action(rng.permutation(w)), data.d, 1, rng)[0][0]) for _ in range(trials))
