"""One factor more, from what the others leave unexplained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hermitian, SymmetricCP
from gnpolyak.problem.sensing import PowerSensing
from gnpolyak.starts.host import on_host, wide
from gnpolyak.starts.power import core
from gnpolyak.starts.power.given import measured
from gnpolyak.starts.table import LARGER

# Directions in which the new factor is looked for: the moment of what is left shows it among the first.
_FRESH = 4


@LARGER.register(SymmetricCP, PowerSensing)
@LARGER.register(Hermitian, PowerSensing)
@on_host
def larger(problem: Composite, x: np.ndarray, *, seed: int = 0) -> np.ndarray | None:
    """X with one column more, the factor that explains most of b − A(c(X)) in the l1 sense.

    A small factor, which the data do not show beside large ones, is what their residuals show when those are fitted.

    Parameters
    ----------
    problem : Composite
        As for `spectral`.
    x : ndarray
        Factors that do not explain the data.
    seed : int
        Seed of the few random numbers used.

    Returns
    -------
    numpy.ndarray or None
        X of shape (d, r + 1), in the problem's floating type; None where that rank is too large for the data.
    """
    data, dtype = measured(problem)
    if x.shape[1] + 1 > data.largest_rank():
        return None
    data, rng = data.isotropic(), np.random.default_rng(seed)
    left = data.residual(data.into(wide(x)))[0]
    fresh = data.leading(_FRESH, rng, left)[1]
    tensor = replace(data, b=left).fit(fresh, left, rng)
    column = data.back(fresh @ core.factors(tensor, 1, rng))
    return arrays.cast(np.column_stack([x, column]), dtype)
