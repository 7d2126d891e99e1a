"""The border between a user's arrays and the compiled loop: checks, dtypes, NumPy in and NumPy out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import foreign
from gnpolyak.base.errors import InputError
from gnpolyak.base.forking import require_threads
from gnpolyak.base.masked import require_unmasked
from gnpolyak.base.namespace import Array
from gnpolyak.base.settings import own_settings, tracing_in
from gnpolyak.base.threads import one_lapack_thread
from gnpolyak.base.trees import Tree

# 64-bit types are switched on for one block of one thread, never globally: the user's own JAX code keeps its setting.
precise = own_settings


def is_traced(tree: Tree) -> bool:
    """Tell whether the tree is inside somebody's jit, vmap or grad, where values cannot be looked at."""
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree))


def as_real_array(value: Any, name: str) -> Array:
    """Return `value` as a JAX array of its own real floating dtype (float64 for lists and integers).

    Raises
    ------
    InputError
        If the entries are not numbers, are complex, or are not all finite.
    """
    array = as_array(value, name)
    if jnp.iscomplexobj(array):
        raise InputError(
            given=f"{name} with complex numbers",
            needed="real numbers",
            missing="a real representation",
            advice=f"stack the real and imaginary parts of {name} into a real array, or pass {name}.real",
        )
    return array


def as_array(value: Any, name: str) -> Array:
    """Return `value` as a JAX array of its own real or complex floating dtype (float64 for lists and integers).

    Raises
    ------
    InputError
        If the entries are not numbers, or are not all finite.
    """
    require_no_iterator(value, name)
    if is_traced(value):
        return jnp.asarray(value)
    array = _numeric(value, name)
    if not jnp.issubdtype(array.dtype, jnp.inexact):
        array = np.asarray(array, dtype=np.float64)
    _require_precision(array, name)
    _require_finite(array, name)
    return placed(array)


def as_data(value: Any, name: str) -> Any:
    """Return a leaf of a user's data: numbers as checked JAX arrays, indices and masks as they are, functions too."""
    if callable(value):
        return value
    if is_traced(value):
        return jnp.asarray(value)
    array = _numeric(value, name)
    if array.dtype.kind not in "iub":
        return as_array(value, name)
    return placed(array)


def placed(array: Any) -> Array:
    """A JAX array as it is; a copy of any other on the default device, which nobody else can write to.

    The copy is made here, at an address that JAX can use as it is. JAX's own, for which `may_alias=False` asks, is none
    for some addresses; and for `jnp.asarray` it compiles a program for each shape.
    """
    require_threads()
    if isinstance(array, jax.Array):
        return array
    given = np.asarray(array)
    own = aligned_empty(given.shape, given.dtype)
    own[...] = given
    return adopt(own)


def as_indices(value: Any, name: str) -> np.ndarray:
    """Return `value` as a NumPy array, nothing of it masked; whether its entries are whole numbers is the caller's."""
    require_unmasked(value, name)
    return _rectangular(foreign.plain(value, name), name)


def on_device(value: Any, dtype: Any = None) -> Array:
    """Return `value` as a JAX array, whatever the user's JAX forbids around it."""
    return placed(np.asarray(value, dtype))


def as_variable(x0: Tree) -> Tree:
    """Return a checked starting point, leaf by leaf, as JAX arrays."""
    require_no_iterator(x0, "x0")
    leaves, structure = jax.tree.flatten(_lists_as_arrays(x0))
    names = ["x0"] if len(leaves) == 1 else [f"x0 (leaf {i})" for i in range(len(leaves))]
    checked = [as_array(leaf, name) for leaf, name in zip(leaves, names, strict=True)]
    if not sum(leaf.size for leaf in checked):
        raise InputError(
            given=f"a starting point x0 without any {'number' if checked else 'array'} in it",
            needed="an array or a pytree of arrays",
            missing="at least one variable",
            advice="pass x0 as an array of the variable's shape, with at least one number",
        )
    return jax.tree.unflatten(structure, checked)


def _lists_as_arrays(x0: Tree) -> Tree:
    """A list of plain numbers (of any depth) is one array, as in NumPy; a list of arrays is a pytree."""
    if isinstance(x0, list) and not any(getattr(leaf, "ndim", 0) for leaf in jax.tree.leaves(x0)):
        return _numeric(x0, "x0")
    return x0


def is_jax(tree: Tree) -> bool:
    """Tell whether any leaf is a JAX array, or a tensor on its device: then the answer stays there too."""
    return any(isinstance(leaf, jax.Array) or foreign.on_accelerator(leaf) for leaf in jax.tree.leaves(tree))


def working_dtype(*trees: Tree) -> np.dtype:
    """Return the real dtype in which all floating arrays in the trees can be computed on together."""
    dtypes = [jnp.finfo(leaf.dtype).dtype for leaf in jax.tree.leaves(trees) if _is_inexact(leaf)]
    with precise(True):
        return np.dtype(jnp.result_type(*dtypes))


def cast(tree: Tree, dtype: np.dtype) -> Tree:
    """Return the tree with its floating arrays in `dtype`, complex ones with parts of it; other leaves untouched."""
    with precise(True), np.errstate(over="ignore"):
        return jax.tree.map(lambda leaf: _converted(leaf, _alike(leaf, dtype)) if _is_inexact(leaf) else leaf, tree)


def _converted(leaf: Any, dtype: np.dtype) -> Any:
    if leaf.dtype == dtype:
        return leaf
    # JAX would compile a program for it.
    host = at_hand(leaf)
    by_numpy = host is not leaf and not leaf.committed
    return placed(host.astype(dtype)) if by_numpy else leaf.astype(dtype)


