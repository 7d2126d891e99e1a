"""The Jacobian J factorised: systems with JᵀJ + λI without squaring its condition number."""

from __future__ import annotations

from typing import Any, NamedTuple

from gnpolyak.base.namespace import Array, cond, eps_of, solve_triangular, svd
from gnpolyak.base.trees import Tree
from gnpolyak.oracles.base import Oracle


class Factors(NamedTuple):
    """J D⁻¹ = QR with columns of length 1: where J has full rank R is all that is needed, else the singular values."""

    xp: Any
    q: Array
    root: Array
    """RD, so that JᵀJ = (RD)ᵀRD."""
    regular: Array
    """Whether J has full rank to working precision."""
    damping: Array | float

    @classmethod
    def of(cls, oracle: Oracle, x: Tree, damping: Array | float) -> Factors:
        xp, jacobian = oracle.xp, oracle.jacobian(x)
        short = max(jacobian.shape[1] - jacobian.shape[0], 0)
        # Rows of zeros where there are fewer rows than columns, so that R is always square.
        jacobian = xp.pad(jacobian, ((0, short), (0, 0)))
        column = xp.linalg.norm(jacobian, axis=0)
        q, triangle = xp.linalg.qr(jacobian / xp.where(column > 0, column, 1.0))
        pivots = abs(xp.diag(triangle))
        regular = pivots.min() > 100 * _cutoff(q) * pivots.max()
        return cls(xp, q[: len(q) - short], triangle * column, regular, damping)

    def least_squares(self, w: Array) -> Array:
        """(JᵀJ + λI)†Jᵀw, from Qᵀw: the condition number of J is not squared."""
        target = self.q.T @ w

        def regular() -> Array:
            q, triangle = self._damped()
            return solve_triangular(self.xp, triangle, q[: len(target)].T @ target)

        return cond(self.xp, self.regular, regular, lambda: self._singular(target, 1))

    def solve(self, g: Array) -> Array:
        """(JᵀJ + λI)†Pg, for the projection P on range(Jᵀ)."""

        def regular() -> Array:
            _, triangle = self._damped()
            half = solve_triangular(self.xp, triangle, g, transposed=True)
            return solve_triangular(self.xp, triangle, half)

        return cond(self.xp, self.regular, regular, lambda: self._singular(g, 2))

    def _damped(self) -> tuple[Array, Array]:
        """Q and R of [RD; √λ I]."""
        unit = self.xp.eye(len(self.root), dtype=self.root.dtype)
        if isinstance(self.damping, float) and self.damping == 0.0:
            return unit, self.root
        return self.xp.linalg.qr(self.xp.concatenate([self.root, self.xp.sqrt(self.damping) * unit]))

    def _singular(self, target: Array, power: int) -> Array:
        """On what is left of the rank: σ/(σ² + λ) for a target in the image (power 1), 1/(σ² + λ) for one in x."""
        xp = self.xp
        left, singular, right = svd(xp, self.root)
        kept = singular > _cutoff(self.q) * singular.max()
        inverse = xp.where(kept, singular ** (2 - power) / xp.where(kept, singular**2 + self.damping, 1.0), 0.0)
        return right.T @ (inverse * ((left.T if power == 1 else right) @ target))


def _cutoff(matrix: Array) -> float:
    """Singular values below this share of the largest are rounding, not rank."""
    return max(matrix.shape) * eps_of(matrix.dtype)
