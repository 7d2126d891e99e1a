"""Products of linear measurements: matrix sensing, and blind deconvolution."""

from __future__ import annotations

from typing import Any

import numpy as np

import gnpolyak as gnp
from gnpolyak.cli.solve.classes.matrices import factors
from gnpolyak.cli.solve.kinds import KINDS, Arrays, Built, Kind, alike, enough, example, numbers
from gnpolyak.cli.solve.pictures import factor, vectors


def _matrix(arrays: Arrays) -> Built:
    problem, (d1, d2) = _sensed("bilinear_sensing", arrays)
    return Built(problem, f"a {d1:,}×{d2:,} matrix of rank {{rank}}", arrays["b"])


def _signals(arrays: Arrays) -> Built:
    problem, (d1, d2) = _sensed("blind_deconvolution", arrays)
    return Built(problem, f"two signals of {d1:,} and {d2:,} numbers, up to their scale", arrays["b"])


def _sensed(kind: str, arrays: Arrays) -> tuple[gnp.Composite, tuple[int, int]]:
    p, q = (numbers(kind, arrays, name, 2) for name in ("p", "q"))
    b = numbers(kind, arrays, "b", 1)
    alike(kind, arrays, "p", "q", "b")
    shape = p.shape[1], q.shape[1]
    enough(kind, len(b), sum(shape) - 1)
    return gnp.composite(gnp.LowRank(), gnp.L1(b), sensing=gnp.BilinearSensing(p, q)), shape


def _pair(x: Any) -> Arrays:
    u, v = (np.asarray(each)[:, 0] for each in x)
    return {"w": u, "x": v}


def _example(name: str, **settings: Any) -> Arrays:
    case = example(name, **settings)
    sensing = case.problem.sensing
    return {"p": np.asarray(sensing.p), "q": np.asarray(sensing.q), "b": np.asarray(case.problem.penalty.b)}


KINDS["bilinear_sensing"] = Kind(
    holds="p and q, a row of each for a measurement, and b, the measurements pᵀMq of a matrix M of low rank",
    names=(frozenset({"p", "q", "b"}),),
    build=_matrix,
    answer=factors,
    example=lambda: _example("bilinear_sensing", d1=20, d2=25, r=2),
    picture=factor,
)
KINDS["blind_deconvolution"] = Kind(
    holds="p and q, a row of each for a measurement, and b, the measurements (pᵀw)(qᵀx) of two signals",
    names=(frozenset({"p", "q", "b"}),),
    build=_signals,
    answer=_pair,
    example=lambda: _example("blind_deconvolution", d=30),
    picture=vectors,
    rank=1,
)
