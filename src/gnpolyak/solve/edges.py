"""How far variables are from their bounds, as a certificate sees it.

In a box no step z gains more than ‖r‖₁ − ⟨v, r⟩ + ⟨(AJ)ᵀv, z⟩, and z stays inside. A variable next to a bound that
(AJ)ᵀv pushes it through can gain no more than the little that is left to the bound, however large its multiplier; one
that is pushed inwards is as free as any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Edges:
    """The steps to the bounds, in units that move the data by one."""

    below: np.ndarray
    """At most 0."""
    above: np.ndarray
    """At least 0."""
    near: float
    """Up to here a variable is at its bound."""

    @property
    def at_bound(self) -> np.ndarray:
        """Which variables are at a bound, on either side."""
        return np.minimum(-self.below, self.above) <= self.near

    def held(self, g: np.ndarray) -> np.ndarray:
        """Which variables are at a bound that a step along g would lead through."""
        return self._room(g) <= self.near

    def left(self, g: np.ndarray) -> float:
        """What those may still gain: the way to their bounds."""
        held = self.held(g)
        return float(np.abs(g[held]) @ self._room(g)[held])

    def _room(self, g: np.ndarray) -> np.ndarray:
        return np.where(g > 0, self.above, -self.below)
