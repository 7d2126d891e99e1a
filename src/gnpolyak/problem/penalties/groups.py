"""Sums of the norms of groups of residuals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import jax
import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array, sums
from gnpolyak.base.numbers import is_whole
from gnpolyak.problem.penalties.base import Penalty
from gnpolyak.problem.penalties.norms import Norm, lengths


class L21(Norm):
    """Sums of Euclidean norms, h(z) = Σ_g ‖(z − b)_g‖₂: a group of data is right or wrong as a whole.

    The subgradient is (z − b)_g/‖(z − b)_g‖₂ on each group, and 0 on one whose residuals are all zero.

    Parameters
    ----------
    b : array_like
        The data.
    axis : int or tuple of int
        The axes along which a norm is taken: with -1, the default, each row is a group; with (-2, -1), each matrix.
    groups : array_like of int, optional
        Instead of an axis, a label for each datum, of the shape of b: data of one label are a group.
    """

    over_xp: ClassVar[bool] = True
    axis: tuple[int, ...] = field(static=True)
    labels: Array | None
    """From 0 on, flat."""
    count: int = field(static=True)
    """How many labels there are."""

    def __init__(self, b: Any, axis: int | tuple[int, ...] = -1, groups: Any | None = None) -> None:
        super().__init__(b)
        self.axis = _axes(axis, self.b.ndim) if groups is None else ()
        self.labels, self.count = (None, 0) if groups is None else _labels(groups, self.b.shape)

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Penalty, tuple[int, ...]]]:
        yield cls(rng.standard_normal((3, 2, 2)), axis=(1, 2)), (3, 2, 2)
        yield cls(rng.standard_normal(7), groups=[3, 1, 3, 3, 9, 1, 1]), (7,)

    def value(self, z: Array) -> Array:
        residual = z - self.b
        return (lengths(self.xp, residual, self.axis) if self.labels is None else self._norms(residual)).sum()

    def subgradient(self, z: Array) -> Array:
        residual = z - self.b
        if self.labels is None:
            norms = lengths(self.xp, residual, self.axis)
        else:
            norms = self._norms(residual)[self.labels].reshape(z.shape)
        return residual / self.xp.where(norms == 0, 1.0, norms)

    def _norms(self, residual: Array) -> Array:
        """That of each label; scaled by the group's largest entry, as `lengths` is."""
        assert self.labels is not None
        flat = residual.ravel()
        largest = _largest(self.xp, abs(flat), self.labels, self.count)
        safe = self.xp.where(largest == 0, 1.0, largest)
        squares = sums(self.xp, (flat / safe[self.labels]) ** 2, self.labels, self.count)
        return largest * self.xp.sqrt(squares)


def _largest(xp: Any, sizes: Array, labels: Array, count: int) -> Array:
    """The largest number of each label; a group is never empty, so that none is the maximum of nothing."""
    if xp is not np:
        return jax.ops.segment_max(sizes, labels, count)
    largest: Any = np.zeros(count, sizes.dtype)
    np.maximum.at(largest, labels, sizes)
    return largest


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    given = axis if isinstance(axis, tuple) else (axis,)
    valid = all(is_whole(each, -ndim) and each < ndim for each in given)
    if not valid or len({int(each) % ndim for each in given}) < max(len(given), 1):
        raise InputError(
            given=f"axis={shown(axis)} for data with {ndim} axes",
            needed="an axis of b, or a tuple of different ones",
            missing="axes along which the data can be grouped",
            advice="pass axis=-1 for rows, or groups=labels for any other grouping",
        )
    return tuple(sorted(int(each) % ndim for each in given))


def _labels(groups: Any, shape: tuple[int, ...]) -> tuple[Array, int]:
    labels = arrays.as_indices(groups, "groups")
    if labels.shape != shape or labels.dtype.kind not in "iu":
        raise InputError(
            given=f"groups of shape {labels.shape} and dtype {labels.dtype} for data of shape {shape}",
            needed="a whole number for each datum, which says what group it is in",
            missing="equal shapes" if labels.shape != shape else "labels that are whole numbers",
            advice="pass whole numbers like b, such as numpy.repeat(numpy.arange(3), 4) for three groups of four",
        )
    names, places = np.unique(labels, return_inverse=True)
    return arrays.on_device(places.ravel(), np.int32), names.size
