"""A check for a user's map, measurements and penalty: that derivatives are what differences say.

Everything is judged in the variables' own units. A direction moves each entry of x by a share of its own size, so that
parameters of 1e-3 and of 1e3 are moved alike, and a remainder is counted in units of the rounding of its own number.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gnpolyak.base import trees
from gnpolyak.base.trees import Tree
from gnpolyak.diagnostics import inputs
from gnpolyak.diagnostics.derivatives import Check, derivative, judged, measured
from gnpolyak.diagnostics.inputs import Model
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Map

_EPS = float(np.finfo(np.float64).eps)
# A remainder of second order shows an order of 2, one of first order 1.
_LEAST_ORDER = 1.8
# Shares of x, from the longest: a narrow peak far from zero bends only within the last few.
_LENGTHS = tuple(10.0 ** (-k / 2) for k in range(2, 25))
# So short that all a remainder shows is rounding.
_PROBES = tuple(_EPS * k for k in range(2, 10))
# How many times its rounding a remainder is before it is looked at, and how many times one at a tenth of the length.
_CLEAR, _RISING = 30.0, 5.0
# The fewest and the most lengths in a row, half a decade apart, that the order is read from.
_STRETCH = (4, 5)
# Variables that are so few, and images so small, that each variable is looked at alone.
_FEW, _SMALL = 32, 2**16
# Short enough to cross few kinks of h, and long enough for the difference of two values to have some digits.
_SHORT = tuple(10.0**-k for k in range(6, 12))
_SLOPE = 1e-3
_DIRECTIONS = 5


def check_taylor(model: Model, x: Tree, *, seed: int = 0) -> Check:
    """Check derivatives against differences: ‖c(x + tu) − c(x) − tJu‖ falls like t².

    The figure ``"map"`` is the observed order, infinite where the remainder is rounding (c is affine along u), about 1
    if the derivative is wrong. For a problem, ``"measurements"`` is that of x ↦ A(c(x)), and ``"subgradient"`` is the
    relative error of ⟨g, u⟩ as the slope of the value, in the median of five directions. That is 0 where h is smooth,
    which it is almost everywhere: take a generic x, and not a solution.

    A direction u moves each entry of x by a share of its own size (of its array's typical size where it is 0), so the
    scales of the parameters do not matter. The order is read where t is as short as rounding allows: a wrong derivative
    shows there however curved c is.

    Parameters
    ----------
    model : Composite, Map or callable
        The problem, its map, or a function.
    x : array_like or pytree
        Where.
    seed : int
        Seed of the directions.

    Returns
    -------
    Check
    """
    figures = {}
    with inputs.on_the_map(model, x) as (c, point):
        rng = inputs.generator(seed)
        u = _direction(point, rng)
        if inputs.image_shape(c, point) is not None:
            figures["map"] = _least_order(_remainders(c, point, u))
        if isinstance(model, Composite):
            problem = model.cast(np.dtype(np.float64)).settled(point)
            figures["measurements"] = _least_order(_measured_remainders(problem, point, u))
            drawn = [inputs.random_like(point, rng) for _ in range(_DIRECTIONS)]
            sizes = _sizes(point)
            figures["subgradient"] = float(np.median([_slope_error(problem, point, sizes, u) for u in drawn]))
    return judged(figures, {name: _is_derivative(name, value) for name, value in figures.items()})


def _is_derivative(name: str, figure: float) -> bool:
    return figure <= _SLOPE if name == "subgradient" else figure >= _LEAST_ORDER


def _direction(x: Tree, rng: np.random.Generator) -> Tree:
    """Each entry between a half and the whole of its size, up or down: none is left out, and none goes far."""

    def shares(size: np.ndarray) -> np.ndarray:
        return size * rng.choice([-1.0, 1.0], size.shape) * rng.uniform(0.5, 1.0, size.shape)

    def along(leaf: Array, size: np.ndarray) -> np.ndarray:
        return shares(size) + 1j * shares(size) if np.iscomplexobj(leaf) else shares(size)

    return jax.tree.map(along, x, _sizes(x))


def _sizes(x: Tree) -> Tree:
    """|x| entry by entry; where that is 0 the array's root mean square, or 1."""

    def size(leaf: Array) -> np.ndarray:
        values = np.abs(np.asarray(leaf))
        typical = float(np.sqrt(np.mean(values**2))) or 1.0
        return np.where(values > 0, values, typical)

    return jax.tree.map(size, x)


@jax.jit
def _remainders(c: Map, x: Tree, u: Tree) -> Array:
    return _along(c, x, u)


@jax.jit
def _measured_remainders(problem: Composite, x: Tree, u: Tree) -> Array:
    return _along(lambda y: measured(problem, y), x, u)


def _along(f: Callable[[Tree], Array], x: Tree, u: Tree) -> Array:
    """The remainders along u, and along each of its entries where they are few: one row a direction.

    A mistake in a parameter of little influence hides behind the curvature that the others bring, and shows alone.
    """
    flat, unravel = trees.ravel(u)
    few = flat.size <= _FEW and jax.eval_shape(f, x).size <= _SMALL
    rows = jnp.concatenate([flat[None], jnp.diag(flat)]) if few else flat[None]
    rounding = _rounding(f, x, u, derivative(f, x, u))
    return lax.map(lambda row: _taylor(f, x, unravel(row), rounding), rows)


def _rounding(f: Callable[[Tree], Array], x: Tree, u: Tree, slope: Array) -> Array:
    """What rounding does to each number of f(x), measured: where large terms cancel, it is that of the terms."""
    start, probes = f(x), jnp.asarray(_PROBES)

    def most(k: Array, so_far: Array) -> Array:
        t = probes[k]
        return jnp.maximum(so_far, jnp.abs(f(trees.add_scaled(x, t, u)) - start - t * slope))

    return lax.fori_loop(0, len(probes), most, _EPS * jnp.abs(start))


def _taylor(f: Callable[[Tree], Array], x: Tree, u: Tree, rounding: Array) -> Array:
    """f(x + tu) − f(x) − tJu at each length t, as the most that any of its numbers is above its own rounding."""
    start, slope, tried = f(x), derivative(f, x, u), jnp.asarray(_LENGTHS + _PROBES)

    def change(t: Array) -> Array:
        return f(trees.add_scaled(x, t, u)) - start

    def resolved(k: Array, so_far: Array) -> Array:
        seen = jnp.abs(change(tried[k]))
        return jnp.where(seen > 0, jnp.minimum(so_far, seen), so_far)

    # The smallest change that a number shows: 1 + x does not see an x below rounding, and stands still along it.
    smallest = lax.fori_loop(0, len(tried), resolved, jnp.full(start.shape, jnp.inf))
    unit = jnp.maximum(rounding, _EPS * jnp.abs(slope))
    unit = jnp.maximum(unit, jnp.where(jnp.isfinite(smallest), smallest, 0.0))
    unit = jnp.where(unit > 0, unit, 1.0)
    return lax.map(lambda t: jnp.max(jnp.abs(change(t) - t * slope) / unit), jnp.asarray(_LENGTHS))


def _least_order(remainders: Array) -> float:
    """NaN where one of them is."""
    return float(np.min([_order(row) for row in np.asarray(remainders)]))


def _order(remainders: np.ndarray) -> float:
    """The exponent of t in the remainders, over the shortest lengths where they are more than rounding.

    A remainder Et + Kt² of a derivative that is wrong by E looks like one of second order as long as t > E/K, and a
    narrow peak like one of first order until t is shorter than the peak is wide: only short lengths tell.
    """
    if not np.any(np.isfinite(remainders)):
        return float("nan")
    stretch = _shortest_stretch(_clear(remainders))
    if not stretch:
        return float("inf")
    return float(np.polyfit(np.log(np.array(_LENGTHS)[stretch]), np.log(remainders[stretch]), 1)[0])


def _clear(remainders: np.ndarray) -> np.ndarray:
    """Where a remainder is more than rounding: above what was measured, and above all that are a decade shorter.

    Rounding does not depend on t, so the second tells it even where the first took it for less than it is.
    """
    known = np.where(np.isfinite(remainders), remainders, 0.0)
    shorter = np.array([np.max(known[k + 2 :], initial=0.0) for k in range(len(known))])
    return (known > _CLEAR) & (known > _RISING * shorter)


def _shortest_stretch(clear: np.ndarray) -> list[int]:
    """The shortest lengths that are clear in a row, the very shortest first; none if there are too few in a row."""
    fewest, most = _STRETCH
    stretch: list[int] = []
    for k in reversed(range(len(clear))):
        if clear[k]:
            stretch.append(k)
        elif len(stretch) < fewest:
            stretch = []
        else:
            break
    return stretch[:most] if len(stretch) >= fewest else []


@jax.jit
def _slope_error(problem: Composite, x: Tree, sizes: Tree, u: Tree) -> Array:
    """How far ⟨g, u⟩ is from the slope of the value along u, relative to ‖g‖‖u‖, in units of the entries' sizes."""

    def value(y: Tree) -> Array:
        return problem.evaluate(y).value

    g = jax.tree.map(jnp.multiply, sizes, problem.evaluate(x).subgradient)
    size = trees.norm(g)
    # Half along g, so that the slope is not small, and half anywhere.
    u = trees.add_scaled(trees.scale(1 / jnp.where(size > 0, size, 1.0), g), 1 / trees.norm(u), u)
    along, slope = jax.tree.map(jnp.multiply, sizes, u), trees.dot(g, u)
    rounding = _rounding(value, x, along, slope)

    def error(t: Array) -> Array:
        ends = value(trees.add_scaled(x, t, along)), value(trees.add_scaled(x, -t, along))
        seen = (ends[0] - ends[1]) / (2 * t)
        scale = jnp.maximum(size * trees.norm(u), jnp.abs(seen))
        # What rounding may have done to the difference has to be well below what is judged.
        buried = rounding / t >= _SLOPE / 5 * scale
        return jnp.where(buried, jnp.inf, jnp.abs(seen - slope) / scale)

    errors = lax.map(error, jnp.asarray(_SHORT))
    return jnp.where(jnp.all(jnp.isposinf(errors)), 0.0, jnp.min(errors))
