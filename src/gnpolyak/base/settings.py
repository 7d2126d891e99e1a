"""JAX's settings inside this library: its own, whatever the user's program has around it.

A user may have JAX stop at every NaN, refuse implicit transfers or mixed types: good habits for code that is being
written, and none of them is meant for a library that looks at NaN itself and knows where its arrays are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax
import numpy as np


@contextmanager
def own_settings(wide: bool) -> Iterator[None]:
    """A block with 64-bit types on or off, for this thread alone, and JAX's other settings as it ships them."""
    with (
        jax.enable_x64(wide),
        jax.transfer_guard("allow"),
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
        jax.debug_nans(False),
        jax.debug_infs(False),
    ):
        yield


@contextmanager
def tracing_in(dtype: np.dtype) -> Iterator[None]:
    """What of `arrays.computing_in` is a thread's own, for threads beside the one that has LAPACK's limit set."""
    with own_settings(dtype == np.float64), jax.default_matmul_precision("highest"):
        yield
