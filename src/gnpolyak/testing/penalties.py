"""Whether a penalty's subgradient is one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import arrays
from gnpolyak.problem.penalties import Penalty
from gnpolyak.testing.figures import SINGLE, Figures, computing

_PAIRS = 50
# Short enough to cross few kinks, and long enough for a difference of values to have eight digits.
_SHORT = 1e-7


def check_penalty(
    penalty: Penalty, shape: tuple[int, ...], *, convex: bool | None = None, seed: int = 0
) -> dict[str, float]:
    """Hold a penalty's subgradient against its values.

    At random points the subgradient is the slope of the value. For a convex penalty h(y) ≥ h(z) + ⟨v, y − z⟩
    everywhere, also from points at kinks. The value never falls below the stated infimum, and both keep their shape and
    dtype.

    Parameters
    ----------
    penalty : Penalty
    shape : tuple of int
        The shape of the measurements.
    convex : bool
        Whether the inequality of convex functions is to hold; by default the penalty's own word.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> errors = gnp.testing.check_penalty(gnp.L1(np.zeros(3)), (3,))
    """
    rng = np.random.default_rng([seed, 0x9E7])
    figures = Figures(penalty.label)
    # Points at kinks first: the data themselves, where a norm has one, and zero.
    kinks = [np.asarray(getattr(penalty, "b", np.zeros(shape)), float).reshape(shape), np.zeros(shape)]
    with computing(*kinks, *(rng.standard_normal(shape) for _ in range(_PAIRS))) as points:
        penalty.check(shape)
        penalty = penalty.cast(np.dtype(np.float64))
        values, subgradients = jax.vmap(lambda z: (penalty.value(z), penalty.subgradient(z)))(jnp.stack(points))
        figures.require("shape", subgradients.shape == (len(points), *shape) and values.shape == (len(points),))
        figures.require("finite", bool(jnp.all(jnp.isfinite(values)) & jnp.all(jnp.isfinite(subgradients))))
        figures.note("slope", _slope_error(penalty, points[2:], rng), 1e-5)
        if penalty.convex if convex is None else convex:
            figures.note("subgradient inequality", _violation(np.stack(points), values, subgradients), 1e-12)
        if penalty.infimum is not None:
            figures.note("infimum", max(penalty.infimum - float(jnp.min(values)), 0.0), 0.0)
        _single(figures, penalty, points[2], shape)
    return figures.judged()


def _slope_error(penalty: Penalty, points: list[jax.Array], rng: np.random.Generator) -> float:
    """The median error of ⟨v, u⟩ as the slope of h along u: a kink on the way spoils few."""
    errors = []
    for z in points:
        u = rng.standard_normal(z.shape)
        slope = (penalty.value(z + _SHORT * u) - penalty.value(z - _SHORT * u)) / (2 * _SHORT)
        v = penalty.subgradient(z)
        errors.append(abs(float(slope - jnp.sum(v * u))) / max(float(jnp.linalg.norm(v)), 1.0))
    return float(np.median(errors))


def _violation(points: np.ndarray, values: jax.Array, subgradients: jax.Array) -> float:
    z, f, v = (np.asarray(part, float).reshape(len(points), -1) for part in (points, values, subgradients))
    reached = f + v @ z.T - np.sum(v * z, axis=1, keepdims=True)
    return float(np.max((reached - f.T) / np.maximum(np.abs(f.T), 1.0)))


def _single(figures: Figures, penalty: Penalty, z: jax.Array, shape: tuple[int, ...]) -> None:
    dtype = np.dtype(np.float32)
    with arrays.computing_in(dtype):
        narrow, point = penalty.cast(dtype), z.astype(dtype)
        value, v = narrow.value(point), narrow.subgradient(point)
    figures.compare("float32", value, penalty.value(z), SINGLE)
    figures.require("float32 dtype", value.dtype == v.dtype == dtype)
