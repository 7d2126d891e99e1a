"""Whose record a checkpoint is: digests of the problem, the start and the settings."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import partial
from types import CellType, CodeType, FunctionType
from typing import Any

import jax
import numpy as np

from gnpolyak.base.environment import versions
from gnpolyak.base.errors import InputError
from gnpolyak.base.hosts import ALONE, Peers
from gnpolyak.base.streams import Streamed
from gnpolyak.base.streams.rows import outlined
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import NumpyMap
from gnpolyak.problem.maps.host import Host
from gnpolyak.problem.oracles import native

# Where an object lies differs from one process to the next.
_ADDRESS = re.compile(r"0x[0-9a-f]+")


def fingerprint(
    problem: Composite, x: Tree, x0: Tree, settings: dict[str, Any], runner: str, peers: Peers = ALONE
) -> dict[str, str]:
    """What must agree for a record to be of this solve.

    The problem by what it computes and by all of its numbers, at variables like x; x0 as it was given, if it was. Of a
    problem that several processes hold the parts of, each looks at its own.
    """
    own = _digest(problem.label, _program(problem, x), *_numbers(problem), *_seen(problem, x))
    return {
        "problem": peers.joined(own),
        "x0": "from the data" if x0 is None else _digest(*_numbers(x)),
        "settings": _digest(*_settings(settings)),
        # Another version may have other states, and other words for what is computed.
        "versions": ", ".join(f"{name} {versions()[name]}" for name in ("gnpolyak", "jax", "numpy")),
        # Another runner, or other kernels, add up in another order.
        "runner": f"the {runner} runner with {native.describe()['oracle']}",
    }


def require_alike(peers: Peers, x: Tree, settings: dict[str, Any]) -> None:
    """Raise InputError, in all processes, where one of them was asked for another solve than the first."""
    odd = peers.odd(_digest(*_numbers(x), *_settings(settings))) if peers.count > 1 else []
    if odd:
        raise InputError(
            given=f"another start, or other settings, in process {odd[0]} than in process 0",
            needed="the same call in all processes: they differ in their part of the data alone",
            missing="one x0 and one set of settings",
            advice="pass the same arguments everywhere, and seed whatever is drawn for them",
        )


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

    return _ADDRESS.sub("", str(jax.make_jaxpr(computed)(outlined(problem), x).jaxpr))


def _numbers(tree: Any) -> list[Any]:
    parts: list[Any] = []
    for leaf in jax.tree.leaves(tree, is_leaf=lambda node: isinstance(node, (NumpyMap, Streamed))):
        # Of rows that are streamed a sample will do: the value at the start, which must agree too, is made of all.
        streamed = leaf.source.sample() if isinstance(leaf, Streamed) else None
        parts += streamed or (_of_host(leaf.host) if isinstance(leaf, NumpyMap) else _of_array(leaf))
    return parts


def _of_array(leaf: Any) -> list[Any]:
    if isinstance(leaf, jax.Array) and not leaf.is_fully_addressable and not leaf.is_fully_replicated:
        parts = {str(shard.index): shard.data for shard in leaf.addressable_shards}
        return [f"{leaf.shape}", *(word for index in sorted(parts) for word in (index, *_of_array(parts[index])))]
    array = np.asarray(leaf)
    if array.dtype.kind == "O":
        return [type(leaf).__name__]
    return [f"{array.dtype.str} {array.shape}", np.ascontiguousarray(array).reshape(-1).view(np.uint8).data]


def _settings(settings: dict[str, Any]) -> list[Any]:
    return [part for value in settings.values() for part in _setting(value)]


def _setting(value: Any) -> list[Any]:
    leaves, structure = jax.tree.flatten(value)
    return [_ADDRESS.sub("", str(structure)), *(part for leaf in leaves for part in _of_array(leaf))]


def _of_host(host: Host) -> list[Any]:
    """A function in plain Python: its code, and the numbers that it was given or has captured."""
    functions = [part for each in (host.function, host.derivative) if each is not None for part in _of_function(each)]
    return [*functions, *(part for leaf in jax.tree.leaves(host.args) for part in _of_argument(leaf))]


def _of_argument(leaf: Any) -> list[Any]:
    return _of_function(leaf) if callable(leaf) else _of_array(leaf)


def _of_function(function: Any) -> list[Any]:
    if isinstance(function, partial):
        given = jax.tree.leaves((function.args, function.keywords))
        return [*_of_function(function.func), *(part for leaf in given for part in _of_argument(leaf))]
    if not isinstance(function, FunctionType):
        # An object that can be called, or a method of one: the code, and the arrays that the object holds.
        owner, code = getattr(function, "__self__", function), getattr(function, "__code__", None)
        held = getattr(owner, "__dict__", {}).values()
        code = code or getattr(type(function).__call__, "__code__", None)
        return [type(owner).__qualname__, *_of_code(code), *_lasting(held)]
    cells = [cell.cell_contents for cell in function.__closure__ or () if cell != CellType()]
    return [*_of_code(function.__code__), *_lasting([*(function.__defaults__ or ()), *cells])]


def _lasting(values: Iterable[Any]) -> list[Any]:
    """Of what a function has captured, the arrays and numbers: a list may be one that it writes to."""
    kinds = (np.ndarray, np.generic, jax.Array, int, float, complex, str, bytes)
    return [part for value in values if isinstance(value, kinds) for part in _of_array(value)]


def _of_code(code: Any) -> list[Any]:
    """The code itself, and not where it is written: a line more above it changes nothing."""
    if code is None:
        return []
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    # A set has no order that would be the same elsewhere.
    plain = [sorted(map(repr, each)) if isinstance(each, frozenset) else each for each in code.co_consts]
    words = repr([each for each in plain if not isinstance(each, CodeType)])
    return [code.co_code, words, repr(code.co_names), *(part for each in inner for part in _of_code(each))]


def _seen(problem: Composite, x: Tree) -> list[Any]:
    """What a function in plain Python returns at x, to the digits that any machine agrees on: it may read anything."""
    if not isinstance(problem.map, NumpyMap):
        return []
    flat = np.concatenate([np.ravel(np.asarray(leaf, np.float64)) for leaf in jax.tree.leaves(x)])
    return _of_array(problem.map.host.values(flat).astype(np.float32))
