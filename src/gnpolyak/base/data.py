"""The data of a user's function: arguments of the compiled loop, whatever they are made of."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
from jax import Array

from gnpolyak.base.arrays import as_data
from gnpolyak.base.errors import InputError


class Data(eqx.Module):
    """Arguments of a function, any pytrees: their numbers are arrays for JAX, the rest part of the program.

    An Equinox module, for instance, has arrays as well as functions for leaves. Only the former may be arguments of
    compiled code; the latter are compiled into it.

    Parameters
    ----------
    args : tuple
        Arrays, numbers, and pytrees of them.
    """

    arrays: tuple[Array, ...]
    rest: tuple[Any, ...] = eqx.field(static=True)
    """For each leaf what is no array, or None for one that is."""
    structure: Any = eqx.field(static=True)

    def __init__(self, args: Any) -> None:
        if not isinstance(args, (tuple, list)):
            raise InputError(
                given=f"args of type {type(args).__name__}",
                needed="a tuple with an entry for each argument after x",
                missing="the tuple around them",
                advice="pass args=(data,), with the comma, for a single argument",
            )
        leaves, self.structure = jax.tree.flatten_with_path(tuple(args))
        checked = [as_data(leaf, f"args{jax.tree_util.keystr(path)}") for path, leaf in leaves]
        self.arrays = tuple(leaf for leaf in checked if eqx.is_array(leaf))
        self.rest = tuple(None if eqx.is_array(leaf) else leaf for leaf in checked)

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments as they were given, with JAX arrays for numbers."""
        numbers = iter(self.arrays)
        leaves = [next(numbers) if leaf is None else leaf for leaf in self.rest]
        return jax.tree.unflatten(self.structure, leaves)
