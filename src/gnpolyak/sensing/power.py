"""Power measurements, plain and centred as in the paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from jax import Array

from gnpolyak.arrays import as_real_array
from gnpolyak.errors import InputError
from gnpolyak.maps.base import Map
from gnpolyak.sensing.base import Sensing


class PowerSensing(Sensing):
    """A(M)ᵢ = M(pᵢ^⊗n) − M(qᵢ^⊗n), the centred measurements of the paper's Section 5, or M(pᵢ^⊗n) without q.

    On c(X) = Σ xⱼ^⊗n this is Σⱼ (pᵢᵀxⱼ)ⁿ − (qᵢᵀxⱼ)ⁿ: two products with X, whatever n.

    Parameters
    ----------
    p : array_like
        Matrix of shape (m, d), one measurement vector a row.
    q : array_like, optional
        A second matrix of the same shape; without it the measurements are not centred.
    """

    needs: ClassVar[str] = "power_forms"
    p: Array
    q: Array | None

    def __init__(self, p: Any, q: Any | None = None) -> None:
        self.p = as_real_array(p, "p")
        self.q = None if q is None else as_real_array(q, "q")
        if self.p.ndim != 2 or (self.q is not None and self.p.shape != self.q.shape):
            raise InputError(
                given=f"p of shape {self.p.shape}" + ("" if self.q is None else f" and q of shape {self.q.shape}"),
                needed="a matrix p of shape (m, d), and a q of the same shape or none",
                missing="equal two-dimensional shapes",
                advice="give one row of p, and one row of q if there is a q, to each measurement",
            )

    def measure(self, c: Map, x: Array) -> tuple[Array, Callable[[Array], Array]]:
        plus, pull_plus = c.power_forms(x, self.p)
        if self.q is None:
            return plus, pull_plus
        minus, pull_minus = c.power_forms(x, self.q)
        return plus - minus, lambda v: pull_plus(v) - pull_minus(v)

    def check(self, x: Array) -> None:
        if x.shape[0] != self.p.shape[1]:
            raise InputError(
                given=f"a variable with {x.shape[0]} rows and measurement vectors of length {self.p.shape[1]}",
                needed="measurement vectors as long as the variable's columns",
                missing="equal dimensions d",
                advice="check that p (and q) have shape (m, d) and x0 has shape (d, r)",
            )
