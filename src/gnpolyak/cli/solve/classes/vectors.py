"""Vectors from linear measurements: regression, and sparse recovery."""

from __future__ import annotations

from typing import Any

import numpy as np

import gnpolyak as gnp
from gnpolyak.cli.solve.kinds import KINDS, Arrays, Built, Kind, alike, enough, example, numbers
from gnpolyak.cli.solve.pictures import vectors

# An entry is not zero if it is larger than this share of the largest.
_ZERO = 1e-8


def _regression(arrays: Arrays) -> Built:
    a, b = _equations("regression", arrays)
    enough("regression", *a.shape)
    return Built(gnp.composite(gnp.Linear(a), gnp.L1(b)), f"{a.shape[1]:,} coefficients of a linear model", b)


def _sparse(arrays: Arrays) -> Built:
    a, b = _equations("sparse_recovery", arrays)
    problem = gnp.composite(gnp.Hadamard(), gnp.L1(b), sensing=gnp.LinearSensing(a))
    return Built(problem, f"{a.shape[1]:,} coefficients, of which {{rank}} are not zero", b)


def _equations(kind: str, arrays: Arrays) -> tuple[Any, Any]:
    a, b = numbers(kind, arrays, "A", 2), numbers(kind, arrays, "b", 1)
    alike(kind, arrays, "A", "b")
    return a, b


def _difference(x: Any) -> Arrays:
    u, v = (np.asarray(each) for each in x)
    return {"x": u * u - v * v}


def _nonzero(x: Any) -> str:
    sizes = np.abs(_difference(x)["x"])
    return f"{int(np.sum(sizes > _ZERO * sizes.max())):,}"


def _example_regression() -> Arrays:
    case = example("regression")
    return {"A": np.asarray(case.problem.map.a), "b": np.asarray(case.problem.penalty.b)}


def _example_sparse() -> Arrays:
    case = example("sparse_recovery", d=60, m=300)
    return {"A": np.asarray(case.problem.sensing.operator.rows), "b": np.asarray(case.problem.penalty.b)}


KINDS["regression"] = Kind(
    holds="A, a row for each datum, and b, the data: Ax ≈ b",
    names=(frozenset({"A", "b"}),),
    build=_regression,
    answer=lambda x: {"x": np.asarray(x)},
    example=_example_regression,
    picture=vectors,
    rank=None,
)
KINDS["sparse_recovery"] = Kind(
    holds="A and b as for regression, for an x most of whose entries are zero; A may have fewer rows than columns",
    names=(frozenset({"A", "b"}),),
    build=_sparse,
    answer=_difference,
    example=_example_sparse,
    picture=vectors,
    rank=None,
    size=_nonzero,
)
