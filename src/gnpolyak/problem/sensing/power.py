"""Power measurements, plain and centred as in the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.measurements import Layout
from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array
from gnpolyak.base.streams import Streamed, together
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import POWER_FORMS, Capability
from gnpolyak.problem.maps import Hermitian, Map, SymmetricCP
from gnpolyak.problem.sensing.base import Sensing
from gnpolyak.problem.sensing.isotropy import roots

# Of eight binary digits, which ±1 and small whole numbers need no more of.
_NARROW = np.dtype(jnp.bfloat16)


class PowerSensing(Sensing):
    """A(M)ᵢ = M(pᵢ^⊗n) − M(qᵢ^⊗n), the centred measurements of the paper's Section 5, or M(pᵢ^⊗n) without q.

    On c(X) = Σ xⱼ^⊗n this is Σⱼ (pᵢᵀxⱼ)ⁿ − (qᵢᵀxⱼ)ⁿ: two products with X, whatever n. With the L1 penalty, on a CPU,
    the whole oracle is one pass over the rows in compiled C++ (`gnpolyak.native`), where that is installed, and so is
    a product with the Jacobian and its adjoint. On a GPU a kernel does the same, where it is faster than XLA.

    On c(X) = XXᴴ, complex, it is Σⱼ |pᵢᵀxⱼ|² − |qᵢᵀxⱼ|²: the squared lengths of the rows of PX, where P is the matrix
    that is multiplied by. For |pᵢᴴxⱼ|² give its conjugate.

    Parameters
    ----------
    p : array_like, numpy.memmap or GeneratedRows
        Matrix of shape (m, d), one measurement vector a row; complex ones only for a complex variable. A memory-mapped
        file stays on the disk, and is read block by block in every pass: see `GeneratedRows` for rows that are nowhere.
    q : array_like, optional
        A second matrix of the same shape; without it the measurements are not centred.
    storage : dtype, optional
        Keep the rows in this dtype whatever the arithmetic is done in. ``numpy.float32`` halves the memory and nearly
        halves the time of an iteration. Each row is widened as it is read, so the result is exact, the same as with
        float64 rows, whenever the rows are float32 numbers to begin with: measured in single precision, small integers,
        ±1. Other rows are rounded once, here: that is a problem with slightly other measurement vectors, solved in full
        precision, and b has to be measured with those. By default the rows follow the dtype of the problem.
        ``jax.numpy.bfloat16``, for real rows, takes a quarter of the memory: it is exact for ±1 and for other numbers
        of at most eight binary digits, and rounds others in the third decimal one. Where XLA serves, which for bfloat16
        it does on every CPU, all rows are widened at once in each call, and memory is saved only between calls.
    """

    over_xp: ClassVar[bool] = True
    needs: ClassVar[Capability] = POWER_FORMS
    p: Array
    q: Array | None
    storage: np.dtype | None = field(static=True)

    def __init__(self, p: Any, q: Any | None = None, storage: Any = None) -> None:
        self.storage = None if storage is None else floating(storage, _NARROW)
        self.p, self.q = (stored(rows, self.storage) for rows in together({"p": p, "q": q}, spare="q"))
        if self.p.ndim != 2 or 0 in self.p.shape or (self.q is not None and self.p.shape != self.q.shape):
            raise InputError(
                given=f"p of shape {self.p.shape}" + ("" if self.q is None else f" and q of shape {self.q.shape}"),
                needed="a matrix p of shape (m, d), and a q of the same shape or none",
                missing="equal two-dimensional shapes, not empty",
                advice="give one row of p, and one row of q if there is a q, to each measurement",
            )

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Sensing, Map, Any]]:
        for n, centred in ((2, True), (3, True), (2, False), (4, False)):
            p, q = rng.standard_normal((2, 11, 4))
            yield cls(p, q if centred else None), SymmetricCP(n), rng.standard_normal((4, 2))
        for centred in (True, False):
            p, q, x = (rng.standard_normal((k, 4)) + 1j * rng.standard_normal((k, 4)) for k in (11, 11, 2))
            yield cls(p, q if centred else None), Hermitian(), x.T

    def measure(self, c: Map, x: Array) -> tuple[Array, Callable[[Array], Array]]:
        plus, pull_plus = c.power_forms(x, self.p.astype(x.dtype, copy=False))
        if self.q is None:
            return plus, pull_plus
        minus, pull_minus = c.power_forms(x, self.q.astype(x.dtype, copy=False))
        return plus - minus, lambda v: pull_plus(v) - pull_minus(v)

    def push(self, c: Map, x: Array) -> Callable[[Array], Array]:
        plus = c.power_push(x, self.p.astype(x.dtype, copy=False))
        if self.q is None:
            return plus
        minus = c.power_push(x, self.q.astype(x.dtype, copy=False))
        return lambda z: plus(z) - minus(z)

    def whitened(self) -> Sensing:
        found = roots(self.rows())
        return self if found is None else Whitened(self, *map(jax.device_put, found))

    def block(self, start: int, stop: int, size: int | None = None) -> Self:
        return self.like(lambda rows: arrays.part(rows, start, stop, size))

    def like(self, rows: Callable[[Any], Any]) -> Self:
        return self._with(p=rows(self.p), q=None if self.q is None else rows(self.q))

    def rows(self) -> list[Array]:
        """P, and Q where there is one."""
        return [self.p] if self.q is None else [self.p, self.q]

    def cast(self, dtype: np.dtype) -> Self:
        return self if self.storage is not None else super().cast(dtype)

    def computable(self) -> PowerSensing:
        """The same with rows in a dtype that sums can be taken in, for whoever computes with them as they are."""
        if self.p.dtype != _NARROW:
            return self
        return PowerSensing(*arrays.cast(self.rows(), np.dtype(np.float32)))

    def check(self, x: Array) -> None:
        if any(map(np.iscomplexobj, self.rows())) and not np.iscomplexobj(x):
            raise InputError(
                given="complex measurement vectors for a real variable",
                needed="a complex variable, as Hermitian has, or real measurement vectors",
                missing="a real number for each measurement of a real power",
                advice="take the map Hermitian() and a complex x0",
            )
        if x.shape[0] != self.p.shape[1]:
            raise InputError(
                given=f"a variable with {x.shape[0]} rows and measurement vectors of length {self.p.shape[1]}",
                needed="measurement vectors as long as the variable's columns",
                missing="equal dimensions d",
                advice="check that p (and q) have shape (m, d) and x0 has shape (d, r)",
            )


class Whitened(Sensing):
    """Power measurements whose rows are not isotropic, in the variable Y = Σ^½ X in which they are.

    The metric of a map knows nothing of A. That is no loss where A treats all directions alike, as rows with
    independent entries do. Rows of covariance Σ do not; but on Y they act like rows of covariance I, and so Y is what
    is solved for. No row is changed or copied.
    """

    over_xp: ClassVar[bool] = True
    needs: ClassVar[Capability] = POWER_FORMS
    rows: Any
    """The measurements of X."""
    root: Array
    """Σ^½."""
    inverse: Array
    """Σ^(−½)."""

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Sensing, Map, Any]]:
        root = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5
        rows = PowerSensing(*rng.standard_normal((2, 11, 4)))
        yield cls(rows, *map(arrays.placed, (root, np.linalg.inv(root)))), SymmetricCP(3), rng.standard_normal((4, 2))

    @property
    def label(self) -> str:
        return self.rows.label

    @property
    def spread(self) -> Layout | None:
        return self.rows.spread

    def into(self, x: Array) -> Array:
        """Y of X."""
        return self.root @ x

    def back(self, y: Array) -> Array:
        """X of Y."""
        return self.inverse @ y

    def measure(self, c: Map, x: Tree) -> tuple[Array, Callable[[Array], Tree]]:
        z, pull = self.rows.measure(c, self.back(x))
        return z, lambda v: self.back(pull(v))

    def push(self, c: Map, x: Tree) -> Callable[[Tree], Array]:
        along = self.rows.push(c, self.back(x))
        return lambda z: along(self.back(z))

    def block(self, start: int, stop: int, size: int | None = None) -> Self:
        return self._with(rows=self.rows.block(start, stop, size))

    def cast(self, dtype: np.dtype) -> Self:
        return type(self)(self.rows.cast(dtype), *arrays.cast((self.root, self.inverse), dtype))

    def check(self, x: Array) -> None:
        self.rows.check(x)


def floating(storage: Any, *narrow: np.dtype) -> np.dtype:
    """The dtype that rows are to be stored in: one of these two, or one of the narrow ones that are allowed."""
    try:
        dtype = np.dtype(storage)
    except TypeError:
        dtype = np.dtype(object)
    if dtype not in (np.float32, np.float64, *narrow):
        raise InputError(
            given=f"storage={shown(storage)}",
            needed=" or ".join(["numpy.float32", "numpy.float64", *(f"jax.numpy.{each}" for each in narrow)]),
            missing="a floating type the rows can be kept in",
            advice="leave storage out to follow the dtype of the problem",
        )
    return dtype


def stored(rows: Any, storage: np.dtype | None) -> Any:
    """The rows in the dtype that they are to be kept in."""
    if storage is None or rows is None:
        return rows
    if isinstance(rows, Streamed):
        if rows.dtype == storage:
            return rows
        raise InputError(
            given=f"storage={storage} for {rows.name}, rows that are streamed",
            needed="the type that they are stored in",
            missing=f"it: that is {rows.dtype}, and rows are read as they are",
            advice="leave storage out",
        )
    if storage == _NARROW and jnp.iscomplexobj(rows):
        raise InputError(
            given=f"complex measurement vectors and storage={storage}",
            needed="real measurement vectors, or a wider storage",
            missing="a complex dtype with such parts",
            advice="take storage=numpy.float32, which keeps them as complex64",
        )
    kept = arrays.cast(rows, storage)
    if not arrays.is_traced(kept) and not np.all(np.isfinite(np.asarray(kept))):
        raise InputError(
            given=f"measurement vectors p or q with numbers beyond {storage}",
            needed="rows that the storage can hold",
            missing="the largest of them, which become infinite",
            advice="scale the rows and the data, or leave storage out",
        )
    return kept
