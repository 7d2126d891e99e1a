"""The data of a problem that a start can be made for, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hermitian, SymmetricCP
from gnpolyak.problem.penalties import L1, L2
from gnpolyak.problem.sensing import PowerSensing
from gnpolyak.starts.host import of_parts
from gnpolyak.starts.power.measured import Measured
from gnpolyak.starts.rows import Rows

# The orders whose success has been measured.
_ORDERS = (2, 3, 4)


def measured(problem: Any) -> tuple[Measured, np.dtype]:
    """The data of a problem that a start can be made for, all in one floating type, and that type.

    Raises
    ------
    InputError
        If the problem is of another kind, or its data carry no signal.
    """
    _require_kind(problem)
    dtype, sensing = arrays.working_dtype(problem), problem.sensing
    b = np.asarray(problem.penalty.b, np.float64)
    problem.penalty.check((sensing.p.shape[0],))
    if np.median(np.abs(b)) == 0:
        raise InputError(
            given=f"data b of which {np.mean(b == 0):.0%} are exactly zero",
            needed="data that measure something",
            missing="a signal: with most data zero, x = 0 already explains them",
            advice="check how b was filled, or pass an x0 of your own",
        )
    # Rows that are stored in a type of their own are computed with in it, where sums can be taken in it.
    narrow = np.result_type(sensing.storage, np.float32) if sensing.storage is not None else dtype
    is_complex = isinstance(problem.map, Hermitian) or any(np.iscomplexobj(each) for each in sensing.rows())
    rows = Rows.of(sensing.rows(), of_parts(narrow, is_complex=is_complex))
    return Measured(rows, problem.map.n, b, _looked_at(rows, problem.map.n, dtype)), dtype


def _require_kind(problem: Any) -> None:
    fits = (
        isinstance(problem, Composite)
        and isinstance(problem.map, (SymmetricCP, Hermitian))
        and problem.map.n in _ORDERS
        and isinstance(problem.sensing, PowerSensing)
        and isinstance(problem.penalty, (L1, L2))
    )
    if not fits:
        raise InputError(
            given=problem.label if isinstance(problem, Composite) else f"a problem of type {type(problem).__name__}",
            needed=f"L1 or L2 of PowerSensing of SymmetricCP(n) with n in {_ORDERS}, or of Hermitian",
            missing="a known way from the data of this problem to a start",
            advice="pass x0, a point of your own to start from",
        )


def _looked_at(rows: Rows, n: int, dtype: np.dtype) -> tuple[float, ...]:
    """The mean squares of the entries of P, and of Q.

    Raises
    ------
    InputError
        If the rows measure nothing, leave the arithmetic when their powers are taken, or are no numbers.
    """
    m, d = rows.stored[0].shape
    x = np.random.default_rng(0).standard_normal(d).astype(rows.dtype)
    pieces = list(rows.each(lambda *sides: _look(sides, x, n)))
    size, first, difference = np.max([largest for largest, _ in pieces], axis=0)
    squares = np.sum([sums for _, sums in pieces], axis=0) / (m * d)
    if not np.all(np.isfinite(squares)):
        rows.require_finite()
    # Moments of the rows are of order 2n.
    reach = float(np.finfo(dtype).max) ** (1 / (2 * n + 1))
    if size == 0 or not 1 / reach < size < reach:
        raise InputError(
            given=f"measurement vectors p whose largest entry is {size:.3g}",
            needed=f"numbers whose powers of order {2 * n} can be computed with",
            missing="vectors that are not zero" if size == 0 else "a scale near 1",
            advice="check how p was filled"
            if size == 0
            else "divide p, and q, by their typical size: x is scaled with it",
        )
    if len(rows.stored) == 2 and difference <= 1e-10 * first:
        raise InputError(
            given="measurement vectors q that equal p, up to a sign",
            needed="differences M(p, …) − M(q, …) that depend on M",
            missing="any measurement: each of them is zero, whatever x is",
            advice="leave q out for measurements that are not centred, or check how q was filled",
        )
    return tuple(squares.tolist())


def _look(sides: tuple[np.ndarray, ...], x: np.ndarray, n: int) -> tuple[list[float], list[float]]:
    """The largest entry, the largest M(p, …) and M(p, …) − M(q, …) of an M of rank one; and the sums of squares."""
    terms = [np.abs(each @ x) ** n if np.iscomplexobj(each) else (each @ x) ** n for each in sides]
    largest = [
        max(float(np.max(np.abs(each))) for each in sides),
        *(np.max(np.abs(t)) for t in (terms[0], terms[0] - terms[-1])),
    ]
    return largest, [float(np.linalg.norm(each.ravel())) ** 2 for each in sides]
