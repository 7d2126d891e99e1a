"""What h does at points around a solution, seen through the image distance ‖c(x) − c(x⋆)‖."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.flatten_util import ravel_pytree

from gnpolyak.base import trees
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.modules import Module
from gnpolyak.base.numbers import is_real, require_real, require_whole
from gnpolyak.base.trees import Tree
from gnpolyak.diagnostics import inputs
from gnpolyak.diagnostics.lanczos import lanczos
from gnpolyak.oracles import oracle_for
from gnpolyak.problem.composite import Composite
from gnpolyak.steps.linear import Automatic
from gnpolyak.steps.metrics import GaussNewton

RADII = (1e-1, 1e-2, 1e-3)
"""Distances ‖x − x⋆‖/‖x⋆‖ of the samples."""
# Nearer to c(x⋆) than this share of its size, differences of values are rounding.
_NEAREST = float(np.sqrt(np.finfo(np.float64).eps))

_LANCZOS_STEPS = 50
_ROUND = 32


class _Observation(Module):
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

    @property
    def slopes(self) -> np.ndarray:
        """(h(z) − h*)/‖z − ẑ‖."""
        return self.gap / self.distance

    def by_radius(self) -> dict[float, Observations]:
        """The samples of each radius, the largest first, without the points that the user gave."""
        radii = sorted(set(self.radius[np.isfinite(self.radius)]), reverse=True)
        return {float(radius): self._where(self.radius == radius) for radius in radii}

    def _where(self, here: np.ndarray) -> Observations:
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
) -> Observations:
    """Look at `samples` points at each radius, and at `points`; those where the model has no finite value are left out.

    Half of the directions are uniform in x. Where c is badly conditioned, these all see the same few directions of the
    image. The other half is uniform in the image instead: J†Aᵀξ for Gaussian weights ξ of the measurements. Two more
    directions, with both signs, are those that the measurements see least and most.
    """
    radii = _checked_radii(radii)
    count = require_whole("samples", samples, 2, "leave samples out for 64 at each radius") // 2
    with inputs.on_the_problem(problem, solution, *points) as (exact, [centre, *given]):
        directions = _directions(exact, centre, count, inputs.generator(seed))
        level = float(exact.evaluate(centre).value) if target is None else require_real("target", target)
        drawn = [inputs.moved(centre, radius, u) for radius in radii for u in directions]
        seen = _observed(exact, centre, level, _stacked([*drawn, *given]))
        smallest = _NEAREST * float(jnp.sqrt(exact.map.inner(centre, centre)))
        labels = np.concatenate([np.repeat(radii, len(directions)), np.full(len(given), np.nan)])
        columns = [np.asarray(column)[: len(labels)] for column in jax.tree.leaves(seen)]
        kept = (columns[1] > smallest) & np.isfinite(columns[0])
        _require_any(kept)
        return Observations(*(column[kept] for column in (*columns, labels)))


def _stacked(points: list[Tree]) -> Tree:
    """The points along a leading axis, the last repeated to a round number: a few more or fewer compile nothing."""
    repeated = [*points, *[points[-1]] * (-len(points) % _ROUND)]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *repeated)


def _directions(problem: Composite, x: Tree, count: int, rng: np.random.Generator) -> list[Tree]:
    in_x = [inputs.random_like(x, rng) for _ in range(count)]
    weights = jax.eval_shape(lambda: problem.sensing.measure(problem.map, x)[0])
    spread = _gauss_newton_images(problem, x, rng.standard_normal((count, *weights.shape)))
    in_the_image = [jax.tree.map(lambda leaf, i=i: np.asarray(leaf)[i], spread) for i in range(count)]
    extremes = _extremely_measured(problem, x, _everywhere(problem, x, in_x[0], in_the_image[0]))
    return [*in_x, *in_the_image, *extremes, *(jax.tree.map(np.negative, u) for u in extremes)]


def _extremely_measured(problem: Composite, x: Tree, start: Tree) -> list[Tree]:
    """The u with the smallest and the largest ‖AJu‖/‖Ju‖ in a Krylov space of (JᵀJ)†(AJ)ᵀAJ.

    If there are too few measurements, random directions do not show it: almost all of them are measured.
    """
    flat, unravel = ravel_pytree(start)
    if not np.any(flat):
        return [start]
    ritz = lanczos(
        lambda u: np.asarray(_measured_gram(problem, x, u)),
        np.asarray(flat),
        min(len(flat), _LANCZOS_STEPS),
        lambda u: np.asarray(_flat_gram(problem, x, u)),
        lambda u: np.asarray(_projected(problem, x, u)),
    )
    return [jax.tree.map(np.asarray, unravel(ritz.vectors[end])) for end in (0, -1)]


@jax.jit
def _everywhere(problem: Composite, x: Tree, u: Tree, w: Tree) -> Tree:
    """The sum of u and w = J†Aᵀξ in the range of Jᵀ, equally long in the image.

    w has no part in directions that are not measured at all, and u little where J is small.
    """
    gram = problem.map.gram(x)
    u = _gauss_newton(problem, x, gram(u))
    length = jnp.sqrt(trees.dot(u, gram(u)) / trees.dot(w, gram(w)))
    return trees.add_scaled(u, jnp.where(jnp.isfinite(length), length, 0.0), w)


@jax.jit
def _flat_gram(problem: Composite, x: Tree, u: Array) -> Array:
    _, unravel = ravel_pytree(x)
    return ravel_pytree(problem.map.gram(x)(unravel(u)))[0]


@jax.jit
def _projected(problem: Composite, x: Tree, u: Array) -> Array:
    """(JᵀJ)†JᵀJu for flat variables."""
    _, unravel = ravel_pytree(x)
    return ravel_pytree(_gauss_newton(problem, x, problem.map.gram(x)(unravel(u))))[0]


@jax.jit
def _measured_gram(problem: Composite, x: Tree, u: Array) -> Array:
    """(JᵀJ)†(AJ)ᵀAJu for flat variables."""
    _, unravel = ravel_pytree(x)
    _, pullback = problem.sensing.measure(problem.map, x)
    slope = jax.jvp(lambda y: problem.sensing.measure(problem.map, y)[0], (x,), (unravel(u),))[1]
    return ravel_pytree(_gauss_newton(problem, x, pullback(slope)))[0]


def _gauss_newton(problem: Composite, x: Tree, g: Tree) -> Tree:
    """(JᵀJ)†g."""
    solved = Automatic().solve_many(oracle_for(problem, x), x, jax.tree.map(lambda leaf: leaf[None], g), 0.0)
    return jax.tree.map(lambda leaf: leaf[0], solved)


@jax.jit
def _gauss_newton_images(problem: Composite, x: Tree, weights: Array) -> Tree:
    """J†Aᵀξ for each row ξ."""
    _, pullback = problem.sensing.measure(problem.map, x)
    return Automatic().solve_many(oracle_for(problem, x), x, lax.map(pullback, weights), 0.0)


@jax.jit
def _observed(problem: Composite, solution: Tree, target: Array, points: Tree) -> _Observation:
    """One point after the other, so that a large problem needs no more memory than one oracle call."""
    image, _ = problem.sensing.measure(problem.map, solution)

    def look(x: Tree) -> _Observation:
        point = problem.evaluate(x)
        measured, _ = problem.sensing.measure(problem.map, x)
        gap = point.value - target
        decrement = GaussNewton(Automatic()).direction(oracle_for(problem, x), point, gap).decrement
        return _Observation(
            gap=gap,
            distance=problem.map.distance(x, solution),
            projected=jnp.sqrt(jnp.maximum(decrement, 0.0)),
            # ⟨v, ẑ − z⟩ on the measurements: h is a function of A(z), so Aᵀv pairs with z as v does with A(z).
            excess=gap + jnp.sum(problem.penalty.subgradient(measured) * (image - measured)),
        )

    return lax.map(look, points)


def _require_any(kept: np.ndarray) -> None:
    if not np.any(kept):
        raise InputError(
            given="samples that all have the solution's image, to rounding",
            needed="points whose image differs from c(x⋆)",
            missing="a map that depends on x, or larger radii",
            advice="check that the map is not constant around the solution, or pass larger radii",
        )


def _checked_radii(radii: Any) -> list[float]:
    values = list(np.atleast_1d(radii))
    if not values or not all(is_real(radius) and radius > 0 for radius in values):
        raise InputError(
            given=f"radii={shown(radii)}",
            needed="positive distances relative to the solution's norm",
            missing="at least one valid radius",
            advice="leave radii out for 0.1, 0.01 and 0.001",
        )
    return sorted(map(float, values), reverse=True)
