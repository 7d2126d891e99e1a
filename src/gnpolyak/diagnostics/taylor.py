"""A check for a user's map, measurements and penalty: that derivatives are what differences say.

Everything is judged in the variables' own units. A direction moves each entry of x by a share of its own size, so that
parameters of 1e-3 and of 1e3 are moved alike, and a remainder is counted in units of the rounding of its own number.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

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
    with inputs.on_the_map(model, x) as (c, point), np.errstate(all="ignore"):
        rng = inputs.generator(seed)
        u = _direction(point, rng)
        if inputs.image_shape(c, point) is not None:
            figures["map"] = _least_order(
                _remainders(lambda y: _image(c, y), lambda u: _image_slope(c, point, u), point, u)
            )
        if isinstance(model, Composite):
            problem = model.cast(np.dtype(np.float64)).settled(point)
            figures["measurements"] = _least_order(
                _remainders(lambda y: _measurements(problem, y), lambda u: _measured_slope(problem, point, u), point, u)
            )
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
def _image(c: Map, x: Tree) -> Array:
    return c(x)


@jax.jit
def _image_slope(c: Map, x: Tree, u: Tree) -> Array:
    return derivative(c, x, u)


@jax.jit
def _measurements(problem: Composite, x: Tree) -> Array:
    return measured(problem, x)


@jax.jit
def _measured_slope(problem: Composite, x: Tree, u: Tree) -> Array:
    return derivative(lambda y: measured(problem, y), x, u)


@jax.jit
def _value(problem: Composite, x: Tree) -> tuple[Array, Tree]:
    point = problem.evaluate(x)
    return point.value, point.subgradient


class _Line:
    """A function along x + tu, evaluated by one program at every t.

    Inside a larger program the compiler may round a value otherwise in one place than in another, such as a product and
    a sum in one instruction: where large terms cancel, that looks like a mistake.
    """

    def __init__(self, f: Callable[[Tree], Array], x: Tree, u: Tree, slope: Array) -> None:
        self.f, self.x, self.u = f, trees.on_host(x), trees.on_host(u)
        self.start, self.slope = np.asarray(f(self.x)), np.asarray(slope)
        self.seen: dict[float, np.ndarray] = {}

    def change(self, t: float) -> np.ndarray:
        """f(x + tu) − f(x), kept for when it is asked for again unless it is large."""
        if t in self.seen:
            return self.seen[t]
        change = np.asarray(self.f(trees.add_scaled(self.x, t, self.u))) - self.start
        if change.size <= _SMALL:
            self.seen[t] = change
        return change

    def remainder(self, t: float) -> np.ndarray:
        """What the derivative leaves of the change."""
        return np.abs(self.change(t) - t * self.slope)

    def rounding(self) -> np.ndarray:
        """What rounding does to each number of f(x), measured: where large terms cancel, it is that of the terms."""
        return np.maximum.reduce([_EPS * np.abs(self.start), *map(self.remainder, _PROBES)])


def _remainders(f: Callable[[Tree], Array], slope: Callable[[Tree], Array], x: Tree, u: Tree) -> np.ndarray:
    """The remainders along u, and along each of its entries where they are few: one row a direction.

    A mistake in a parameter of little influence hides behind the curvature that the others bring, and shows alone.
    """
    flat, unravel = trees.ravel(trees.on_host(u), np)
    whole = _Line(f, x, u, slope(u))
    few = flat.size <= _FEW and whole.start.size <= _SMALL
    alone = [unravel(row) for row in np.diag(flat)] if few else []
    lines = [whole, *(_Line(f, x, each, slope(each)) for each in alone)]
    rounding = whole.rounding()
    return np.array([_taylor(line, rounding) for line in lines])


def _taylor(line: _Line, rounding: np.ndarray) -> np.ndarray:
    """f(x + tu) − f(x) − tJu at each length t, as the most that any of its numbers is above its own rounding."""
    smallest = np.full(line.start.shape, np.inf)
    for t in _LENGTHS + _PROBES:
        seen = np.abs(line.change(t))
        # The smallest change that a number shows: 1 + x does not see an x below rounding, and stands still along it.
        smallest = np.where(seen > 0, np.minimum(smallest, seen), smallest)
    unit = np.maximum(rounding, _EPS * np.abs(line.slope))
    unit = np.maximum(unit, np.where(np.isfinite(smallest), smallest, 0.0))
    unit = np.where(unit > 0, unit, 1.0)
    return np.array([np.max(line.remainder(t) / unit, initial=0.0) for t in _LENGTHS])


def _least_order(remainders: np.ndarray) -> float:
    """NaN where one of them is."""
    return float(np.min([_order(row) for row in remainders]))


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


def _slope_error(problem: Composite, x: Tree, sizes: Tree, u: Tree) -> float:
    """How far ⟨g, u⟩ is from the slope of the value along u, relative to ‖g‖‖u‖, in units of the entries' sizes."""
    x, u = trees.on_host(x), trees.on_host(u)
    g = jax.tree.map(np.multiply, sizes, trees.on_host(_value(problem, x)[1]))
    size = _norm(g)
    # Half along g, so that the slope is not small, and half anywhere.
    u = trees.add_scaled(trees.scale(1 / (size or 1.0), g), 1 / _norm(u), u)
    line = _Line(lambda y: _value(problem, y)[0], x, jax.tree.map(np.multiply, sizes, u), jnp.asarray(_dot(g, u)))
    rounding, long = line.rounding(), size * _norm(u)

    def error(t: float) -> float:
        seen = (line.change(t) - line.change(-t)) / (2 * t)
        scale = max(long, abs(float(seen)))
        # What rounding may have done to the difference has to be well below what is judged.
        buried = rounding / t >= _SLOPE / 5 * scale
        return np.inf if buried else abs(float(seen - line.slope)) / scale

    errors = [error(t) for t in _SHORT]
    return 0.0 if all(np.isposinf(errors)) else float(np.min(errors))


def _dot(a: Tree, b: Tree) -> float:
    """⟨a, b⟩, of NumPy's arrays."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return float(sum(np.sum(np.real(np.conj(u) * v)) for u, v in pairs))


def _norm(a: Tree) -> float:
    return _dot(a, a) ** 0.5
