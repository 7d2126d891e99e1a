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

import numpy as np

from gnpolyak.base.streams import Streamed
from gnpolyak.problem.oracles.native import direct
from gnpolyak.problem.oracles.native.calls import takes
from gnpolyak.problem.sensing.isotropy import roots
from gnpolyak.starts.host import wide
from gnpolyak.starts.leading import Action, leading
from gnpolyak.starts.power import core
from gnpolyak.starts.power.voices import redescend, weights, weights_of_squares
from gnpolyak.starts.rows import Rows

# Entries of the small tensor that may be fitted at all (half a minute), and that a wider space than the rank asks for
# may have (seconds).
LARGEST_CORE, _LARGEST_WIDE = 1600, 800
# Measurements for each entry: enough to average their noise, and no more than the fit can afford in time and, with this
# many numbers (128 MB), in memory.
_MOST_ROWS, _FEWEST_ROWS = 16, 2
_LARGEST_FIT = 2**24
# Rows that tell the mean square of whitened ones: to a thousandth, of which nothing depends.
_SQUARES = 4096


@dataclass(frozen=True)
class Measured:
    """b = A(Σ xⱼ^⊗n) + outliers, or A(XXᴴ) + outliers, seen through P, Q and b alone."""

    rows: Rows
    """P, and Q where the measurements are centred; complex for XXᴴ."""
    n: int
    """The order."""
    b: np.ndarray
    squares: tuple[float, ...]
    """The mean squares of the entries of P, and of Q, in these coordinates."""
    roots: tuple[np.ndarray, np.ndarray] | None = None
    """Σ^½ and its inverse for rows of covariance Σ that are not isotropic: Σ^½ X are the coordinates.

    No row is changed or copied: what they are multiplied by is.
    """

    @property
    def d(self) -> int:
        """The dimension."""
        return int(self.rows.stored[0].shape[1])

    @property
    def hermitian(self) -> bool:
        """Whether this is about XXᴴ."""
        return self.rows.dtype.kind == "c"

    @property
    def real(self) -> np.dtype:
        """The type of real numbers that is computed in."""
        return np.finfo(self.rows.dtype).dtype

    def isotropic(self) -> Measured:
        """The same in coordinates in which the rows are isotropic, if they are not."""
        found = roots(self.rows.stored)
        if found is None:
            return self
        some = np.unique(np.linspace(0, self.rows.count - 1, _SQUARES).astype(np.int64))
        squares = tuple(float(np.mean(np.abs(each) ** 2)) for each in self.rows.projected(found[1], some))
        return replace(self, roots=found, squares=squares)

    def into(self, x: np.ndarray) -> np.ndarray:
        """The user's factors in these coordinates."""
        return x if self.roots is None else self.roots[0] @ x

    def back(self, x: np.ndarray) -> np.ndarray:
        """Factors in these coordinates in the user's; and what was pulled back to the user's, in these."""
        return x if self.roots is None else self.roots[1] @ x

    def moment(self, left: np.ndarray | None = None) -> tuple[np.ndarray, Action]:
        """The weights of the data, or of what is left of them, and their second moment of the measurement vectors."""
        centred = len(self.rows.stored) == 2
        if left is None and self.n == 2 and not centred:
            w = weights_of_squares(self.b)
        else:
            w = weights(self.b if left is None else left, self.n, centred=centred)
        return w, self.action(w)

    def action(self, w: np.ndarray) -> Action:
        """Z ↦ (1/m) [Σ wᵢ (p̄ᵢpᵢᵀ − σ²I) ± Σ wᵢ (q̄ᵢqᵢᵀ − σ²I)] Z, with − for even n, where large q make y small.

        σ² is the mean square of the entries: 1 for the paper's rows.
        """
        signs = (1.0, 1.0 if self.n % 2 else -1.0)[: len(self.squares)]
        scaled = (w / len(w)).astype(self.real)
        shift = float(np.mean(w)) * sum(sign * each for sign, each in zip(signs, self.squares, strict=True))

        def act(z: np.ndarray | None) -> np.ndarray:
            columns = None if z is None else self.back(z).astype(self.rows.dtype)

            def some(*rows: np.ndarray) -> np.ndarray:
                *sides, weight = rows
                plus, *others = (_weighted(each, weight, columns) for each in sides)
                return plus + signs[1] * others[0] if others else plus

            total = self.back(self.rows.summed(some, scaled))
            if z is None:
                return self.back(total.conj().T) - shift * np.eye(self.d)
            return total - shift * z

        return act

    def leading(
        self, count: int, rng: np.random.Generator, left: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The leading eigenpairs of the moment weighted by the data, or by what is left of them."""
        return leading(self.moment(left)[1], self.d, count, rng)

    def residual(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """b − A(c(x)), and JᵀAᵀψ(b − A(c(x))), along which residuals of ordinary size fall."""
        at = self.back(x).astype(self.rows.dtype)
        if self._is_fused(at):
            p, *others = self.rows.stored
            q = others[0] if others else None
            values, slopes = direct.power_forms(p, q, at, self.n)
            residual = self.b - values
            weights = redescend(residual).astype(at.dtype)
            # The slopes are n times the powers of the products.
            return residual, self.back(wide(direct.power_product(p, q, slopes, None, weights)[1])) / self.n
        products = self.rows.joined(lambda *sides: np.hstack([each @ at for each in sides]))
        signs = np.repeat([1.0, -1.0], x.shape[1])[: products.shape[1]]
        residual = self.b - _power(products, self.n) @ signs
        columns = (redescend(residual)[:, None] * signs).astype(self.real) * _slope(products, self.n)

        def pulled(*given: np.ndarray) -> np.ndarray:
            *sides, some = given
            plus, *minus = map(_adjoint, sides, np.hsplit(some, len(sides)))
            return plus + minus[0] if minus else plus

        return residual, self.back(self.rows.summed(pulled, columns))

    def _is_fused(self, x: np.ndarray) -> bool:
        """Whether the compiled passes serve these rows: each reads them once, where products read them twice."""
        p, *others = self.rows.stored
        if isinstance(p, Streamed) or np.iscomplexobj(p) or not direct.available():
            return False
        return takes(p, others[0] if others else None, x, x)

    def fit(self, basis: np.ndarray, residual: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The small tensor in this basis that explains the data best in the l1 sense, begun from known residuals."""
        entries = self.unknowns(basis.shape[1])
        wanted = min(_MOST_ROWS * entries, _LARGEST_FIT // entries)
        # Drawn, not the first ones: data may come sorted, and outliers in bursts.
        kept = rng.permutation(len(self.b))[:wanted]
        p, *others = self.rows.projected(self.back(basis), kept)
        q = others[0] if others else None
        if self.hermitian:
            return core.fit_hermitian(p, q, self.b[kept], residual[kept])
        return core.fit(p, q, self.b[kept], residual[kept], self.n)

    def unknowns(self, s: int) -> int:
        """Real numbers in the small tensor of s directions."""
        return s * s if self.hermitian else core.unknowns(s, self.n)

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


def span(*blocks: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the blocks' columns: block after block, and in each the strongest direction first."""
    ordered = [np.linalg.svd(block, full_matrices=False)[0] for block in blocks]
    return np.linalg.qr(np.hstack(ordered))[0]


def edge(data: Measured, w: np.ndarray, rng: np.random.Generator, trials: int) -> float:
    """The largest eigenvalue of the moment when the weights are shuffled, so that they know nothing of their rows."""
    return max(float(leading(data.action(rng.permutation(w)), data.d, 1, rng)[0][0]) for _ in range(trials))


def _weighted(rows: np.ndarray, w: np.ndarray, z: np.ndarray | None) -> np.ndarray:
    """Σ wᵢ p̄ᵢpᵢᵀ Z, or the sum itself."""
    if z is not None:
        return _adjoint(rows, w[:, None] * (rows @ z))
    # As a difference of squares, which BLAS forms in half the time of other products.
    return _square(rows[w > 0], w[w > 0]) - _square(rows[w < 0], -w[w < 0])


def _square(rows: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Σ wᵢ p̄ᵢpᵢᵀ of positive weights; the rows are a copy, and are written to."""
    rows *= np.sqrt(w)[:, None]
    return (rows.conj() if np.iscomplexobj(rows) else rows).T @ rows


def _adjoint(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Pᴴ times columns; of complex ones, those are conjugated instead of the rows."""
    if not np.iscomplexobj(rows):
        return (columns.T @ rows).T
    return np.conj(columns.conj().T @ rows).T


def _power(products: np.ndarray, n: int) -> np.ndarray:
    if np.iscomplexobj(products):
        return np.square(products.real) + np.square(products.imag)
    return _slope(products, n) * products


def _slope(products: np.ndarray, n: int) -> np.ndarray:
    """The power n − 1 of real numbers, by products: NumPy's own takes ten times as long beyond squares."""
    return products if n == 2 else products * _slope(products, n - 1)
