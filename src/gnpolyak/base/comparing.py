"""Records with arrays in them, compared by what they hold."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np

from gnpolyak.base.trees import Tree


class Comparable:
    """A dataclass whose fields may be arrays or pytrees of them: equal where all that is compared is.

    Python's own comparison asks an array whether it is true, and hashes what can be written to. NaN equals NaN here: a
    record equals its copy.
    """

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(a, b) for a, b in zip(self._compared(), other._compared(), strict=True))

    def __hash__(self) -> int:
        # Of the numbers alone: what is equal has equal ones, and arrays would take long.
        return hash((type(self).__name__, *(each for each in self._compared() if isinstance(each, (int, str)))))

    def _compared(self) -> list[Any]:
        return [getattr(self, field.name) for field in dataclasses.fields(self) if field.compare]  # type: ignore[arg-type]


def _same(a: Tree, b: Tree) -> bool:
    structures: list[Any] = [jax.tree.structure(each) for each in (a, b)]
    return bool(structures[0] == structures[1]) and all(map(_equal, jax.tree.leaves(a), jax.tree.leaves(b)))


def _equal(a: Any, b: Any) -> bool:
    if hasattr(a, "shape") or isinstance(a, float):
        one, two = np.asarray(a), np.asarray(b)
        return one.dtype == two.dtype and np.array_equal(one, two, equal_nan=one.dtype.kind in "fc")
    return bool(a == b)
