"""A start for linear measurements of which only the sizes are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Hermitian, SymmetricCP
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import PowerSensing
from gnpolyak.starts.power.spectral import spectral


def from_amplitudes(rows: Any, b: Any, *, seed: int = 0) -> np.ndarray:
    """A vector x₀ with |Px₀| near the amplitudes b, up to its sign or phase, for the penalty `Amplitude`.

    ``composite(Linear(rows), Amplitude(b))`` is begun with it by itself; this is for models of one's own.

    The squares of amplitudes are power measurements of xxᵀ, or of xxᴴ, for which there is `spectral`. A negative
    datum, which no amplitude is, stays negative, and is known for an outlier by that.

    Parameters
    ----------
    rows : array_like
        The matrix P of shape (m, d), real or complex.
    b : array_like
        The amplitudes, with gross outliers among them.
    seed : int
        Seed of the few random numbers used.

    Returns
    -------
    numpy.ndarray
        x₀ of shape (d,), complex where the rows are.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> rows = np.random.default_rng(0).standard_normal((160, 10))
    >>> b = np.abs(rows @ np.arange(10.0))
    >>> problem = gnp.composite(lambda x, rows: rows @ x, gnp.Amplitude(b), args=(rows,))
    >>> res = gnp.minimize(problem, gnp.starts.from_amplitudes(rows, b))
    >>> np.round(np.abs(res.x), 6)
    array([0., 1., 2., 3., 4., 5., 6., 7., 8., 9.])
    """
    rows, data = arrays.as_array(rows, "rows"), np.asarray(arrays.as_real_array(b, "b"))
    squares: Any = np.sign(data) * data**2
    c = Hermitian() if np.iscomplexobj(rows) else SymmetricCP(2)
    return spectral(Composite(c, L1(squares), PowerSensing(rows)), rank=1, seed=seed)[:, 0]
