"""The passes on NumPy arrays, called straight from Python: the bits of the JAX functions, without JAX.

They share threads of the library's own, at most as many as there are processors that the process may run on and as
`set_num_threads` allows. They may be called from several Python threads at once, and in a child of ``os.fork()``. Where
`available` says no, they raise InputError.

Arrays are read as they lie in memory. One that does not lie row by row, or is of another dtype than the arithmetic, is
copied first. Rows p and q have a dtype of their own, which with that of x, or w, must be among `KERNEL_KINDS`.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.problem.oracles.native.calls import KERNEL_KINDS
from gnpolyak.problem.oracles.native.library import load

Pair = tuple[np.ndarray, np.ndarray]

# The arguments of each function of the library: at an (a)ddress, a (s)ize, an (o)rder.
_ARGUMENTS = {
    "power_l1": "aaaa" + "sss" + "o" + "a",
    "power_forms": "aaa" + "sss" + "o" + "aa",
    "power_product": "aaaaa" + "sss" + "aa",
    "bilinear_l1": "aaaaa" + "ssss" + "aa",
    "bilinear_forms": "aaaa" + "ssss" + "aa",
    "bilinear_product": "aaaaaa" + "ssss" + "aaa",
    "entries_l1": "aaaass" + "aaa" + "sss" + "aa",
    "entries_values": "aaaass" + "aa" + "sss" + "a",
    "entries_product": "aaaass" + "aaaaa" + "sss" + "aaa",
    "medians": "aa" + "ss" + "a",
}
_TYPES: dict[str, Any] = {"a": ctypes.c_void_p, "s": ctypes.c_size_t, "o": ctypes.c_int}
_INT32 = np.dtype(np.int32)


class NumpySweep(NamedTuple):
    """A `Sweep` whose arrays are NumPy's, int32 and contiguous: what the passes over entries take.

    Anything with these fields serves. Nothing is converted in a call, and no index is looked at: each must be that of a
    row of its factor, and each part a range of the entries.
    """

    major: np.ndarray
    minor: np.ndarray
    order: np.ndarray
    bounds: np.ndarray
    transposed: bool


def numpy_sweep(sweep: Any) -> NumpySweep:
    """A copy of a sweep in NumPy arrays, to be made once and kept."""
    # Copies, since the arrays that JAX lends cannot be written to, and of such the address takes longer to get.
    major, minor, order, bounds = (
        np.array(each, _INT32, order="C") for each in (sweep.major, sweep.minor, sweep.order, sweep.bounds)
    )
    return NumpySweep(major, minor, order, bounds, bool(sweep.transposed))


def available() -> bool:
    """Whether there is a library with these functions; one that was compiled before there were any has none."""
    library, _ = load()
    return hasattr(library, "gnpolyak_c_medians_f64")


def power_l1(p: np.ndarray, q: np.ndarray | None, b: np.ndarray, x: np.ndarray, n: int) -> tuple[Any, np.ndarray]:
    """f = Σᵢ |Σⱼ (pᵢᵀxⱼ)ⁿ − (qᵢᵀxⱼ)ⁿ − bᵢ|, a NumPy scalar, and a subgradient like x: `calls.power_l1`."""
    (m, d), r, dtype = p.shape, x.shape[1], x.dtype
    call = _call("power_l1", p.dtype, dtype)
    p, b, x = _taken(p, p.dtype, m, d), _taken(b, dtype, m), _taken(x, dtype, d, r)
    q = None if q is None else _taken(q, p.dtype, m, d)
    gradient = np.empty(_filled(d, r), dtype)
    value = call(_at(p), _at(q), _at(b), _at(x), m, d, r, int(n), _at(gradient))
    return dtype.type(value), gradient


def power_forms(p: np.ndarray, q: np.ndarray | None, x: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Σⱼ (pᵢᵀxⱼ)ⁿ − (qᵢᵀxⱼ)ⁿ for each row i, and the slopes that `power_product` takes: `calls.power_forms`."""
    (m, d), r, dtype = p.shape, x.shape[1], x.dtype
    call = _call("power_forms", p.dtype, dtype)
    p, x = _taken(p, p.dtype, m, d), _taken(x, dtype, *_filled(d, r))
    q = None if q is None else _taken(q, p.dtype, m, d)
    values, slopes = np.empty(m, dtype), np.empty((1 if q is None else 2, m, r), dtype)
    call(_at(p), _at(q), _at(x), m, d, r, int(n), _at(values), _at(slopes))
    return values, slopes


