"""Bilinear measurements of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array
from gnpolyak.base.streams import together
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import BILINEAR_FORMS, Capability
from gnpolyak.problem.maps import LowRank, Map
from gnpolyak.problem.sensing.base import Sensing
from gnpolyak.problem.sensing.power import floating, stored


class BilinearSensing(Sensing):
    """A(M)ᵢ = pᵢᵀ M qᵢ: measurements by matrices of rank one.

    On c(U, V) = UVᵀ this is Σⱼ (pᵢᵀuⱼ)(qᵢᵀvⱼ), and the matrix M is never formed. With rank one it is blind
    deconvolution, bᵢ = ⟨pᵢ, u⟩⟨qᵢ, v⟩. With the L1 penalty, on a CPU, the whole oracle is one pass over the rows in
    compiled C++ (`gnpolyak.native`), where that is installed, and so is a product with the Jacobian and its adjoint.

    Parameters
    ----------
    p : array_like, numpy.memmap or GeneratedRows
        Matrix of shape (m, d₁), one measurement vector a row. As for `PowerSensing` it may be in a file.
    q : array_like, numpy.memmap or GeneratedRows
        Matrix of shape (m, d₂).
    storage : dtype, optional
        As for `PowerSensing`: keep the rows in this dtype whatever the arithmetic is done in.
    """

    over_xp: ClassVar[bool] = True
    needs: ClassVar[Capability] = BILINEAR_FORMS
    p: Array
    q: Array
    storage: np.dtype | None = field(static=True)

    def __init__(self, p: Any, q: Any, storage: Any = None) -> None:
        self.storage = None if storage is None else floating(storage)
        self.p, self.q = (stored(rows, self.storage) for rows in together({"p": p, "q": q}, real=True))
        if (
            self.p.ndim != 2
            or self.q.ndim != 2
            or 0 in (*self.p.shape, *self.q.shape)
            or self.p.shape[0] != self.q.shape[0]
        ):
            raise InputError(
                given=f"p of shape {self.p.shape} and q of shape {self.q.shape}",
                needed="matrices p of shape (m, d₁) and q of shape (m, d₂)",
                missing="as many rows in both, at least one",
                advice="give one row of p and one row of q to each measurement",
            )

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Sensing, Map, Any]]:
        for d1, d2, r in ((5, 4, 2), (9, 3, 1), (2, 11, 7)):
            rows = rng.standard_normal((13, d1)), rng.standard_normal((13, d2))
            yield cls(*rows), LowRank(), (rng.standard_normal((d1, r)), rng.standard_normal((d2, r)))

    def measure(self, c: Map, x: Tree) -> tuple[Array, Callable[[Array], Tree]]:
        return c.bilinear_forms(x, *self._rows(x))

    def push(self, c: Map, x: Tree) -> Callable[[Tree], Array]:
        return c.bilinear_push(x, *self._rows(x))

    def _rows(self, x: Tree) -> tuple[Array, Array]:
        return self.p.astype(x[0].dtype, copy=False), self.q.astype(x[1].dtype, copy=False)

    def block(self, start: int, stop: int, size: int | None = None) -> Self:
        return self.like(lambda rows: arrays.part(rows, start, stop, size))

    def like(self, rows: Callable[[Any], Any]) -> Self:
        return self._with(p=rows(self.p), q=rows(self.q))

    def cast(self, dtype: np.dtype) -> Self:
        return self if self.storage is not None else super().cast(dtype)

    def check(self, x: Tree) -> None:
        given, needed = (x[0].shape[0], x[1].shape[0]), (self.p.shape[1], self.q.shape[1])
        if given != needed:
            raise InputError(
                given=f"factors with {given[0]} and {given[1]} rows and measurement vectors of lengths {needed}",
                needed="measurement vectors as long as the factors' columns",
                missing="equal dimensions d₁ and d₂",
                advice="check that p has shape (m, d₁), q (m, d₂), and x0 is (U, V) with d₁ and d₂ rows",
            )
