"""Any linear measurements of an image: a matrix, a sparse matrix, or two functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, ClassVar, Self

import jax
import numpy as np

from gnpolyak.base import arrays, failures, tracing
from gnpolyak.base.data import Data, Function
from gnpolyak.base.errors import InputError
from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array, Portable, sums
from gnpolyak.base.streams import Streamed, together
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps import Hermitian, LowRank, Map, SymmetricCP
from gnpolyak.problem.sensing.base import Sensing


class Matrix(Portable):
    """A as an array, one row a measurement."""

    over_xp: ClassVar[bool] = True
    rows: Array

    def block(self, start: int, stop: int, size: int | None) -> Matrix:
        """Some of the rows, and rows of zeros."""
        return Matrix(arrays.part(self.rows, start, stop, size))

    def __call__(self, image: Array) -> Array:
        return self.rows @ image.ravel()

    def adjoint(self, image: Array, v: Array) -> Array:
        """Aᴴv, raveled. The vector is conjugated and not the rows, of which there would be a copy."""
        return (v.conj() @ self.rows).conj()


class Sparse(Portable):
    """A as its entries that are not zero, ordered by rows: on a GPU as on a CPU, that is all JAX needs."""

    over_xp: ClassVar[bool] = True
    row: Array
    column: Array
    entry: Array
    m: int = field(static=True)

    def block(self, start: int, stop: int, size: int | None) -> Sparse:
        """Some of the rows, and rows of zeros."""
        first, last = np.searchsorted(np.asarray(self.row), [start, stop])
        row, column, entry = (arrays.part(each, first, last) for each in (self.row, self.column, self.entry))
        return Sparse(row - np.int32(start), column, entry, stop - start if size is None else size)

    def filled(self, entries: int) -> Sparse:
        """With zeros in the last row, up to so many entries."""
        more = entries - len(self.row)
        row = np.concatenate([self.row, np.full(more, self.m - 1, np.int32)])
        column, entry = (arrays.part(each, 0, len(each), entries) for each in (self.column, self.entry))
        return Sparse(arrays.part(row, 0, entries), column, entry, self.m)

    def __call__(self, image: Array) -> Array:
        if self.xp is np:
            return self._compressed(image.size) @ image.ravel()
        terms = self.entry * image.ravel()[self.column]
        return jax.ops.segment_sum(terms, self.row, self.m, indices_are_sorted=True)

    def adjoint(self, image: Array, v: Array) -> Array:
        """Aᴴv, raveled."""
        if self.xp is np:
            return (self._compressed(image.size).T @ v.conj()).conj()
        return sums(self.xp, self.entry.conj() * v[self.row], self.column, image.size)

    def _compressed(self, size: int) -> Any:
        """The matrix as SciPy has it, made once for images of a size: its products are those of compiled loops."""
        if size not in self._made:
            # Many problems do without SciPy, and it takes long to import.
            from scipy.sparse import csr_array  # noqa: PLC0415

            starts = np.searchsorted(np.asarray(self.row), np.arange(self.m + 1)).astype(np.int32)
            self._made[size] = csr_array((self.entry, self.column, starts), (self.m, size))
        return self._made[size]

    @cached_property
    def _made(self) -> dict[int, Any]:
        return {}


class Pair(Portable):
    """A and its adjoint as functions. Neither is differentiated: A is its own derivative."""

    forward: Function
    adjoint: Function

    def __call__(self, image: Array) -> Array:
        return _forward(self.forward, image)


@jax.custom_jvp
def _forward(forward: Function, image: Array) -> Array:
    return forward(image)


@_forward.defjvp
def _along(primals: tuple[Function, Array], tangents: tuple[Function, Array]) -> tuple[Array, Array]:
    forward, image = primals
    return forward(image), forward(tangents[1])


class LinearSensing(Sensing):
    """A(M) = A·vec(M), any linear measurements of the image of any map that can form one.

    Parameters
    ----------
    A : array_like, sparse matrix or pair of functions
        One of

        - an array of shape (m, size of the image) or (m, *shape of the image), a row for each measurement, which meets
          the image in the order of ``numpy.ravel``; as for `PowerSensing` it may be in a file, or a `GeneratedRows`;
        - a matrix of ``scipy.sparse`` of shape (m, size of the image), of which only the entries are stored;
        - ``(forward, adjoint)``, functions that JAX can trace: from an image to its measurements, and from numbers like
          these to an array like the image. The two must be adjoint, ⟨forward(M), v⟩ = ⟨M, adjoint(v)⟩ for all M and v:
          `gnpolyak.diagnostics.check_adjoint` and `gnpolyak.testing.check_sensing` tell. Arrays that they capture are
          read at each solve, as they are then.

        Numbers in A may be complex, and so may the image. Measurements that are complex then need a penalty that takes
        such (`Amplitude`).

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> sums = gnp.LinearSensing((lambda image: image.sum(axis=0), lambda v: v * np.ones((2, 1))))
    >>> problem = gnp.composite(lambda x: x**2, gnp.L1(np.array([5.0])), sensing=sums)
    >>> gnp.minimize(problem, np.array([[1.0], [2.5]])).success
    True
    """

    over_xp: ClassVar[bool] = True
    operator: Matrix | Sparse | Pair
    shape: tuple[int, ...] | None = field(static=True)
    """That of an image; its size alone where A was a matrix, and None where it is the functions' affair."""

    def __init__(self, A: Any) -> None:  # noqa: N803
        self.operator, self.shape = _operator(A)

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Sensing, Map, Tree]]:
        x = rng.standard_normal((4, 2)), rng.standard_normal((3, 2))
        yield cls(rng.standard_normal((9, 12))), LowRank(), x
        yield cls(rng.standard_normal((7, 4, 4))), SymmetricCP(2), x[0]
        rows = rng.standard_normal((5, 4))
        yield cls((lambda m: rows.astype(m.dtype) @ m, lambda v: rows.T.astype(v.dtype) @ v)), LowRank(), x
        # Complex rows of a complex image, and of a real one.
        turned = rng.standard_normal((9, 16)) + 1j * rng.standard_normal((9, 16))
        yield cls(turned), Hermitian(), x[0] + 1j * x[0][::-1]
        yield cls(turned), SymmetricCP(2), x[0]

    @property
    def label(self) -> str:
        kind = {Matrix: "matrix", Sparse: "sparse", Pair: "functions"}[type(self.operator)]
        return f"LinearSensing({kind})"

    def apply(self, image: Array) -> Array:
        self._check_image(image)
        return self.operator(image)

    def adjoint(self, image: Array, v: Array) -> Array:
        if isinstance(self.operator, Pair):
            back = self.operator.adjoint(v)
        else:
            back = self.operator.adjoint(image, v).reshape(image.shape)
        # Of a complex Aᵀv, what a real image can follow.
        return (back if self.xp.iscomplexobj(image) else back.real).astype(image.dtype)

    def block(self, start: int, stop: int, size: int | None = None) -> Sensing:
        if isinstance(self.operator, Pair):
            return super().block(start, stop, size)
        return self._with(operator=self.operator.block(start, stop, size))

    def like(self, rows: Callable[[Any], Any]) -> Sensing:
        if not isinstance(self.operator, Matrix):
            return super().like(rows)
        return self._with(operator=self.operator._with(rows=rows(self.operator.rows)))

    @property
    def entries(self) -> int:
        return self.operator.row.size if isinstance(self.operator, Sparse) else 0

    def filled(self, entries: int) -> Self:
        if not isinstance(self.operator, Sparse):
            return self
        return self._with(operator=self.operator.filled(entries))

    def _check_image(self, image: Array) -> None:
        shape = image.shape
        if isinstance(self.operator, Pair):
            _check_pair(self.operator, jax.ShapeDtypeStruct(shape, image.dtype))
        elif self.shape not in (shape, (math.prod(shape),)):
            raise InputError(
                given=f"a matrix for images of {_told(self.shape)} and an image of shape {shape}",
                needed="a column of A for each entry of the image",
                missing="equal shapes",
                advice="give A the shape (m, *image.shape), or (m, image.size) for the raveled image",
            )

    def settled(self, at: Tree) -> Self:
        if not isinstance(self.operator, Pair):
            return self
        forward = tracing.settled(self.operator.forward, at)
        try:
            adjoint = tracing.settled(self.operator.adjoint, jax.eval_shape(forward, at))
        except Exception:
            # Functions that JAX cannot trace are for `check` to name.
            return self
        return self._with(operator=Pair(forward, adjoint))


