"""A user's function as the program that it traces to, which is known by what it computes and not by who it is.

Compiled code is found again by its static parts. A function object would be the wrong one to look for: it stays the
same when an array that it captured changes, and a fresh lambda of the same code is another one. So the function is
traced, the arrays that it captured become arguments, and two traces that are equal share one `Program`.
"""

from __future__ import annotations

import dataclasses
import pickle
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from gnpolyak.base import arrays
from gnpolyak.base.data import Data, Function
from gnpolyak.base.jaxprs import key_of, states_derivatives
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree

# Programs that can be found again. One that is forgotten is compiled anew when it comes again, and that is all.
MOST_PROGRAMS = 256


class Program:
    """What a function computes, called with the arrays that it captured after its other arguments.

    There is one object for all traces that are equal, so that JAX finds what it has compiled for it.
    """

    def __init__(self, jaxpr: Any, out: Any, name: str, origin: tuple[Any, ...]) -> None:
        self.jaxpr, self.out, self.__name__, self.origin = jaxpr, out, name, origin

    def __call__(self, at: Tree, *numbers: Array) -> Any:
        split = len(numbers) - len(self.jaxpr.constvars)
        leaves = self._alike([*jax.tree.leaves(at), *numbers[:split]], self.jaxpr.invars)
        closed = core.ClosedJaxpr(self.jaxpr, self._alike(numbers[split:], self.jaxpr.constvars))
        return jax.tree.unflatten(self.out, core.jaxpr_as_fun(closed)(*leaves))

    def _alike(self, leaves: Sequence[Any], variables: Sequence[Any]) -> list[Any]:
        """The leaves in the types of the trace, if they have its shapes: others would be computed wrongly."""
        given, traced = [jnp.shape(leaf) for leaf in leaves], [v.aval.shape for v in variables]
        if given != traced:
            raise TypeError(f"{self.__name__} was traced for arguments of shapes {traced}, and called with {given}")
        # What was pickled comes back as float32 where nobody has asked for more.
        pairs = zip(leaves, variables, strict=True)
        return [leaf if leaf.dtype == v.aval.dtype else jnp.asarray(leaf, v.aval.dtype) for leaf, v in pairs]

    def __reduce__(self) -> tuple[Any, ...]:
        # A jaxpr cannot be pickled. A function that can be is traced again where it arrives.
        function, *rest = self.origin
        if function() is None:
            raise pickle.PicklingError(f"the function {self.__name__} that this was traced from is gone")
        return _traced_again, (function(), *rest)


def settled(function: Function, at: Tree) -> Function:
    """The function as it is now, for arguments like `at`, of which only shapes and types count.

    What it captured becomes an argument, and what it computes decides whom it equals. A function that cannot be traced
    stays as it is: whoever calls it will hear why.
    """
    found = traced(function, at)
    return function if found is None else found


def traced(function: Function, at: Tree) -> Function | None:
    """The same, or None for a function that cannot be traced."""
    if isinstance(function.function, Program):
        return function
    try:
        program, captured = _traced(function, at)
        found = Function(program, Data.plain((*function.data.arrays, *captured)))
        dead = states_derivatives(program.jaxpr) and _outlived(found, at)
    except Exception:
        return None
    return function if dead else found


def _outlived(function: Function, at: Tree) -> bool:
    """Whether a derivative stated in the function captured its arguments, which were those of a trace that is over."""
    closed = jax.make_jaxpr(lambda at: jax.vjp(function, at)[1](function(at)))(at)
    return arrays.is_traced(list(closed.consts))


def _traced(function: Function, at: Tree) -> tuple[Program, tuple[Array, ...]]:
    """The program of a function, and the arrays that it captured."""
    user, data = _without_jit(function.function), function.data

    def plain(at: Tree, *numbers: Array) -> Any:
        return user(at, *dataclasses.replace(data, arrays=numbers).args)

    inputs = (at, *data.arrays)
    # `plain` is new each time: JAX would remember the trace of an old function, and with it what was captured then.
    closed, shape = jax.make_jaxpr(plain, return_shape=True)(*inputs)
    out, key = jax.tree.structure(shape), key_of(closed, plain, inputs, (user, *data.rest))
    program = _shared(
        None if key is None else (key, function.name, jax.tree.structure(inputs), out),
        lambda: Program(closed.jaxpr, out, function.name, _origin(function, at)),
    )
    constants = zip(closed.consts, closed.jaxpr.constvars, strict=True)
    return program, tuple(_held(constant, variable.aval.dtype) for constant, variable in constants)


_programs: OrderedDict[Any, Program] = OrderedDict()
_lock = threading.Lock()


def _shared(key: Any, make: Callable[[], Program]) -> Program:
    """The one program of that key; a new one where there is nothing to know it by."""
    if key is None:
        return make()
    with _lock:
        if key not in _programs:
            _programs[key] = make()
        _programs.move_to_end(key)
        program = _programs[key]
        while len(_programs) > MOST_PROGRAMS:
            _programs.popitem(last=False)
        return program


def _without_jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that a user has put jax.jit around, which remembers what was captured when it was first called."""
    return function.__wrapped__ if hasattr(function, "lower") and hasattr(function, "__wrapped__") else function


def _held(constant: Any, dtype: Any) -> Array:
    """A captured array as a leaf; a copy, since the user may go on to write into it."""
    return constant if isinstance(constant, jax.Array) else arrays.placed(np.asarray(constant, dtype))


def _origin(function: Function, at: Tree) -> tuple[Any, ...]:
    """What it takes to trace a program again; the function is held weakly, so that what it captured can go."""
    try:
        user: Any = weakref.ref(function.function)
    except TypeError:
        user = lambda: None  # noqa: E731
    data, at = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), (function.data, at))
    return user, data, at, jnp.result_type(float) == np.float64


def _traced_again(function: Callable[..., Any], data: Data, at: Tree, wide: bool) -> Program:
    with arrays.computing_in(np.dtype(np.float64 if wide else np.float32)):
        return _traced(Function(function, data), at)[0]
