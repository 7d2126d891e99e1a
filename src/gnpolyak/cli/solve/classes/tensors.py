"""Tensors from their own entries: CP and Tucker decompositions."""

from __future__ import annotations

from typing import Any

import numpy as np

import gnpolyak as gnp
from gnpolyak.cli.solve.kinds import KINDS, Arrays, Built, Kind, example, indices, numbers, wrong
from gnpolyak.cli.solve.pictures import slices


def _cp(arrays: Arrays) -> Built:
    t = _tensor("tensor_decomposition", arrays)
    return Built(gnp.composite(gnp.CP(), gnp.L1(t)), f"a {_shape(t.shape)} tensor of {{rank}} terms", t)


def _tucker(arrays: Arrays) -> Built:
    t = _tensor("tucker", arrays)
    ranks = tuple(indices("tucker", arrays, "ranks").tolist()) if "ranks" in arrays else None
    return Built(gnp.composite(gnp.Tucker(), gnp.L1(t)), f"a {_shape(t.shape)} tensor of ranks {{rank}}", t, rank=ranks)


def _tensor(kind: str, arrays: Arrays) -> Any:
    t = arrays["T"]
    if t.ndim < 3 or min(t.shape) < 2:
        raise wrong(kind, f"T has shape {t.shape}", "save an array of three axes or more, of two entries or more each")
    if t.dtype.kind == "f" and np.isnan(t).any():
        advice = "fill them in; only matrices are completed, --kind matrix_completion"
        raise wrong(kind, f"{int(np.isnan(t).sum()):,} of the {t.size:,} entries of T are NaN", advice)
    return numbers(kind, arrays, "T", t.ndim)


def _shape(sides: tuple[int, ...]) -> str:
    return "×".join(f"{side:,}" for side in sides)


def _terms(x: Any) -> Arrays:
    return {f"factor{k}": np.asarray(a) for k, a in enumerate(x)}


def _parts(x: Any) -> Arrays:
    return {"core": np.asarray(x[0])} | _terms(x[1])


def _data(name: str, **settings: Any) -> Arrays:
    return {"T": np.asarray(example(name, shape=(16, 14, 12), **settings).problem.penalty.b)}


KINDS["tensor_decomposition"] = Kind(
    holds="T, an array of three axes or more with some entries wrong: a sum of few products of vectors",
    names=(frozenset({"T"}),),
    build=_cp,
    answer=_terms,
    example=lambda: _data("tensor_decomposition", r=3),
    picture=slices,
)
KINDS["tucker"] = Kind(
    holds="T as for tensor_decomposition: a small core times a matrix along each axis; and ranks, if they are known",
    names=(frozenset({"T"}),),
    optional=frozenset({"ranks"}),
    build=_tucker,
    answer=_parts,
    example=lambda: _data("tucker", ranks=(2, 3, 2)),
    picture=slices,
    size=lambda x: _shape(np.asarray(x[0]).shape),
)
