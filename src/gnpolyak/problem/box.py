"""A box that the variable may not leave, lo ≤ x ≤ hi."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.modules import Module
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree


class Box(Module):
    """Bounds on every real number of a variable, infinite where there is none.

    Parameters
    ----------
    lo, hi : pytree
        Like the variable, or with leaves of one number that holds for a whole leaf, however many columns it gets.
    """

    lo: Tree
    hi: Tree

    def project(self, xp: Any, x: Tree) -> Tree:
        """The point of the box that is nearest to x; what rounding alone keeps from a bound is put on it."""

        def inside(leaf: Array, lo: Array, hi: Array) -> Array:
            rounding = 4 * float(np.finfo(leaf.dtype).eps) * abs(leaf)
            return xp.where(leaf - rounding <= lo, lo, xp.where(leaf + rounding >= hi, hi, leaf))

        return jax.tree.map(inside, x, self.lo, self.hi)

    def like(self, xp: Any, x: Tree) -> Box:
        """The box with a number for each of x."""

        def spread(side: Tree) -> Tree:
            return jax.tree.map(lambda bound, leaf: xp.broadcast_to(bound, leaf.shape), side, x)

        return Box(spread(self.lo), spread(self.hi))

    def flat(self) -> tuple[np.ndarray, np.ndarray]:
        """The bounds as two NumPy vectors, in the order of `trees.ravel`, of a box that is like its variable."""
        lo, hi = (np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(side)]) for side in (self.lo, self.hi))
        return lo, hi

    def room(self, x: Tree) -> tuple[Tree, Tree]:
        """The steps to the lower bounds, at most 0, and to the upper ones, at least 0."""
        # clip, as arrays of both kinds have it.
        below = jax.tree.map(lambda leaf, lo: (lo - leaf).clip(max=0.0), x, self.lo)
        return below, jax.tree.map(lambda leaf, hi: (hi - leaf).clip(min=0.0), x, self.hi)

    def free(self, x: Tree, ascent: Tree) -> Tree:
        """Which numbers of x a step along `ascent` would not push out of the box: those that are not to be held."""
        below, above = self.room(x)

        def inwards(step: Array, low: Array, high: Array) -> Array:
            return ~(((low >= 0) & (step <= 0)) | ((high <= 0) & (step >= 0)))

        return jax.tree.map(inwards, ascent, below, above)

    def active(self, x: Tree) -> Tree:
        """Which numbers of x are at a bound."""
        return jax.tree.map(lambda leaf, lo, hi: (leaf <= lo) | (leaf >= hi), x, self.lo, self.hi)

    def cast(self, dtype: np.dtype) -> Box:
        """The box with its numbers in `dtype`."""
        return arrays.cast(self, dtype)
