"""The search for a dual vector with AJ at hand, on the host: small factorisations, or the l1 problem itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.namespace import svd
from gnpolyak.base.trees import Tree
from gnpolyak.oracles import Oracle
from gnpolyak.solve.dual import CLIP, HOPELESS, MOST_FREED, MOST_ROUNDS, Data, Dual, split, told
from gnpolyak.solve.edges import Edges
from gnpolyak.steps.least_absolute import least_absolute, reach
from gnpolyak.steps.weighted import lengths
from gnpolyak.steps.weights import ROUNDING

_Search = Callable[[np.ndarray, Data, Edges], np.ndarray]


def projected(oracle: Oracle, x: Tree, tol: float) -> Dual:
    """The smallest v on the zero residuals that balances the signs of the others, brought into the box."""
    return _with_the_matrix(oracle, trees.on_host(x), tol, _projected)


def of_the_l1_problem(oracle: Oracle, x: Tree, tol: float) -> Dual:
    """The v of the linearised l1 problem itself; in noise no more residuals are zero than there are variables."""

    # Inside the box to rounding: zero residuals may be anywhere in it.
    def search(even: Any, of: Data, edges: Edges) -> np.ndarray:
        within: Any = None if oracle.box is None else (edges.below, edges.above)
        return np.asarray(least_absolute(np, even, of.r, tilt=oracle.tilt, within=within)[1])

    return _with_the_matrix(oracle, trees.on_host(x), tol, search)


def _with_the_matrix(oracle: Oracle, x: Tree, tol: float, search: _Search) -> Dual:
    """A search with AJ at hand, on the host: its small factorisations would take longer to compile than to run."""
    tilt = oracle.tilt
    with np.errstate(all="ignore"):
        (value, r, _), matrix = oracle.residuals(x), oracle.matrix(x)
        of: Any = split(oracle.reduce, r, value, oracle.data, tilt, tol)
        column: Any = lengths(np, matrix)
        even, flat = matrix / column, oracle.ravel(x)[0]
        edges = _edges(oracle, x, column, of, tol)
        v = search(even, of, edges)
        whole = even.T @ (v if tilt is None else v + tilt)
        g = np.where(edges.held(whole), 0.0, whole)
        signs = np.where(of.zero, 0.0, np.sign(of.r))
        along = max(float(np.max(np.abs(g), initial=0.0)), float(np.finfo(g.dtype).tiny))
        moved, alone = (float(np.linalg.norm(each)) for each in (even @ (g / along), even.T @ signs))
        return told(
            of,
            v=v,
            steps=float(np.sum(np.abs(flat) * np.abs(g) * column)),
            slope=along * float((g / along) @ (g / along)) / moved if moved > 0 else 0.0,
            left=float(np.linalg.norm(g)) / alone if alone > 0 else 0.0,
            edge=edges.left(whole),
            products=1,
            sees=bool(np.any(even)),
        )


def _edges(oracle: Oracle, x: Tree, column: np.ndarray, of: Data, tol: float) -> Edges:
    """The bounds, at which a variable is if the way there is no more to the data than a zero residual is."""
    within: Any = reach(oracle, x)
    endless = np.full(column.shape, np.inf)
    below, above = (-endless, endless) if within is None else (within[0] * column, within[1] * column)
    least = max(ROUNDING * float(np.finfo(of.r.dtype).eps), tol)
    return Edges(below, above, least * float(of.unit) * of.r.size**0.5)


def _projected(even: np.ndarray, of: Data, edges: Edges) -> np.ndarray:
    """A v that balances the variables inside the box, and those at a bound that it would otherwise push inwards."""
    balanced = ~edges.at_bound
    for _ in range(MOST_FREED):
        v = _balanced_on(even[:, balanced], of)
        inwards = ~balanced & ~edges.held(even.T @ v)
        if not inwards.any():
            break
        balanced |= inwards
    return v


def _balanced_on(even: np.ndarray, of: Data) -> np.ndarray:
    """Projections on the balanced v and on the box in turn, by a factorisation of the rows of the zero residuals."""
    zero, r = np.asarray(of.zero), np.asarray(of.r)
    kept, v = even[zero], np.where(zero, 0.0, np.sign(r))
    if not kept.size:
        return v
    q, triangle = np.linalg.qr(kept)
    left, values, right = svd(np, triangle)
    seen = values > len(values) * np.finfo(even.dtype).eps * np.max(values, initial=0.0)
    basis = (q @ left[:, : len(values)])[:, seen] / values[seen]
    for _ in range(MOST_ROUNDS):
        v[zero] = np.clip(v[zero], -CLIP, CLIP)
        # Twice, so that rounding in the first correction is taken out by the second.
        for _ in range(2):
            v[zero] -= basis @ (right[: len(values)][seen] @ (even.T @ v))
        if np.max(np.abs(v)) <= 1 or np.max(np.abs(v)) >= HOPELESS:
            break
    return v