def _operator(given: Any) -> tuple[Matrix | Sparse | Pair, tuple[int, ...] | None]:
    if hasattr(given, "tocoo"):
        return _sparse(given)
    if isinstance(given, (tuple, list)) and len(given) == 2 and all(map(callable, given)):
        none = Data.of(())
        return Pair(Function(given[0], none), Function(given[1], none)), None
    if callable(given):
        raise InputError(
            given="one function for A",
            needed="a pair (forward, adjoint)",
            missing="the adjoint",
            advice="pass (forward, lambda v: jax.linear_transpose(forward, image)(v)[0])",
        )
    (rows,) = together({"A": given})
    if rows.ndim < 2 or 0 in rows.shape:
        raise InputError(
            given=f"A of shape {rows.shape}",
            needed="an array of shape (m, size of the image) or (m, *shape of the image)",
            missing="an axis for the measurements before those of the image, none of them empty",
            advice="pass A[None] for a single measurement",
        )
    return Matrix(_flat(rows)), rows.shape[1:]


def _flat(rows: Any) -> Any:
    if rows.ndim == 2:
        return rows
    if isinstance(rows, Streamed):
        return rows.flat()
    flat = arrays.at_hand(rows).reshape(rows.shape[0], -1)
    return arrays.adopt(flat) if isinstance(flat, np.ndarray) else flat


