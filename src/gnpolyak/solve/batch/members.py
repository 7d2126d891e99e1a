"""Problems of one structure as one pytree: what they share is there once, what is each one's own has a leading axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import equinox as eqx
import jax
import numpy as np
from jax import Array

from gnpolyak.base import arrays
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite


class Members(eqx.Module):
    """The problems of a batch."""

    own: tuple[Any, ...]
    """The leaves that differ from member to member, stacked."""
    shared: tuple[Any, ...]
    """Those that are the same array for all of them."""
    is_own: tuple[bool, ...] = eqx.field(static=True)
    structure: Any = eqx.field(static=True)

    @classmethod
    def of(cls, problems: Sequence[Composite]) -> Self:
        """Those of a list of problems of one structure; arrays that are the same object are kept once."""
        columns, structure = _leaves(problems)
        is_own = tuple(any(leaf is not column[0] for leaf in column) for column in columns)
        own = tuple(stacked(column) for column, each in zip(columns, is_own, strict=True) if each)
        shared = tuple(column[0] for column, each in zip(columns, is_own, strict=True) if not each)
        return cls(own, shared, is_own, structure)

    def taken(self, places: np.ndarray) -> Self:
        """Those of some members, on the device that is the default one."""
        return type(self)(tuple(_rows(leaf, places) for leaf in self.own), self.shared, self.is_own, self.structure)

    def each(self, function: Callable[..., Any], *args: Tree) -> Any:
        """The function of each member's problem and its own part of the arguments, all at once."""
        return jax.vmap(lambda own, args: function(self._one(own), *args))(self.own, args)

    def _one(self, own: tuple[Any, ...]) -> Composite:
        leaves, others = iter(own), iter(self.shared)
        merged = [next(leaves) if each else next(others) for each in self.is_own]
        return jax.tree.unflatten(self.structure, merged)


def _rows(leaf: np.ndarray, places: np.ndarray) -> Array:
    """Some rows of a stacked leaf, copied once: to where JAX can use them as they lie."""
    room = arrays.aligned_empty((len(places), *leaf.shape[1:]), leaf.dtype)
    return arrays.adopt(np.take(leaf, places, axis=0, out=room, mode="clip"))


def _leaves(problems: Sequence[Composite]) -> tuple[list[list[Any]], Any]:
    """The leaves of all problems, position by position, and their structure."""
    first, structure = jax.tree.flatten(problems[0])
    if all(each is problems[0] for each in problems):
        return [[leaf] for leaf in first], structure
    rows = [jax.tree.leaves(each) for each in problems]
    return [list(column) for column in zip(*rows, strict=True)], structure


def stacked(leaves: Sequence[Any]) -> np.ndarray:
    """Arrays of one shape with a leading axis in front, on the host: tiles of them are sent to where they are used."""
    return np.stack([np.asarray(leaf) for leaf in leaves])


def stack(trees: Sequence[Tree]) -> Tree:
    """Pytrees of one structure with a leading axis in front of each leaf."""
    return jax.tree.map(lambda *leaves: stacked(leaves), *trees)


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
