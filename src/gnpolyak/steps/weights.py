"""Robust weights of a width δ: Huber's, which weigh distant residuals down, and Tukey's, which leave them out."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from gnpolyak.base.namespace import Array, eps_of
from gnpolyak.oracles.reductions import Reductions

# Tukey's weights end at this many widths: 95% efficient at the normal law.
TUKEY = 4.685
# From a median to the standard deviation of the normal law with that median.
MAD = 1.4826
# Units of eps times a typical datum: up to here residuals are the rounding of long sums.
ROUNDING = 1e3


class Width(NamedTuple):
    """δ, and whether the weights are Tukey's, which vanish from 4.685 δ on, or Huber's."""

    delta: Array
    redescending: Array

    def weights(self, reduce: Reductions, r: Array) -> Array:
        """wᵢ = ρ′(rᵢ)/rᵢ."""
        xp, a = reduce.xp, abs(r)
        # A residual whose own rounding is that large hides what the others gain, and says nothing itself.
        seen = reduce.counted() & (a * eps_of(r.dtype) ** 0.5 < self.delta)
        return xp.where(seen, self._of_sizes(xp, a), 0.0)

    def _of_sizes(self, xp: Any, a: Array) -> Array:
        def huber() -> Array:
            return xp.minimum(1.0, self.delta / xp.maximum(a, jnp.finfo(a.dtype).tiny))

        def tukey() -> Array:
            u = xp.minimum(a / (TUKEY * self.delta), 1.0)
            return (1 - u * u) ** 2

        return self._either(xp, tukey, huber)

    def fall(self, reduce: Reductions, r: Array, s: Array) -> tuple[Array, Array]:
        """Σ ρ(rᵢ) − ρ(sᵢ), taken term by term, and Σ ρ(rᵢ)."""
        xp = reduce.xp
        cap = self.delta / eps_of(r.dtype) ** 0.5
        a, b = (xp.minimum(abs(each), cap) for each in (r, s))
        before = self._rho(xp, a)

        def plain() -> Array:
            # Inside δ Huber's ρ is a²/2, whose difference is told without cancellation.
            inside = (a <= self.delta) & (b <= self.delta)
            return xp.where(inside, (a - b) * (a + b) / 2, before - self._rho(xp, b))

        terms = self._either(xp, lambda: before - self._rho(xp, b), plain)
        fallen, whole = reduce.sums(terms, before)
        return fallen, whole

    def _rho(self, xp: Any, a: Array) -> Array:
        def tukey() -> Array:
            c = TUKEY * self.delta
            u = xp.minimum(a / c, 1.0) ** 2
            return c * c / 6 * u * (3 - 3 * u + u * u)

        def huber() -> Array:
            return xp.where(a <= self.delta, a * a / 2, self.delta * (a - self.delta / 2))

        return self._either(xp, tukey, huber)

    def _either(self, xp: Any, tukey: Any, huber: Any) -> Array:
        """One of the two; a compiled program computes both, since a branch would cost more."""
        if xp is jnp:
            return jnp.where(self.redescending, tukey(), huber())
        return tukey() if self.redescending else huber()
