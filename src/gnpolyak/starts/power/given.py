"""The data of a problem that a start can be made for, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.base.streams import is_streamed
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hermitian, SymmetricCP
from gnpolyak.problem.penalties import L1, L2
from gnpolyak.problem.sensing import PowerSensing
from gnpolyak.starts.power.measured import Measured, wide
from gnpolyak.starts.power.streamed import Looked, StreamedMeasured, looked_at

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
    dtype = arrays.working_dtype(problem)
    problem = _of_one_field(problem.cast(dtype))
    sensing, b = problem.sensing.computable(), np.asarray(problem.penalty.b, np.float64)
    problem.penalty.check((sensing.p.shape[0],))
    if np.median(np.abs(b)) == 0:
        raise InputError(
            given=f"data b of which {np.mean(b == 0):.0%} are exactly zero",
            needed="data that measure something",
            missing="a signal: with most data zero, x = 0 already explains them",
            advice="check how b was filled, or pass an x0 of your own",
        )
    if is_streamed(sensing):
        with arrays.computing_in(dtype):
            seen = looked_at(problem.map, sensing)
        _require_measuring(seen, problem.map.n, dtype)
        return StreamedMeasured(problem.map, sensing, b, squares=seen.squares, dtype=dtype), dtype
    _require_measuring(_look(sensing, problem.map.n), problem.map.n, dtype)
    return Measured(problem.map, sensing, b), dtype


def _of_one_field(problem: Composite) -> Composite:
    """The problem with complex rows where its factors are complex."""
    if not isinstance(problem.map, Hermitian) or is_streamed(problem.sensing):
        return problem
    sensing: Any = problem.sensing
    with arrays.precise(True):
        rows = [None if stored is None else stored + 0j for stored in (sensing.p, sensing.q)]
        return Composite(problem.map, problem.penalty, PowerSensing(*rows))


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


def _look(sensing: PowerSensing, n: int) -> Looked:
    rows = [wide(each) for each in (sensing.p, sensing.q) if each is not None]
    x = np.random.default_rng(0).standard_normal(rows[0].shape[1])
    # Numbers whose powers leave the arithmetic are told by their size.
    with np.errstate(over="ignore", invalid="ignore"):
        terms = [np.abs(each @ x) ** n if np.iscomplexobj(each) else (each @ x) ** n for each in rows]
        return Looked(
            size=max(float(np.max(np.abs(each))) for each in rows),
            first=float(np.max(np.abs(terms[0]))),
            difference=float(np.max(np.abs(terms[0] - terms[1]))) if len(terms) == 2 else np.inf,
        )


def _require_measuring(seen: Looked, n: int, dtype: np.dtype) -> None:
    """Raise InputError where the rows measure nothing, or leave the arithmetic when their powers are taken."""
    size = seen.size
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
    if seen.difference <= 1e-10 * seen.first:
        raise InputError(
            given="measurement vectors q that equal p, up to a sign",
            needed="differences M(p, …) − M(q, …) that depend on M",
            missing="any measurement: each of them is zero, whatever x is",
            advice="leave q out for measurements that are not centred, or check how q was filled",
        )
