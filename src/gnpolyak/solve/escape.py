"""Bounds at which a variable is stuck although it could do better: what no first-order certificate sees.

At u = 0 the derivative of u² is zero, so that a variable held there by u ≥ 0 never leaves. A certificate says that
nothing is gained to first order, which is true, and no minimum. Points a little inside tell.
"""

from __future__ import annotations

import jax
import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.oracles import Oracle
from gnpolyak.problem.box import Box
from gnpolyak.solve.runners import Runner

# The step into the box that is tried, as a share of what the variables beside it are: a tenth, as certificates ask.
_SHARE = 0.1
# The least fall of the value, relative to it, that makes it worth while.
_FALL = 1e-8


def escape(runner: Runner, box: Box | None, x: Tree, v: np.ndarray, value: float) -> Tree | None:
    """A point of the box to go on from, where the dual vector v says that variables at bounds would gain inside.

    Only variables that move no datum where they are: of the others the certificate has spoken.
    """
    if box is None or not _any(box.active(x)):
        return None
    blind = runner.ask(_blind, x)
    if not _any(blind):
        return None
    point, fall = runner.ask(_inside, x, blind, v)
    return point if float(fall) > _FALL * abs(value) else None


def _any(masks: Tree) -> bool:
    return any(bool(leaf.any()) for leaf in jax.tree.leaves(masks))


def _blind(oracle: Oracle, x: Tree) -> Tree:
    """Which variables at a bound have columns of zeros in AJ: those that a vector of no pattern is not pulled to."""
    assert oracle.box is not None
    pattern = np.random.default_rng(0).standard_normal(oracle.data.size).astype(oracle.data.dtype)
    pulled = oracle.linearise(x).pull(oracle.xp.asarray(pattern))
    return jax.tree.map(lambda at, g: at & (g == 0), oracle.box.active(x), pulled)


def _inside(oracle: Oracle, x: Tree, blind: Tree, v: Array) -> tuple[Tree, Array]:
    """The point with those blind variables a little inside that lower ⟨v, r⟩ there, and by how much they do."""
    assert oracle.box is not None
    xp = oracle.xp
    below, above = oracle.box.like(xp, x).room(x)

    def step(leaf: Array, there: Array, low: Array, high: Array) -> Array:
        typical = xp.sqrt(xp.mean(leaf * leaf))
        length = _SHARE * xp.where(typical > 0, typical, 1.0)
        return xp.where(there, xp.where(high > 0, xp.minimum(length, high / 2), xp.maximum(-length, low / 2)), 0.0)

    z = jax.tree.map(step, x, blind, below, above)
    tilt = 0.0 if oracle.tilt is None else oracle.tilt
    g = oracle.linearise(trees.add_scaled(x, 1.0, z)).pull(v + tilt)
    kept = jax.tree.map(lambda d, s: xp.where(d * s > 0, s, 0.0), g, z)
    return trees.add_scaled(x, 1.0, kept), trees.dot(g, kept)
