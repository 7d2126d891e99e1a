"""A start for linear models."""

from __future__ import annotations

import numpy as np

from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Linear
from gnpolyak.problem.sensing import Identity
from gnpolyak.starts.table import STARTS


@STARTS.register(Linear, Identity)
def origin(problem: Composite) -> np.ndarray:
    """Zero: a convex problem can be begun anywhere."""
    assert isinstance(problem.map, Linear)
    return np.zeros(problem.map.a.shape[1], problem.map.a.dtype)
