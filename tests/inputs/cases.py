"""What a case of the table is, and the problems and the absurdities that cases share.

A case either works, and then what it returns is held against the truth, or is refused with an `InputError` whose words
fit the mistake. Nothing else is admitted, but for exceptions that are the user's own: those of a callback, and those
that Python itself raises for a call that does not fit a signature.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

import gnpolyak as gnp


@dataclass(frozen=True)
class Case:
    """A call, and what has to come of it: words in the error, words in its advice, its cause; or a true return."""

    call: Callable[[], Any]
    says: str | None = None
    advises: str = ""
    cause: type[BaseException] | None = None
    holds: Callable[[Any], Any] | None = None


def refused(call, says, advises="", cause=None):
    """A case that must raise InputError; `says` is looked for in the whole message, `advises` in the advice alone."""
    return Case(call, says, advises, cause)


def works(call, holds):
    """A case that must return, and what it returns must be right."""
    return Case(call, holds=holds)


TRUTH = np.array([2.0, 3.0])
DATA = np.array([8.0, 27.0])
X0 = np.array([1.5, 2.5])


def cube(x):
    return x**3


def problem(b=DATA, model=cube):
    """One program serves for all of these: the data and the start differ alone."""
    return gnp.composite(model, gnp.L1(b))


def solve(*args, x0=X0, b=DATA, model=cube, **options):
    return lambda: gnp.minimize(problem(b, model), x0, *args, **options)


def found(res):
    """A success at the truth."""
    return res.success and np.allclose(np.asarray(res.x).ravel(), TRUTH, rtol=1e-5)


def honest(res):
    """A success only at the truth."""
    return not res.success or found(res)


class Shapeless:
    """An object that cannot even be shown."""

    def __repr__(self):
        raise RuntimeError("no picture of me")


NOT_NUMBERS = {
    "text": "ten",
    "bytes": b"1",
    "complex": 1 + 1j,
    "NaN": float("nan"),
    "two": np.array([1.0, 2.0]),
    "list": [1.0],
    "dict": {},
    "object": object(),
    "shapeless": Shapeless(),
    "type": int,
    "True": True,
    "10**400": 10**400,
    "10**5000": 10**5000,
}
NOT_COUNTS = {**NOT_NUMBERS, "-1": -1, "1.5": 1.5, "Decimal": Decimal(3), "Fraction": Fraction(3)}


def each(values, make, says, advises=""):
    """A refused case for each of some values."""
    return {name: refused(lambda value=value: make(value), says, advises) for name, value in values.items()}


def named(prefix, cases):
    return {f"{prefix}: {name}": case for name, case in cases.items()}
