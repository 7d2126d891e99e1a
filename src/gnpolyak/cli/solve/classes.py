"""The kinds of files there are: one entry a problem class."""

from __future__ import annotations

from typing import Any

import numpy as np

import gnpolyak as gnp
from gnpolyak.cli.solve.kinds import KINDS, Arrays, Built, Kind, alike, indices, numbers, wrong

# A matrix of at most so many entries is written out as a whole, beside its factors.
_LARGEST_WHOLE = 10**7


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
    if shape[0] * shape[1] > _LARGEST_WHOLE:
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
    if m.ndim != 2 or m.dtype.kind == "c":
        raise wrong(kind, f"M has shape {m.shape} and type {m.dtype}", "save a real matrix, NaN where nothing is known")
    rows, cols = np.nonzero(~np.isnan(m))
    if not rows.size:
        raise wrong(kind, "M is NaN everywhere", "save the entries that are known")
    return rows, cols, numbers(kind, {"M": m[rows, cols]}, "M", 1), m.shape


def _require_sides(kind: str, shape: tuple[int, ...]) -> None:
    if min(shape) < 2:
        raise wrong(kind, f"a matrix: this one has shape {shape}", "two rows and two columns are the least")


def _regression(arrays: Arrays) -> Built:
    a, b = numbers("regression", arrays, "A", 2), numbers("regression", arrays, "b", 1)
    alike("regression", arrays, "A", "b")
    if a.shape[0] < a.shape[1]:
        raise wrong("regression", f"{a.shape[0]:,} rows for {a.shape[1]:,} unknowns", "give at least as many rows")
    return Built(gnp.composite(gnp.Linear(a), gnp.L1(b)), f"{a.shape[1]:,} coefficients of a linear model", b)


def _synchronisation(arrays: Arrays) -> Built:
    kind = "synchronisation"
    i, j, r = indices(kind, arrays, "i"), indices(kind, arrays, "j"), numbers(kind, arrays, "R", 3)
    alike(kind, arrays, "i", "j", "R")
    n = int(max(i.max(), j.max())) + 1
    if r.shape[1:] != (3, 3):
        raise wrong(kind, f"R has shape {r.shape}", "save a 3×3 matrix for each pair")
    if n > 2 * len(i):
        raise wrong(kind, f"{n:,} rotations for {len(i):,} pairs", "count the rotations from 0, without gaps")
    problem = gnp.composite(gnp.RelativeRotations(i, j, n), gnp.L1(r))
    return Built(problem, f"{n:,} rotations from {len(i):,} pairs", r, one="pairs")


def _phases(arrays: Arrays) -> Built:
    p, b = numbers("phase_retrieval", arrays, "p", 2), numbers("phase_retrieval", arrays, "b", 1)
    alike("phase_retrieval", arrays, "p", "b")
    problem = gnp.composite(gnp.SymmetricCP(2), gnp.L1(b), sensing=gnp.PowerSensing(p))
    return Built(problem, f"a vector of {p.shape[1]:,} numbers, up to its sign", b)


def _factors(x: Any) -> Arrays:
    u, v = (np.asarray(each) for each in x)
    return {"U": u, "V": v} | ({"M": u @ v.T} if len(u) * len(v) <= _LARGEST_WHOLE else {})


def _example(name: str, **settings: Any) -> Any:
    return gnp.instances.INSTANCES[name](**settings)


def _example_matrix() -> Arrays:
    return {"M": np.asarray(_example("robust_pca", d1=60, d2=50, r=3).problem.penalty.b)}


def _example_completion() -> Arrays:
    case = _example("matrix_completion", d1=80, d2=60, r=3, observed=0.5)
    m = np.full((80, 60), np.nan)
    m[tuple(np.asarray(each) for each in case.problem.sensing.indices)] = np.asarray(case.problem.penalty.b)
    return {"M": m}


def _example_regression() -> Arrays:
    case = _example("regression")
    return {"A": np.asarray(case.problem.map.a), "b": np.asarray(case.problem.penalty.b)}


def _example_synchronisation() -> Arrays:
    case = _example("synchronisation", n=30)
    c = case.problem.map
    return {"i": np.asarray(c.i), "j": np.asarray(c.j), "R": np.asarray(case.problem.penalty.b)}


def _example_phases() -> Arrays:
    case = _example("tensor_sensing", d=20, r=1, m=200, p_fail=0.1, centred=False)
    return {"p": np.asarray(case.problem.sensing.p), "b": np.asarray(case.problem.penalty.b)}


KINDS["robust_pca"] = Kind(
    holds="M, a matrix of low rank with some entries wrong, or a stack of images, one row of the matrix each",
    names=(frozenset({"M"}),),
    build=_matrix,
    answer=_factors,
    example=_example_matrix,
)
KINDS["matrix_completion"] = Kind(
    holds="M, a matrix with NaN where nothing is known, or rows, cols and values (and shape) of the known entries",
    names=(frozenset({"M"}), frozenset({"rows", "cols", "values"})),
    optional=frozenset({"shape"}),
    build=_completion,
    answer=_factors,
    example=_example_completion,
)
KINDS["regression"] = Kind(
    holds="A, a row for each datum, and b, the data: Ax ≈ b",
    names=(frozenset({"A", "b"}),),
    build=_regression,
    answer=lambda x: {"x": np.asarray(x)},
    example=_example_regression,
    rank=None,
)
KINDS["synchronisation"] = Kind(
    holds="i and j, the indices of pairs, and R, the 3×3 matrix R_i R_jᵀ of each",
    names=(frozenset({"i", "j", "R"}),),
    build=_synchronisation,
    answer=lambda x: {"R": gnp.RelativeRotations.rotations(x), "quaternions": np.asarray(x)},
    example=_example_synchronisation,
    rank=None,
)
KINDS["phase_retrieval"] = Kind(
    holds="p, a row for each measurement, and b, the measurements (pᵀx)²",
    names=(frozenset({"p", "b"}),),
    build=_phases,
    answer=lambda x: {"x": np.asarray(x)[:, 0]},
    example=_example_phases,
    rank=1,
)
