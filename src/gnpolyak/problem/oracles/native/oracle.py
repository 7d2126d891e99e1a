"""The compiled library: found and loaded once, called as a JAX function, and a row of the table of kernels."""

from __future__ import annotations

import ctypes
import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from gnpolyak.base.errors import InputError
from gnpolyak.base.numbers import require_whole
from gnpolyak.problem.maps import SymmetricCP
from gnpolyak.problem.oracles.native.build import HERE, LIBRARY, NOTE
from gnpolyak.problem.oracles.table import KERNELS, Kernel
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import PowerSensing

# Stored and computed dtypes → the kernel that serves them.
_KINDS = {
    (np.dtype(np.float64), np.dtype(np.float64)): "f64",
    (np.dtype(np.float32), np.dtype(np.float32)): "f32",
    (np.dtype(np.float32), np.dtype(np.float64)): "mixed",
}
TARGETS = ("gnpolyak_power_l1_f64", "gnpolyak_power_l1_f32", "gnpolyak_power_l1_mixed", "gnpolyak_read_once")


@dataclass(frozen=True)
class Availability:
    """Whether the fused oracle serves, and why or with what."""

    available: bool
    reason: str
    instruction_set: str | None = None
    threads: int | None = None
    """The limit that was set; None for as many as XLA has."""


def status() -> Availability:
    """Whether the fused CPU oracle is in use, and why."""
    library, reason = load()
    if library is None:
        return Availability(False, reason)
    limit = library.gnpolyak_get_threads()
    return Availability(True, reason, library.gnpolyak_instruction_set().decode(), limit or None)


def describe() -> dict[str, str]:
    """In words, the ``oracle`` that serves power measurements under L1, and the ``threads`` it may use."""
    return {"oracle": _oracle(status()), "threads": _threads(status())}


def _oracle(state: Availability) -> str:
    if jax.default_backend() != "cpu":
        return f"XLA (computing on {jax.default_backend()}; the fused oracle is for CPUs)"
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
    """The library, or None; and a sentence that says why."""
    if os.environ.get("GNPOLYAK_NATIVE", "1") == "0":
        return None, "switched off by GNPOLYAK_NATIVE=0"
    path = HERE / LIBRARY
    if not path.is_file():
        return None, _why_absent(HERE / NOTE)
    try:
        library = _declared(ctypes.CDLL(str(path)))
        for name in TARGETS:
            jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(library, name)), platform="cpu")
    # Whatever is wrong with the file (another platform, another XLA), XLA can serve without it.
    except Exception as error:
        return None, f"the compiled library cannot be used here: {str(error).splitlines()[0]}"
    library.gnpolyak_set_threads(_threads_wanted())
    return library, "compiled with the package"


def _why_absent(note: Path) -> str:
    if note.is_file():
        return note.read_text(encoding="utf-8").strip()
    return "not compiled: run python -m gnpolyak.problem.oracles.native, or install the package"


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    library.gnpolyak_scratch.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t]
    library.gnpolyak_scratch.restype = ctypes.c_size_t
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
    """The library; InputError where there is none."""
    library, reason = load()
    if library is None:
        raise InputError(
            given="a call of the fused oracle",
            needed="the compiled library",
            missing=reason,
            advice="ask gnpolyak.native.status() first, and use XLA where it says no",
        )
    return library


def supports(rows: Array, others: Array, x: Array, b: Array) -> bool:
    """Tell whether the fused oracle can serve rows and arithmetic of these dtypes on a CPU of this process."""
    known = (np.dtype(rows.dtype), np.dtype(x.dtype)) in _KINDS and b.dtype == x.dtype and others.dtype == rows.dtype
    library, _ = load()
    return known and library is not None and rows.shape[1] > 0 and x.shape[1] > 0


def power_l1(p: Array, q: Array, b: Array, x: Array, n: int) -> tuple[Array, Array]:
    """f = Σᵢ |Σⱼ (pᵢᵀxⱼ)ⁿ − (qᵢᵀxⱼ)ⁿ − bᵢ| and one of its subgradients, in one pass over the rows.

    Parameters
    ----------
    p, q : Array
        Rows of shape (m, d).
    b : Array
        Data of shape (m,).
    x : Array
        The factors, of shape (d, r).
    n : int
        The order, at least 2.

    Returns
    -------
    value : Array
        f, a scalar.
    subgradient : Array
        Of the shape of x, for the element sign(·) of ∂|·| with sign(0) = 0.
    """
    kind = _KINDS[np.dtype(p.dtype), np.dtype(x.dtype)]
    library = required()
    # The room for partial sums is a result rather than an allocation, so that XLA reuses it from one step to the next.
    room = library.gnpolyak_scratch(kind.encode(), *p.shape, x.shape[1])
    shapes = [jax.ShapeDtypeStruct(shape, x.dtype) for shape in ((), x.shape, (room,))]
    call = jax.ffi.ffi_call(f"gnpolyak_power_l1_{kind}", shapes, vmap_method="sequential")
    value, subgradient, _ = call(p, q, b, x, n=np.int64(n))
    return value, subgradient


def read_once(p: Array, q: Array) -> Array:
    """A number that depends on every byte of p and q, as fast as memory delivers them: the floor of any oracle."""
    required()
    call = jax.ffi.ffi_call("gnpolyak_read_once", jax.ShapeDtypeStruct((), jnp.float64))
    return call(p, q)


class PowerL1(Kernel):
    """One pass over the rows p and q in C++ on a CPU; XLA wherever else the program is sent."""

    def serves(self, c: Any, sensing: Any, penalty: Any, x: Array) -> bool:
        return sensing.q is not None and supports(sensing.p, sensing.q, x, penalty.b)

    def evaluate(self, c: Any, sensing: Any, penalty: Any, x: Array) -> tuple[Array, Array]:
        return _fused(sensing, c, penalty, x)


def _plain(sensing: PowerSensing, c: SymmetricCP, penalty: L1, x: Array) -> tuple[Array, Array]:
    z, pullback = sensing.measure(c, x)
    return penalty.value(z), pullback(penalty.subgradient(z))


@jax.custom_jvp
def _fused(sensing: PowerSensing, c: SymmetricCP, penalty: L1, x: Array) -> tuple[Array, Array]:
    assert sensing.q is not None
    q = sensing.q
    # One trace serves every device: which branch is compiled is decided where the program is sent.
    return lax.platform_dependent(
        cpu=lambda: power_l1(sensing.p, q, penalty.b, x, c.n),
        default=lambda: _plain(sensing, c, penalty, x),
    )


@_fused.defjvp
def _fused_jvp(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    # The kernel has no derivative of its own; who differentiates the oracle gets XLA's.
    return jax.jvp(_plain, primals, tangents)


KERNELS.register(SymmetricCP, PowerSensing, L1)(PowerL1())