def _sparse(given: Any) -> tuple[Sparse, tuple[int, ...]]:
    if len(given.shape) != 2 or 0 in given.shape:
        raise InputError(
            given=f"a sparse A of shape {given.shape}",
            needed="a matrix of shape (m, size of the image)",
            missing="two axes, neither of them empty",
            advice="pass a scipy.sparse matrix with a row for each measurement",
        )
    entries = given.tocoo()
    # A matrix's row and col; both SciPy's matrices and its arrays of two dimensions have them.
    row, column = np.asarray(entries.row), np.asarray(entries.col)
    order = np.lexsort((column, row))
    places = [arrays.on_device(each[order], np.int32) for each in (row, column)]
    numbers = arrays.as_array(np.asarray(entries.data)[order], "A")
    return Sparse(places[0], places[1], numbers, int(entries.shape[0])), (int(entries.shape[1]),)


def _check_pair(pair: Pair, image: jax.ShapeDtypeStruct) -> None:
    """Raise InputError unless the adjoint gives an array like the image."""
    z = failures.returned(pair.forward, image)
    failures.require_array("the function A", z)
    back = failures.returned(pair.adjoint, z)
    failures.require_array("the adjoint of A", back)
    if back.shape != image.shape:
        raise InputError(
            given=f"an adjoint that returns shape {back.shape} for images of shape {image.shape}",
            needed="an array like the image from the adjoint",
            missing="equal shapes",
            advice="⟨forward(M), v⟩ = ⟨M, adjoint(v)⟩ for all M and v: see gnpolyak.diagnostics.check_adjoint",
        )


def _told(shape: tuple[int, ...] | None) -> str:
    return f"{shape[0]} entries" if shape is not None and len(shape) == 1 else f"shape {shape}"
