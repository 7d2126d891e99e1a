"""The paper's centred power measurements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from jax import Array

from gnpolyak.arrays import as_real_array
from gnpolyak.errors import InputError
from gnpolyak.maps.base import Map
from gnpolyak.sensing.base import Sensing


class PowerSensing(Sensing):
    """A(M)ᵢ = M(pᵢ^⊗n) − M(qᵢ^⊗n), the centred measurements of the paper's Section 5.

    On c(X) = Σ xⱼ^⊗n this is Σⱼ (pᵢᵀxⱼ)ⁿ − (qᵢᵀxⱼ)ⁿ: two products with X, whatever n.

    Parameters
    ----------
    p, q : array_like
        Matrices of shape (m, d), one measurement vector a row.
    """

    needs: ClassVar[str] = "power_forms"
    p: Array
    q: Array

    def __init__(self, p: Any, q: Any) -> None:
        self.p = as_real_array(p, "p")
        self.q = as_real_array(q, "q")
        if self.p.ndim != 2 or self.p.shape != self.q.shape:
            raise InputError(
                given=f"p of shape {self.p.shape} and q of shape {self.q.shape}",
                needed="two matrices of one shape (m, d)",
                missing="equal two-dimensional shapes",
                advice="give one row of p and one row of q to each measurement",
            )

    def measure(self, c: Map, x: Array) -> tuple[Array, Callable[[Array], Array]]:
        plus, pull_plus = c.power_forms(x, self.p)
        minus, pull_minus = c.power_forms(x, self.q)
        return plus - minus, lambda v: pull_plus(v) - pull_minus(v)

    def check(self, x: Array) -> None:
        if x.shape[0] != self.p.shape[1]:
            raise InputError(
                given=f"a variable with {x.shape[0]} rows and measurement vectors of length {self.p.shape[1]}",
                needed="measurement vectors as long as the variable's columns",
                missing="equal dimensions d",
                advice="check that p and q have shape (m, d) and x0 has shape (d, r)",
            )
