"""What a trace computes, as a key: equal keys are equal computations.

The key has everything in it that the compiled program depends on: operations and their parameters, shapes and types,
how variables are wired, numbers that are written out. Of captured arrays it has shape and type only, since those
become arguments. What has no value to compare by, a callback for instance, is compared by identity.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.extend import core

from gnpolyak.base.trees import Tree

Key = tuple[Any, ...]


def key_of(closed: Any, function: Callable[..., Any], inputs: tuple[Tree, ...], authors: tuple[Any, ...]) -> Key | None:
    """The key of the trace of a function at some inputs, or None where nothing safe can be said.

    `authors` are the objects that the function is made of.
    """
    try:
        reader = _Reader()
        key = reader.whole(closed.jaxpr)
        return (*key, *map(_Same, authors), *_rules(function, inputs)) if reader.rules else key
    except _UnknownError:
        return None


class _UnknownError(Exception):
    """Something that cannot be compared."""


class _Same:
    """An object that is equal to itself alone, and that stays alive as long as it may be compared."""

    def __init__(self, it: Any) -> None:
        self.it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.it is other.it

    def __hash__(self) -> int:
        return id(self.it)


def _rules(function: Callable[..., Any], inputs: tuple[Tree, ...]) -> Key:
    """The key of derivatives that a user states, which no trace of the function itself shows.

    The rules are functions, and may read what has changed since. So they are traced too, with every captured number in
    the key, up to the second derivative: nobody here takes a higher one. And only the same authors share them.
    """

    def slope(x: Tree, *rest: Tree) -> Any:
        return jax.jvp(lambda x: function(x, *rest), (x,), (x,))

    def bend(x: Tree, *rest: Tree) -> Any:
        return jax.jvp(lambda x: slope(x, *rest)[1], (x,), (x,))

    def pull(x: Tree, *rest: Tree) -> Any:
        value, back = jax.vjp(lambda x: function(x, *rest), x)
        return back(value)

    try:
        return _numbers_and_all(slope, inputs), _numbers_and_all(bend, inputs)
    except TypeError:
        # A custom_vjp has no forward derivative.
        return (_numbers_and_all(pull, inputs),)


def _numbers_and_all(function: Callable[..., Any], inputs: tuple[Tree, ...]) -> Key:
    closed, reader = jax.make_jaxpr(function)(*inputs), _Reader()
    return (*reader.whole(closed.jaxpr), reader.value(tuple(closed.consts)))


def states_derivatives(jaxpr: Any) -> bool:
    """Whether a function with a derivative of its own is called anywhere in it."""
    for equation in jaxpr.eqns:
        if equation.primitive.name.startswith(("custom_jvp_call", "custom_vjp_call")):
            return True
        inner = (
            each for value in equation.params.values() for each in (value if isinstance(value, tuple) else (value,))
        )
        bodies = (getattr(each, "jaxpr", each) for each in inner)
        if any(hasattr(body, "eqns") and states_derivatives(body) for body in bodies):
            return True
    return False


class _Reader:
    """Reads a jaxpr and all within it; `rules` tells whether derivatives are stated there."""

    def __init__(self) -> None:
        self.rules = False
        self._inner: list[Key] = []
        self._places: dict[int, int] = {}

    def whole(self, jaxpr: Any) -> Key:
        """The key of a jaxpr, and of each jaxpr within it, once."""
        return self._jaxpr(jaxpr), tuple(self._inner)

    def _jaxpr(self, jaxpr: Any) -> Key:
        numbers: dict[Any, int] = {}

        def bound(variable: Any) -> Key:
            if not isinstance(variable, core.DropVar):
                numbers[variable] = len(numbers)
            return self.value(variable.aval), isinstance(variable, core.DropVar)

        def read(atom: Any) -> Any:
            return (self.value(atom.aval), self.value(atom.val)) if isinstance(atom, core.Literal) else numbers[atom]

        begin = tuple(map(bound, jaxpr.constvars)), tuple(map(bound, jaxpr.invars))
        equations = tuple(
            (
                _Same(e.primitive),
                tuple(map(read, e.invars)),
                self._params(e),
                repr(e.ctx),
                tuple(map(bound, e.outvars)),
            )
            for e in jaxpr.eqns
        )
        return *begin, equations, tuple(map(read, jaxpr.outvars))

    def _params(self, equation: Any) -> Key:
        stated = equation.primitive.name.startswith(("custom_jvp_call", "custom_vjp_call"))
        return tuple((name, self._rule(v) if stated else self.value(v)) for name, v in sorted(equation.params.items()))

    def _rule(self, parameter: Any) -> Any:
        """A parameter of a function with its own derivative, whose rules are new objects in each trace."""
        if isinstance(parameter, (core.Jaxpr, core.ClosedJaxpr, int, str, tuple)):
            return self.value(parameter)
        self.rules = True
        return "rule"

    def _place(self, jaxpr: Any) -> int:
        # Those that occur often are read once, so that the key is no longer than the trace.
        if id(jaxpr) not in self._places:
            key = self._jaxpr(jaxpr)
            self._places[id(jaxpr)] = len(self._inner)
            self._inner.append(key)
        return self._places[id(jaxpr)]

    def value(self, it: Any) -> Any:
        """The key of a parameter. Types are part of it: 1, 1.0 and True are equal in Python."""
        kind: Any = type(it)
        if isinstance(it, (core.Jaxpr, core.ClosedJaxpr)):
            return kind, self._place(getattr(it, "jaxpr", it)), self.value(tuple(getattr(it, "consts", ())))
        if it is None or isinstance(it, (bool, int, float, complex, str, bytes)):
            # As written: 0.0 and −0.0 are equal in Python, and NaN is not.
            return kind, repr(it)
        if isinstance(it, (tuple, list, dict)):
            return kind, tuple(map(self.value, it.items() if isinstance(it, dict) else it))
        if hasattr(kind, "__array__"):
            return kind, _digest(it)
        if callable(it) and hasattr(kind, "__dataclass_params__") and kind.__dataclass_params__.frozen:
            # JAX wraps a callback in a new one of these each time; what is within is what counts.
            return kind, tuple(self.value(getattr(it, field.name)) for field in dataclasses.fields(it))
        valued = kind.__eq__ is not object.__eq__ and kind.__hash__ is not None
        return (kind, it) if valued and not callable(it) else _Same(it)


def _digest(array: Any) -> Key:
    try:
        numbers = np.asarray(array)
    except Exception as error:
        raise _UnknownError from error
    return numbers.shape, str(numbers.dtype), hashlib.sha256(numbers.tobytes()).digest()
