"""What every instance carries, and what every generator asks of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.memory import require_room
from gnpolyak.base.numbers import is_real, is_whole
from gnpolyak.base.tables import Table
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.starts import near

Rule = tuple[str, Any, bool, str]
"""The name of an argument, what was given, whether that is valid, and what would be."""


@dataclass(frozen=True)
class Instance:
    """A problem together with what is known about it."""

    problem: Composite
    x0: Tree
    """The start, near the truth."""
    truth: Tree
    """X⋆, from which the measurements were taken."""
    target: float
    """h*, the value at the truth."""
    settings: dict[str, Any]
    """The arguments that make this instance again, its dtype aside."""
    error: Callable[[Tree], float] | None = None
    """How far an answer is from the truth, where the distance of images does not tell."""

    def recovery_error(self, x: Tree) -> float:
        """‖c(x) − c(X⋆)‖ / ‖c(X⋆)‖, blind to the symmetries of the factors, or the class's own measure."""
        if self.error is not None:
            return self.error(x)
        c = self.problem.map
        x, truth = (jax.tree.map(_wide, each) for each in (x, self.truth))
        with arrays.precise(True):
            size = np.sqrt(float(c.inner(truth, truth)))
            return float(c.distance(x, truth)) / size


def _wide(leaf: Any) -> np.ndarray:
    leaf = np.asarray(leaf)
    return leaf.astype(np.result_type(leaf.dtype, np.float64))


INSTANCES: Table[Callable[..., Instance]] = Table("problem classes")
"""Generators by the name of their class, which `gnpolyak run` takes."""


def check(generator: str, rules: Iterable[Rule]) -> None:
    """Raise InputError for the first argument that is not valid."""
    for name, given, valid, needed in rules:
        if not valid:
            raise InputError(
                given=f"{name}={shown(given)}",
                needed=needed,
                missing=f"a valid {name}",
                advice=f"see help(gnpolyak.instances.{generator})",
            )


def room(generator: str, numbers: float, smaller: str, *, itemsize: int = 8) -> None:
    """Raise InputError unless that many numbers can be held: what an instance keeps, and what it is made of."""
    require_room(numbers * itemsize, f"an instance of {generator} of this size", f"choose a smaller {smaller}")


def count(name: str, given: Any, least: int = 1) -> Rule:
    """A whole number, of things."""
    return name, given, is_whole(given, least), f"a whole number of at least {least}"


def rank(name: str, given: Any, most: Any) -> Rule:
    """A rank that the dimension allows."""
    return (
        name,
        given,
        is_whole(given, 1) and is_whole(most, 1) and given <= most,
        f"a whole rank between 1 and {shown(most)}",
    )


def conditioning(given: Any) -> Rule:
    """A condition number."""
    return "kappa", given, is_real(given) and given >= 1, "a finite condition number of at least 1"


def share(given: Any, name: str = "p_fail") -> Rule:
    """A share of corrupted data."""
    return name, given, is_real(given) and 0 <= given < 0.5, "a probability in [0, 1/2)"


def portion(name: str, given: Any) -> Rule:
    """A share of what there is, not none of it."""
    return name, given, is_real(given) and 0 < given <= 1, "a share in (0, 1]"


def floating(given: Any) -> Rule:
    """A floating type."""
    try:
        valid = np.dtype(given) in (np.float32, np.float64)
    except TypeError:
        valid = False
    return "dtype", given, valid, "numpy.float32 or numpy.float64"


def seeded(given: Any) -> Rule:
    """A seed."""
    return count("seed", given, 0)


def conditioned(d: int, r: int, kappa: float, rng: np.random.Generator) -> np.ndarray:
    """A d×r matrix with orthogonal columns, whose lengths are spaced linearly from 1 to 1/κ."""
    return np.linalg.qr(rng.standard_normal((d, r)))[0] * np.linspace(1.0, 1.0 / kappa, r)


def matrix(d1: int, d2: int, r: int, kappa: float) -> tuple[Rule, ...]:
    """The shape, the rank and the conditioning of a matrix."""
    least = min(d1, d2) if is_whole(d1, 1) and is_whole(d2, 1) else 0
    return count("d1", d1), count("d2", d2), rank("r", r, least), conditioning(kappa)


def factors(d1: int, d2: int, r: int, kappa: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(U, V) of one size, for a matrix UVᵀ with singular values spaced linearly from 1 to 1/κ."""
    u, v = (conditioned(d, r, 1.0, rng) * np.sqrt(np.linspace(1.0, 1.0 / kappa, r)) for d in (d1, d2))
    return u, v


def corrupted(clean: np.ndarray, p_fail: float, rng: np.random.Generator, size: float = 10.0) -> np.ndarray:
    """The data with a share of them ruined: normal numbers of `size` median data are added."""
    bad = rng.random(clean.shape) < p_fail
    return clean + np.where(bad, size * np.median(np.abs(clean)) * rng.standard_normal(clean.shape), 0.0)


def around(truth: Tree, rng: np.random.Generator, radius: float = 0.1) -> Tree:
    """The truth with each of its arrays `radius` off, relative to its size."""
    return jax.tree.map(lambda leaf: near(np.asarray(leaf), radius, rng), truth)
