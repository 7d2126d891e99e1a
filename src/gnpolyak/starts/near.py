"""A start around a known truth, as in the paper's experiments."""

from __future__ import annotations

import numpy as np


def near(truth: np.ndarray, radius: float, rng: np.random.Generator) -> np.ndarray:
    """A point at distance radius·‖truth‖ from the truth, in a random direction (the paper's initialisation)."""
    direction = rng.standard_normal(truth.shape)
    if np.iscomplexobj(truth):
        direction = direction + 1j * rng.standard_normal(truth.shape)
    return truth + radius * np.linalg.norm(truth) * direction / np.linalg.norm(direction)
