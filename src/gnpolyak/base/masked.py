"""Arrays of NumPy some entries of which are masked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.base.numbers import counted


def require_unmasked(value: Any, name: str) -> None:
    """Raise InputError for a value with masked entries."""
    # What is under a mask is no measurement, and NumPy hands it on without a word.
    hidden = sum(int(np.ma.count_masked(each)) for each in _masked(value))
    if hidden:
        raise InputError(
            given=f"{name} with {counted(hidden, 'masked entry', 'masked entries')}",
            needed="a number in each entry",
            missing="those under the mask",
            advice=f"pass the entries that are there, {name}.compressed(), and measure only those: by an index in the "
            "model, or by a sensing that picks them out of the image",
        )


def _masked(value: Any) -> Iterator[np.ma.MaskedArray]:
    """The masked arrays in a value, which may be a list of them."""
    if isinstance(value, np.ma.MaskedArray):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _masked(each)
