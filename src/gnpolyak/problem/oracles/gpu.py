"""One read of the rows on a GPU: a program measures a few of them, and uses them again while they are in its cache.

XLA reads the rows twice from memory, once for the products with x and once for the adjoint. Here a program takes a few
rows at a time. First each of its warps has rows of its own: products with x are summed within a warp. Then each of its
threads has columns of its own: the rows are read once more, from the cache, and nothing is summed across threads.
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

Sides = list[list[Array]]
"""For p, and for q where there is one, and for each column of x: a number for each row."""


class Shape(NamedTuple):
    """How the work is divided; which is best is a matter of measurement."""

    rows: int
    """Rows that a program takes at a time, of each matrix; a multiple of the warps."""
    warps: int
    programs: int
    together: int = 2
    """Pieces of a row that are read before the first is used, at most."""


# By the bytes of the rows, at least so many: how the work is divided, None where XLA's two reads are left to it.
# Measured at 6.4 and 640 MB (docs/bench/roofline.json): in each case the fastest of those tried, and faster than XLA.
CHOSEN: dict[str, tuple[tuple[int, Shape | None], ...]] = {
    "evaluations": ((0, Shape(4, 4, 264, 15)),),
    "products": ((2**26, Shape(4, 4, 264, 15)), (0, Shape(16, 8, 250, 1))),
}
# The sums of the subgradient have to fit into the registers of a program. This is what was measured, and by count they
# are full then: a division of the work for which they did not suffice took 28 times as long.
_MOST_COLUMNS, _LARGEST = 8, 5 * 1024
# A piece of a row: two float64 numbers for each thread of a warp.
_PIECE = 64


def chosen(what: str, p: Array, x: Array) -> Shape | None:
    """How to divide the work on these rows, "evaluations" of f or "products" with AJ, or None where XLA serves.

    A program has to hold a subgradient in its registers, and to count the entries of the rows.
    """
    d, r = x.shape
    fits = r <= _MOST_COLUMNS and power_of_two(d) * r <= _LARGEST and p.size < 2**31
    real = all(jnp.issubdtype(each.dtype, jnp.floating) for each in (p, x))
    size = 2 * p.size * p.dtype.itemsize
    shape = next(shape for least, shape in CHOSEN[what] if size >= least) if fits and real else None
    # No more together than there are whole pieces, for short rows: then all that is read at once is in use.
    return shape and shape._replace(together=min(shape.together, max(1, d // _PIECE)))


def power_l1(
    p: Array, q: Array | None, b: Array, x: Array, n: int, shape: Shape, interpret: bool = False
) -> tuple[Array, Array]:
    """f = Σᵢ |Σⱼ (pᵢᵀxⱼ)ⁿ − (qᵢᵀxⱼ)ⁿ − bᵢ| and one of its subgradients, with one read of the rows."""

    def middle(sides: Sides, data: Sequence[Callable[..., Array]]) -> tuple[Array, Sides]:
        powers = [[_power(y, n - 1) for y in side] for side in sides]
        z = [sum(y * power for y, power in zip(*each, strict=True)) for each in zip(sides, powers, strict=True)]
        left = (z[0] - z[1] if len(z) > 1 else z[0]) - data[0]()
        v = jnp.where(left > 0, 1.0, jnp.where(left < 0, -1.0, 0.0)).astype(left.dtype)
        signed = zip((n * v, -n * v), powers, strict=False)
        return jnp.abs(left), [[factor * power for power in side] for factor, side in signed]

    _, total, pulled = _Pass(shape, interpret)(p, q, x, (b,), middle)
    return total, pulled


def power_product(
    p: Array, q: Array | None, slopes: Array, z: Array, w: Array, shape: Shape, interpret: bool = False
) -> tuple[Array, Array]:
    """AJz and (AJ)ᵀ(w ⊙ AJz) with one read of the rows, with the slopes of the measurements by the products with x."""

    def middle(sides: Sides, data: Sequence[Callable[..., Array]]) -> tuple[Array, Sides]:
        weight, slope = data
        slope_of = [[slope(s, j) for j in range(len(side))] for s, side in enumerate(sides)]
        terms = [y * k for each in zip(sides, slope_of, strict=True) for y, k in zip(*each, strict=True)]
        pushed = sum(terms[1:], start=terms[0])
        return pushed, [[weight() * pushed * k for k in side] for side in slope_of]

    pushed, _, pulled = _Pass(shape, interpret)(p, q, z, (w, jnp.moveaxis(slopes, 1, 2)), middle)
    return pushed, pulled


def _power(y: Array, n: int) -> Array:
    power = y
    for _ in range(n - 1):
        power = power * y
    return power


class _Pass(NamedTuple):
    """A pass over the rows, divided in some way."""

    shape: Shape
    interpret: bool

    def __call__(
        self,
        p: Array,
        q: Array | None,
        x: Array,
        data: tuple[Array, ...],
        middle: Callable[..., tuple[Array, Sides]],
    ) -> tuple[Array, Array, Array]:
        """For each row a number, their sum, and Σᵢ wᵢⱼpᵢ, with those of q, for the weights that `middle` makes."""
        (m, d), r = p.shape, x.shape[1]
        matrices = (p,) if q is None else (p, q)
        wide = power_of_two(d)
        programs = min(self.shape.programs, -(-m // self.shape.rows))
        room = (programs, 2, self.shape.rows, power_of_two(len(matrices) * r))
        shapes = [jax.ShapeDtypeStruct(each, x.dtype) for each in ((m,), (programs, r + 1, wide), room)]
        tall = jnp.pad(x, ((0, wide - d), (0, 0))).T
        call = pl.pallas_call(
            lambda *refs: _program(self, middle, refs[: len(matrices)], *refs[len(matrices) :]),
            out_shape=shapes,
            grid=(programs,),
            compiler_params=plt.CompilerParams(num_warps=self.shape.warps),
            interpret=self.interpret,
        )
        numbers, parts, _ = call(*matrices, tall, *data)
        total = _summed(parts.reshape(programs, -1), self.interpret).reshape(r + 1, wide)
        return numbers, total[r, 0], total[:r, :d].T

    def fma(self, a: Array, b: Array, c: Array) -> Array:
        """The value of ab + c, in one instruction: XLA compiles kernels without contracting two into one."""
        if self.interpret:
            return a * b + c
        kind, letter = {8: ("f64", "d"), 4: ("f32", "f")}[c.dtype.itemsize]
        (fused,) = plt.elementwise_inline_asm(
            f"fma.rn.{kind} $0, $1, $2, $3;",
            args=[jnp.broadcast_to(each, c.shape) for each in (a, b, c)],
            constraints=f"={letter},{letter},{letter},{letter}",
            pack=1,
            result_shape_dtypes=[jax.ShapeDtypeStruct(c.shape, c.dtype)],
        )
        return fused


def _program(
    how: _Pass, middle: Callable[..., tuple[Array, Sides]], sources: Sequence[Any], x: Any, *refs: Any
) -> None:
    """One program: every so many rows, from its own on."""
    *data, numbers, parts, room = refs
    (m, _), (r, wide), rows = sources[0].shape, x.shape, how.shape.rows
    programs, mine = parts.shape[0], pl.program_id(0)
    turns = -(-m // (rows * programs))

    def turn(t: Array, state: tuple[tuple[Array, ...], Array]) -> tuple[tuple[Array, ...], Array]:
        sums, total = state
        first = (mine + t * programs) * rows
        at = first + lax.iota(jnp.int32, rows)
        loads = [lambda *lead, ref=ref: plt.load(ref.at[(*lead, at)], mask=at < m, other=0.0) for ref in data]
        told, weights = middle(_forward(how, sources, x, jnp.minimum(at, m - 1)), loads)
        plt.store(numbers.at[at], told, mask=at < m)
        # By turns in one of two places: then one barrier is enough.
        slot = t & 1
        room[mine, slot, :, :] = jnp.where(at[:, None] < m, _side_by_side(weights, room.shape[-1]), 0.0)
        if not how.interpret:
            plt.debug_barrier()
        for i in range(rows):
            row = jnp.minimum(first + i, m - 1)
            sums = _added(how, sources, row, [room[mine, slot, i, k] for k in range(len(sources) * r)], sums)
        return sums, total + jnp.where(at < m, told, 0.0)

    none = tuple(jnp.zeros((wide,), x.dtype) for _ in range(r)), jnp.zeros((rows,), x.dtype)
    sums, total = lax.fori_loop(jnp.int32(0), jnp.int32(turns), turn, none)
    for j, each in enumerate(sums):
        parts[mine, j, :] = each
    parts[mine, r, :] = jnp.where(lax.iota(jnp.int32, wide) == 0, jnp.sum(total), 0.0)


def _forward(how: _Pass, sources: Sequence[Any], x: Any, at: Array) -> Sides:
    """The products of these rows with the columns of x, piece by piece: each warp has rows of its own."""
    (_, d), (r, wide), together = sources[0].shape, x.shape, how.shape.together
    piece = min(_PIECE, wide)
    whole = d // piece // together

    def read(c: Any) -> list[Array]:
        columns = c * piece + lax.iota(jnp.int32, piece)
        inside = None if isinstance(c, Array) or (c + 1) * piece <= d else _like(columns < d, (len(at), piece))
        return [_read(source, (at[:, None], columns[None, :]), inside, x.dtype) for source in sources]

    def add(begun: Any, count: int, sums: list[list[Array]]) -> list[list[Array]]:
        for c, blocks in [(begun + c, read(begun + c)) for c in range(count)]:
            columns = [x[j, pl.ds(c * piece, piece)][None, :] for j in range(r)]
            sums = [
                [how.fma(block, column, total) for column, total in zip(columns, side, strict=True)]
                for block, side in zip(blocks, sums, strict=True)
            ]
        return sums

    sums = [[jnp.zeros((len(at), piece), x.dtype) for _ in range(r)] for _ in sources]
    if whole:
        sums = lax.fori_loop(jnp.int32(0), jnp.int32(whole), lambda k, sums: add(k * together, together, sums), sums)
    sums = add(whole * together, -(-d // piece) - whole * together, sums)
    return [[jnp.sum(total, axis=1) for total in side] for side in sums]


def _added(how: _Pass, sources: Sequence[Any], at: Array, weights: list[Array], sums: Any) -> tuple[Array, ...]:
    """The sums with one row of each matrix added, by its weights: each thread has columns of its own."""
    d, columns = sources[0].shape[1], lax.iota(jnp.int32, len(sums[0]))
    for s, source in enumerate(sources):
        row = _read(source, (at, columns), None if len(columns) == d else columns < d, sums[0].dtype)
        mine = weights[s * len(sums) : (s + 1) * len(sums)]
        sums = [how.fma(row, weight, total) for weight, total in zip(mine, sums, strict=True)]
    return tuple(sums)


def _read(source: Any, at: tuple[Array, Array], inside: Array | None, dtype: Any) -> Array:
    """Numbers of the rows in the dtype of the arithmetic; bfloat16 goes to float64 by way of float32."""
    block = plt.load(source.at[at], mask=inside, other=None if inside is None else 0.0)
    return (block.astype(jnp.float32) if block.dtype == jnp.bfloat16 else block).astype(dtype)


def _side_by_side(weights: Sides, wide: int) -> Array:
    """The weights of each row in a row, so that they are written down at once."""
    places = lax.iota(jnp.int32, wide)[None, :]
    packed = jnp.zeros((len(weights[0][0]), wide), weights[0][0].dtype)
    for k, weight in enumerate(each for side in weights for each in side):
        packed = jnp.where(places == k, weight[:, None], packed)
    return packed


def _like(inside: Array, shape: tuple[int, int]) -> Array:
    return jnp.broadcast_to(inside[None, :], shape)


def _summed(parts: Array, interpret: bool, tall: int = 64, wide: int = 64) -> Array:
    """The sum over all programs, always in the same order; XLA's way to it takes longer than a tenth of the pass."""
    (count, size), dtype = parts.shape, parts.dtype

    def kernel(source: Any, out: Any) -> None:
        columns = pl.program_id(0) * wide + lax.iota(jnp.int32, wide)
        total = jnp.zeros((tall, wide), dtype)
        for begun in range(0, count, tall):
            at = begun + lax.iota(jnp.int32, tall)
            inside = (at[:, None] < count) & (columns[None, :] < size)
            total = total + plt.load(source.at[at[:, None], columns[None, :]], mask=inside, other=0.0)
        plt.store(out.at[columns], jnp.sum(total, axis=0), mask=columns < size)

    call = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((size,), dtype),
        grid=(-(-size // wide),),
        compiler_params=plt.CompilerParams(num_warps=4),
        interpret=interpret,
    )
    return call(parts)
