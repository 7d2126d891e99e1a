"""A stage for all members of a batch: rounds of tiles, each of as many running members as a program is compiled for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.settings import tracing_in
from gnpolyak.base.trees import Tree
from gnpolyak.solve.batch import programs
from gnpolyak.solve.batch.members import Members, assign, part
from gnpolyak.solve.batch.programs import Trace
from gnpolyak.solve.chunks import known
from gnpolyak.steps.iteration import State
from gnpolyak.steps.methods import Method
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Target

# Members of a tile: so many that their own numbers stay in a core's cache, and that no member waits for many others.
_NARROWEST, _WIDEST, _CACHE = 8, 32, 2**22
# An accelerator is filled by more.
_WIDEST_ELSEWHERE = 1024
# A tile goes back to the host, to be filled up, when this share of its members has stopped. Members that are alike stop
# within a few steps of each other, and to fill a tile costs as much as a step.
_STOPPED = 0.75
# Rounds for few members before they get a program of their own, of this share of the width.
_PATIENCE, _SHARE = 16, 8


@dataclass
class Stage:
    """What a stage came to, for members in the order that it was given them."""

    state: State
    """Stacked, on the host."""
    first: np.ndarray
    """The values at the starts."""
    made: np.ndarray
    """The calls made until then, those of the starts included."""
    began: float
    """The clock then."""
    traces: list[list[tuple[Trace, int, int, float, float]]]
    """For each member the traces it is in: with its column, the steps made, and the clock before and after."""


@dataclass
class Rounds:
    """Runs programs for the members of a batch, on all devices or cores."""

    members: Members
    count: int
    dtype: np.dtype
    stops: Callable[[float], Status]
    """Whether the host ends the solve, by the clock."""
    shows: Callable[[int], Any] = lambda running: None
    seconds: float = 0.0
    _placed: dict[Any, Members] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.devices = _devices(self.members)
        on_cpu = self.devices[0].platform == "cpu"
        self.workers = max(len(self.devices), _cores() if on_cpu else 1)
        size = sum(leaf[:1].nbytes for leaf in self.members.own)
        fitting = _CACHE // max(size, 1)
        widest = int(np.clip(_power_below(fitting), _NARROWEST, _WIDEST)) if on_cpu else _WIDEST_ELSEWHERE
        self.width = min(widest, _power_above(self.count))

    def begin(self, method: Method, target: Target, x: Tree, made: np.ndarray, limit: int, who: np.ndarray) -> Stage:
        """The evaluated starts of the members `who`; x and made are theirs."""
        args = method, target, x, np.asarray(made, np.int32)
        state = self.all_of(
            who, lambda m, at: programs.begin(m, *args[:2], part(x, at), args[3][at], np.int32(limit)), method, target
        )
        writable = jax.tree.map(np.array, state)
        return Stage(writable, state.point.value, state.calls, self.seconds, [[] for _ in who])

    def finish(self, stage: Stage, method: Method, target: Target, who: np.ndarray) -> None:
        """Rounds until every member has stopped, or the host has a reason to."""
        few = 0
        while True:
            running = np.flatnonzero(_going(method, stage.state))
            self.shows(len(running))
            status = self.stops(self.seconds)
            if not len(running) or status is not Status.RUNNING:
                break
            few = few + 1 if len(running) * _SHARE <= self.width else 0
            width = self.width // _SHARE if few > _PATIENCE else self.width
            self._round(stage, method, target, who, running, max(width, 1))
        left = stage.state.status == Status.RUNNING
        status = Status.CALL_LIMIT if status is Status.RUNNING else status
        stage.state.status[left] = np.where(_going(method, stage.state)[left], status, Status.CALL_LIMIT)

    def _round(
        self, stage: Stage, method: Method, target: Target, who: np.ndarray, running: np.ndarray, width: int
    ) -> None:
        began = self.seconds

        def run(m: Members, at: np.ndarray, filled: int) -> Any:
            state = part(stage.state, at)
            state.status[filled:] = Status.INTERRUPTED
            least = max(1, int(filled * (1 - _STOPPED)))
            return programs.advance(m, method, target, state, np.int32(least))

        for at, (state, trace, made) in self._tiles(who, running, run, width, "advance", method, target):
            assign(stage.state, at, part(state, slice(len(at))))
            for column, member in enumerate(at):
                stage.traces[member].append((trace, column, int(made), began, self.seconds))

    def all_of(self, who: np.ndarray, function: Callable[[Members, np.ndarray], Any], *key: Any) -> Any:
        """What a program says of the members `who`, stacked; it is called with places in `who`."""
        told = self._tiles(who, np.arange(len(who)), lambda m, at, _: function(m, at), self.width, *key)
        whole = [part(out, slice(len(at))) for at, out in told]
        return jax.tree.map(lambda *leaves: np.concatenate(leaves), *whole)

    def _tiles(
        self, who: np.ndarray, places: np.ndarray, function: Callable[..., Any], width: int, *key: Any
    ) -> list[tuple[np.ndarray, Any]]:
        """What a program says of tiles of these places in `who`: the places, and its answer on the host."""
        tiles = [places[i : i + width] for i in range(0, len(places), width)]
        devices = [self.devices[number % len(self.devices)] for number in range(len(tiles))]

        def run(at: np.ndarray, device: Any) -> Any:
            full = np.concatenate([at, np.repeat(at[:1], width - len(at))])
            with tracing_in(self.dtype), jax.default_device(device):
                members = self._on(device).taken(who[full])
                return trees.on_host(jax.block_until_ready(function(members, full, len(at))))

        new = [device for device in self.devices[: len(tiles)] if not known((self.members, key, width, str(device)))]
        with ThreadPoolExecutor(self.workers) as pool:
            # The first call of a program takes its compiler's time, which is not the clock's.
            list(pool.map(run, [tiles[0]] * len(new), new))
            began = time.perf_counter()
            outs = list(pool.map(run, tiles, devices))
        self.seconds += time.perf_counter() - began
        return list(zip(tiles, outs, strict=True))

    def _on(self, device: Any) -> Members:
        """The members with what they share on a device."""
        if len(self.devices) == 1:
            return self.members
        if device not in self._placed:
            shared = jax.device_put(self.members.shared, device)
            self._placed[device] = eqx.tree_at(lambda m: m.shared, self.members, shared)
        return self._placed[device]


def _going(method: Method, state: State) -> np.ndarray:
    return np.asarray((state.status == Status.RUNNING) & (state.limit - state.calls >= method.least_calls))


def _devices(members: Members) -> list[Any]:
    """The devices that members are dealt out to: all of this process, unless arrays were placed by the user."""
    placed = {device for leaf in members.shared if isinstance(leaf, jax.Array) for device in leaf.devices()}
    return jax.local_devices() if len(placed) <= 1 else sorted(placed, key=lambda device: device.id)[:1]


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _power_above(number: int) -> int:
    """The least power of two that is not smaller."""
    return 1 << max(number - 1, 0).bit_length()


def _power_below(number: int) -> int:
    """The largest power of two that is not larger, and at least 1."""
    return 1 << max(number.bit_length() - 1, 0)
