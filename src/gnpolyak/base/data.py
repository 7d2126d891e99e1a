"""A user's function and its data: arguments of the compiled loop, whatever they are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from gnpolyak.base.arrays import as_data
from gnpolyak.base.errors import InputError
from gnpolyak.base.modules import Module, field
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree


class Data(Module):
    """Arguments of a function, any pytrees: their numbers are arrays for JAX, the rest part of the program.

    An Equinox module, for instance, has arrays as well as functions for leaves. Only the former may be arguments of
    compiled code; the latter are compiled into it.
    """

    arrays: tuple[Array, ...]
    rest: tuple[Any, ...] = field(static=True)
    """For each leaf what is no array, or None for one that is."""
    structure: Any = field(static=True)

    @classmethod
    def of(cls, args: Any) -> Data:
        """The data of a tuple of arguments: arrays, numbers, and pytrees of them, all checked."""
        if not isinstance(args, (tuple, list)):
            raise InputError(
                given=f"args of type {type(args).__name__}",
                needed="a tuple with an entry for each argument after x",
                missing="the tuple around them",
                advice="leave args out, or pass args=() for none"
                if args is None
                else "pass args=(data,), with the comma, for a single argument",
            )
        leaves, structure = jax.tree.flatten_with_path(tuple(args), is_leaf=lambda leaf: leaf is None)
        checked = [as_data(leaf, f"args{jax.tree_util.keystr(path)}") for path, leaf in leaves]
        arrays = tuple(leaf for leaf in checked if isinstance(leaf, jax.Array))
        return cls(arrays, tuple(None if isinstance(leaf, jax.Array) else leaf for leaf in checked), structure)

    @classmethod
    def plain(cls, arrays: tuple[Any, ...]) -> Data:
        """The data of arguments that are arrays, each of them, and are taken as they are."""
        return cls(arrays, (None,) * len(arrays), jax.tree.structure(arrays))

    @property
    def count(self) -> int:
        """How many arguments there are."""
        return len(self.structure.children())

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments as they were given, with JAX arrays for numbers."""
        numbers = iter(self.arrays)
        leaves = [next(numbers) if leaf is None else leaf for leaf in self.rest]
        return jax.tree.unflatten(self.structure, leaves)


class Function(Module):
    """``function(at, *args)``: a user's function, or a `gnpolyak.base.tracing.Program` that stands for it."""

    function: Callable[..., Any] = field(static=True)
    data: Data

    @property
    def name(self) -> str:
        """How errors call it."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, at: Tree) -> Any:
        return self.function(at, *self.data.args)
