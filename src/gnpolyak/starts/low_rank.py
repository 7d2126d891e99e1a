"""One factor more for a low-rank matrix, from what the others leave of its entries: the walk from rank to rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import RESIDUALS
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import LowRank
from gnpolyak.problem.sensing import Entries, Identity
from gnpolyak.starts.host import on_host
from gnpolyak.starts.leading import leading_pair
from gnpolyak.starts.table import LARGER

# Residuals beyond two standard deviations, of the normal law with their median, are cut: what is left of an outlier is
# no larger than the signal, whatever its size was.
_CUT = 2 * 1.4826
# Residuals of this many units of the data's rounding are none.
_ROUNDING = 1e3
# Entries that are computed together, of factors that are then in the cache.
_TOGETHER = 2**14
# Numbers of a matrix that is formed, zeros and all (8 MB).
_LARGEST_DENSE = 2**20


@LARGER.register(LowRank, Entries)
@LARGER.register(LowRank, Identity)
@on_host
def larger(problem: Composite, x: Tree | None = None, *, seed: int = 0) -> Tree | None:
    """(U, V) with one factor more: the leading singular pair of the residuals, cut at two standard deviations.

    Singular values that are small beside the largest show in no singular value decomposition of data that are partly
    garbage. They surface when the large ones are explained. So a solve from the data alone goes from rank to rank, and
    κ does not matter.

    Parameters
    ----------
    problem : Composite
        A penalty of residuals (L1) of all or some entries of a `LowRank` matrix.
    x : pair of ndarray, optional
        Factors (U, V) that do not explain the data; the first column that is zero in both is filled. None for a
        first one.
    seed : int
        Seed of the few random numbers used.

    Returns
    -------
    pair of numpy.ndarray or None
        In the problem's floating type; None where nothing is left to explain, or the rank is full.
    """
    u, v, place = opened(problem, x, _shape(problem))
    left = unexplained(problem, _measured(problem, u, v), place < min(len(u), len(v)), first=x is None)
    if left is None:
        return None
    first, value, second = leading_pair(_matrix(problem, left[1]), seed)
    return placed(u, v, place, np.sqrt(value) * first, np.sqrt(value) * second)


def opened(problem: Composite, x: Tree | None, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, int]:
    """The factors so far, and the first column that is zero in both; none for a first factor."""
    problem.penalty.require(RESIDUALS, "a start from the data", "pass x0")
    dtype = arrays.working_dtype(problem)
    u, v = (np.zeros((d, 1), dtype) for d in shape) if x is None else (np.array(each) for each in x)
    used = np.flatnonzero(np.any(u != 0, axis=0) | np.any(v != 0, axis=0))
    return u, v, int(used.max()) + 1 if used.size else 0


def unexplained(
    problem: Composite, z: np.ndarray, has_room: bool, *, first: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """The residuals of measurements z, 0 for data of weight zero, and the same cut at two standard deviations.

    None where nothing is left to explain, or the rank is full. `first` is whether there is no factor yet: then data
    without a signal are an error.
    """
    (r, b), counted = unweighted(problem, z)
    size, datum = (float(np.median(np.abs(each if counted is None else each[counted]))) for each in (r, b))
    if not has_room or size <= _ROUNDING * float(np.finfo(z.dtype).eps) * datum:
        if first:
            raise _silent(b)
        return None
    # What is ignored is unseen, and the rest stands for it.
    share = 1.0 if counted is None else float(np.mean(counted))
    return r, np.clip(r, -_CUT * size, _CUT * size) / share


def placed(u: np.ndarray, v: np.ndarray, place: int, left: np.ndarray, right: np.ndarray) -> Tree:
    """The factors with these two vectors for the column `place`, which may be the next one."""
    if place == u.shape[1]:
        u, v = (np.column_stack([each, np.zeros(len(each), each.dtype)]) for each in (u, v))
    u[:, place], v[:, place] = left, right
    return u, v


def _measured(problem: Composite, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The entries of UVᵀ, all of them or those that are data."""
    if not isinstance(problem.sensing, Entries):
        return u @ v.T
    rows, columns = map(np.asarray, problem.sensing.indices)
    z = np.empty(len(rows), u.dtype)
    for at in range(0, len(rows), _TOGETHER):
        some = slice(at, at + _TOGETHER)
        z[some] = np.einsum("ij,ij->i", u[rows[some]], v[columns[some]])
    return z


def unweighted(problem: Composite, z: np.ndarray) -> tuple[list[np.ndarray], np.ndarray | None]:
    """b − z and b without their weights, each at its place, and where they count; None for everywhere."""
    penalty: Any = problem.penalty.using(np)
    both, rows = [np.asarray(penalty.residuals(each), z.dtype) for each in (z, np.zeros_like(z))], penalty.rows
    if rows is None:
        return both, None
    weights = np.asarray(rows.weights, z.dtype)
    counted = weights > 0
    found = [np.zeros_like(weights) for _ in both]
    for each, r in zip(found, both, strict=True):
        each[counted] = (r if rows.kept is not None else r[counted]) / weights[counted]
    return [each.reshape(z.shape) for each in found], counted.reshape(z.shape)


def _shape(problem: Any) -> tuple[int, int]:
    shape = problem.sensing.shape if isinstance(problem.sensing, Entries) else np.shape(problem.penalty.b)
    if len(shape) != 2:
        raise InputError(
            given=f"data of shape {shape} for LowRank",
            needed="a matrix of data, or entries of one with two indices each",
            missing="rows and columns",
            advice="reshape the data: an image a row is a matrix",
        )
    return shape[0], shape[1]


def _matrix(problem: Composite, values: np.ndarray) -> Any:
    """The values as a matrix, with zeros for what was not seen, divided by the share that was."""
    if not isinstance(problem.sensing, Entries):
        return values
    shape, (rows, columns) = problem.sensing.shape, map(np.asarray, problem.sensing.indices)
    size = shape[0] * shape[1]
    values = values * (size / values.size)
    if size <= _LARGEST_DENSE:
        return np.bincount(rows * np.int64(shape[1]) + columns, values, size).reshape(shape)
    # SciPy's sparse matrices take longer to import than small problems to solve.
    from scipy.sparse import csr_array  # noqa: PLC0415

    return csr_array((values, (rows, columns)), shape=shape)


def _silent(b: np.ndarray) -> InputError:
    return InputError(
        given=f"data b of which {np.mean(b == 0):.0%} are exactly zero",
        needed="data that measure something",
        missing="a signal: with most data zero, x = 0 already explains them",
        advice="check how b was filled, or pass an x0 of your own",
    )
