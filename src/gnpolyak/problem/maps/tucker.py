"""The Tucker map c(C, (A, B, …)) = C ×₁ A ×₂ B … of any number of factors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base.errors import InputError
from gnpolyak.base.trees import Tree
from gnpolyak.problem import capabilities as can
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.maps.compressed import Compressed, joined, split, together, unit_columns

Parts = tuple[Array, tuple[Array, ...]]


class Tucker(Map):
    """Tensors of multilinear rank (r₁, …, r_N), c(C, (A₁, …, A_N)) = C ×₁ A₁ … ×_N A_N.

    The variable is a pair of the core C of shape (r₁, …, r_N) and the tuple of factors of shapes (dₖ, rₖ). With
    Aₖ = QₖRₖ the Gram works on arrays of the core's size. Every factor can be exchanged for AₖG with
    core C ×ₖ G⁻¹, so its rank is Σ rₖ(dₖ − rₖ) + Π rₖ. The pseudo-inverse splits as `compressed` says, into rₖ×rₖ
    systems and one of Π rₖ + Σ rₖ² unknowns.
    """

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Map, Any]]:
        core, factors = _drawn(rng, (2, 3, 2), (4, 3, 3))
        yield cls(), (core, factors)
        # A condition number of 100; a core that does not fill its ranks.
        yield cls(), (core * np.array([1.0, 0.01]), factors)
        yield cls(), (core * np.array([1.0, 0.0]), factors)

    @property
    def offers(self) -> frozenset[can.Capability]:
        return frozenset({can.IMAGE, can.ENTRIES, can.GRAM, can.CURVATURE, can.DISTANCE, can.GRAM_PINV, can.GAUGE})

    def check(self, x: Tree) -> None:
        paired = isinstance(x, tuple) and len(x) == 2 and isinstance(x[1], tuple)
        core = getattr(x[0], "shape", ()) if paired else ()
        shapes: list[Any] = [getattr(leaf, "shape", ()) for leaf in x[1]] if paired else []
        fits = len(core) >= 2 and len(shapes) == len(core) and all(len(shape) == 2 for shape in shapes)
        fits = fits and all(1 <= r == shape[1] <= shape[0] for r, shape in zip(core, shapes, strict=True))
        if not fits or any(map(jnp.iscomplexobj, jax.tree.leaves(x))):
            raise InputError(
                given=f"a core of shape {core} with factors of {shapes}" if paired else f"a {type(x).__name__}",
                needed="for Tucker, a pair (core, factors), with a real factor of shape (d, r) for each r of the core",
                missing="a core whose shape is the ranks of a tuple of factors, none larger than its d",
                advice="pass x0=(core, (A, B, C))",
            )

    def __call__(self, x: Parts) -> Array:
        return _times(x[0], x[1])

    def slab(self, x: Parts, places: Array) -> Array:
        return self((x[0], (x[1][0][places], *x[1][1:])))

    def entries(self, x: Parts, indices: tuple[Array, ...]) -> Array:
        core, factors = x
        rows = [a[index] for a, index in zip(factors, indices, strict=True)]
        seen = jnp.tensordot(rows[0], core, axes=(1, 0))
        for row in rows[1:]:
            seen = jnp.einsum("mr...,mr->m...", seen, row)
        return seen

    def gram(self, x: Parts) -> Callable[[Parts], Parts]:
        core, factors = x
        bases, small = split(factors)
        push, pull = self.linearize((core, small))
        rests = _rests(core, small)

        def action(z: Parts) -> Parts:
            inside = tuple(q.T @ step for q, step in zip(bases, z[1], strict=True))
            y, found = pull(push((z[0], inside)))
            return y, tuple(joined(bases, rests, z[1], found))

        return action

    def preconditioner(self, x: Parts, damping: Array | float = 0.0) -> Callable[[Parts], Parts]:
        core, factors = x
        rows = max(a.shape[0] for a in factors)
        bases, r = split(factors)
        inner, outer = Compressed(self, (core, r), _rests(core, r), _exchanges(core, r), damping, rows).inverses()

        def solve(g: Parts) -> Parts:
            y, inside = inner((g[0], tuple(q.T @ each for q, each in zip(bases, g[1], strict=True))))
            return y, tuple(joined(bases, outer, g[1], inside))

        return solve

    def gram_pinv(self, x: Parts, g: Parts, damping: Array | float = 0.0) -> Parts:
        return self.preconditioner(x, damping)(g)

    def curvature(self, x: Parts, s: Parts) -> Array:
        factors, steps = together(x[1], s[1])
        return super().curvature((x[0], factors), (s[0], steps))

    def inner(self, x: Parts, y: Parts) -> Array:
        """⟨c(x), c(y)⟩ = ⟨C ×ₖ BₖᵀAₖ, C′⟩, on arrays of the cores' sizes."""
        products = [b.T @ a for a, b in zip(x[1], y[1], strict=True)]
        return jnp.sum(_times(x[0], products) * y[0])

    def distance(self, x: Parts, y: Parts) -> Array:
        """‖c(x) − c(y)‖ in bases that hold the factors of both: no cancellation of squares."""
        left, right = together(x[1], y[1])
        return super().distance((x[0], left), (y[0], right))

    def gauge(self, x: Parts, rng: np.random.Generator) -> Parts:
        turns = [jnp.asarray(np.linalg.qr(rng.standard_normal((a.shape[1],) * 2))[0]) for a in x[1]]
        return _times(x[0], [q.T for q in turns]), tuple(a @ q for a, q in zip(x[1], turns, strict=True))


def _drawn(rng: np.random.Generator, ranks: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    return rng.standard_normal(ranks), tuple(rng.standard_normal(each) for each in zip(shape, ranks, strict=True))


def _times(core: Array, matrices: Sequence[Array], but: int | None = None) -> Array:
    """The core times a matrix along each of its axes, or along all but one."""
    for k, matrix in enumerate(matrices):
        # The first axis goes to the end: after all of them each is back in its place.
        core = jnp.moveaxis(core, 0, -1) if k == but else jnp.tensordot(core, matrix, axes=(0, 1))
    return core


def _rests(core: Array, small: Sequence[Array]) -> tuple[Array, ...]:
    """The Hₖ = FₖFₖᵀ of the parts outside the factors' ranges, with Fₖ the k-th unfolding of C times the others."""
    faces = [jnp.moveaxis(_times(core, small, k), k, 0).reshape(core.shape[k], -1) for k in range(len(small))]
    return tuple(face @ face.T for face in faces)


def _exchanges(core: Array, factors: Sequence[Array]) -> Array:
    """The directions (−C ×ₖ W, AₖW), in which nothing changes, as columns."""
    columns = []
    for k, factor in enumerate(factors):
        r = factor.shape[1]

        def along(w: Array, k: int = k) -> Array:
            moved = jnp.moveaxis(jnp.tensordot(w, core, axes=(1, k)), 0, k)
            steps = [a @ w if place == k else jnp.zeros_like(a) for place, a in enumerate(factors)]
            return jnp.concatenate([-moved.ravel(), *(step.ravel() for step in steps)])

        columns.append(jax.vmap(along)(jnp.eye(r * r, dtype=core.dtype).reshape(-1, r, r)).T)
    return unit_columns(jnp.concatenate(columns, axis=1))
