"""Robust weights of a width δ: Huber's, which weigh distant residuals down, and Tukey's, which leave them out."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

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
        if reduce.xp is np:
            return self._weights_in_place(r)
        a = abs(r)
        u = jnp.minimum(a / (TUKEY * self.delta), 1.0)
        huber = jnp.minimum(1.0, self.delta / jnp.maximum(a, jnp.finfo(r.dtype).tiny))
        # A residual whose own rounding is that large hides what the others gain, and says nothing itself.
        seen = reduce.counted() & (a * eps_of(r.dtype) ** 0.5 < self.delta)
        return jnp.where(seen, jnp.where(self.redescending, (1 - u * u) ** 2, huber), 0.0)

    def _weights_in_place(self, r: Any) -> Any:
        """The same for finite residuals in one array of NumPy's: each new one costs as much as its arithmetic."""
        if self.redescending:
            w = np.minimum(r * (1 / (TUKEY * self.delta)), 1.0)
            w = np.maximum(w, -1.0, out=w)
            w *= w
            np.subtract(1.0, w, out=w)
            return np.multiply(w, w, out=w)
        w = np.maximum(abs(r), jnp.finfo(r.dtype).tiny)
        np.divide(self.delta, w, out=w)
        w *= w > eps_of(r.dtype) ** 0.5
        return np.minimum(w, 1.0, out=w)

    def fall(self, reduce: Reductions, r: Array, s: Array) -> tuple[Array, Array]:
        """Σ ρ(rᵢ) − ρ(sᵢ), taken term by term, and Σ ρ(rᵢ)."""
        xp = reduce.xp
        cap = self.delta / eps_of(r.dtype) ** 0.5
        a, b = (xp.minimum(abs(each), cap) for each in (r, s))
        before, after = (self._rho(xp, each) for each in (a, b))
        terms = before - after
        if xp is jnp or not self.redescending:
            plain = (a <= self.delta) & (b <= self.delta) & ~self.redescending
            # Inside δ Huber's ρ is a²/2, whose difference is told without cancellation.
            terms = xp.where(plain, (a - b) * (a + b) / 2, terms)
        fallen, whole = reduce.sums(terms, before)
        return fallen, whole

    def _rho(self, xp: Any, a: Array) -> Array:
        """Tukey's ρ = (c²/6) u(3 − 3u + u²) with u = (a/c)², or Huber's."""
        c = TUKEY * self.delta
        if xp is np and self.redescending:
            u = a * (1 / c)
            u *= u
            np.minimum(u, 1.0, out=u)
            rho = u - 3.0
            rho *= u
            rho += 3.0
            rho *= u
            rho *= c * c / 6
            return rho
        huber = xp.where(a <= self.delta, a * a / 2, self.delta * (a - self.delta / 2))
        if xp is np:
            return huber
        u = jnp.minimum(a / c, 1.0) ** 2
        return jnp.where(self.redescending, c * c / 6 * u * (3 - 3 * u + u * u), huber)
