"""A difference of squares from its entries, or from linear measurements."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import RESIDUALS
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hadamard
from gnpolyak.problem.sensing import Identity, LinearSensing
from gnpolyak.starts.host import of_parts, on_host
from gnpolyak.starts.rows import Rows
from gnpolyak.starts.table import STARTS


def squares(x: np.ndarray, size: float) -> tuple[np.ndarray, np.ndarray]:
    """(u, v) with u² − v² = x and u² + v² = |x| + size: the rank of J is full everywhere, where x is zero too."""
    return np.sqrt((np.abs(x) + size + x) / 2), np.sqrt((np.abs(x) + size - x) / 2)


@STARTS.register(Hadamard, Identity)
@on_host
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


@STARTS.register(Hadamard, LinearSensing)
@on_host
def measured(problem: Composite) -> Tree:
    """(u, v) with u = v, whose image is zero, and of the size that the signal seems to have.

    There J has full rank and one length in all directions, so what follows is a robust linear regression. Started
    small instead, as is usual, J is nearly zero.

    Parameters
    ----------
    problem : Composite
        A penalty of residuals (L1) of linear measurements, by a matrix, of a `Hadamard` array.

    Returns
    -------
    pair of numpy.ndarray
    """
    problem.penalty.require(RESIDUALS, "a start from the data", "pass x0")
    shape = problem.sensing.shape  # type: ignore[attr-defined]
    if shape is None:
        raise InputError(
            given=f"no x0 for {problem.label}",
            needed="the shape of the image",
            missing="it: functions do not tell of which arrays they are",
            advice="pass x0=(u, v), such as ones of that shape",
        )
    dtype = arrays.working_dtype(problem)
    b = np.asarray(problem.penalty.b, dtype)  # type: ignore[attr-defined]
    size = float(np.median(np.abs(b)))
    # The correlation with the data, cut so that no outlier has a say, at the scale at which it would fit them.
    along, image = _correlated(problem.sensing.operator, np.clip(b, -2 * size, 2 * size))  # type: ignore[attr-defined]
    gain = float(np.median(np.abs(image)))
    largest = float(np.max(np.abs(along))) * (size / gain if gain > 0 else 1.0)
    u, v = squares(np.zeros(shape), 2 * largest if largest > 0 else 1.0)
    return u.astype(dtype), v.astype(dtype)


def _correlated(operator: Any, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The real part of Aᴴv, and A times it."""
    if hasattr(operator, "rows"):
        rows = Rows.of([operator.rows], of_parts(v.dtype, is_complex=np.iscomplexobj(operator.rows)))
        along = rows.summed(lambda some, of: of @ some.conj(), v.ravel()).real.astype(v.dtype)
        return along, rows.joined(lambda some: some @ along)
    from scipy.sparse import csr_array  # noqa: PLC0415

    entry, *place = map(np.asarray, (operator.entry, operator.row, operator.column))
    matrix = csr_array((entry, tuple(place)), shape=(operator.m, int(place[1].max()) + 1))
    along = (matrix.conj().T @ v.ravel()).real
    return along, matrix @ along
