"""Passes over rows that are not in memory: a problem's oracle and its products, block by block.

Every block is a problem of its own, of measurements start:stop, and is computed by the compiled program that serves
such a problem in memory, fused oracle and all. What goes over them runs on the host, and cannot be traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base import arrays, memory, trees
from gnpolyak.base.errors import InputError
from gnpolyak.base.streams import is_streamed, reading
from gnpolyak.base.streams.rows import filled, rows_in
from gnpolyak.base.trees import Tree
from gnpolyak.problem.oracles import Products
from gnpolyak.problem.penalties import Penalty

# What products can use of an evaluation, some m·r numbers, is kept where so many bytes hold a few copies of it.
_KEPT_BYTES, _COPIES = 512 * 2**20, 4
# Numbers for each measurement that a solve holds at once: data, residuals, weights, products, of a few points.
_VECTORS = 32


@contextmanager
def on_host(problem: Any) -> Iterator[None]:
    """A block in which a problem of streamed rows can be computed with: step by step, and nothing of it traced.

    For any other problem it changes nothing.
    """
    if not is_streamed(problem):
        yield
        return
    with jax.disable_jit(), reading.many_passes():
        yield


class Block(NamedTuple):
    """A part of a problem, in memory until the next one is asked for."""

    place: int
    start: int
    stop: int
    part: Any
    """What has streamed rows in it, with those of this block."""
    rows: dict[str, np.ndarray]

    def of(self, along: Any) -> Any:
        """What belongs to this block of numbers along the measurements."""
        return along[self.start : self.stop]

    def require_finite(self, *results: Any) -> None:
        """Raise InputError where a result is no number because a row is none; other reasons are for others to judge."""
        if all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(results)):
            return
        for name, rows in self.rows.items():
            bad = self.start + np.flatnonzero(~np.isfinite(rows).all(axis=tuple(range(1, rows.ndim))))
            if bad.size:
                more = f" and in {bad.size - 1:,} more up to {bad[-1]:,}" if bad.size > 1 else ""
                raise InputError(
                    given=f"{name} with entries NaN or infinite in row {bad[0]:,}{more}",
                    needed="finite numbers",
                    missing="a finite value in each of those entries",
                    advice="leave those rows and their data out, or make them zeros whose data have weight 0",
                )


def blocks(whole: Any) -> Iterator[Block]:
    """What has streamed rows in it, with those of one block after the other."""
    rows = list(rows_in(whole))
    for place, (start, stop, found) in enumerate(reading.blocks([each.source for each in rows])):
        shaped = [part.reshape(len(part), *each.shape[1:]) for part, each in zip(found, rows, strict=True)]
        part = filled(whole, [arrays.adopt(each) for each in shaped])
        yield Block(place, start, stop, part, dict(zip((each.name for each in rows), shaped, strict=True)))


def compiled(program: Callable[..., Any], *args: Any) -> Any:
    """What a compiled program returns, once it is there: the rows that it read may be overwritten then."""
    with jax.disable_jit(False):
        return jax.block_until_ready(program(*args))


def summed(whole: Any, program: Callable[..., Any], along: Any, *args: Any) -> Any:
    """Σ program(block, its part of along, *args) over the blocks; along are numbers with one for each row, or None."""
    total = None
    for block in blocks(whole):
        total = _plus(total, compiled(program, block.part, None if along is None else block.of(along), *args))
    return total


def evaluate(problem: Any, x: Tree) -> tuple[Array, Tree]:
    """The value and a subgradient: one pass for a plain sum over measurements, else two."""
    _require_values(problem, x)
    penalty = problem.penalty
    if type(penalty).block is Penalty.block or penalty.rows is not None:
        z = measured(problem, x)[0]
        return penalty.value(z), pulled(problem, x, penalty.subgradient(z))
    value, g = np.zeros(()), None
    for block in blocks(problem):
        part, slope = compiled(_evaluated, replace(block.part, penalty=penalty.block(block.start, block.stop)), x)
        block.require_finite(part)
        value, g = value + np.asarray(part), _plus(g, slope)
    return jnp.asarray(value, part.dtype), g


def pulled(problem: Any, x: Tree, v: Array) -> Tree:
    """Jᵀ(Aᵀv), in one pass."""
    return summed(problem, _pulled, np.asarray(v), x)


def measured(problem: Any, x: Tree) -> tuple[Array, Any]:
    """The measurements in one pass, and for each block what of them its products can use, where there is room."""
    _require_values(problem, x)
    parts: list[np.ndarray] = []
    kept: list[Any] | None = []
    for block in blocks(problem):
        z, used = compiled(_measured, block.part, x)
        block.require_finite(z)
        parts.append(np.asarray(z))
        if kept is not None and _has_room(used, _count(problem) / len(z)):
            kept.append(used)
        else:
            kept = None
    return _joined(parts), None if kept is None else tuple(kept)


def actions(problem: Any, x: Tree, kept: Any = None) -> Products:
    """The products with AJ at x, each of them one pass."""
    _require_values(problem, x)

    def with_kept(block: Block) -> tuple[Any, Tree, Any]:
        return block.part, x, None if kept is None else kept[block.place]

    def push(z: Tree) -> Array:
        return _joined([np.asarray(compiled(_pushed, *with_kept(block), z)) for block in blocks(problem)])

    def pull(v: Array) -> Tree:
        g, flat = None, np.asarray(v).reshape(_count(problem), -1)
        for block in blocks(problem):
            g = _plus(g, compiled(_drawn, *with_kept(block), block.of(flat).ravel()))
        return g

    def product(z: Tree, w: Array) -> tuple[Array, Tree]:
        g, flat = None, np.asarray(w).reshape(_count(problem), -1)
        parts: list[np.ndarray] = []
        for block in blocks(problem):
            pushed, pulled = compiled(_product, *with_kept(block), z, block.of(flat).ravel())
            parts.append(np.asarray(pushed))
            g = _plus(g, pulled)
        return _joined(parts), g

    return Products(push, pull, product)


def gram(problem: Any, x: Tree, w: np.ndarray) -> np.ndarray:
    """(AJ)ᵀ diag(w) AJ as a matrix, in one pass; the rows of AJ are formed block by block."""
    flat = np.asarray(w).reshape(_count(problem), -1)
    return np.asarray(summed(problem, _gram, flat, x))


def require_room(problem: Any) -> None:
    """Raise InputError unless there is memory for what is not streamed: blocks, and numbers for each measurement."""
    rows = list(rows_in(problem))
    workers = min(each.source.workers for each in rows)
    count, size = rows[0].shape[0], sum(each.source.row_bytes for each in rows)
    block = min(max(reading.BLOCK_BYTES, size), count * size)
    number = max(np.dtype(each.like.dtype).itemsize for each in rows)
    memory.require_room(
        (workers + 1) * block + _KEPT_BYTES + _VECTORS * count * number,
        f"a problem of {count:,} streamed rows",
        "solve it on a machine with more memory, or with fewer measurements: what there is of each stays in memory",
    )


def _require_values(problem: Any, x: Tree) -> None:
    if arrays.is_traced(x):
        raise next(iter(rows_in(problem))).refused()


def _count(problem: Any) -> int:
    """How many rows there are."""
    return next(iter(rows_in(problem))).shape[0]


def _has_room(used: Any, blocks: float) -> bool:
    return _COPIES * blocks * sum(leaf.nbytes for leaf in jax.tree.leaves(used)) <= _KEPT_BYTES


def _plus(total: Tree | None, part: Tree) -> Tree:
    return part if total is None else trees.add_scaled(total, 1.0, part)


def _joined(parts: list[np.ndarray]) -> Array:
    return arrays.adopt(np.concatenate(parts))


@jax.jit
def _evaluated(problem: Any, x: Tree) -> tuple[Array, Tree]:
    point = problem.evaluate(x)
    return point.value, point.subgradient


@jax.jit
def _pulled(problem: Any, v: Array, x: Tree) -> Tree:
    return problem.sensing.measure(problem.map, x)[1](v)


@jax.jit
def _measured(problem: Any, x: Tree) -> tuple[Array, Any]:
    return problem.measured(x)


@jax.jit
def _gram(problem: Any, w: Array, x: Tree) -> Array:
    flat, unravel = trees.ravel(x)
    matrix = jax.jacfwd(lambda u: problem.penalty.reading(problem.sensing.measure(problem.map, unravel(u))[0]).ravel())(
        flat
    )
    return matrix.T @ (w.reshape(-1, 1) * matrix)


@jax.jit
def _pushed(problem: Any, x: Tree, kept: Any, z: Tree) -> Array:
    return problem.actions(x, kept).push(z)


@jax.jit
def _drawn(problem: Any, x: Tree, kept: Any, v: Array) -> Tree:
    return problem.actions(x, kept).pull(v)


@jax.jit
def _product(problem: Any, x: Tree, kept: Any, z: Tree, w: Array) -> tuple[Array, Tree]:
    return problem.actions(x, kept).product(z, w)
