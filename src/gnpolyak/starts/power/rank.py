"""How many factors the data speak for."""

from __future__ import annotations

import numpy as np

from gnpolyak.base.halting import is_hurried, rounds
from gnpolyak.starts.power import core
from gnpolyak.starts.power.measured import Measured, span

# Rounds for matrices, whose fits are cheap and improve by a factor of two, and for tensors.
_ROUNDS = {2: 10, 3: 4, 4: 4}
# Directions of what is unexplained that are taken in each round.
_FRESH = 4
# Eigenvalues below this share of the largest are what a few rounds cannot resolve.
_RESOLVED = 1e-4


def estimate(data: Measured, rng: np.random.Generator) -> tuple[int, np.ndarray]:
    """The rank as `gnpolyak.starts.estimate_rank` describes it, and what the last fit of that rank leaves."""
    most = data.largest_rank()
    basis, residual = data.leading(data.width(2 * _FRESH, 1), rng)[1], data.b
    rank = 1
    for _ in rounds(1 + _ROUNDS[data.n]):
        tensor = data.fit(basis, residual, rng)
        rank = min(steepest(core.spectrum(tensor)), most)
        x = basis @ core.factors(tensor, rank, rng)
        residual, direction = data.residual(x)
        if is_hurried():
            break
        # What a factor moves along cannot show a direction orthogonal to all of them; the moment of the residual can.
        fresh = data.leading(_FRESH, rng, residual)[1]
        basis = span(x, fresh, direction)[:, : data.width(2 * rank + _FRESH, rank)]
    return rank, residual


def steepest(spectrum: np.ndarray) -> int:
    """The k with the largest σ_k / σ_{k+1}; a matrix's negative eigenvalues, which can only be noise, set a floor."""
    if len(spectrum) == 1:
        return 1
    floored = np.maximum(spectrum, max(_RESOLVED * spectrum[0], -spectrum[-1], np.finfo(float).tiny))
    return int(np.argmax(floored[:-1] / floored[1:])) + 1
