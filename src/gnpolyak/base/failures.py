"""What went wrong inside a user's function, in the words of an error: its own exception first, then what to do.

JAX's refusals are known by their types where they have one of their own. Those that come as a bare TypeError or
ValueError are known by the name of what was refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.base.trees import Tree

_BY_TYPE: tuple[tuple[type[BaseException], str], ...] = (
    (jax.errors.NonConcreteBooleanIndexError, "choose entries with jax.numpy.where(mask, a, b) instead of a[mask]"),
    (jax.errors.TracerBoolConversionError, "choose with jax.numpy.where or jax.lax.cond instead of if and while"),
    (
        jax.errors.TracerArrayConversionError,
        "write it with jax.numpy instead of numpy, or wrap it as gnpolyak.NumpyMap(function)",
    ),
    (jax.errors.TracerIntegerConversionError, "take indices and lengths from args or a closure, or use jax.lax"),
    (jax.errors.ConcretizationTypeError, "write it with jax.numpy, and loops over computed numbers with jax.lax"),
    (jax.errors.UnexpectedTracerError, "keep nothing from one call to the next: return what is needed"),
)
_BY_NAME = (
    ("custom_vjp", "state Ju with jax.custom_jvp instead of Jᵀv with jax.custom_vjp: JAX transposes it by itself"),
    ("while_loop", "write the loop with jax.lax.scan, or as a fori_loop of a fixed number of rounds"),
    (
        "allback",
        "write it with jax.numpy, wrap it as gnpolyak.NumpyMap(function), or state its derivative with jax.custom_jvp",
    ),
    ("immutable", "write x.at[i].set(y), which returns the changed array: JAX's are never written into"),
    ("item assignment", "write x.at[i].set(y), which returns the changed array: JAX's are never written into"),
)
_OF_SHAPES = ("shape", "dimension", "broadcast", "axis", "size")


def reason(error: BaseException) -> str:
    """The exception's type, and the first line of its message that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


def advice(error: BaseException, function: Callable[..., Any] | None = None, given: int = 1) -> str:
    """What to do about it; `given` is how many arguments the function was called with."""
    if isinstance(error, TypeError) and function is not None and not _takes(function, given):
        counted = f"{given} argument{'s' if given > 1 else ''}, the variable{' and args' if given > 1 else ''}"
        return f"let the function take {counted}: what else it needs is passed as args=(data,)"
    for kind, known in _BY_TYPE:
        if isinstance(error, kind):
            return known
    text = str(error)
    for name, known in _BY_NAME:
        if name in text:
            return known
    if isinstance(error, (TypeError, ValueError)) and any(word in text for word in _OF_SHAPES):
        return "call the function on x0 yourself, and compare the shapes of x0, of args and of what it computes"
    return "call the function on x0 yourself: the exception is its own"


def _takes(function: Callable[..., Any], given: int) -> bool:
    """Whether the function can be called with so many arguments; taken for granted where it does not tell."""
    try:
        inspect.signature(function).bind(*range(given))
    except TypeError:
        return False
    except ValueError:
        return True
    return True


def untraceable(label: str, error: BaseException, what: str, function: Any = None, given: int = 1) -> InputError:
    """The error for a function that raised while JAX traced it, whoever's exception it was."""
    return InputError(
        given=label,
        needed=f"{what} that JAX can trace and differentiate",
        missing=f"a clean trace: {reason(error)}",
        advice=advice(error, function, given),
    )


def returned(function: Callable[..., Any], *at: Tree) -> Any:
    """The shape and dtype of what a function returns, or the object itself where that is no array."""
    others: list[Any] = []

    def watched(*at: Tree) -> Any:
        value = function(*at)
        if _is_array(value):
            return value
        # Arrays that are traced must not outlive their trace, so only what is no array is kept.
        others.append(value)
        return ()

    shape = jax.eval_shape(watched, *at)
    return others[-1] if others else shape


def _is_array(value: Any) -> bool:
    # A plain Python number has not been computed from x.
    return isinstance(value, (jax.Array, np.ndarray, np.generic))


def require_array(label: str, value: Any) -> None:
    """Raise InputError unless what was returned is one array."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return
    if value is None:
        fix = "end the function with return: it returns None"
    elif isinstance(value, (tuple, list, dict)):
        fix = "return one array: put the parts together with jax.numpy.concatenate or jax.numpy.stack"
    elif isinstance(value, (bool, int, float, complex)):
        fix = "return an array that is computed from the function's argument, and not a plain number"
    else:
        fix = "return one array of numbers"
    raise InputError(
        given=f"{label}, which returns a {_kind(value)}",
        needed="a function that returns one array",
        missing="a single array",
        advice=fix,
    )


def _kind(value: Any) -> str:
    """The type of a value; JAX has its own names for Python's numbers while it traces."""
    return next(
        (kind.__name__ for kind in (bool, int, float, complex) if isinstance(value, kind)), type(value).__name__
    )


def require_precision(label: str, dtype: Any, like: Tree, *, real: bool = False) -> None:
    """Raise InputError unless numbers of this dtype are of the precision of the leaves of `like`."""
    wanted = {jnp.finfo(leaf.dtype).dtype for leaf in jax.tree.leaves(like)}
    if real and jnp.issubdtype(dtype, jnp.complexfloating):
        fix, lacking = "take the real part, or the modulus: what is minimised is a real number", "real numbers"
    elif not jnp.issubdtype(dtype, jnp.inexact):
        fix, lacking = "return floats: whole numbers have no derivative to follow", "a derivative"
    elif jnp.finfo(dtype).dtype not in wanted:
        fix = "leave out the astype; to compute in single precision, pass x0 and the data as float32"
        lacking = "the digits that were dropped on the way"
    else:
        return
    raise InputError(
        given=f"{label}, which returns {np.dtype(dtype).name}",
        needed=" or ".join(sorted(str(np.dtype(each).name) for each in wanted)) + ", as the variable is",
        missing=lacking,
        advice=fix,
    )
