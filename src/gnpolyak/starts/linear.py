"""A start for linear models."""

from __future__ import annotations

import numpy as np

from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Linear
from gnpolyak.problem.penalties import Amplitude
from gnpolyak.problem.sensing import Identity
from gnpolyak.starts.amplitudes import from_amplitudes
from gnpolyak.starts.table import STARTS


@STARTS.register(Linear, Identity)
def linear_model(problem: Composite, *, seed: int = 0) -> np.ndarray:
    """Zero, since a convex problem can be begun anywhere; of amplitudes, which are not, a vector that fits them.

    Parameters
    ----------
    problem : Composite
        Any penalty of a `Linear` map.
    seed : int
        Seed of the few random numbers that `from_amplitudes` uses.

    Returns
    -------
    numpy.ndarray
        Complex where the matrix is.
    """
    if isinstance(problem.map, Linear) and isinstance(problem.penalty, Amplitude):
        return from_amplitudes(problem.map.a, problem.penalty.b, seed=seed)
    return origin(problem)


def origin(problem: Composite) -> np.ndarray:
    """Zero, for a problem of a `Linear` map."""
    assert isinstance(problem.map, Linear)
    return np.zeros(problem.map.a.shape[1], problem.map.a.dtype)
