"""What h does at points around a solution, seen through the image distance ‖c(x) − c(x⋆)‖."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gnpolyak import trees
from gnpolyak.diagnostics import inputs
from gnpolyak.errors import InputError
from gnpolyak.metrics import GaussNewton
from gnpolyak.problem import Composite
from gnpolyak.trees import Tree

RADII = (1e-1, 1e-2, 1e-3)
"""Distances ‖x − x⋆‖/‖x⋆‖ of the samples."""
# Nearer to c(x⋆) than this share of its size, differences of values are rounding.
_NEAREST = float(np.sqrt(np.finfo(np.float64).eps))


class _Observation(eqx.Module):
    gap: Array
    distance: Array
    projected: Array
    excess: Array


@dataclass(frozen=True)
class Observations:
    """One entry for each point seen."""

    gap: np.ndarray
    """h(z) − h*."""
    distance: np.ndarray
    """‖z − ẑ‖, for z = c(x) and ẑ = c(x⋆)."""
    projected: np.ndarray
    """‖Pv‖ = ⟨g, s⟩^½, the length of v ∈ ∂h(z) in the range of J."""
    excess: np.ndarray
    """h(z) + ⟨v, ẑ − z⟩ − h*."""
    radius: np.ndarray
    """The sample's radius; NaN for a point that the user gave."""

    def at(self, radius: float) -> Observations:
        """Those at one radius."""
        here = self.radius == radius
        return Observations(*(column[here] for column in vars(self).values()))


def observe(
    problem: Composite,
    solution: Tree,
    target: float | None,
    *,
    radii: Sequence[float],
    samples: int,
    seed: int,
    points: Sequence[Tree] = (),
) -> tuple[Observations, float]:
    """Look at `samples` points at each radius, half of them in each family, and at `points`; return h* with them.

    One family is uniform in x. Where c is badly conditioned, these all see the same few directions of the image. The
    other is uniform in the image instead: x⋆ + t J†Aᵀξ for Gaussian weights ξ of the measurements.
    """
    radii = _checked_radii(radii)
    count = _checked_count(samples)
    with inputs.on_the_problem(problem, solution, *points) as (problem, [centre, *given]):
        drawn = _drawn(problem, centre, radii, count, inputs.generator(seed))
        level = float(problem.evaluate(centre).value) if target is None else float(target)
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *drawn, *given)
        seen = _observed(problem, centre, level, stacked)
        smallest = _NEAREST * float(jnp.sqrt(problem.map.inner(centre, centre)))
        columns = [np.asarray(column) for column in (seen.gap, seen.distance, seen.projected, seen.excess)]
        labels = np.concatenate([np.repeat(radii, 2 * count), np.full(len(given), np.nan)])
        kept = columns[1] > smallest
        return Observations(*(column[kept] for column in (*columns, labels))), level


def _drawn(problem: Composite, x: Tree, radii: Sequence[float], count: int, rng: np.random.Generator) -> list[Tree]:
    """For each radius, `count` points of each family."""
    weights = jax.eval_shape(lambda: problem.sensing.measure(problem.map, x)[0])
    xi = rng.standard_normal((count, *weights.shape))
    spread = _gauss_newton_images(problem, x, jnp.asarray(xi))
    directions = [inputs.random_like(x, rng) for _ in range(count)]
    directions += [jax.tree.map(lambda leaf, i=i: leaf[i], spread) for i in range(count)]
    size = float(trees.norm(x)) or 1.0
    lengths = [float(trees.norm(u)) or 1.0 for u in directions]
    steps = [(t * size / length, u) for t in radii for length, u in zip(lengths, directions, strict=True)]
    return [trees.add_scaled(x, scale, u) for scale, u in steps]


@jax.jit
def _gauss_newton_images(problem: Composite, x: Tree, weights: Array) -> Tree:
    """J†Aᵀξ for each row ξ."""
    _, pullback = problem.sensing.measure(problem.map, x)
    return GaussNewton().spread(problem, x, lax.map(pullback, weights), jnp.zeros(()))


@jax.jit
def _observed(problem: Composite, solution: Tree, target: Array, points: Tree) -> _Observation:
    """One point after the other, so that a large problem needs no more memory than one oracle call."""
    image, _ = problem.sensing.measure(problem.map, solution)

    def look(x: Tree) -> _Observation:
        point = problem.evaluate(x)
        measured, _ = problem.sensing.measure(problem.map, x)
        gap = point.value - target
        decrement = GaussNewton().direction(problem, point, gap).decrement
        return _Observation(
            gap=gap,
            distance=problem.map.distance(x, solution),
            projected=jnp.sqrt(jnp.maximum(decrement, 0.0)),
            # ⟨v, ẑ − z⟩ on the measurements: h is a function of A(z), so Aᵀv pairs with z as v does with A(z).
            excess=gap + jnp.sum(problem.penalty.subgradient(measured) * (image - measured)),
        )

    return lax.map(look, points)


def _checked_radii(radii: Any) -> list[float]:
    values = [float(radius) for radius in np.atleast_1d(radii)]
    if not values or not all(0 < radius < np.inf for radius in values):
        raise InputError(
            given=f"radii={radii!r}",
            needed="positive distances relative to the solution's norm",
            missing="at least one valid radius",
            advice="leave radii out for 0.1, 0.01 and 0.001",
        )
    return sorted(values, reverse=True)


def _checked_count(samples: Any) -> int:
    if isinstance(samples, bool) or not isinstance(samples, (int, np.integer)) or samples < 2:
        raise InputError(
            given=f"samples={samples!r}",
            needed="a whole number of at least 2",
            missing="points to look at",
            advice="leave samples out for 64 at each radius",
        )
    return int(samples) // 2
