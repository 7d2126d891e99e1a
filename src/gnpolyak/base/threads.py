"""LAPACK on one thread: the small factorisations of a step gain nothing from more, and lose everything to spinning.

OpenBLAS's threads wait for each other by spinning. Beside XLA's own threads, or on cores that others use too, a QR of
2,000×100 numbers that takes 5 ms then takes half a second.
"""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def one_lapack_thread() -> AbstractContextManager[Any]:
    """A block in which BLAS and LAPACK libraries use one thread; XLA's matrix products keep theirs."""
    controller = _controller()
    return nullcontext() if controller is None else controller.limit(limits=1, user_api="blas")


@functools.cache
def _controller() -> Any:
    """The libraries of this process, looked up once; None where threadpoolctl is not installed."""
    try:
        # JAX takes its LAPACK from SciPy's: loaded here, so that it is found.
        import scipy.linalg  # noqa: F401
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
