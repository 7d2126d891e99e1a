"""Whether a penalty's subgradient is one, and its readings have the derivatives that it states."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import arrays, trees
from gnpolyak.problem.capabilities import RESIDUALS, TILT
from gnpolyak.problem.penalties import Penalty
from gnpolyak.testing.figures import CLOSE, SINGLE, Figures, are_numpys, computing, dense, drawn, vector

_PAIRS = 50
# Short enough to cross few kinks, and long enough for a difference of values to have eight digits.
_SHORT = 1e-7


def check_penalty(
    penalty: Penalty, shape: tuple[int, ...], *, convex: bool | None = None, seed: int = 0
) -> dict[str, float]:
    """Hold a penalty's subgradient against its values.

    At random points the subgradient is the slope of the value. For a convex penalty h(y) ≥ h(z) + ⟨v, y − z⟩
    everywhere, also from points at kinks. The value never falls below the stated infimum, and both keep their shape and
    dtype. What is read of the measurements has the stated derivative and adjoint. A penalty that runs on NumPy is bound
    to it as well, and held against what it is under JAX.

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
        z = points[2] + 1j * points[3] if penalty.takes_complex else points[2]
        _read(figures, penalty, z, rng)
        if penalty.runs_on_numpy:
            _on_numpy(figures, penalty, [*points[:2], z], rng)
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


def _read(figures: Figures, penalty: Penalty, z: jax.Array, rng: np.random.Generator) -> None:
    read, slope, unslope = penalty.read(z)
    dz, v = drawn(z, rng), drawn(read, rng)
    jacobian = dense(_reading, penalty, z)
    figures.compare("reading", read, penalty.reading(z))
    figures.compare("slope of the reading", vector(slope(dz)), jacobian @ vector(dz))
    figures.compare("its adjoint", vector(unslope(v)), jacobian.T @ vector(v))


def _reading(penalty: Penalty, z: jax.Array) -> jax.Array:
    return penalty.reading(z)


def _on_numpy(figures: Figures, penalty: Penalty, points: list[jax.Array], rng: np.random.Generator) -> None:
    """The same numbers from NumPy arrays, which come back as such, in double and in single precision."""
    u = drawn(points, rng)
    expected = [_stated(penalty, *at) for at in zip(points, u, strict=True)]
    for name, dtype, allowed in (("", np.float64, CLOSE), (" in float32", np.float32, SINGLE)):
        narrow = np.dtype(dtype)
        bound, (z, along) = penalty.cast(narrow).using(np), trees.on_host(arrays.cast((points, u), narrow))
        found = [_stated(bound, *at) for at in zip(z, along, strict=True)]
        for stated in expected[0]:
            numbers, right = ([each[stated] for each in way] for way in (found, expected))
            figures.compare(f"{stated} on NumPy{name}", numbers, right, allowed)
        figures.require(f"NumPy arrays{name}", are_numpys(found, narrow))


def _stated(penalty: Penalty, z: jax.Array, u: jax.Array) -> dict[str, Any]:
    """Everything that a penalty computes, at z along u."""
    read, slope, unslope = penalty.read(z)
    found: dict[str, Any] = {"value": penalty.value(z), "subgradient": penalty.subgradient(z), "reading": read}
    found |= {"slope": slope(u), "unslope": unslope(u.real), "scale": penalty.scale()}
    if penalty.has(RESIDUALS) or penalty.has(TILT):
        found["residuals"] = penalty.residuals(z)
    if penalty.tilt is not None:
        found["tilt"] = penalty.tilt
    if penalty.rows is not None:
        kept = penalty.rows(u.ravel())
        found |= {"rows": kept, "adjoint": penalty.rows.adjoint(kept), "unweighted": penalty.rows.unweighted(kept)}
    return found
