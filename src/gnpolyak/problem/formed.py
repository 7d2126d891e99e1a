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

# Programs that are kept for problems of the same structure and shapes. The two of a problem are some hundred kilobytes
# each, and are compiled in some tens of milliseconds.
MOST_KEPT = 32


@dataclass(frozen=True)
class _Programs:
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
        penalty = problem.penalty.using(np)
        # Residuals of measurements that are all zero.
        self.data: Any = np.asarray(penalty.residuals(_nothing(problem, x))).ravel()
        """b, flat."""
        self.box = None if problem.box is None else trees.on_host(problem.box)
        tilt = penalty.tilt
        self.penalty = FormedPenalty(np.asarray(penalty.scale()), None if tilt is None else np.asarray(tilt))

    def seen(self, x: Tree) -> tuple[Any, Any]:
        """The value and the residuals."""
        value, r = self._programs.seen(self._problem, x)
        return np.asarray(value), np.asarray(r)

    def matrix(self, x: Tree) -> Any:
        """AJ, of the rows that the residuals are made of."""
        return np.asarray(self._programs.matrix(self._problem, x))


def _nothing(problem: Composite, x: Tree) -> Any:
    like = problem.shape(x)
    return np.zeros(like.shape, like.dtype)


def _is_plain(problem: Composite) -> bool:
    """Whether there is nothing to compile: the image of a model in plain NumPy, compared with data as it is."""
    plain = isinstance(problem.map, NumpyMap) and isinstance(problem.sensing, Identity)
    return plain and type(problem.penalty) is L1 and problem.penalty.b.dtype == np.float64


def _on_host(problem: Any, x: Tree) -> _Programs:
    """What the programs compute, by calling the model."""
    host, penalty = problem.map.settled(x).host, problem.penalty.using(np)

    def seen(_: Any, x: Tree) -> tuple[Any, Any]:
        z = host.values(_flat(x)).reshape(penalty.b.shape)
        return penalty.value(z), np.ravel(penalty.residuals(z))

    def matrix(_: Any, x: Tree) -> Any:
        matrix, rows = host.linearised(_flat(x))[1], penalty.rows
        return matrix if rows is None else np.stack([rows(column) for column in matrix.T], axis=1)

    return _Programs(seen, matrix)


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
    programs = _Programs(*(_compiled(each, problem, x) for each in (_seen, _matrix)))
    give_back()
    return programs


def _key(problem: Composite, x: Tree) -> Any:
    return structure_of(problem, x)


def _compiled(function: Callable[..., Any], problem: Composite, x: Tree) -> Callable[..., Any]:
    # A function of its own for each: JAX would keep what it compiled for one that lives on.
    return jax.jit(partial(function)).lower(problem, x).compile()


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