def power_product(
    p: np.ndarray, q: np.ndarray | None, slopes: np.ndarray, z: np.ndarray | None, w: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray]:
    """AJz and (AJ)ᵀ(w ⊙ AJz) in one pass, or None and (AJ)ᵀw without z: `calls.power_product`."""
    (m, d), r, dtype = p.shape, slopes.shape[2], w.dtype
    call = _call("power_product", p.dtype, dtype)
    p, w = _taken(p, p.dtype, m, d), _taken(w, dtype, m)
    q = None if q is None else _taken(q, p.dtype, m, d)
    slopes = _taken(slopes, dtype, 1 if q is None else 2, m, r)
    z = None if z is None else _taken(z, dtype, d, r)
    pushed, pulled = None if z is None else np.empty(m, dtype), np.empty(_filled(d, r), dtype)
    call(_at(p), _at(q), _at(slopes), _at(z), _at(w), m, d, r, _at(pushed), _at(pulled))
    return pushed, pulled


def bilinear_l1(p: np.ndarray, q: np.ndarray, b: np.ndarray, x: Pair) -> tuple[Any, Pair]:
    """f = Σᵢ |Σⱼ (pᵢᵀuⱼ)(qᵢᵀvⱼ) − bᵢ|, a NumPy scalar, and a subgradient like x: `bilinear.bilinear_l1`."""
    (m, d1), d2, r, dtype = p.shape, q.shape[1], x[0].shape[1], x[1].dtype
    call = _call("bilinear_l1", p.dtype, dtype)
    p, q, b = _taken(p, p.dtype, m, d1), _taken(q, p.dtype, m, d2), _taken(b, dtype, m)
    u, v = _taken(x[0], dtype, d1, r), _taken(x[1], dtype, d2, r)
    gu, gv = np.empty(_filled(d1, r), dtype), np.empty(_filled(d2, r), dtype)
    value = call(_at(p), _at(q), _at(b), _at(u), _at(v), m, d1, d2, r, _at(gu), _at(gv))
    return dtype.type(value), (gu, gv)


def bilinear_forms(p: np.ndarray, q: np.ndarray, x: Pair) -> tuple[np.ndarray, np.ndarray]:
    """Σⱼ (pᵢᵀuⱼ)(qᵢᵀvⱼ) for each row i, and the slopes (2, m, r): `bilinear.bilinear_forms`."""
    (m, d1), d2, r, dtype = p.shape, q.shape[1], x[0].shape[1], x[1].dtype
    call = _call("bilinear_forms", p.dtype, dtype)
    p, q = _taken(p, p.dtype, m, d1), _taken(q, p.dtype, m, d2)
    u, v = _taken(x[0], dtype, *_filled(d1, r)), _taken(x[1], dtype, *_filled(d2, r))
    values, slopes = np.empty(m, dtype), np.empty((2, m, r), dtype)
    call(_at(p), _at(q), _at(u), _at(v), m, d1, d2, r, _at(values), _at(slopes))
    return values, slopes


