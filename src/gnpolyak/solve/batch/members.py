"""Problems of one structure as one pytree: what they share is there once, what is each one's own has a leading axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.modules import Module, field
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite


class Members(Module):
    """Problems that a program works on together."""

    own: tuple[Any, ...]
    """The leaves that differ from member to member, stacked."""
    shared: tuple[Any, ...]
    """Those that are the same array for all of them."""
    is_own: tuple[bool, ...] = field(static=True)
    structure: Any = field(static=True)

    def each(self, function: Callable[..., Any], *args: Tree) -> Any:
        """The function of each member's problem and its own part of the arguments, all at once."""
        return jax.vmap(lambda own, args: function(self._one(own), *args))(self.own, args)

    def _one(self, own: tuple[Any, ...]) -> Composite:
        leaves, others = iter(own), iter(self.shared)
        merged = [next(leaves) if each else next(others) for each in self.is_own]
        return jax.tree.unflatten(self.structure, merged)


class Leaves:
    """The arrays of a list of problems of one structure, from which some are put together; the same object once."""

    def __init__(self, problems: Sequence[Composite]) -> None:
        first, self._structure = jax.tree.flatten(problems[0])
        same = all(each is problems[0] for each in problems)
        columns = [[leaf] for leaf in first] if same else _columns(problems)
        self._is_own = tuple(any(leaf is not column[0] for leaf in column) for column in columns)
        self._shared = tuple(column[0] for column, own in zip(columns, self._is_own, strict=True) if not own)
        own = [column for column, own in zip(columns, self._is_own, strict=True) if own]
        self._own = [[np.asarray(leaf) for leaf in column] for column in own]

    @property
    def size(self) -> int:
        """The bytes of one member's own."""
        return sum(column[0].nbytes for column in self._own)

    def members(self, places: Sequence[int] | np.ndarray, put: Callable[[Any], Any] = lambda leaf: leaf) -> Members:
        """Some of the problems, on the device that is the default one; `put` puts there what all of them share."""
        shared = tuple(put(leaf) for leaf in self._shared)
        return Members(tuple(_rows(column, places) for column in self._own), shared, self._is_own, self._structure)


def _columns(problems: Sequence[Composite]) -> list[list[Any]]:
    """The leaves of all problems, position by position."""
    return [list(column) for column in zip(*map(jax.tree.leaves, problems), strict=True)]


def _rows(column: Sequence[np.ndarray], places: Sequence[int] | np.ndarray) -> Array:
    """Some members' arrays, stacked where JAX can use them as they lie."""
    room = arrays.aligned_empty((len(places), *column[0].shape), column[0].dtype)
    for row, place in enumerate(places):
        room[row] = column[place]
    return arrays.adopt(room)


def stack(trees: Sequence[Tree]) -> Tree:
    """Pytrees of one structure with a leading axis in front of each leaf, on the host."""
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *trees)


def part(tree: Tree, places: Any) -> Tree:
    """Some members' part of a stacked tree, or one member's."""
    return jax.tree.map(lambda leaf: leaf[places], tree)


def assign(tree: Tree, places: np.ndarray, values: Tree) -> None:
    """Write some members' part of a stacked tree of NumPy arrays."""
    for leaf, value in zip(jax.tree.leaves(tree), jax.tree.leaves(values), strict=True):
        leaf[places] = value


def chosen(which: Array, a: Tree, b: Tree) -> Tree:
    """A stacked tree with the parts of a for the members that `which` marks, and of b for the others."""
    where = jax.numpy.where
    return jax.tree.map(lambda u, v: where(which.reshape(which.shape + (1,) * (u.ndim - 1)), u, v), a, b)
