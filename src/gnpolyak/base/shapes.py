"""What a function returns, by shape and type, remembered for arguments of the same structure."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_MOST = 256
_remembered: OrderedDict[Any, Any] = OrderedDict()
_lock = threading.Lock()


def structure_of(*args: Any) -> Any:
    """What programs for these arguments depend on: structure, shapes, types, and where they are."""
    leaves, structure = jax.tree.flatten(args)
    return (
        structure,
        jnp.result_type(float),
        tuple((np.shape(leaf), getattr(leaf, "dtype", type(leaf)), _place(leaf)) for leaf in leaves),
    )


def _place(leaf: Any) -> Any:
    return None if isinstance(leaf, jax.core.Tracer) else getattr(leaf, "sharding", None)


def shapes_of(function: Callable[..., Any], *args: Any) -> Any:
    """`jax.eval_shape`, traced once for arguments like these. What is remembered is bounded; JAX would keep it all."""
    # A function of its own each time: JAX would keep the trace of one that lives on.
    return _once(lambda: jax.eval_shape(partial(function), *args), function, args)


def checked_once(check: Callable[..., None], *args: Any) -> None:
    """A check that depends on shapes alone, made once for arguments like these; one that fails is made again."""
    _once(lambda: check(*args), check, args)


def _once(work: Callable[[], Any], function: Any, args: Any) -> Any:
    key = function, structure_of(*args)
    with _lock:
        if key in _remembered:
            _remembered.move_to_end(key)
            return _remembered[key]
    found = work()
    with _lock:
        _remembered[key] = found
        while len(_remembered) > _MOST:
            _remembered.popitem(last=False)
    return found
