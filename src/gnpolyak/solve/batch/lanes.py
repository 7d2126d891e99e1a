"""Where a batch is worked on: lanes, one for each device or core, each with a clock of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import jax
import numpy as np

from gnpolyak.base.settings import tracing_in


@dataclass
class Lane:
    """A device, and the seconds that were spent there without compilation."""

    device: Any
    """None for the default one."""
    seconds: float = 0.0


class Lanes:
    """Lanes, of which each is used by one thread at a time."""

    def __init__(self, devices: Sequence[Any]) -> None:
        self.on_cpu = devices[0].platform == "cpu"
        self.count = max(len(devices), _cores() if self.on_cpu else 1)
        self._free: SimpleQueue[Lane] = SimpleQueue()
        for number in range(self.count):
            self._free.put(Lane(devices[number % len(devices)] if len(devices) > 1 else None))

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


def devices_of(tree: Any) -> list[Any]:
    """The devices that members are dealt out to: all of this process, unless arrays were placed by the user."""
    placed = {device for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array) for device in leaf.devices()}
    return jax.local_devices() if len(placed) <= 1 else sorted(placed, key=lambda device: device.id)[:1]


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
