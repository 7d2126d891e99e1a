"""LAPACK on one thread: the small factorisations of a step gain nothing from more, and lose everything to spinning.

OpenBLAS's threads wait for each other by spinning. Beside XLA's own threads, or on cores that others use too, a QR of
2,000×100 numbers that takes 5 ms then takes half a second.
"""

from __future__ import annotations

import functools
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def one_lapack_thread(*, compiled: bool = True) -> AbstractContextManager[Any]:
    """A block in which BLAS and LAPACK libraries use one thread; XLA's matrix products keep theirs.

    Compiled programs take their LAPACK from SciPy's. To load that takes a quarter of a second, which `compiled` false
    saves where there is only NumPy's to be kept from spinning.
    """
    controller = _controller(compiled or "scipy.linalg" in sys.modules)
    return nullcontext() if controller is None else controller.limit(limits=1, user_api="blas")


@functools.cache
def _controller(with_scipy: bool) -> Any:
    """The libraries of this process, looked up once for each answer; None where threadpoolctl is not installed."""
    try:
        if with_scipy:
            import scipy.linalg  # noqa: F401
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()
