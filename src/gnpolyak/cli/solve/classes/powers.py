"""Squares and higher powers of linear measurements: phase retrieval, and the paper's tensor sensing."""

from __future__ import annotations

from typing import Any

import numpy as np

import gnpolyak as gnp
from gnpolyak.cli.solve.kinds import KINDS, Arrays, Built, Kind, alike, enough, example, numbers, whole, wrong
from gnpolyak.cli.solve.pictures import factor, vectors

_HIGHEST_ORDER = 8


def _phases(arrays: Arrays) -> Built:
    kind = "phase_retrieval"
    p, b = numbers(kind, arrays, "p", 2, may_be_complex=True), numbers(kind, arrays, "b", 1)
    alike(kind, arrays, "p", "b")
    enough(kind, *p.shape)
    c: gnp.Map = gnp.Hermitian() if np.iscomplexobj(p) else gnp.SymmetricCP(2)
    sort, unknown = ("complex numbers", "phase") if np.iscomplexobj(p) else ("numbers", "sign")
    problem = gnp.composite(c, gnp.L1(b), sensing=gnp.PowerSensing(p))
    return Built(problem, f"a vector of {p.shape[1]:,} {sort}, up to its {unknown}", b)


def _tensor(arrays: Arrays) -> Built:
    kind = "tensor_sensing"
    p, b = numbers(kind, arrays, "p", 2), numbers(kind, arrays, "b", 1)
    q = numbers(kind, arrays, "q", 2) if "q" in arrays else None
    n = whole(kind, arrays, "n", 2, _HIGHEST_ORDER) if "n" in arrays else 2
    alike(kind, arrays, *({"p", "q", "b"} & set(arrays)))
    if q is not None and q.shape != p.shape:
        raise wrong(kind, f"p has shape {p.shape} and q {q.shape}", "save them alike, or leave out q")
    enough(kind, *p.shape)
    problem = gnp.composite(gnp.SymmetricCP(n), gnp.L1(b), sensing=gnp.PowerSensing(p, q))
    what = f"a symmetric {p.shape[1]:,}×{p.shape[1]:,} matrix" if n == 2 else f"a symmetric tensor of order {n}"
    return Built(problem, what + " of rank {rank}", b)


def _example_phases() -> Arrays:
    case = example("phase_retrieval", d=30)
    return {"p": np.asarray(case.problem.sensing.p), "b": np.asarray(case.problem.penalty.b)}


def _example_tensor() -> Arrays:
    case = example("tensor_sensing", d=20, r=2, p_fail=0.1)
    rows: Any = case.problem.sensing
    parts = {"p": np.asarray(rows.p), "q": np.asarray(rows.q), "b": np.asarray(case.problem.penalty.b)}
    return parts | {"n": np.asarray(2)}


KINDS["phase_retrieval"] = Kind(
    holds="p, a row for each measurement, real or complex, and b, the measurements |pᵀx|²",
    names=(frozenset({"p", "b"}),),
    build=_phases,
    answer=lambda x: {"x": np.asarray(x)[:, 0]},
    example=_example_phases,
    picture=vectors,
    rank=1,
)
KINDS["tensor_sensing"] = Kind(
    holds="p, and q unless it is zero, a row of each for a measurement Σⱼ (pᵀxⱼ)ⁿ − (qᵀxⱼ)ⁿ in b, and the order n",
    names=(frozenset({"p", "b"}),),
    optional=frozenset({"q", "n"}),
    build=_tensor,
    answer=lambda x: {"X": np.asarray(x)},
    example=_example_tensor,
    picture=factor,
)