@contextmanager
def computing_in(dtype: np.dtype, *, compiled: bool = True) -> Iterator[None]:
    """Trace and run at `dtype`: 64-bit types on exactly when needed, never TF32 in a product, LAPACK on one thread.

    `compiled` false leaves the LAPACK of compiled programs alone: see `one_lapack_thread`.
    """
    require_threads()
    with tracing_in(dtype), one_lapack_thread(compiled=compiled):
        yield


def to_jax(tree: Tree) -> Tree:
    """Return the tree with JAX arrays for leaves."""
    return jax.tree.map(jnp.asarray, tree)


def to_numpy(tree: Tree) -> Tree:
    """Return the tree with NumPy arrays for leaves, which the user may write to."""
    return jax.tree.map(np.array, tree)


def part(array: Any, start: int, stop: int, size: int | None = None) -> Any:
    """The entries start:stop along the first axis, on the host, and zeros after them up to `size` entries."""
    kept = np.asarray(array[start:stop])
    missing = 0 if size is None else size - len(kept)
    return np.concatenate([kept, np.zeros((missing, *kept.shape[1:]), kept.dtype)]) if missing else kept


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialised array that JAX can take over without a copy, which on the CPU it does from 64-byte addresses."""
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.empty(size + 64, np.uint8)
    offset = -raw.ctypes.data % 64
    return raw[offset : offset + size].view(dtype).reshape(shape)


def adopt(array: np.ndarray) -> Array:
    """Return a JAX array that may share memory with `array`, which nobody may write to afterwards."""
    array.flags.writeable = False
    with precise(True):
        return jax.device_put(array, may_alias=True)


def _is_inexact(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.inexact)


def _alike(leaf: Any, dtype: np.dtype) -> np.dtype:
    """The dtype itself, or the complex one with parts of it for a complex leaf."""
    return np.result_type(dtype, np.complex64) if jnp.iscomplexobj(leaf) else dtype


def _numeric(value: Any, name: str) -> Any:
    """The value as an array of numbers: JAX's own where it is one, else NumPy's, in this machine's order of bytes."""
    value = foreign.plain(value, name)
    if isinstance(value, jax.Array) and isinstance(value.dtype, np.dtype):
        return value
    require_unmasked(value, name)
    array = _rectangular(value, name)
    if array.dtype.kind not in "biufc":
        kind = f"type {type(value).__name__} and dtype {array.dtype}"
        raise InputError(
            given=f"{name} of {kind} that is not a rectangular array of numbers",
            needed="numbers in an array",
            missing="a numeric dtype",
            advice=_conversion(value, name),
        )
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _rectangular(value: Any, name: str) -> np.ndarray:
    require_no_iterator(value, name)
    try:
        return np.asarray(value)
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            given=f"{name} of type {type(value).__name__} that is not a rectangular array of numbers",
            needed="numbers in an array",
            missing=f"an array: {reason[:120]}",
            advice=f"convert {name} with numpy.asarray(..., dtype=float), rows of one length, and look at what fails",
        ) from error


def require_no_iterator(value: Any, name: str) -> None:
    """Raise InputError for what gives its numbers once: JAX takes it for one leaf, and NumPy for one object."""
    if isinstance(value, Iterator):
        raise InputError(
            given=f"{name} of type {type(value).__name__}",
            needed="numbers in an array",
            missing="the numbers: an iterator gives them once, and to one reader",
            advice=f"pass list({name})",
        )


def _conversion(value: Any, name: str) -> str:
    """How what is no array of numbers becomes one."""
    if value is None:
        return f"pass {name}, an array of numbers"
    if hasattr(value, "toarray"):
        return f"pass {name}.toarray(), all of its entries"
    if getattr(getattr(value, "dtype", None), "names", None):
        return f"pass one field of {name}, by its name"
    return f"convert {name} with numpy.asarray(..., dtype=float) and look at what fails"


def _require_precision(array: Any, name: str) -> None:
    if array.dtype not in (np.float32, np.float64, np.complex64, np.complex128):
        raise InputError(
            given=f"{name} with dtype {array.dtype}",
            needed="float32 or float64",
            missing="a precision that the linear algebra is done in",
            advice=f"pass {name}.astype(numpy.float64)",
        )


def _require_finite(array: Any, name: str) -> None:
    # Counted where the array lives: one on another device or host is not fetched.
    xp, array = (np, np.asarray(array)) if _is_at_hand(array) else (jnp, array)
    with np.errstate(over="ignore", invalid="ignore"), precise(True):
        if np.isfinite(xp.sum(array)):
            return
        # A sum may also overflow, so only now are the entries looked at one by one.
        bad = int(xp.sum(~xp.isfinite(array)))
    if bad:
        raise InputError(
            given=f"{name} with {bad} of {array.size} entries NaN or infinite",
            needed="finite numbers",
            missing="a finite value in each of those entries",
            advice=f"remove or mask the measurements behind numpy.argwhere(~numpy.isfinite({name}))",
        )


def at_hand(array: Any) -> Any:
    """A NumPy array in the place of one of JAX whose numbers NumPy can read where they are; others as they are."""
    readable = isinstance(array, jax.Array) and not is_traced(array) and _is_at_hand(array)
    return np.asarray(array) if readable else array


def _is_at_hand(array: Any) -> bool:
    """Tell whether NumPy can read the array where it is."""
    if not isinstance(array, jax.Array):
        return True
    return array.is_fully_addressable and all(device.platform == "cpu" for device in array.devices())
