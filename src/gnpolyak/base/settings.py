"""JAX's settings inside this library: its own, whatever the user's program has around it.

A user may have JAX stop at every NaN, refuse implicit transfers or mixed types: good habits for code that is being
written, and none of them is meant for a library that looks at NaN itself and knows where its arrays are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

import jax
import numpy as np

# Each setting, the values under which this library computes as it should, and what brings such a value about.
_SETTINGS: tuple[tuple[str, tuple[Any, ...], Callable[[], AbstractContextManager[Any]]], ...] = (
    *(
        (f"jax_transfer_guard_{way}", (None, "allow"), lambda: jax.transfer_guard("allow"))
        for way in ("host_to_device", "device_to_device", "device_to_host")
    ),
    ("jax_numpy_dtype_promotion", ("standard",), lambda: jax.numpy_dtype_promotion("standard")),
    ("jax_numpy_rank_promotion", ("allow",), lambda: jax.numpy_rank_promotion("allow")),
    ("jax_debug_nans", (False,), lambda: jax.debug_nans(False)),
    ("jax_debug_infs", (False,), lambda: jax.debug_infs(False)),
)


def _setting(name: str) -> Any:
    """A setting as it is in this thread."""
    return getattr(jax.config, name)


@contextmanager
def own_settings(wide: bool) -> Iterator[None]:
    """A block with 64-bit types on or off, for this thread alone, and JAX's other settings as it ships them.

    To look at a setting takes a fraction of a microsecond, and to change it ten: only what differs is changed.
    """
    with ExitStack() as stack:
        for name, wanted, changed in _SETTINGS:
            if _setting(name) not in wanted:
                stack.enter_context(changed())
        if _setting("jax_enable_x64") != wide:
            stack.enter_context(jax.enable_x64(wide))
        yield


@contextmanager
def tracing_in(dtype: np.dtype) -> Iterator[None]:
    """What of `arrays.computing_in` is a thread's own, for threads beside the one that has LAPACK's limit set."""
    precise = _setting("jax_default_matmul_precision") == "highest"
    with own_settings(dtype == np.float64), nullcontext() if precise else jax.default_matmul_precision("highest"):
        yield
