"""Small compiled programs of a user's model, kept for problems of the same structure and shapes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import jax

from gnpolyak.base.memory import give_back
from gnpolyak.base.shapes import structure_of

# A program is some hundred kilobytes, and is compiled in some tens of milliseconds.
MOST_KEPT = 64

_kept: OrderedDict[Any, Callable[..., Any]] = OrderedDict()
_lock = threading.Lock()


def program(function: Callable[..., Any], *args: Any, by: Any = None) -> Callable[..., Any]:
    """The function compiled for arguments like these; compiled anew only where their structure or shapes are new.

    `by` is what else the program depends on: a fused oracle that may have been registered since.
    """
    key = function, by, structure_of(*args)
    with _lock:
        found = _kept.get(key)
    # Two threads may compile the same, which costs no more than time.
    found = found or _compiled(function, *args)
    with _lock:
        _kept[key] = found
        _kept.move_to_end(key)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    return found


def _compiled(function: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    # A function of its own for each: JAX would keep what it compiled for one that lives on.
    compiled = jax.jit(partial(function)).lower(*args).compile()
    give_back()
    return compiled
