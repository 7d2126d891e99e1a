"""The linear map c(x) = Ax."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import jax
import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps.base import Map


class Linear(Map):
    """Linear models, c(x) = Ax for a matrix A of shape (m, d): with the L1 penalty, robust regression.

    The columns of A are the map's Jacobian, so that their conditioning is the metric's to undo. Measurements of an
    image that has structure, of low rank for instance, are a sensing instead.

    Parameters
    ----------
    a : array_like
        The design matrix, real or complex; a column of ones stands for an intercept. The variable may be real or
        complex whatever A is, but only some penalties compare measurements that are complex (`Amplitude`).

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> t = np.arange(6.0)
    >>> y = np.array([1.0, 3.0, 99.0, 7.0, 9.0, 11.0])
    >>> res = gnp.minimize(gnp.composite(gnp.Linear(np.column_stack([t, np.ones(6)])), gnp.L1(y)))
    >>> np.round(res.x, 6)
    array([2., 1.])

    Amplitudes, whose phases were not measured, from the data alone:

    >>> rng = np.random.default_rng(0)
    >>> a = rng.standard_normal((160, 8)) + 1j * rng.standard_normal((160, 8))
    >>> truth = np.arange(8) + 1j
    >>> res = gnp.minimize(gnp.composite(gnp.Linear(a), gnp.Amplitude(abs(a @ truth))))
    >>> np.round(abs(res.x) ** 2, 6)
    array([ 1.,  2.,  5., 10., 17., 26., 37., 50.])
    """

    over_xp: ClassVar[bool] = True
    a: Array

    def __init__(self, a: Any) -> None:
        self.a = arrays.as_array(a, "a")
        if self.a.ndim != 2 or 0 in self.a.shape:
            raise InputError(
                given=f"a of shape {self.a.shape}",
                needed="for Linear, a matrix with a row for each datum and a column for each unknown",
                missing="two dimensions, neither of them empty",
                advice="pass Linear(a) with a of shape (m, d); for one unknown, a[:, None]",
            )

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Map, Any]]:
        yield cls(rng.standard_normal((7, 3))), rng.standard_normal(3)
        # More unknowns than rows, and columns of very different lengths.
        yield cls(rng.standard_normal((3, 5)) * np.logspace(0, -3, 5)), rng.standard_normal(5)
        # Complex rows, of a complex variable and of a real one.
        rows, x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for shape in ((7, 3), 3))
        yield cls(rows), x
        yield cls(rows), x.real

    def check(self, x: Tree) -> None:
        if getattr(x, "shape", None) != (self.a.shape[1],):
            raise InputError(
                given=f"a variable of {'shape ' + str(x.shape) if hasattr(x, 'shape') else type(x).__name__}",
                needed=f"for Linear, a vector of shape ({self.a.shape[1]},)",
                missing="a number for each column of a",
                advice="pass x0 of that shape, or leave it out to begin at zero",
            )

    def image(self, x: Array) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((self.a.shape[0],), np.result_type(self.a.dtype, x.dtype))

    def __call__(self, x: Array) -> Array:
        return self.a @ x

    def linearize(self, x: Array) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        def pull(v: Array) -> Array:
            # The conjugate of aᵀv̄: a copy of a vector, and not of a. A real variable can follow the real part.
            g = (self.a.T @ v.conj()).conj()
            return g if np.iscomplexobj(x) else g.real.copy()

        return lambda z: self.a @ z, pull

    def curvature(self, x: Array, s: Array) -> Array:
        return self.xp.zeros((), s.real.dtype)
