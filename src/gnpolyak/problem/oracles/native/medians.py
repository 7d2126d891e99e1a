"""The medians of many rows at once, where the compiled library has them."""

from __future__ import annotations

import jax
import numpy as np

from gnpolyak.base.namespace import Array
from gnpolyak.problem.oracles.native.library import serving

_KINDS = {np.dtype(np.float64): "f64", np.dtype(np.float32): "f32"}


def finds_medians(dtype: np.dtype) -> bool:
    """Tell whether the library finds medians of such numbers; one that was compiled before there were any does not."""
    library, _ = serving()
    return np.dtype(dtype) in _KINDS and hasattr(library, "gnpolyak_medians_f64")


def medians(rows: Array, counted: Array) -> Array:
    """The upper median of the entries of each row that count, 0 where none does; what is not a number comes last."""
    result = jax.ShapeDtypeStruct(rows.shape[:-1], rows.dtype)
    kind = _KINDS[np.dtype(rows.dtype)]
    return jax.ffi.ffi_call(f"gnpolyak_medians_{kind}", result, vmap_method="broadcast_all")(rows, counted)
