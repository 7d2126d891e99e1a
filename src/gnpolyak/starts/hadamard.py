"""A difference of squares from its entries."""

from __future__ import annotations

import numpy as np

from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import RESIDUALS
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hadamard
from gnpolyak.problem.sensing import Identity
from gnpolyak.starts.table import STARTS


def squares(x: np.ndarray, size: float) -> tuple[np.ndarray, np.ndarray]:
    """(u, v) with u² − v² = x and u² + v² = |x| + size: the rank of J is full everywhere, where x is zero too."""
    return np.sqrt((np.abs(x) + size + x) / 2), np.sqrt((np.abs(x) + size - x) / 2)


@STARTS.register(Hadamard, Identity)
def hadamard(problem: Composite) -> Tree:
    """(u, v) whose image is the data.

    Parameters
    ----------
    problem : Composite
        A penalty of residuals (L1) of all entries of a `Hadamard` array.

    Returns
    -------
    pair of numpy.ndarray
    """
    problem.penalty.require(RESIDUALS, "a start from the data", "pass x0")
    b = np.asarray(problem.penalty.b)  # type: ignore[attr-defined]
    return squares(b, float(np.max(np.abs(b))) or 1.0)
