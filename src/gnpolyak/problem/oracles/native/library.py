"""The compiled library: found and loaded once, and what can be said of it."""

from __future__ import annotations

import ctypes
import functools
import os
from dataclasses import dataclass
from pathlib import Path

import jax

from gnpolyak.base import small
from gnpolyak.base.errors import InputError
from gnpolyak.base.numbers import require_whole
from gnpolyak.problem.oracles.native.build import HERE, LIBRARY, NOTE

PASSES, KINDS = ("l1", "forms", "product"), ("f64", "f32", "mixed")
MEASUREMENTS, ENTRY_PASSES = ("power", "bilinear"), ("l1", "values", "product")
TARGETS = (
    *(f"gnpolyak_{family}_{name}_{kind}" for family in MEASUREMENTS for name in PASSES for kind in KINDS),
    *(f"gnpolyak_entries_{name}_{kind}" for name in ENTRY_PASSES for kind in ("f64", "f32")),
    "gnpolyak_read_once",
)
# A library that was compiled before there were these serves without them.
LATER = ("gnpolyak_medians_f64", "gnpolyak_medians_f32")


@dataclass(frozen=True)
class Availability:
    """Whether the fused oracle serves, and why or with what."""

    available: bool
    reason: str
    instruction_set: str | None = None
    threads: int | None = None
    """The limit that was set; None for as many as XLA has, or processors where JAX is not asked."""


def status() -> Availability:
    """Whether the fused CPU oracle is in use, and why."""
    library, reason = serving()
    if library is None:
        return Availability(False, reason)
    limit = library.gnpolyak_get_threads()
    return Availability(True, reason, library.gnpolyak_instruction_set().decode(), limit or None)


def describe() -> dict[str, str]:
    """In words, the ``oracle`` that serves power measurements under L1, and the ``threads`` it may use."""
    return {"oracle": _oracle(status()), "threads": _threads(status())}


def _oracle(state: Availability) -> str:
    if jax.default_backend() != "cpu":
        kernels = small.on_gpu() and small.kernels() is not None
        others = "kernels that read the rows once where they are faster, else " if kernels else ""
        return f"{others}XLA (computing on {jax.default_backend()})"
    if not state.available:
        return f"XLA ({state.reason})"
    return f"fused C++ for {state.instruction_set} ({state.reason})"


def _threads(state: Availability) -> str:
    return f"at most {state.threads}" if state.threads else "as many as XLA has, one a core"


def set_num_threads(count: int | None) -> None:
    """Limit the threads of the fused oracle; None for as many as XLA has.

    The numbers do not depend on it: rows are cut into parts by the problem's shape, and the parts are added in order.
    The environment variable GNPOLYAK_NUM_THREADS sets the limit that a process starts with. Without the compiled
    library this does nothing.
    """
    limit = 0 if count is None else require_whole("count", count, 1, "pass None for as many threads as XLA has")
    library, _ = load()
    if library is not None:
        library.gnpolyak_set_threads(limit)


@functools.cache
def load() -> tuple[ctypes.CDLL | None, str]:
    """The library, or None; and a sentence that says why. JAX has no part in it."""
    if os.environ.get("GNPOLYAK_NATIVE", "1") == "0":
        return None, "switched off by GNPOLYAK_NATIVE=0"
    path = HERE / LIBRARY
    if not path.is_file():
        return None, _why_absent(HERE / NOTE)
    try:
        library = _declared(ctypes.CDLL(str(path)))
    # Whatever is wrong with the file (another platform, say), XLA can serve without it.
    except Exception as error:
        return None, _unusable(error)
    library.gnpolyak_set_threads(_threads_wanted())
    return library, "compiled with the package"


def serving() -> tuple[ctypes.CDLL | None, str]:
    """The library once XLA can call its passes, or None; and a sentence that says why."""
    library, reason = load()
    trouble = None if library is None else _register(library)
    return (library, reason) if trouble is None else (None, trouble)


@functools.cache
def _register(library: ctypes.CDLL) -> str | None:
    """Tell JAX of the passes; what stands against it, in a sentence, or None."""
    try:
        for name in (*TARGETS, *(each for each in LATER if hasattr(library, each))):
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform="cpu")
    # Another XLA than the one that it was compiled for: that serves without it.
    except Exception as error:
        return _unusable(error)
    return None


def _unusable(error: Exception) -> str:
    return f"the compiled library cannot be used here: {str(error).splitlines()[0]}"


def _why_absent(note: Path) -> str:
    if note.is_file():
        return note.read_text(encoding="utf-8").strip()
    return "not compiled: run python -m gnpolyak.problem.oracles.native, or install the package"


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    library.gnpolyak_scratch.argtypes = [ctypes.c_char_p, *[ctypes.c_size_t] * 3, ctypes.c_bool]
    library.gnpolyak_scratch.restype = ctypes.c_size_t
    library.gnpolyak_entries_scratch.argtypes = [ctypes.c_bool, *[ctypes.c_size_t] * 4, *[ctypes.c_bool] * 2]
    library.gnpolyak_entries_scratch.restype = ctypes.c_size_t
    library.gnpolyak_bilinear_scratch.argtypes = [ctypes.c_char_p, *[ctypes.c_size_t] * 4, ctypes.c_bool]
    library.gnpolyak_bilinear_scratch.restype = ctypes.c_size_t
    library.gnpolyak_instruction_set.restype = ctypes.c_char_p
    library.gnpolyak_set_threads.argtypes = [ctypes.c_int]
    library.gnpolyak_get_threads.restype = ctypes.c_int
    return library


def _threads_wanted() -> int:
    text = os.environ.get("GNPOLYAK_NUM_THREADS", "")
    if not text:
        return 0
    count = int(text) if text.isdecimal() else text
    return require_whole("GNPOLYAK_NUM_THREADS", count, 1, "unset it for as many threads as XLA has")


def required() -> ctypes.CDLL:
    """The library, which XLA can call; InputError where there is none."""
    library, reason = serving()
    if library is None:
        raise InputError(
            given="a call of the fused oracle",
            needed="the compiled library",
            missing=reason,
            advice="ask gnpolyak.native.status() first, and use XLA where it says no",
        )
    return library
