"""A start around a known truth, as in the paper's experiments."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.base.numbers import is_real, require_positive


def near(truth: Any, radius: float, rng: np.random.Generator) -> np.ndarray:
    """A point at distance radius·‖truth‖ from the truth, in a random direction (the paper's initialisation)."""
    truth = np.asarray(arrays.as_array(truth, "truth"))
    if not is_real(radius) or radius < 0:
        require_positive("radius", radius, "pass the distance from the truth, relative to its size, such as 0.1")
    if not isinstance(rng, np.random.Generator):
        raise InputError(
            given=f"rng of type {type(rng).__name__}",
            needed="a NumPy generator",
            missing="the stream of random numbers",
            advice="pass numpy.random.default_rng(seed)",
        )
    direction = rng.standard_normal(truth.shape)
    if np.iscomplexobj(truth):
        direction = direction + 1j * rng.standard_normal(truth.shape)
    return truth + radius * np.linalg.norm(truth) * direction / np.linalg.norm(direction)
