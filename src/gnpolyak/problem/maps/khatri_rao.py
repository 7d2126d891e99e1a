"""Sums of products of vectors, c(A₁, …, A_N) = Σⱼ a₁ⱼ ⊗ … ⊗ a_Nⱼ: values and derivatives by few matrix products."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import accumulate
from typing import Any

from gnpolyak.base.namespace import Array

Factors = tuple[Array, ...]


def khatri_rao(a: Array, b: Array) -> Array:
    """All products of a row of one and a row of the other, entry by entry; of stacks of matrices too."""
    products = a[..., :, None, :] * b[..., None, :, :]
    return products.reshape(*products.shape[:-3], -1, b.shape[-1])


def image(x: Factors) -> Array:
    """c(x): all but the last factor are multiplied out, and the sum over the terms is one matrix product."""
    return (reduce(khatri_rao, x[:-1]) @ x[-1].T).reshape([a.shape[0] for a in x])


def linearized(xp: Any, x: Factors) -> tuple[Callable[[Factors], Array], Callable[[Array], Factors]]:
    """The derivative of c at x and its adjoint, of arrays with any number of leading axes.

    With the rows K of all factors but the last multiplied out and dK their change, Jz = dK A_Nᵀ + K Z_Nᵀ, and the
    adjoint goes back the same way, one factor after the other.
    """
    shape = tuple(a.shape[0] for a in x)
    # The rows of the first factors multiplied out, of the first two, and so on.
    rows = list(accumulate(x[:-1], khatri_rao))

    def push(z: Factors) -> Array:
        moved = z[0]
        for row, a, step in zip(rows[:-1], x[1:-1], z[1:-1], strict=True):
            moved = khatri_rao(moved, a) + khatri_rao(row, step)
        lead = moved.shape[:-2]
        ends = _beside(xp, x[-1], z[-1]).swapaxes(-1, -2)
        return (_beside(xp, moved, rows[-1]) @ ends).reshape(lead + shape)

    def pull(v: Array) -> Factors:
        lead = v.shape[: v.ndim - len(shape)]
        v = v.reshape(*lead, -1, shape[-1])
        found, rest = [v.swapaxes(-1, -2) @ rows[-1]], v @ x[-1]
        for row, a in zip(rows[-2::-1], x[-2:0:-1], strict=True):
            rest = rest.reshape(*lead, len(row), *a.shape)
            found.append((rest * row[:, None, :]).sum(axis=-3))
            rest = (rest * a).sum(axis=-2)
        return (rest, *found[::-1])

    return push, pull


def curvature(xp: Any, x: Factors, s: Factors) -> Array:
    """The norm of D²c(x)[s, s], from the second-order terms of the product of all A + tS."""
    rows, first, second = x[0], s[0], xp.zeros_like(x[0])
    for a, step in zip(x[1:-1], s[1:-1], strict=True):
        second = khatri_rao(second, a) + 2 * khatri_rao(first, step)
        first = khatri_rao(first, a) + khatri_rao(rows, step)
        rows = khatri_rao(rows, a)
    return xp.linalg.norm(second @ x[-1].T + 2 * first @ s[-1].T)


def _beside(xp: Any, a: Array, b: Array) -> Array:
    """Two matrices side by side; beside each of a stack where one of them is one."""
    if a.ndim != b.ndim:
        lead = max(a.shape[:-2], b.shape[:-2], key=len)
        a, b = (xp.broadcast_to(each, lead + each.shape[-2:]) for each in (a, b))
    return xp.concatenate([a, b], axis=-1)
