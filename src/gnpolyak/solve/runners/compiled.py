"""Runs the steps in compiled chunks: on accelerators, meshes, and for methods or rules that only JAX can run."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gnpolyak.base.namespace import Array
from gnpolyak.base.shapes import structure_of
from gnpolyak.base.small import on_gpu, undisturbed
from gnpolyak.base.threads import one_lapack_thread
from gnpolyak.base.trees import Tree
from gnpolyak.oracles import oracle_for
from gnpolyak.problem.composite import Composite
from gnpolyak.steps.iteration import Info, State, init, step
from gnpolyak.steps.methods import Method
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Target

# The most steps of a chunk.
LONGEST = 1024
# The most oracle calls of a single step: an inner solve without a preconditioner, and the point it leads to.
LONGEST_STEP = 128


@jax.jit
def _start(problem: Composite, method: Method, target: Target, x0: Tree, made: tuple[int, int]) -> State:
    """`init`, compiled. `made` are the oracle calls made before, and the most there may be."""
    return init(problem, method, target, x0, calls=made[0], limit=made[1])


@jax.jit
def _chunk(problem: Composite, method: Method, target: Target, state: State, limit: Array) -> tuple[State, Array]:
    """Steps until `limit` oracle calls are made, the state stops, or too few calls are left for another step.

    Of each oracle call a row is written down: value, best value, step and inner iterations. They are one array, since
    on a GPU each array that is written to is a kernel of its own.
    """
    places = jnp.arange(LONGEST + LONGEST_STEP)
    trace = jnp.zeros((len(places), 4), state.point.value.dtype)
    first = state.calls

    def row(value: Array, best: Array, info: Info) -> Array:
        return jnp.stack([value, best, info.step, info.inner_iterations.astype(trace.dtype)])

    def unfinished(carry: tuple[State, Array]) -> Array:
        now, _ = carry
        enough = now.limit - now.calls >= method.least_calls
        return (now.status == Status.RUNNING) & (now.calls - first < limit) & enough

    def iterate(carry: tuple[State, Array]) -> tuple[State, Array]:
        before, trace = carry
        # A chunk ends where the state does, so that only a direction that cannot be followed would save an oracle call:
        # that is rare, and on a GPU asking for it at every step costs more.
        now, info = step(problem, method, target, before, branch=not on_gpu())
        last = row(info.value, now.best.value, info)
        if method.least_calls == 1:
            # Where no call was made there is no row, and what is written is written over.
            return now, lax.dynamic_update_index_in_dim(trace, last, before.calls - first, 0)
        # The products that led to a point are calls too: they have rows of their own, with the value before.
        rest = row(before.point.value, before.best.value, info)
        ours = (places >= before.calls - first) & (places < now.calls - first)
        newest = places == now.calls - first - 1
        return now, jnp.where(ours[:, None], jnp.where(newest[:, None], last, rest), trace)

    return lax.while_loop(unfinished, iterate, (state, trace))


# What was compiled lately, by structure and shapes: to ask JAX itself takes milliseconds.
_compiled: OrderedDict[Any, None] = OrderedDict()
_MOST_KNOWN = 256


def known(begin: tuple[Any, ...]) -> bool:
    """Whether these arguments were compiled for before; they will be."""
    key = structure_of(begin)
    known = key in _compiled
    _compiled[key] = None
    _compiled.move_to_end(key)
    while len(_compiled) > _MOST_KNOWN:
        _compiled.popitem(last=False)
    return known


T = TypeVar("T")


class CompiledRunner:
    """Runs `step` in compiled chunks.

    Parameters
    ----------
    problem : Composite
    compiling : callable
        A context in which programs are compiled: it keeps the time that takes.
    """

    name = "compiled"

    def __init__(self, problem: Composite, compiling: Callable[[], AbstractContextManager[Any]]) -> None:
        self._problem, self._compiling = problem, compiling

    def bind(self, module: T) -> T:
        """A method or a rule as it runs here: as it is."""
        return module

    def begin(self, method: Method, target: Target, x: Tree, made: tuple[int, int]) -> State:
        """The evaluated start."""
        with one_lapack_thread(), undisturbed():
            new = self._compile(method, target, x, made)
            state = jax.block_until_ready(_start(self._problem, method, target, x, made))
            if new:
                # No step: what the first call of a program takes beside its steps is not the pace of the steps.
                jax.block_until_ready(_chunk(self._problem, method, target, state, 0))
        return state

    def like(self, method: Method, target: Target, x: Tree, made: tuple[int, int]) -> State:
        """The shapes of the stage's states, without computing or compiling anything."""
        return _start.eval_shape(self._problem, method, target, x, made)

    def _compile(self, method: Method, target: Target, x: Tree, made: tuple[int, int]) -> bool:
        """Compile what a stage runs, and tell whether it was new."""
        begin = (self._problem, method, target, x, made)
        if known(begin):
            return False
        with self._compiling():
            _start.lower(*begin).compile()
            _chunk.lower(self._problem, method, target, _start.eval_shape(*begin), 0).compile()
        return True

    def advance(
        self, method: Method, target: Target, state: State, length: int, seconds: float
    ) -> tuple[State, np.ndarray]:
        """Steps of up to `length` oracle calls, and what each call showed."""
        with one_lapack_thread():
            moved, trace = jax.block_until_ready(_chunk(self._problem, method, target, state, length))
        taken = int(moved.calls) - int(state.calls)
        return moved, np.asarray(trace, np.float64)[:taken].T

    def ask(self, question: Callable[..., Any], x: Tree, *args: Any) -> Any:
        """What a function of an oracle and a point says, compiled."""
        call = (self._problem, x, *args)
        with one_lapack_thread(), undisturbed():
            if not known((question, call)):
                with self._compiling():
                    _asked(question).lower(*call).compile()
            return jax.block_until_ready(_asked(question)(*call))


@functools.cache
def _asked(question: Callable[..., Any]) -> Any:
    return jax.jit(lambda problem, x, *args: question(oracle_for(problem, x), x, *args))