def bilinear_product(
    p: np.ndarray, q: np.ndarray, slopes: np.ndarray, z: Pair | None, w: np.ndarray
) -> tuple[np.ndarray | None, Pair]:
    """AJz and (AJ)ᵀ(w ⊙ AJz) in one pass, or None and (AJ)ᵀw without z: `bilinear.bilinear_product`."""
    (m, d1), d2, r, dtype = p.shape, q.shape[1], slopes.shape[2], w.dtype
    call = _call("bilinear_product", p.dtype, dtype)
    p, q, w = _taken(p, p.dtype, m, d1), _taken(q, p.dtype, m, d2), _taken(w, dtype, m)
    slopes = _taken(slopes, dtype, 2, m, r)
    zu, zv = (None, None) if z is None else (_taken(z[0], dtype, d1, r), _taken(z[1], dtype, d2, r))
    pushed = None if z is None else np.empty(m, dtype)
    gu, gv = np.empty(_filled(d1, r), dtype), np.empty(_filled(d2, r), dtype)
    sizes = m, d1, d2, r
    call(_at(p), _at(q), _at(slopes), _at(zu), _at(zv), _at(w), *sizes, _at(pushed), _at(gu), _at(gv))
    return pushed, (gu, gv)


def entries_l1(sweep: NumpySweep, b: np.ndarray, x: Pair) -> tuple[Any, Pair]:
    """f = Σₖ |(UVᵀ)[iₖ, jₖ] − bₖ|, a NumPy scalar, and a subgradient like x.

    Parameters
    ----------
    sweep : NumpySweep
        The entries: see there for what is not checked.
    b : ndarray
        The data, one an entry.
    x : pair of ndarray
        The factors U and V, of shapes (d₁, r) and (d₂, r), float64 or float32.
    """
    (u, v), entries = _turned(sweep, x), _entries(sweep)
    dtype, sizes = v.dtype, (u.shape[0], v.shape[0], v.shape[1])
    call = _call("entries_l1", dtype, dtype)
    u, v, b = _factor(u, sizes, 0, dtype), _factor(v, sizes, 1, dtype), _taken(b, dtype, sweep.major.size)
    gu, gv = np.empty(u.shape, dtype), np.empty(v.shape, dtype)
    value = call(*entries, _at(u), _at(v), _at(b), *sizes, _at(gu), _at(gv))
    return dtype.type(value), _turned(sweep, (gu, gv))


def entries_values(sweep: NumpySweep, x: Pair, count: int) -> np.ndarray:
    """The entries of UVᵀ as `count` data, with zeros for those that are not among the entries."""
    (u, v), entries = _turned(sweep, x), _entries(sweep)
    dtype, sizes = v.dtype, (u.shape[0], v.shape[0], v.shape[1])
    call = _call("entries_values", dtype, dtype)
    u, v, values = _factor(u, sizes, 0, dtype), _factor(v, sizes, 1, dtype), _data(sweep, count, dtype)
    call(*entries, _at(u), _at(v), *sizes, _at(values))
    return values


def entries_product(sweep: NumpySweep, x: Pair, z: Pair | None, w: np.ndarray) -> tuple[np.ndarray | None, Pair]:
    """AJz at x and (AJ)ᵀ(w ⊙ AJz) in one pass, or None and (AJ)ᵀw without z; w has a weight for each entry."""
    (u, v), entries, dtype = _turned(sweep, x), _entries(sweep), w.dtype
    sizes = u.shape[0], v.shape[0], v.shape[1]
    call = _call("entries_product", dtype, dtype)
    u, v, w = _factor(u, sizes, 0, dtype), _factor(v, sizes, 1, dtype), _taken(w, dtype, sweep.major.size)
    zu, zv, pushed = None, None, None
    if z is not None:
        zu, zv = _turned(sweep, z)
        zu, zv, pushed = _taken(zu, dtype, *u.shape), _taken(zv, dtype, *v.shape), _data(sweep, w.size, dtype)
    gu, gv = np.empty(u.shape, dtype), np.empty(v.shape, dtype)
    call(*entries, _at(u), _at(v), _at(zu), _at(zv), _at(w), *sizes, _at(pushed), _at(gu), _at(gv))
    return pushed, _turned(sweep, (gu, gv))


