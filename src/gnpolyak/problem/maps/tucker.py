"""The Tucker map c(C, (A, B, …)) = C ×₁ A ×₂ B … of any number of factors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any, ClassVar

import jax
import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.errors import InputError
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem import capabilities as can
from gnpolyak.problem.maps import scattering
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.maps.compressed import Multilinear, inverses, joined, split, together, unit_columns

Parts = tuple[Array, tuple[Array, ...]]


class Tucker(Multilinear):
    """Tensors of multilinear rank (r₁, …, r_N), c(C, (A₁, …, A_N)) = C ×₁ A₁ … ×_N A_N.

    The variable is a pair of the core C of shape (r₁, …, r_N) and the tuple of factors of shapes (dₖ, rₖ). With
    Aₖ = QₖRₖ the Gram works on arrays of the core's size. Every factor can be exchanged for AₖG with
    core C ×ₖ G⁻¹, so its rank is Σ rₖ(dₖ − rₖ) + Π rₖ. The pseudo-inverse splits as `compressed` says, into rₖ×rₖ
    systems and one of Π rₖ + Σ rₖ² unknowns.
    """

    over_xp: ClassVar[bool] = True

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
        if not fits or any(map(np.iscomplexobj, jax.tree.leaves(x))):
            raise InputError(
                given=f"a core of shape {core} with factors of {shapes}" if paired else f"a {type(x).__name__}",
                needed="for Tucker, a pair (core, factors), with a real factor of shape (d, r) for each r of the core",
                missing="a core whose shape is the ranks of a tuple of factors, none larger than its d",
                advice="pass x0=(core, (A, B, C))",
            )

    def image(self, x: Parts) -> jax.ShapeDtypeStruct:
        dtype = np.result_type(x[0].dtype, *(a.dtype for a in x[1]))
        return jax.ShapeDtypeStruct(tuple(a.shape[0] for a in x[1]), dtype)

    def __call__(self, x: Parts) -> Array:
        return _times(x[0], x[1])

    def linearize(self, x: Parts) -> tuple[Callable[[Parts], Array], Callable[[Array], Parts]]:
        xp, factors = self.xp, x[1]
        # The core times none of the factors, the first one, the first two, and so on.
        partial = list(accumulate(factors, _contracted, initial=x[0]))

        def push(z: Parts) -> Array:
            moved = z[0]
            for t, a, step in zip(partial, factors, z[1], strict=False):
                # moved × A + t × S as one product.
                moved = _contracted(xp.concatenate([moved, t]), xp.concatenate([a, step], axis=1))
            return moved

        def pull(v: Array) -> Parts:
            found = []
            for t, a in zip(partial[-2::-1], factors[::-1], strict=True):
                v = v.reshape(-1, a.shape[0])
                found.append(v.T @ t.reshape(a.shape[1], -1).T)
                v = (v @ a).T.reshape(t.shape)
            return v.copy(), tuple(found[::-1])

        return push, pull

    def slab(self, x: Parts, places: Array) -> Array:
        return self((x[0], (x[1][0][places], *x[1][1:])))

    def entries(self, x: Parts, indices: tuple[Array, ...]) -> Array:
        first, *rest = scattering.gathered(self.xp, x[1], indices)
        return scattering.row_products(self.xp, first, reduce(_row_products, rest) @ _unfolded(x[0], 0).T)

    def entries_linearized(
        self, x: Parts, indices: tuple[Array, ...]
    ) -> tuple[Callable[[Parts], Array], Callable[[Array], Parts]]:
        xp, (core, factors) = self.xp, x
        rows = scattering.gathered(xp, factors, indices)
        others = [reduce(_row_products, [*rows[:k], *rows[k + 1 :]]) for k in range(core.ndim)]
        slopes = [other @ _unfolded(core, k).T for k, other in enumerate(others)]
        push, pull = scattering.linearized(xp, factors, slopes, indices)
        return (
            lambda z: push(z[1]) + scattering.row_products(xp, rows[0], others[0] @ _unfolded(z[0], 0).T),
            lambda w: (((w[:, None] * rows[0]).T @ others[0]).reshape(core.shape), pull(w)),
        )

    def gram(self, x: Parts) -> Callable[[Parts], Parts]:
        core, factors = x
        bases, small = split(self.xp, factors)
        push, pull = self.linearize((core, small))
        rests = self.outer((core, small))

        def action(z: Parts) -> Parts:
            inside = tuple(q.T @ step for q, step in zip(bases, z[1], strict=True))
            y, found = pull(push((z[0], inside)))
            return y, tuple(joined(bases, rests, z[1], found))

        return action

    def outer(self, x: Parts) -> tuple[Array, ...]:
        """The Hₖ = FₖFₖᵀ, with Fₖ the k-th unfolding of C times the other factors."""
        core, factors = x
        faces = [_unfolded(_times(core, factors, k), k) for k in range(core.ndim)]
        return tuple(face @ face.T for face in faces)

    def jacobian(self, x: Parts) -> Array:
        core, factors = x
        along = [_along(self.xp, _times(core, factors, k), k, a.shape[0]) for k, a in enumerate(factors)]
        return self.xp.concatenate([reduce(_kronecker, factors), *along], axis=1)

    def gram_matrix(self, x: Parts) -> Array:
        jacobian = self.jacobian(x)
        return jacobian.T @ jacobian

    def symmetries(self, x: Parts) -> Array:
        """The directions (−C ×ₖ W, AₖW), in which nothing changes, as columns."""
        xp, (core, factors) = self.xp, x
        columns = []
        for k, factor in enumerate(factors):
            r = factor.shape[1]
            moved = [xp.zeros((a.size, r * r), a.dtype) for a in factors]
            moved[k] = _kronecker(factor, xp.eye(r, dtype=factor.dtype))
            columns.append(xp.concatenate([-_along(xp, core, k, r), *moved]))
        return unit_columns(xp, xp.concatenate(columns, axis=1))

    def preconditioner(self, x: Parts, damping: Array | float = 0.0) -> Callable[[Parts], Parts]:
        core, factors = x
        bases, small = split(self.xp, factors)
        inner, outer = inverses(self, (core, small), damping, max(a.shape[0] for a in factors))

        def solve(g: Parts) -> Parts:
            y, inside = inner((g[0], tuple(q.T @ gk for q, gk in zip(bases, g[1], strict=True))))
            return y, tuple(joined(bases, outer, g[1], inside))

        return solve

    def curvature(self, x: Parts, s: Parts) -> Array:
        """The norm of D²c(x)[s, s], from the second-order terms of a product of A + tS, in bases that hold both."""
        factors, steps = together(self.xp, x[1], s[1])
        value, first, second = x[0], s[0], self.xp.zeros_like(x[0])
        for a, step in zip(factors, steps, strict=True):
            second = _contracted(second, a) + 2 * _contracted(first, step)
            first = _contracted(first, a) + _contracted(value, step)
            value = _contracted(value, a)
        return trees.norm(second)

    def inner(self, x: Parts, y: Parts) -> Array:
        """⟨c(x), c(y)⟩ = ⟨C ×ₖ BₖᵀAₖ, C′⟩, on arrays of the cores' sizes."""
        products = [b.T @ a for a, b in zip(x[1], y[1], strict=True)]
        return (_times(x[0], products) * y[0]).sum()

    def distance(self, x: Parts, y: Parts) -> Array:
        """‖c(x) − c(y)‖ in bases that hold the factors of both: no cancellation of squares."""
        left, right = together(self.xp, x[1], y[1])
        return super().distance((x[0], left), (y[0], right))

    def gauge(self, x: Parts, rng: np.random.Generator) -> Parts:
        turns: list[Any] = [np.linalg.qr(rng.standard_normal((a.shape[1],) * 2))[0].astype(a.dtype) for a in x[1]]
        return _times(x[0], [q.T for q in turns]), tuple(a @ q for a, q in zip(x[1], turns, strict=True))


