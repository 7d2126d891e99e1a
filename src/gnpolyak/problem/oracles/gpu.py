"""One pass over the rows on a GPU: forward, sign and adjoint while a few rows are in registers.

XLA reads the rows twice, once for the products with x and once for the adjoint. Here each program walks over blocks of
rows with the columns of x, and the partial sums of the subgradient, in its registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt

from gnpolyak.base.kernels import power_of_two


class Shape(NamedTuple):
    """How the work is divided; which is best is a matter of measurement."""

    entries: int
    """Numbers of each matrix in a block of rows."""
    warps: int
    programs: int
    ahead: bool
    """Whether the next block is read before the present one is used."""


# By the bytes of the rows, at least so many: how the work is divided, None where XLA's two reads are left to it.
CHOSEN: tuple[tuple[int, Shape | None], ...] = ((0, None),)
# The columns of x and the sums of the subgradient have to fit into the registers of a program.
_MOST_COLUMNS, _LARGEST = 8, 8192


def chosen(p: Array, x: Array) -> Shape | None:
    """How to divide the work on these rows, or None where XLA serves.

    A program has to hold x and a subgradient in its registers, and to count the entries of the rows.
    """
    r = x.shape[1]
    fits = r <= _MOST_COLUMNS and power_of_two(p.shape[1]) * r <= _LARGEST and p.size < 2**31
    real = all(jnp.issubdtype(each.dtype, jnp.floating) for each in (p, x))
    size = 2 * p.size * p.dtype.itemsize
    return next(shape for least, shape in CHOSEN if size >= least) if fits and real else None


def power_l1(
    p: Array, q: Array | None, b: Array, x: Array, n: int, shape: Shape, interpret: bool = False
) -> tuple[Array, Array]:
    """f = Σᵢ |Σⱼ (pᵢᵀxⱼ)ⁿ − (qᵢᵀxⱼ)ⁿ − bᵢ| and one of its subgradients, in one pass over the rows."""

    def middle(sides: list[list[Array]], data: Sequence[Callable[..., Array]]) -> tuple[Array, list[list[Array]]]:
        powers = [[_power(y, n - 1) for y in side] for side in sides]
        z = [sum(y * power for y, power in zip(*each, strict=True)) for each in zip(sides, powers, strict=True)]
        left = (z[0] - z[1] if len(z) > 1 else z[0]) - data[0]()
        v = jnp.where(left > 0, 1.0, jnp.where(left < 0, -1.0, 0.0)).astype(left.dtype)
        signed = zip((n * v, -n * v), powers, strict=False)
        return jnp.abs(left), [[factor * power for power in side] for factor, side in signed]

    values, pulled = _pass(p, q, x, (b,), middle, shape, interpret)
    return jnp.sum(values), pulled


def power_product(
    p: Array, q: Array | None, slopes: Array, z: Array, w: Array, shape: Shape, interpret: bool = False
) -> tuple[Array, Array]:
    """AJz and (AJ)ᵀ(w ⊙ AJz) in one pass, with the slopes of the measurements by the products with x."""

    def middle(sides: list[list[Array]], data: Sequence[Callable[..., Array]]) -> tuple[Array, list[list[Array]]]:
        weight, slope = data
        slope_of = [[slope(s, j) for j in range(len(side))] for s, side in enumerate(sides)]
        terms = [y * k for each in zip(sides, slope_of, strict=True) for y, k in zip(*each, strict=True)]
        pushed = sum(terms[1:], start=terms[0])
        return pushed, [[weight() * pushed * k for k in side] for side in slope_of]

    return _pass(p, q, z, (w, jnp.moveaxis(slopes, 1, 2)), middle, shape, interpret)


def _power(y: Array, n: int) -> Array:
    power = y
    for _ in range(n - 1):
        power = power * y
    return power


def _pass(
    p: Array,
    q: Array | None,
    x: Array,
    data: tuple[Array, ...],
    middle: Callable[..., tuple[Array, list[list[Array]]]],
    shape: Shape,
    interpret: bool,
) -> tuple[Array, Array]:
    """For each row a number, and Σᵢ wᵢⱼpᵢ, with those of q, for the weights that `middle` makes of products with x."""
    (m, d), r, dtype = p.shape, x.shape[1], x.dtype
    matrices = (p,) if q is None else (p, q)
    wide = power_of_two(d)
    rows = max(1, shape.entries // wide)
    blocks = -(-m // rows)
    programs = min(shape.programs, blocks)
    turns = -(-blocks // programs)

    def kernel(*refs: Any) -> None:
        sources, (x_ref, *data_refs), (out, parts) = refs[: len(matrices)], refs[len(matrices) : -2], refs[-2:]
        number = pl.program_id(0)
        columns = lax.iota(jnp.int32, wide)
        factors = [x_ref[j, :] for j in range(r)]

        def places(turn: Array) -> Array:
            return (number + turn * programs) * rows + lax.iota(jnp.int32, rows)

        def read(turn: Array) -> tuple[Array, ...]:
            at = places(turn)
            inside = (at[:, None] < m) & (columns[None, :] < d)
            return tuple(plt.load(s.at[at[:, None], columns[None, :]], mask=inside, other=0.0) for s in sources)

        def use(turn: Array, blocks: tuple[Array, ...], sums: tuple[Array, ...]) -> tuple[Array, ...]:
            at = places(turn)
            wider = [_widened(block, dtype) for block in blocks]
            sides = [[jnp.sum(block * factor[None, :], axis=1) for factor in factors] for block in wider]
            loads = [lambda *lead, ref=ref: plt.load(ref.at[(*lead, at)], mask=at < m, other=0.0) for ref in data_refs]
            number, weights = middle(sides, loads)
            plt.store(out.at[at], number, mask=at < m)
            for block, side in zip(wider, weights, strict=True):
                sums = tuple(
                    total + jnp.sum(weight[:, None] * block, axis=0) for total, weight in zip(sums, side, strict=True)
                )
            return sums

        none = tuple(jnp.zeros((wide,), dtype) for _ in range(r))
        if shape.ahead:
            # Reading past the last block reads nothing: all of it is masked.
            _, sums = lax.fori_loop(0, turns, lambda t, s: (read(t + 1), use(t, *s)), (read(jnp.int32(0)), none))
        else:
            sums = lax.fori_loop(0, turns, lambda t, s: use(t, read(t), s), none)
        for j in range(r):
            parts[number, j, :] = sums[j]

    shapes = [jax.ShapeDtypeStruct((m,), dtype), jax.ShapeDtypeStruct((programs, r, wide), dtype)]
    tall = jnp.pad(x, ((0, wide - d), (0, 0))).T
    call = pl.pallas_call(
        kernel,
        out_shape=shapes,
        grid=(programs,),
        compiler_params=plt.CompilerParams(num_warps=shape.warps),
        interpret=interpret,
    )
    told, parts = call(*matrices, tall, *data)
    return told, jnp.sum(parts, axis=0)[:, :d].T


def _widened(block: Array, dtype: Any) -> Array:
    """The block in the dtype of the arithmetic; bfloat16 goes to float64 by way of float32."""
    return (block.astype(jnp.float32) if block.dtype == jnp.bfloat16 else block).astype(dtype)
