"""Whose record a checkpoint is: digests of the problem, the start and the settings."""

from __future__ import annotations

import hashlib
import re
from functools import partial
from types import CodeType
from typing import Any

import jax
import numpy as np

from gnpolyak.base.environment import versions
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import NumpyMap
from gnpolyak.problem.maps.host import Host

# Where an object lies differs from one process to the next.
_ADDRESS = re.compile(r"0x[0-9a-f]+")


def fingerprint(problem: Composite, x: Tree, x0: Tree, settings: dict[str, Any]) -> dict[str, str]:
    """What must agree for a record to be of this solve.

    The problem by what it computes and by all of its numbers, at variables like x; x0 as it was given, if it was.
    """
    return {
        "problem": _digest(problem.label, _program(problem, x), *_numbers(problem), *_numbers(x, shapes=True)),
        "x0": "from the data" if x0 is None else _digest(*_numbers(x)),
        "settings": _digest(*(part for value in settings.values() for part in _setting(value))),
        # Another version may have other states, and other words for what is computed.
        "versions": ", ".join(f"{name} {versions()[name]}" for name in ("gnpolyak", "jax")),
    }


def _digest(*parts: Any) -> str:
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        # With its length, so that what is at the end of one part is not taken for the beginning of the next.
        digest.update(b"%d:" % memoryview(content).nbytes)
        digest.update(content)
    return digest.hexdigest()


def _program(problem: Composite, x: Tree) -> str:
    """What is computed, in JAX's words; without the kernel, which another machine may not have."""

    def computed(problem: Composite, x: Tree) -> Any:
        z, pullback = problem.sensing.measure(problem.map, x)
        return z, problem.penalty.value(z), pullback(problem.penalty.subgradient(z))

    return _ADDRESS.sub("", str(jax.make_jaxpr(computed)(problem, x).jaxpr))


def _numbers(tree: Any, shapes: bool = False) -> list[Any]:
    parts: list[Any] = []
    for leaf in jax.tree.leaves(tree, is_leaf=lambda node: isinstance(node, NumpyMap)):
        parts += _of_host(leaf.host) if isinstance(leaf, NumpyMap) else _of_array(leaf, shapes)
    return parts


def _of_array(leaf: Any, shape_alone: bool = False) -> list[Any]:
    array = np.asarray(leaf)
    if array.dtype.kind == "O":
        return [type(leaf).__name__]
    words = f"{array.dtype.str} {array.shape}"
    return [words] if shape_alone else [words, np.ascontiguousarray(array).reshape(-1).view(np.uint8).data]


def _setting(value: Any) -> list[Any]:
    leaves, structure = jax.tree.flatten(value)
    return [_ADDRESS.sub("", str(structure)), *(part for leaf in leaves for part in _of_array(leaf))]


def _of_host(host: Host) -> list[Any]:
    """A function in plain Python: its code, and the numbers that it was given or has captured."""
    functions = [part for each in (host.function, host.derivative) for part in _of_object(each)]
    return [*functions, *_of_object(host.args)]


def _of_object(value: Any) -> list[Any]:
    """What can be told of any object: the numbers in it, the code of a function and what that has captured."""
    parts: list[Any] = []
    for leaf in jax.tree.leaves(value):
        parts += _of_function(leaf) if callable(leaf) else _of_array(leaf)
    return parts


def _of_function(function: Any) -> list[Any]:
    if isinstance(function, partial):
        return [*_of_function(function.func), *_of_object((function.args, function.keywords))]
    code = getattr(function, "__code__", None)
    if code is None:
        # An object that can be called: its class's code, and the numbers that it holds.
        code = getattr(type(function).__call__, "__code__", None)
        held = [each for each in getattr(function, "__dict__", {}).values() if not callable(each)]
        return [type(function).__qualname__, *_of_code(code), *_of_object(held)]
    cells = function.__closure__ or ()
    return [*_of_code(code), *_of_object(function.__defaults__), *(part for c in cells for part in _captured(c))]


def _of_code(code: Any) -> list[Any]:
    """The code itself, and not where it is written: a line more above it changes nothing."""
    if code is None:
        return []
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    plain = repr([each for each in code.co_consts if not isinstance(each, CodeType)])
    return [code.co_code, _ADDRESS.sub("", plain), repr(code.co_names), *(part for c in inner for part in _of_code(c))]


def _captured(cell: Any) -> list[Any]:
    try:
        value = cell.cell_contents
    except ValueError:
        return ["empty"]
    # A function that has captured itself would have no end.
    return [part for leaf in jax.tree.leaves(value) if not callable(leaf) for part in _of_array(leaf)]
