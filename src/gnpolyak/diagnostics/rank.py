"""The rank of J = ∇c from actions of JᵀJ alone, and whether it is constant: Assumption 1 of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from gnpolyak.base.krylov import conjugate_gradient
from gnpolyak.base.numbers import require_positive, require_whole
from gnpolyak.base.trees import Tree
from gnpolyak.diagnostics import inputs
from gnpolyak.diagnostics.inputs import LARGEST_ARRAY, Model
from gnpolyak.diagnostics.lanczos import lanczos
from gnpolyak.diagnostics.spectrum import spectrum
from gnpolyak.problem.maps import Map

_EPS = float(np.finfo(np.float64).eps)
_FIRST_WIDTH = 16
_LANCZOS_STEPS = 100
# A Gaussian vector's part in the null space is of size 1, and what CG leaves of its part outside at most cond(JᵀJ)·eps.
_NULL, _NOT_NULL = 1e-2, 1e-5
# The share of a Lanczos start below which an eigenvector was brought in by rounding.
_WEIGHT = 1e-12


@dataclass(frozen=True)
class RankEstimate:
    """The rank of J and its extreme singular values, from actions of JᵀJ alone."""

    lower: int
    """The rank is at least this."""
    upper: int
    """The rank is at most this."""
    variables: int
    largest: float
    """σ₁."""
    smallest: float
    """The smallest nonzero singular value; an upper estimate of it where `distinct` is None."""
    distinct: int | None
    """How many different nonzero singular values there are; None if there are too many to find them all."""

    @property
    def rank(self) -> int | None:
        """The rank, or None if it is only known to lie between `lower` and `upper`."""
        return self.lower if self.lower == self.upper else None


def jacobian_rank(model: Model, x: Tree, *, seed: int = 0) -> RankEstimate:
    """The rank of J = ∇c(x), matrix-free: no array of the image's size is formed.

    A Gaussian block Ω of k columns meets every subspace in general position, so rank(JᵀJΩ) = min(k, rank J) and, for
    the projection P = (JᵀJ)†JᵀJ found by conjugate gradients, rank((I − P)Ω) = min(k, nullity). The first settles a
    low rank, the second a high one, whichever is below k; k grows until one is, or until the block has 2²³ entries.
    Lanczos on JᵀJ, started in its range, gives the extreme singular values, and ends by itself after as many steps as
    there are different ones.

    Working from JᵀJ squares the condition number: singular values below about (N eps)^½ σ₁ ≈ 1e-7 σ₁ count as zero.

    Parameters
    ----------
    model, x
        As for `spectrum`.
    seed : int
        Seed of Ω.

    Returns
    -------
    RankEstimate
    """
    with inputs.on_the_map(model, x) as (c, point):
        rng = inputs.generator(seed)
        lower, upper = _bounds(c, point, rng)
        return RankEstimate(lower, upper, inputs.size(point), *_extremes(c, point, rng))


def _bounds(c: Map, x: Tree, rng: np.random.Generator) -> tuple[int, int]:
    n = inputs.size(x)
    widest = min(n, max(LARGEST_ARRAY // n, 1))
    width = min(_FIRST_WIDTH, widest)
    while True:
        omega = rng.standard_normal((width, n))
        found = _numerical_rank(np.asarray(_images(c, x, omega)))
        if found < width or width == n:
            return found, found
        left = np.linalg.svd(np.asarray(_null_parts(c, x, omega)), compute_uv=False)
        nullity = int(np.sum(left > _NULL))
        if nullity < width and not np.any((left > _NOT_NULL) & (left <= _NULL)):
            return n - nullity, n - nullity
        if width == widest:
            return width, n
        width = min(4 * width, widest)


def _numerical_rank(block: np.ndarray) -> int:
    values = np.linalg.svd(block, compute_uv=False)
    return int(np.sum(values > max(block.shape) * _EPS * values[0]))


@jax.jit
def _gram(c: Map, x: Tree, u: Array) -> Array:
    """JᵀJu for flat variables."""
    _, unravel = ravel_pytree(x)
    return ravel_pytree(c.gram(x)(unravel(u)))[0]


@jax.jit
def _images(c: Map, x: Tree, omega: Array) -> Array:
    return jax.vmap(lambda u: _gram(c, x, u))(omega)


@jax.jit
def _null_parts(c: Map, x: Tree, omega: Array) -> Array:
    """(I − P)ω for each row: started at zero, CG for JᵀJz = JᵀJω finds z = Pω."""
    steps = min(10 * omega.shape[1], 5000)

    def null_part(u: Array) -> Array:
        return u - conjugate_gradient(jnp, lambda z: _gram(c, x, z), _gram(c, x, u), max_steps=steps).solution

    return jax.vmap(null_part)(omega)


def _extremes(c: Map, x: Tree, rng: np.random.Generator) -> tuple[float, float, int | None]:
    """σ₁, the smallest nonzero σ, and the number of different ones."""
    n = inputs.size(x)
    omega = rng.standard_normal((1, n))
    # P times Gaussian numbers: every eigenvector of JᵀJ in its range has the same weight, and none outside.
    start = (omega - np.asarray(_null_parts(c, x, omega)))[0]
    if not np.linalg.norm(start) > _NOT_NULL:
        return 0.0, 0.0, 0
    ritz = lanczos(lambda u: np.asarray(_gram(c, x, u)), start, min(n, _LANCZOS_STEPS))
    # Rounding brings in what the start has no part of: the null space, and ever more of it as the process ends.
    genuine = ritz.weights > _WEIGHT
    kept, ended = ritz.values[genuine], bool(np.all(ritz.errors[genuine] <= 1e-8 * ritz.values[-1]))
    distinct = 1 + int(np.sum(np.diff(kept) > 2e-6 * kept[1:]))
    return float(np.sqrt(kept[-1])), float(np.sqrt(max(kept[0], 0.0))), distinct if ended else None


@dataclass(frozen=True)
class ConstantRank:
    """The rank of J at a point and at others around it."""

    ranks: tuple[int | None, ...]
    """At the point itself first; None where it was not settled."""
    variables: int
    radius: float
    """How far away the others are, relative to the point's norm."""

    @property
    def holds(self) -> bool | None:
        """Whether all ranks found agree; None if one was not settled."""
        known = {rank for rank in self.ranks if rank is not None}
        if len(known) > 1:
            return False
        return None if None in self.ranks else True


def constant_rank(model: Model, x: Tree, *, radius: float = 1e-2, points: int = 3, seed: int = 0) -> ConstantRank:
    """Assumption 1: J has the same rank at x and at random points around it.

    The rank can only rise nearby, and at a random point it is the largest. So a rank lost at x alone shows.

    Parameters
    ----------
    model, x
        As for `spectrum`; x a solution.
    radius : float
        Distance of the other points, relative to ‖x‖.
    points : int
        How many other points.
    seed : int
        Seed of the points.

    Returns
    -------
    ConstantRank
    """
    require_positive("radius", radius)
    require_whole("points", points, 1)
    with inputs.on_the_map(model, x) as (c, centre):
        rng = inputs.generator(seed)
        around = [inputs.moved(centre, radius, inputs.random_like(centre, rng)) for _ in range(points)]
        return ConstantRank(tuple(_rank(c, point) for point in (centre, *around)), inputs.size(centre), radius)


def _rank(c: Map, x: Tree) -> int | None:
    """From J itself where it is small, else matrix-free."""
    shape = inputs.image_shape(c, x)
    if shape is not None and np.prod(shape) * inputs.size(x) <= LARGEST_ARRAY // 8:
        return spectrum(c, x).rank
    return jacobian_rank(c, x).rank
