"""Where starts run: on the host, in NumPy. They compile nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from gnpolyak.base.streams import reading
from gnpolyak.base.threads import one_lapack_thread

_P = ParamSpec("_P")
_T = TypeVar("_T")


def on_host(start: Callable[_P, _T]) -> Callable[_P, _T]:
    """The start with LAPACK on one thread, and silent about numbers that leave the arithmetic: starts look for them."""

    @wraps(start)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore")
        with one_lapack_thread(compiled=False), reading.many_passes(), quiet:
            return start(*args, **kwargs)

    return run


def wide(array: Any) -> np.ndarray:
    """The array in double precision, real or complex."""
    return np.asarray(array, np.result_type(array.dtype, np.float64))


def of_parts(dtype: np.dtype, *, is_complex: bool) -> np.dtype:
    """The type itself, or the complex one with parts of it."""
    return np.result_type(dtype, np.complex64) if is_complex else dtype


def on_threads(function: Callable[[Any], _T], jobs: Sequence[Any]) -> list[_T]:
    """What a function gives of each job, in their order; many are shared by all cores, which BLAS is not to use."""
    if len(jobs) == 1:
        return [function(jobs[0])]
    with ThreadPoolExecutor(min(len(jobs), cores())) as pool:
        # NumPy's settings are a context's own.
        futures = [pool.submit(copy_context().run, function, job) for job in jobs]
        return [future.result() for future in futures]


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
