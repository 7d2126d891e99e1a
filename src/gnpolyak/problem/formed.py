"""A problem on the host: residuals and AJ as NumPy arrays, from two small compiled programs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import Array

from gnpolyak.base import trees
from gnpolyak.base.memory import give_back
from gnpolyak.base.shapes import structure_of
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import NumpyMap
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import Identity

# Programs that are kept for problems of the same structure and shapes. Each is a megabyte or so, and is compiled in
# some tens of milliseconds.
MOST_KEPT = 64


@dataclass(frozen=True)
class _Programs:
    fixed: Callable[..., Any]
    seen: Callable[..., Any]
    matrix: Callable[..., Any]


@dataclass(frozen=True)
class FormedPenalty:
    """What of a penalty the steps ask for beside its residuals."""

    size: Any
    tilt: Any

    def scale(self) -> Any:
        """See `Penalty.scale`."""
        return self.size


class Formed:
    """The residuals b − A(c(x)), of which the value is made, and AJ, at points that are given as NumPy arrays.

    Steps that need no more than these take a `Formed` in the place of a `Composite`, and then run on the host.
    """

    def __init__(self, problem: Composite, x: Tree) -> None:
        self._problem = problem
        self._programs = _on_host(problem, x) if _is_plain(problem) else _programs(problem, x)
        b, scale = self._programs.fixed(problem, x)
        self.data: Any = np.asarray(b)
        """b, flat."""
        self.box = None if problem.box is None else trees.on_host(problem.box)
        tilt = problem.penalty.tilt
        self.penalty = FormedPenalty(np.asarray(scale), None if tilt is None else np.asarray(tilt))

    def seen(self, x: Tree) -> tuple[Any, Any]:
        """The value and the residuals."""
        value, r = self._programs.seen(self._problem, x)
        return np.asarray(value), np.asarray(r)

    def matrix(self, x: Tree) -> Any:
        """AJ, of the rows that the residuals are made of."""
        return np.asarray(self._programs.matrix(self._problem, x))


def _is_plain(problem: Composite) -> bool:
    """Whether there is nothing to compile: a model in plain NumPy, and residuals that are differences from its data."""
    return (
        isinstance(problem.map, NumpyMap)
        and isinstance(problem.sensing, Identity)
        and type(problem.penalty) is L1
        and problem.penalty.b.dtype == np.float64
    )


def _on_host(problem: Any, x: Tree) -> _Programs:
    """What the programs compute, by calling the model."""
    host, rows = problem.map.settled(x).host, problem.penalty.rows
    b = np.asarray(problem.penalty.b).ravel()
    kept = slice(None) if rows is None or rows.kept is None else np.asarray(rows.kept)
    weights = np.ones(b.size)[kept] if rows is None else np.asarray(rows.weights)[kept]

    def seen(_: Any, x: Tree) -> tuple[Any, Any]:
        r = weights * (b - host.values(_flat(x)))[kept]
        return np.sum(np.abs(r)), r

    def matrix(_: Any, x: Tree) -> Any:
        return weights[:, None] * host.linearised(_flat(x))[1][kept]

    return _Programs(lambda *_: (weights * b[kept], np.sum(np.abs(weights * b[kept]))), seen, matrix)


def _flat(x: Tree) -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(x)])


_kept: OrderedDict[Any, _Programs] = OrderedDict()
_lock = threading.Lock()


def _programs(problem: Composite, x: Tree) -> _Programs:
    """The programs of this structure and these shapes, compiled where they are new."""
    key = _key(problem, x)
    with _lock:
        found = _kept.get(key)
    # Two threads may compile the same, which costs no more than time.
    programs = found or _new(problem, x)
    with _lock:
        _kept[key] = programs
        _kept.move_to_end(key)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    return programs


def _new(problem: Composite, x: Tree) -> _Programs:
    programs = _Programs(*(_compiled(each, problem, x) for each in (_fixed, _seen, _matrix)))
    give_back()
    return programs


def _key(problem: Composite, x: Tree) -> Any:
    return structure_of(problem, x)


def _compiled(function: Callable[..., Any], problem: Composite, x: Tree) -> Callable[..., Any]:
    # A function of its own for each: JAX would keep what it compiled for one that lives on.
    return jax.jit(partial(function)).lower(problem, x).compile()


def _fixed(problem: Composite, x: Tree) -> tuple[Array, Array | float]:
    return data(problem, x), problem.penalty.scale()


def _seen(problem: Composite, x: Tree) -> tuple[Array, Array]:
    z = problem.measure(x)
    return problem.penalty.value(z), problem.penalty.residuals(z).ravel()


def _matrix(problem: Composite, x: Tree) -> Array:
    return jacobian(problem, x)


def data(problem: Composite, x: Tree) -> Array:
    """The data b, which are the residuals of measurements that are all zero."""
    z = problem.shape(x)
    return problem.penalty.residuals(jax.numpy.zeros(z.shape, z.dtype)).ravel()


def jacobian(problem: Composite, x: Tree) -> Array:
    """AJ as a matrix, of the rows that the residuals are made of."""
    flat, unravel = trees.ravel(x)
    return jax.jacfwd(lambda u: problem.changes(unravel(u)))(flat)
