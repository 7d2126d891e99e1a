"""The CP map c(A, B, …) = Σⱼ aⱼ ⊗ bⱼ ⊗ … of any number of factors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import mul
from typing import Any, ClassVar

import jax
import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem import capabilities as can
from gnpolyak.problem.maps import khatri_rao, low_rank, scattering
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.maps.compressed import Multilinear, inverses, joined, split, together, unit_columns
from gnpolyak.problem.maps.khatri_rao import Factors


class CP(Multilinear):
    """Tensors of r terms, c(A₁, …, A_N) = Σⱼ a₁ⱼ ⊗ … ⊗ a_Nⱼ for a tuple of N ≥ 2 factors of shapes (dₖ, r).

    With Sₖ = AₖᵀAₖ, Dₖ the entrywise product of all S but Sₖ, and E_kl that of all but two, the Gram action is

        (JᵀJ Z)ₖ = Zₖ Dₖ + Aₖ Σ_{l≠k} E_kl ⊙ (ZₗᵀAₗ).

    The sizes of the N vectors of a term can be exchanged, so its rank is r(Σdₖ − N + 1) at most. The pseudo-inverse
    splits as `compressed` says, into r×r systems and one of at most N·r² unknowns.
    """

    over_xp: ClassVar[bool] = True

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
        if not fits or len({shape[1] for shape in shapes}) != 1 or any(map(np.iscomplexobj, x)):
            raise InputError(
                given=f"a variable of shapes {shapes}" if shapes else f"a variable of type {type(x).__name__}",
                needed="for CP, a tuple of two or more real matrices with as many columns each",
                missing="factors of one rank",
                advice="pass x0=(A, B, C), the vectors of the terms as columns",
            )

    def image(self, x: Factors) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(tuple(a.shape[0] for a in x), np.result_type(*(a.dtype for a in x)))

    def __call__(self, x: Factors) -> Array:
        return khatri_rao.image(x)

    def linearize(self, x: Factors) -> tuple[Callable[[Factors], Array], Callable[[Array], Factors]]:
        return khatri_rao.linearized(self.xp, x)

    def slab(self, x: Factors, places: Array) -> Array:
        return self((x[0][places], *x[1:]))

    def entries(self, x: Factors, indices: tuple[Array, ...]) -> Array:
        *rows, last = scattering.gathered(self.xp, x, indices)
        return scattering.row_products(self.xp, reduce(mul, rows), last)

    def entries_linearized(
        self, x: Factors, indices: tuple[Array, ...]
    ) -> tuple[Callable[[Factors], Array], Callable[[Array], Factors]]:
        slopes = scattering.products_but_one(scattering.gathered(self.xp, x, indices))
        return scattering.linearized(self.xp, x, slopes, indices)

    def gram(self, x: Factors) -> Callable[[Factors], Factors]:
        alone, pairs = _products(x)

        def action(z: Factors) -> Factors:
            crossed = [zk.T @ a for zk, a in zip(z, x, strict=True)]
            mixed = (sum(pairs[k, m] * crossed[m] for m in range(len(x)) if m != k) for k in range(len(x)))
            return tuple(zk @ d + a @ other for zk, d, a, other in zip(z, alone, x, mixed, strict=True))

        return action

    def outer(self, x: Factors) -> tuple[Array, ...]:
        return tuple(_products(x)[0])

    def gram_matrix(self, x: Factors) -> Array:
        """Blocks I ⊗ Dₖ on the diagonal, and off it [a, j, b, i] ↦ Aₖ[a, i] E_kl[i, j] Aₗ[b, j]."""
        xp, (alone, pairs) = self.xp, _products(x)

        def block(k: int, m: int) -> Array:
            a, b = x[k], x[m]
            if k == m:
                found = xp.eye(len(a), dtype=a.dtype)[:, None, :, None] * alone[k][:, None, :]
            else:
                found = a[:, None, None, :] * (b.T[:, :, None] * pairs[k, m][:, None, :])
            return found.reshape(a.size, b.size)

        places = range(len(x))
        return xp.concatenate([xp.concatenate([block(k, m) for m in places], axis=1) for k in places])

    def symmetries(self, x: Factors) -> Array:
        """The directions (aⱼ, 0, …, −bⱼ, …) that make one vector of a term longer and another shorter, as columns."""
        xp, r = self.xp, x[0].shape[1]
        unit = xp.eye(r, dtype=x[0].dtype)
        single = [(a[:, :, None] * unit).reshape(-1, r) for a in x]
        nothing = [xp.zeros_like(each) for each in single]
        columns = [xp.concatenate([single[0], *nothing[1:k], -single[k], *nothing[k + 1 :]]) for k in range(1, len(x))]
        return unit_columns(xp, xp.concatenate(columns, axis=1))

    def preconditioner(self, x: Factors, damping: Array | float = 0.0) -> Callable[[Factors], Factors]:
        if len(x) == 2:
            # A matrix has more symmetries, and a closed form for them.
            return low_rank.preconditioner(self.xp, x, damping)
        bases, small = split(self.xp, x)
        inner, outer = inverses(self, small, damping, max(a.shape[0] for a in x))

        def solve(g: Factors) -> Factors:
            inside = inner(tuple(q.T @ each for q, each in zip(bases, g, strict=True)))
            return tuple(joined(bases, outer, g, inside))

        return solve

    def curvature(self, x: Factors, s: Factors) -> Array:
        """The norm of D²c(x)[s, s] in bases of at most 2r vectors each."""
        return khatri_rao.curvature(self.xp, *together(self.xp, x, s))

    def inner(self, x: Factors, y: Factors) -> Array:
        """⟨c(x), c(y)⟩ = Σ ⊙ₖ AₖᵀBₖ, at a cost of O(Σdₖ r²)."""
        return reduce(mul, [a.T @ b for a, b in zip(x, y, strict=True)]).sum()

    def distance(self, x: Factors, y: Factors) -> Array:
        """‖c(x) − c(y)‖ in bases of at most 2r vectors each: no cancellation of squares."""
        return super().distance(*together(self.xp, x, y))

    def gauge(self, x: Factors, rng: np.random.Generator) -> Factors:
        r = x[0].shape[1]
        signs = rng.choice([-1.0, 1.0], (len(x), r))
        # An even number of signs in every term.
        signs[-1] = np.prod(signs[:-1], axis=0)
        order = rng.permutation(r)
        return tuple(a[:, order] * sign.astype(a.dtype) for a, sign in zip(x, signs, strict=True))


def _products(x: Factors) -> tuple[list[Array], dict[tuple[int, int], Array]]:
    """The Dₖ and the E_kl."""
    grams, places = [a.T @ a for a in x], range(len(x))
    ones = grams[0] ** 0
    but = lambda *out: reduce(mul, (gram for k, gram in enumerate(grams) if k not in out), ones)  # noqa: E731
    pairs = {(k, m): but(k, m) for k in places for m in range(k)}
    return [but(k) for k in places], pairs | {(m, k): each for (k, m), each in pairs.items()}
