"""A CP tensor from its entries, and one term more."""

from __future__ import annotations

import numpy as np

from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.numbers import is_whole
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import CP
from gnpolyak.problem.sensing import Entries, Identity
from gnpolyak.starts.host import on_host
from gnpolyak.starts.table import LARGER, STARTS
from gnpolyak.starts.tensor import terms
from gnpolyak.starts.tensor.cleaned import cleaned, cut, estimated
from gnpolyak.starts.tensor.seen import Seen

# What is left is cut at two standard deviations, by its median: the remains of an outlier are no larger than signal.
_CUT = 2 * 1.4826
# Residuals of this many units of the data's rounding are none.
_ROUNDING = 1e3


@STARTS.register(CP, Entries)
@STARTS.register(CP, Identity)
@on_host
def cp(problem: Composite, rank: int | str = "auto", *, seed: int = 0) -> Tree:
    """The factors of a tensor of data of which a minority is anything.

    The data are brought to a tensor of multilinear rank (r, r, …) as `cleaned` does, whose small core is taken apart by
    simultaneous diagonalisation; where fewer than two dimensions are as large as r, term by term.

    Parameters
    ----------
    problem : Composite
        A penalty of residuals (L1) of all or some entries of a `CP` tensor.
    rank : int or "auto"
        The number of terms, or as many as the data speak for.
    seed : int
        Seed of the few random numbers used.

    Returns
    -------
    tuple of numpy.ndarray
        In the problem's floating type.
    """
    t = Seen.of(problem)
    if not isinstance(rank, str) and not is_whole(rank, 1):
        raise InputError(
            given=f"rank={shown(rank)}",
            needed="a whole number of terms of at least 1, or 'auto'",
            missing="a valid rank",
            advice="leave it at 'auto' if it is not known",
        )
    found = estimated(t) if isinstance(rank, str) else cleaned(t, tuple(min(int(rank), d) for d in t.shape))
    r = max(found.core.shape) if isinstance(rank, str) else int(rank)
    rng = np.random.default_rng(seed)
    square = len(t.shape) > 2 and sum(d == r for d in found.core.shape) >= 2
    small = terms.diagonalised(found.core, r, rng) if square else terms.greedy(found.core, r, rng)
    factors = terms.balanced(tuple(a @ b for a, b in zip(found.factors, small, strict=True)))
    return tuple(np.ascontiguousarray(a, t.dtype) for a in factors)


@LARGER.register(CP, Entries)
@LARGER.register(CP, Identity)
@on_host
def larger(problem: Composite, x: Tree, *, seed: int = 0) -> Tree | None:
    """The factors with one term more: the leading one of the residuals, cut at two standard deviations.

    Parameters
    ----------
    problem : Composite
        As for `cp`.
    x : tuple of ndarray
        Factors that do not explain the data.
    seed : int
        Seed of the few random numbers used.

    Returns
    -------
    tuple of numpy.ndarray or None
        In the problem's floating type; None where nothing is left to explain.
    """
    t = Seen.of(problem)
    factors = tuple(np.asarray(a, np.float64) for a in x)
    left = t.left(terms.composed(factors))
    size = float(np.median(np.abs(left)))
    if size <= _ROUNDING * float(np.finfo(t.dtype).eps) * float(np.median(np.abs(t.data))):
        return None
    term = terms.leading_term(t.spread(cut(left, _CUT * size)), np.random.default_rng(seed))
    return tuple(np.column_stack([a, v]).astype(t.dtype) for a, v in zip(factors, term, strict=True))