def _drawn(rng: np.random.Generator, ranks: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    return rng.standard_normal(ranks), tuple(rng.standard_normal(each) for each in zip(shape, ranks, strict=True))


def _contracted(tensor: Array, matrix: Array) -> Array:
    """The tensor times a matrix along its first axis, which goes to the end."""
    return (tensor.reshape(tensor.shape[0], -1).T @ matrix.T).reshape(*tensor.shape[1:], matrix.shape[0])


def _times(core: Array, matrices: Sequence[Array], but: int | None = None) -> Array:
    """The core times a matrix along each of its axes, or along all but one."""
    for k, matrix in enumerate(matrices):
        # The first axis goes to the end: after all of them each is back in its place.
        core = core.transpose(*range(1, core.ndim), 0) if k == but else _contracted(core, matrix)
    return core


def _unfolded(tensor: Array, k: int) -> Array:
    """The matrix of a tensor with a row for each place along axis k."""
    order = [k, *(place for place in range(tensor.ndim) if place != k)]
    return tensor.transpose(order).reshape(tensor.shape[k], -1)


def _row_products(a: Array, b: Array) -> Array:
    """All products of two numbers of the same row."""
    # With many rows along the last axis NumPy multiplies eight times as fast as with few columns.
    return (a.T.copy()[:, None, :] * b.T.copy()).reshape(-1, len(a)).T


def _kronecker(a: Array, b: Array) -> Array:
    return (a[:, None, :, None] * b[:, None, :]).reshape(len(a) * len(b), -1)


def _along(xp: Any, tensor: Array, k: int, count: int) -> Array:
    """The matrix of W ↦ tensor ×ₖ W for matrices W of `count` rows."""
    n = tensor.ndim
    last = tensor.transpose(*(place for place in range(n) if place != k), k)
    # Axes: all but k, then the row of the result, and row and column of W.
    found = last[..., None, None, :] * xp.eye(count, dtype=tensor.dtype)[:, :, None]
    order = list(range(n + 2))
    order.insert(k, order.pop(n - 1))
    return found.transpose(order).reshape(-1, count * tensor.shape[k])
