"""Matrices from their own entries: robust principal components, and completion."""

from __future__ import annotations

from typing import Any

import numpy as np

import gnpolyak as gnp
from gnpolyak.cli.solve.kinds import KINDS, Arrays, Built, Kind, alike, example, indices, numbers, wrong
from gnpolyak.cli.solve.pictures import matrices

LARGEST_WHOLE = 10**7
"""A matrix of at most so many entries is written out as a whole, beside its factors."""


def _matrix(arrays: Arrays) -> Built:
    given: Any = arrays["M"]
    if given.ndim == 3:
        given = given.reshape(len(given), -1)
    m = numbers("robust_pca", {"M": given}, "M", 2)
    _require_sides("robust_pca", m.shape)
    problem = gnp.composite(gnp.LowRank(), gnp.L1(m))
    return Built(problem, f"a {m.shape[0]:,}×{m.shape[1]:,} matrix of rank {{rank}}", m)


def _completion(arrays: Arrays) -> Built:
    rows, cols, values, shape = _seen(arrays)
    _require_sides("matrix_completion", shape)
    if sum(shape) > values.size:
        missing = f"{values.size:,} entries for {shape[0]:,} rows and {shape[1]:,} columns"
        raise wrong("matrix_completion", missing, "more entries are needed than a matrix of rank 1 has unknowns")
    problem = gnp.composite(gnp.LowRank(), gnp.L1(values), sensing=gnp.Entries(rows, cols, shape=shape))
    found = f"a {shape[0]:,}×{shape[1]:,} matrix of rank {{rank}}, from {values.size:,} of its entries"
    if shape[0] * shape[1] > LARGEST_WHOLE:
        return Built(problem, found, values)
    data = np.full(shape, np.nan)
    data[rows, cols] = values
    return Built(problem, found, data, rows * shape[1] + cols)


def _seen(arrays: Arrays) -> tuple[np.ndarray, np.ndarray, Any, tuple[int, int]]:
    """Rows, columns and values of the entries that were seen, and the shape of the matrix."""
    kind = "matrix_completion"
    if "M" not in arrays:
        rows, cols = (indices(kind, arrays, name) for name in ("rows", "cols"))
        values = numbers(kind, arrays, "values", 1)
        alike(kind, arrays, "rows", "cols", "values")
        least = int(rows.max()) + 1, int(cols.max()) + 1
        shape = tuple(indices(kind, arrays, "shape").tolist()) if "shape" in arrays else least
        if len(shape) != 2 or shape[0] < least[0] or shape[1] < least[1]:
            raise wrong(kind, f"shape is {shape}, and the entries reach to {least}", "leave shape out, or correct it")
        return rows, cols, values, (shape[0], shape[1])
    m = arrays["M"]
    if m.ndim != 2 or m.dtype.kind not in "biuf":
        raise wrong(kind, f"M has shape {m.shape} and type {m.dtype}", "save a real matrix, NaN where nothing is known")
    rows, cols = np.nonzero(~np.isnan(m))
    if not rows.size:
        raise wrong(kind, "M is NaN everywhere", "save the entries that are known")
    return rows, cols, numbers(kind, {"M": m[rows, cols]}, "M", 1), m.shape


def _require_sides(kind: str, shape: tuple[int, ...]) -> None:
    if min(shape) < 2:
        raise wrong(kind, f"a matrix: this one has shape {shape}", "two rows and two columns are the least")


def factors(x: Any) -> Arrays:
    """U and V, and UVᵀ where that is not too large."""
    u, v = (np.asarray(each) for each in x)
    return {"U": u, "V": v} | ({"M": u @ v.T} if len(u) * len(v) <= LARGEST_WHOLE else {})


def _example_matrix() -> Arrays:
    return {"M": np.asarray(example("robust_pca", d1=60, d2=50, r=3).problem.penalty.b)}


def _example_completion() -> Arrays:
    case = example("matrix_completion", d1=80, d2=60, r=3, observed=0.5)
    m = np.full((80, 60), np.nan)
    m[tuple(np.asarray(each) for each in case.problem.sensing.indices)] = np.asarray(case.problem.penalty.b)
    return {"M": m}


KINDS["robust_pca"] = Kind(
    holds="M, a matrix of low rank with some entries wrong, or a stack of images, one row of the matrix each",
    names=(frozenset({"M"}),),
    build=_matrix,
    answer=factors,
    example=_example_matrix,
    picture=matrices,
)
KINDS["matrix_completion"] = Kind(
    holds="M, a matrix with NaN where nothing is known, or rows, cols and values (and shape) of the known entries",
    names=(frozenset({"M"}), frozenset({"rows", "cols", "values"})),
    optional=frozenset({"shape"}),
    build=_completion,
    answer=factors,
    example=_example_completion,
    picture=matrices,
)
