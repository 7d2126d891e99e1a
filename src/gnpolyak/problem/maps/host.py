"""Functions on the host, in plain NumPy or Python, which compiled code finds by their keys."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from gnpolyak.base.arrays import is_traced
from gnpolyak.base.differences import Range, jacobian
from gnpolyak.base.halting import go_on
from gnpolyak.base.trees import Tree

# What a model raises outside its domain, as math.sqrt(-1.0) does: a point to be refused, not the end of a solve.
_OUTSIDE = (ArithmeticError, ValueError)


@dataclass(frozen=True)
class Form:
    """The structure of the variable and the shape of the image: all that a compiled program knows of a function."""

    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    image: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many numbers an image has."""
        return int(np.prod(self.image))

    def tree(self, flat: np.ndarray) -> Tree:
        """The variable whose leaves, one after the other, are this vector."""
        if len(self.shapes) == 1:
            return jax.tree.unflatten(self.structure, [flat.reshape(self.shapes[0])])
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        parts = [part.reshape(shape) for part, shape in zip(np.split(flat, ends), self.shapes, strict=True)]
        return jax.tree.unflatten(self.structure, parts)


class Host:
    """A function on the host, found by its key from inside compiled code.

    Hosts of one form are equal, so that one compiled program serves them all; one without a form equals only itself.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], derivative: Callable[..., Any] | None):
        self.function, self.args, self.derivative = function, args, derivative
        self.lower: np.ndarray | None = None
        self.upper: np.ndarray | None = None
        self.form: Form | None = None
        self.within: Range | None = None
        self.error: Exception | None = None
        """What the function raised, where it was no sign of the end of its domain."""
        self.known: dict[Any, Host] = {}
        self.key = next(_KEYS)
        HOSTS[self.key] = self

    def settled(self, x: Tree) -> Host:
        """The same function for variables like x, called there once: what it returns tells the shape of its image.

        Inside a trace there are no numbers to call it with, and what was seen last for such variables is taken.
        """
        form = _form(x)
        if not is_traced(x):
            host = self._called_at(x, *form)
            known = self.known.get(form)
            # Compiled code may know the other one by its key.
            self.known[form] = known if known is not None and known.form == host.form else host
        return self.known[form]

    def knows(self, x: Tree) -> bool:
        """Whether it was settled for variables like x before."""
        return _form(x) in self.known

    def bounded(self, lower: np.ndarray, upper: np.ndarray) -> Host:
        """The same function, called between these bounds only."""
        host = Host(self.function, self.args, self.derivative)
        host.lower, host.upper, host.form = lower, upper, self.form
        host.within = None if self.within is None else Range(lower, upper, self.within.typical)
        return host

    def _called_at(self, x: Tree, structure: Any, shapes: tuple[tuple[int, ...], ...]) -> Host:
        flat = np.concatenate([np.ravel(np.asarray(leaf, np.float64)) for leaf in jax.tree.leaves(x)])
        host = Host(self.function, self.args, self.derivative)
        with np.errstate(all="ignore"):
            image = np.asarray(self.function(Form(structure, shapes, ()).tree(flat), *self.args))
        ends = (None if side is None else np.broadcast_to(side, flat.shape) for side in (self.lower, self.upper))
        host.form, host.within = Form(structure, shapes, image.shape), Range.around(flat, *ends)
        if image.dtype.kind not in "fiub":
            raise TypeError(f"the function returns {image.dtype} and not real numbers")
        return host

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Host) and self.form is not None and self.form == other.form)

    def __hash__(self) -> int:
        return id(self) if self.form is None else hash(self.form)

    def __reduce__(self) -> tuple[Any, ...]:
        # Elsewhere it has another key.
        rest = {name: getattr(self, name) for name in ("lower", "upper", "form", "within")}
        return _rebuilt, (self.function, self.args, self.derivative, rest)

    def values(self, flat: np.ndarray) -> np.ndarray:
        """c(x) as a flat vector; NaN where the function has no value."""
        assert self.form is not None
        image = self._called(self.function, flat)
        return np.full(self.form.size, np.nan) if image is None else self._shaped(image, self.form.image).ravel()

    def linearised(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """c(x) and its Jacobian, a row for each number of the image and a column for each variable."""
        assert self.form is not None
        assert self.within is not None
        image = self.values(flat)
        if self.derivative is None:
            return image, jacobian(self.values, flat, image, self.within)
        shape = (self.form.size, flat.size)
        matrix = self._called(self.derivative, flat)
        return image, np.full(shape, np.nan) if matrix is None else self._shaped(matrix, shape)

    def _called(self, function: Callable[..., Any], flat: np.ndarray) -> Any:
        assert self.form is not None
        # A Jacobian by differences is many calls, each of which may be slow.
        go_on()
        try:
            with np.errstate(all="ignore"):
                return function(self.form.tree(flat), *self.args)
        except _OUTSIDE:
            return None
        except Exception as error:
            # Compiled code hands on its words, but not the error itself.
            self.error = error
            raise

    def _shaped(self, image: Any, shape: tuple[int, ...]) -> np.ndarray:
        array = np.asarray(image, dtype=np.float64)
        return array if array.shape == shape else np.broadcast_to(array, shape)


def _rebuilt(function: Any, args: Any, derivative: Any, rest: dict[str, Any]) -> Host:
    host = Host(function, args, derivative)
    host.__dict__.update(rest)
    return host


def _form(x: Tree) -> tuple[Any, tuple[tuple[int, ...], ...]]:
    leaves, structure = jax.tree.flatten(x)
    return structure, tuple(np.shape(leaf) for leaf in leaves)


_KEYS = itertools.count()
HOSTS: weakref.WeakValueDictionary[int, Host] = weakref.WeakValueDictionary()
