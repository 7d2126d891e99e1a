"""Numbers: whether an argument is the one it should be, a count, a seed, a real number; and counts in sentences.

A bool is none of them, although Python lets it count as an integer. NumPy's and JAX's scalars are.
"""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from gnpolyak.base.errors import InputError, shown

COUNTABLE = 2**31 - 1
"""The most that the compiled loop can count to, in 32 bits."""


def is_whole(value: Any, least: int) -> bool:
    """Tell whether the value is an integer of at least `least`."""
    return _is_scalar(value, (int, np.integer), "iu") and bool(value >= least)


def is_real(value: Any) -> bool:
    """Tell whether the value is a finite real number."""
    if not _is_scalar(value, (int, float, np.integer, np.floating), "iuf"):
        return False
    # An integer of Python's may be finite, and beyond what a float can hold.
    return bool(-math.inf < value < math.inf) and not (isinstance(value, int) and abs(value) > sys.float_info.max)


def require_whole(name: str, value: Any, least: int, advice: str | None = None, most: int | None = None) -> int:
    """The argument `name` as an int, or an InputError that says what it should be.

    Parameters
    ----------
    name : str
        What the caller knows the argument as.
    value : object
        What was given.
    least : int
        The smallest value allowed.
    advice : str, optional
        What to do instead; by default to leave the argument out.
    most : int, optional
        The largest value allowed.
    """
    if not is_whole(value, least) or (most is not None and value > most):
        largest = "" if most is None else f" and at most {most:,}"
        raise _invalid(name, value, f"a whole number of at least {least}{largest}", _cast("int", name, value) or advice)
    return int(value)


def require_seed(seed: Any) -> int:
    """The seed of a random stream as an int, or an InputError."""
    return require_whole("seed", seed, 0, "leave seed out, or count up from 0")


def require_positive(name: str, value: Any, advice: str | None = None) -> float:
    """The argument `name` as a float, or an InputError unless it is finite and above 0; parameters as above."""
    if not (is_real(value) and value > 0):
        raise _invalid(name, value, "a positive number", as_float(name, value) or advice)
    return float(value)


def _is_scalar(value: Any, types: tuple[type, ...], kinds: str) -> bool:
    if isinstance(value, types):
        return not isinstance(value, bool)
    # A reduction in JAX leaves an array without axes where NumPy leaves a number.
    return getattr(value, "ndim", None) == 0 and getattr(getattr(value, "dtype", None), "kind", "O") in kinds


def _invalid(name: str, value: Any, needed: str, advice: str | None) -> InputError:
    return InputError(
        given=f"{name}={shown(value)}",
        needed=needed,
        missing=f"a valid {name}",
        advice=advice or as_float(name, value) or f"leave {name} out for its default",
    )


def as_float(name: str, value: Any) -> str:
    """What to do about a number of another kind than Python's and NumPy's; nothing where it is no number."""
    return _cast("float", name, value)


def _cast(kind: str, name: str, value: Any) -> str:
    return f"pass {kind}({name}), or leave it out" if isinstance(value, (Decimal, Fraction)) else ""


def require_real(name: str, value: Any, advice: str | None = None) -> float:
    """The argument `name` as a float, or an InputError unless it is a finite real number; parameters as above."""
    if not is_real(value):
        raise _invalid(name, value, "a finite number", as_float(name, value) or advice)
    return float(value)


def require_flag(name: str, value: Any) -> bool:
    """The argument `name` as a bool, or an InputError: what merely counts as true may be a slip of places."""
    if not isinstance(value, (bool, np.bool_)):
        raise _invalid(name, value, "True or False", f"pass {name}=True or {name}=False")
    return bool(value)


def counted(number: int, noun: str, several: str = "") -> str:
    """A number and its noun, such as ``1 call`` and ``1,200 calls``; `several` is the plural of one that is not so."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"
