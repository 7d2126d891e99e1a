"""Bounds at which a variable is stuck although it could do better: what no first-order certificate sees.

At u = 0 the derivative of u² is zero, so that a variable held there by u ≥ 0 never leaves. A certificate says that
nothing is gained to first order, which is true, and no minimum. Points a little inside tell.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base import trees
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite

# The step into the box that is tried, as a share of what the variables beside it are: a tenth, as certificates ask.
_SHARE = 0.1
# The least fall of the value, relative to it, that makes it worth while.
_FALL = 1e-8


def escape(problem: Composite, x: Tree, v: np.ndarray, value: float) -> Tree | None:
    """A point of the box to go on from, where the dual vector v says that variables at bounds would gain inside.

    Only variables that move no datum where they are: of the others the certificate has spoken.
    """
    if problem.box is None:
        return None
    x = jax.tree.map(jnp.asarray, x)
    if not bool(_any(problem.box.active(x))):
        return None
    blind = _blind(problem, x)
    if not bool(_any(blind)):
        return None
    point, fall = _inside(problem, x, blind, v)
    return point if float(fall) > _FALL * abs(value) else None


def _any(masks: Tree) -> Array:
    return jnp.stack([jnp.any(leaf) for leaf in jax.tree.leaves(masks)]).any()


@jax.jit
def _blind(problem: Composite, x: Tree) -> Tree:
    """Which variables at a bound have columns of zeros in AJ: those that a vector of no pattern is not pulled to."""
    rows = jax.eval_shape(lambda: problem.changes(x))
    pattern = jnp.asarray(np.random.default_rng(0).standard_normal(rows.size), rows.dtype)
    pulled = problem.linearised(x).pull(pattern)
    assert problem.box is not None
    return jax.tree.map(lambda at, g: at & (g == 0), problem.box.active(x), pulled)


@jax.jit
def _inside(problem: Composite, x: Tree, blind: Tree, v: Array) -> tuple[Tree, Array]:
    """The point with those blind variables a little inside that lower ⟨v, r⟩ there, and by how much they do."""
    assert problem.box is not None
    below, above = problem.box.like(x).room(x)

    def step(leaf: Array, there: Array, low: Array, high: Array) -> Array:
        typical = jnp.sqrt(jnp.mean(leaf * leaf))
        length = _SHARE * jnp.where(typical > 0, typical, 1.0)
        return jnp.where(there, jnp.where(high > 0, jnp.minimum(length, high / 2), jnp.maximum(-length, low / 2)), 0.0)

    z = jax.tree.map(step, x, blind, below, above)
    tilt = 0.0 if problem.penalty.tilt is None else problem.penalty.tilt
    g = problem.linearised(trees.add_scaled(x, 1.0, z)).pull(v + tilt)
    kept = jax.tree.map(lambda d, s: jnp.where(d * s > 0, s, 0.0), g, z)
    return trees.add_scaled(x, 1.0, kept), trees.dot(g, kept)