def medians(rows: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The upper median of the entries of each row that count, 0 where none does; what is not a number comes last."""
    dtype = rows.dtype
    call = _call("medians", dtype, dtype)
    rows, counted = _taken(rows, dtype, *rows.shape), _taken(counted, np.dtype(bool), *rows.shape)
    middle = np.empty(rows.shape[:-1], dtype)
    call(_at(rows), _at(counted), middle.size, rows.shape[-1], _at(middle))
    return middle


def _call(name: str, stored: np.dtype, computed: np.dtype) -> Any:
    """The function of the library for these dtypes."""
    try:
        return _function(name, KERNEL_KINDS[stored, computed])
    except KeyError:
        raise InputError(
            given=f"rows of {stored} and arithmetic in {computed}",
            needed="float64, or float32, or float32 rows and float64 arithmetic",
            missing="a pass for these dtypes",
            advice="convert the arrays, or use the JAX functions",
        ) from None


@functools.cache
def _function(name: str, kind: str) -> Any:
    library, reason = load()
    if library is None or not available():
        raise InputError(
            given="a call of the fused passes on NumPy arrays",
            needed="a compiled library that has them",
            missing=reason if library is None else "the functions, which came after this library was compiled",
            advice="run python -m gnpolyak.problem.oracles.native, or ask native.direct.available() first",
        )
    function = library[f"gnpolyak_c_{name}_{kind}"]
    function.argtypes = [_TYPES[letter] for letter in _ARGUMENTS[name]]
    number = ctypes.c_float if kind == "f32" else ctypes.c_double
    function.restype = number if name.endswith("l1") else None
    return function


def _taken(array: np.ndarray, dtype: np.dtype, *shape: int) -> np.ndarray:
    """The array itself where it lies row by row in this dtype, else a copy that does; its shape is checked."""
    if array.dtype is not dtype or not array.flags.c_contiguous:
        array = np.ascontiguousarray(array, dtype)
    if array.shape != shape:
        raise InputError(
            given=f"an array of shape {array.shape}",
            needed=f"shape {shape}, as the others have it",
            missing="arrays that belong together",
            advice="check the shapes of rows, data and factors",
        )
    return array


def _filled(d: int, r: int) -> tuple[int, int]:
    """The shape of a factor; the passes divide by the lengths of rows."""
    if d and r:
        return d, r
    raise InputError(
        given=f"a factor of shape {(d, r)}",
        needed="at least one row and one column",
        missing="numbers to multiply with",
        advice="treat this case before the call",
    )


def _at(array: np.ndarray | None) -> int | None:
    """Where a contiguous array begins; its buffer says so in a third of the time of `ndarray.ctypes`."""
    if array is None:
        return None
    if array.size and array.flags.writeable:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    return array.ctypes.data


def _turned(sweep: NumpySweep, pair: Pair) -> Pair:
    """The factor along the sorted axis first."""
    return (pair[1], pair[0]) if sweep.transposed else pair


def _entries(sweep: NumpySweep) -> tuple[int | None, ...]:
    """The addresses of a sweep's arrays, and the numbers of entries and of parts."""
    major, minor, order, bounds = sweep.major, sweep.minor, sweep.order, sweep.bounds
    if not (major.dtype is minor.dtype is order.dtype is bounds.dtype is _INT32):
        raise InputError(
            given="a sweep with indices of other dtypes",
            needed="int32 indices in NumPy arrays",
            missing="a sweep that was converted",
            advice="pass numpy_sweep(sweep), made once",
        )
    places = _at(major), _at(minor), _at(order if order.size else None), _at(bounds)
    return *places, major.size, bounds.size - 1


def _factor(factor: np.ndarray, sizes: tuple[int, int, int], side: int, dtype: np.dtype) -> np.ndarray:
    return _taken(factor, dtype, *_filled(sizes[side], sizes[2]))


def _data(sweep: NumpySweep, count: int, dtype: np.dtype) -> np.ndarray:
    """Room for a number for each datum, zero where the pass writes none."""
    if count < sweep.major.size:
        raise InputError(
            given=f"room for {count} data of {sweep.major.size} entries",
            needed="at least a datum an entry",
            missing="room for the others",
            advice="pass the number of data that the sweep was made for",
        )
    return np.empty(count, dtype) if sweep.bounds[-1] == count else np.zeros(count, dtype)
