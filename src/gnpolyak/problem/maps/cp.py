"""The CP map c(A, B, …) = Σⱼ aⱼ ⊗ bⱼ ⊗ … of any number of factors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base.errors import InputError
from gnpolyak.base.trees import Tree
from gnpolyak.problem import capabilities as can
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.maps.compressed import Compressed, joined, split, together, unit_columns
from gnpolyak.problem.maps.low_rank import LowRank

Factors = tuple[Array, ...]


class CP(Map):
    """Tensors of r terms, c(A₁, …, A_N) = Σⱼ a₁ⱼ ⊗ … ⊗ a_Nⱼ for a tuple of N ≥ 2 factors of shapes (dₖ, r).

    With Sₖ = AₖᵀAₖ, Dₖ the entrywise product of all S but Sₖ, and E_kl that of all but two, the Gram action is

        (JᵀJ Z)ₖ = Zₖ Dₖ + Aₖ Σ_{l≠k} E_kl ⊙ (ZₗᵀAₗ).

    The sizes of the N vectors of a term can be exchanged, so its rank is r(Σdₖ − N + 1) at most. The pseudo-inverse
    splits as `compressed` says, into r×r systems and one of at most N·r² unknowns.
    """

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Map, Any]]:
        shape = (5, 4, 3)
        yield cls(), tuple(rng.standard_normal((d, 2)) for d in shape)
        # Terms that differ by 1e4 in size; one that is zero, and two that share two vectors: the rank of J falls.
        yield cls(), tuple(rng.standard_normal((d, 2)) * np.array([1.0, 10 ** (-4 / 3)]) for d in shape)
        yield cls(), tuple(rng.standard_normal((d, 2)) * np.array([1.0, 0.0]) for d in shape)
        yield cls(), (np.ones((5, 2)), np.ones((4, 2)), rng.standard_normal((3, 2)))
        yield cls(), tuple(rng.standard_normal((d, 2)) for d in (4, 3))

    @property
    def offers(self) -> frozenset[can.Capability]:
        return frozenset({can.IMAGE, can.ENTRIES, can.GRAM, can.CURVATURE, can.DISTANCE, can.GRAM_PINV, can.GAUGE})

    def check(self, x: Tree) -> None:
        shapes: list[Any] = [getattr(leaf, "shape", ()) for leaf in x] if isinstance(x, tuple) else []
        fits = len(shapes) >= 2 and all(len(shape) == 2 and 0 not in shape for shape in shapes)
        if not fits or len({shape[1] for shape in shapes}) != 1 or any(map(jnp.iscomplexobj, x)):
            raise InputError(
                given=f"a variable of shapes {shapes}" if shapes else f"a variable of type {type(x).__name__}",
                needed="for CP, a tuple of two or more real matrices with as many columns each",
                missing="factors of one rank",
                advice="pass x0=(A, B, C), the vectors of the terms as columns",
            )

    def __call__(self, x: Factors) -> Array:
        # All but the last factor are multiplied out: the sum over the terms is one matrix product.
        rows = reduce(lambda t, a: (t[:, None, :] * a[None, :, :]).reshape(-1, a.shape[1]), x[:-1])
        return (rows @ x[-1].T).reshape([a.shape[0] for a in x])

    def slab(self, x: Factors, places: Array) -> Array:
        return self((x[0][places], *x[1:]))

    def entries(self, x: Factors, indices: tuple[Array, ...]) -> Array:
        rows = [a[index] for a, index in zip(x, indices, strict=True)]
        return jnp.sum(reduce(jnp.multiply, rows), axis=1)

    def gram(self, x: Factors) -> Callable[[Factors], Factors]:
        grams, places = [a.T @ a for a in x], range(len(x))

        def action(z: Factors) -> Factors:
            crossed = [zk.T @ a for zk, a in zip(z, x, strict=True)]
            return tuple(
                z[k] @ _product(grams, k) + x[k] @ sum(_product(grams, k, m) * crossed[m] for m in places if m != k)
                for k in places
            )

        return action

    def preconditioner(self, x: Factors, damping: Array | float = 0.0) -> Callable[[Factors], Factors]:
        if len(x) == 2:
            # A matrix has more symmetries, and a closed form for them.
            return lambda g: LowRank().gram_pinv((x[0], x[1]), (g[0], g[1]), damping)
        rows = max(a.shape[0] for a in x)
        bases, small = split(x)
        grams = [r.T @ r for r in small]
        rests = tuple(_product(grams, k) for k in range(len(x)))
        inner, outer = Compressed(self, small, rests, _exchanges(small), damping, rows).inverses()

        def solve(g: Factors) -> Factors:
            inside = inner(tuple(q.T @ each for q, each in zip(bases, g, strict=True)))
            return tuple(joined(bases, outer, g, inside))

        return solve

    def gram_pinv(self, x: Factors, g: Factors, damping: Array | float = 0.0) -> Factors:
        return self.preconditioner(x, damping)(g)

    def curvature(self, x: Factors, s: Factors) -> Array:
        return super().curvature(*together(x, s))

    def inner(self, x: Factors, y: Factors) -> Array:
        """⟨c(x), c(y)⟩ = Σ ⊙ₖ AₖᵀBₖ, at a cost of O(Σdₖ r²)."""
        return jnp.sum(_product([a.T @ b for a, b in zip(x, y, strict=True)]))

    def distance(self, x: Factors, y: Factors) -> Array:
        """‖c(x) − c(y)‖ in bases of at most 2r vectors each: no cancellation of squares."""
        return super().distance(*together(x, y))

    def gauge(self, x: Factors, rng: np.random.Generator) -> Factors:
        r = x[0].shape[1]
        signs = rng.choice([-1.0, 1.0], (len(x), r))
        # An even number of signs in every term.
        signs[-1] = np.prod(signs[:-1], axis=0)
        order = rng.permutation(r)
        return tuple(a[:, order] * sign for a, sign in zip(x, signs, strict=True))


def _product(grams: list[Array], *but: int) -> Array:
    """The entrywise product of all but some of the matrices; ones where none is left."""
    kept = [gram for k, gram in enumerate(grams) if k not in but]
    return reduce(jnp.multiply, kept, jnp.ones_like(grams[0]))


def _exchanges(x: Factors) -> Array:
    """The directions (aⱼ, 0, …, −bⱼ, …) that make one vector of a term longer and another shorter, as columns."""
    r = x[0].shape[1]
    unit = jnp.eye(r, dtype=x[0].dtype)
    single = [(a[:, :, None] * unit[None]).reshape(-1, r) for a in x]
    nothing = [jnp.zeros_like(each) for each in single]
    columns = []
    for k in range(1, len(x)):
        parts = [single[0], *nothing[1:]]
        parts[k] = -single[k]
        columns.append(jnp.concatenate(parts))
    return unit_columns(jnp.concatenate(columns, axis=1))
