"""What a process measures, alone or with others: ``python -m gnpolyak.bench.scaling.inside TASK`` prints JSON.

The task is JSON: ``size`` [d, r, m], ``calls``, ``rounds``, ``lengths`` (of the sums), and for one of several processes
``group`` [address, processes, this one's number] and ``core``.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import gnpolyak as gnp
from gnpolyak.base import arrays, memory
from gnpolyak.bench import peers
from gnpolyak.bench.clock import interleaved, timed

READ, CALL, ITERATION = "one read of the rows", "oracle call", "iteration"
_AXIS = "processes"
_SUMS = 20
"""Sums one after the other in a timing."""


def measured(task: Mapping[str, Any]) -> dict[str, Any]:
    """The seconds of each round, which oracle served, and the memory there is."""
    calls, group = task["calls"], task.get("group")
    d, r, m = task["size"]
    case = _case(d, r, m, group[2] if group else 0)
    if group:
        # The rows that it was made of are not kept: several processes share the memory.
        case = dataclasses.replace(case, problem=gnp.shard_from_local(case.problem))
    problem = case.problem
    contestants = {READ: _each(_reading(problem, calls), calls), ITERATION: peers.iterations(problem, case, calls)}
    if group is None:
        contestants[CALL] = _each(peers.oracle(problem, case, calls), calls)
    elif group[1] > 1:
        contestants |= {f"{length}": _each(_sums(length), _SUMS) for length in task["lengths"]}
    # All read at once, or one would have the memory for itself.
    meet = _sums(1) if group and group[1] > 1 else lambda: None
    found = interleaved({name: _after(meet, measure) for name, measure in contestants.items()}, task["rounds"])
    seconds = {name: sample.seconds.tolist() for name, sample in found.items()}
    return {"seconds": seconds, "oracle": gnp.native.describe()["oracle"], "memory": _memory()}


def _case(d: int, r: int, m: int, seed: int) -> gnp.instances.Instance:
    """The paper's problem with rows of this process's own, and the truth and start that all of them have."""
    small, rng = gnp.instances.tensor_sensing(d, r, m=1, kappa=3.0), np.random.Generator(np.random.SFC64(seed))
    p, q = (rng.standard_normal((m, d)) for _ in range(2))
    b = np.sum((p @ small.truth) ** 2 - (q @ small.truth) ** 2, axis=1)
    problem = gnp.composite(small.problem.map, gnp.L1(b), sensing=gnp.PowerSensing(p, q))
    return gnp.instances.Instance(problem, small.x0, small.truth, 0.0, {"d": d, "r": r, "m": m})


@jax.jit
def _added(p: Array, q: Array) -> Array:
    return jnp.sum(p) + jnp.sum(q)


def _reading(problem: Any, calls: int) -> Callable[[], Any]:
    """So many reads of the rows that this process has: by the library's own reader, or by XLA's sum."""
    each = getattr(problem.sensing, "each", problem.sensing)
    p, q = (rows.addressable_data(0) for rows in (each.p, each.q))
    native = gnp.native.status().available and not peers.on_gpu()
    read = jax.jit(gnp.native.read_once) if native else _added

    def call() -> None:
        with arrays.computing_in(peers.F64):
            jax.block_until_ready([read(p, q) for _ in range(calls)])

    return call


def _sums(length: int) -> Callable[[], Any]:
    """Sums over all processes, each of which waits for the one before."""
    mesh = Mesh(np.array(jax.devices()), (_AXIS,))
    each = jax.shard_map(
        lambda x: lax.psum(x, _AXIS) / mesh.size, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False
    )
    again = jax.jit(lambda x: lax.fori_loop(0, _SUMS, lambda _, x: each(x), x))
    with arrays.precise(True):
        x = jax.device_put(np.ones(length), NamedSharding(mesh, P()))

    def call() -> Any:
        with arrays.precise(True):
            return jax.block_until_ready(again(x))

    return call


def _each(call: Callable[[], Any], count: int) -> Callable[[], float]:
    measure = timed(call)
    return lambda: measure() / count


def _after(meet: Callable[[], Any], measure: Callable[[], float]) -> Callable[[], float]:
    def met() -> float:
        meet()
        return measure()

    return met


def _memory() -> int:
    """The bytes that rows may have: those of the GPU that JAX has taken, or those that are free beside the process."""
    told = jax.local_devices()[0].memory_stats() if peers.on_gpu() else None
    return int(told["bytes_limit"]) if told else memory.available()


def main() -> None:
    """Do the task, and print what was found."""
    task = json.loads(sys.argv[1])
    if "core" in task and hasattr(os, "sched_setaffinity"):
        # Before JAX looks how many cores there are, which is when it is first used.
        os.sched_setaffinity(0, {task["core"]})
    if "group" in task:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(*task["group"])
    sys.stdout.write(json.dumps(measured(task)) + "\n")


if __name__ == "__main__":
    main()
