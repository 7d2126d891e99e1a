"""Where a batch is worked on: lanes, one for each device or core."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import jax
import numpy as np

from gnpolyak.base.settings import tracing_in
from gnpolyak.problem.composite import Composite
from gnpolyak.solve.clock import Clock


@dataclass
class Lane:
    """A device, and the clock of the batch."""

    device: Any
    """None for the default one."""
    clock: Clock
    _placed: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def placed(self, leaf: Any) -> Any:
        """An array that all members share, on the device; put there once."""
        if id(leaf) not in self._placed:
            # With the array itself, so that its id stays its own.
            self._placed[id(leaf)] = leaf, jax.device_put(leaf, self.device, may_alias=True)
        return self._placed[id(leaf)][1]


class Lanes:
    """Lanes, of which each is used by one thread at a time."""

    def __init__(self, problem: Composite, clock: Clock) -> None:
        devices = jax.local_devices()
        self.on_cpu = devices[0].platform == "cpu"
        # Programs of several devices wait for each other there: begun by two threads they might wait for ever.
        alone = _is_spread(problem)
        self.count = 1 if alone else max(len(devices), _cores() if self.on_cpu else 1)
        self._free: SimpleQueue[Lane] = SimpleQueue()
        for number in range(self.count):
            self._free.put(Lane(None if alone or len(devices) == 1 else devices[number % len(devices)], clock))

    @contextmanager
    def one(self, dtype: np.dtype) -> Iterator[Lane]:
        """A block that has a lane to itself, and JAX set to its device and this precision."""
        lane = self._free.get()
        placing = nullcontext() if lane.device is None else jax.default_device(lane.device)
        try:
            with tracing_in(dtype), placing:
                yield lane
        finally:
            self._free.put(lane)


def _is_spread(problem: Composite) -> bool:
    """Whether one member's arrays are on several devices."""
    placed = {device for leaf in jax.tree.leaves(problem) if isinstance(leaf, jax.Array) for device in leaf.devices()}
    return len(placed) > 1 or problem.sensing.spread is not None


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
