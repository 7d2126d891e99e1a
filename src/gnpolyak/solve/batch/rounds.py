"""A stage for a piece of a batch: rounds of tiles, each of as many running members as a program is compiled for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.trees import Tree
from gnpolyak.solve.batch import programs
from gnpolyak.solve.batch.history import Written, written
from gnpolyak.solve.batch.lanes import Lane
from gnpolyak.solve.batch.members import Leaves, Members, assign, part
from gnpolyak.solve.runners.compiled import known
from gnpolyak.steps.iteration import State
from gnpolyak.steps.methods import Method
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Target

# A tile is given up, and its members put into others, when this share of them has stopped. Members that are alike stop
# within a few steps of each other, and to fill a tile costs as much as a step.
_STOPPED = 0.75
# Rounds for few members before they get a program of their own, of this share of the width.
_PATIENCE, _SHARE = 16, 8

Clock = tuple[float, float]
"""The clock before something, and after it."""

# Two threads that want the same new program would both compile it.
_compiling = threading.Lock()


@dataclass
class Stage:
    """What a stage came to, for members in the order that it was given them."""

    state: State
    """Stacked, on the host."""
    first: np.ndarray
    """The values at the starts."""
    began: np.ndarray
    """The clock when they were known."""
    rows: list[list[tuple[Written, int]]]
    """For each member what was written down of it: in which tiles, and in which place there."""


@dataclass
class Rounds:
    """Runs programs for the members of a piece, on one lane."""

    leaves: Leaves
    width: int
    lane: Lane
    stops: Callable[[], Status]
    """Whether the host ends the solve, by the clock."""
    most_kept: int
    """How many tiles' arrays stay where they were put."""
    _kept: dict[bytes, Members] = field(default_factory=dict)

    def stage(
        self,
        method: Method,
        target: Target,
        x: Tree,
        made: np.ndarray,
        limit: int,
        gap: np.ndarray | None,
        who: np.ndarray,
    ) -> Stage:
        """A stage of the members `who` from its beginning to its end; x, made and gap are theirs."""
        made, whole = np.asarray(made, np.int32), np.arange(len(who))

        def run(members: Members, at: np.ndarray, filled: int) -> Any:
            own = None if gap is None else gap[at]
            began = programs.begin(
                members, method, target, part(x, at), made[at], np.int32(limit), own, np.int32(filled)
            )
            return began.point.value, began.calls, self._advanced(members, method, target, began, filled)

        told = self._tiles(who, whole, run, self.width, "begin", method, target, gap is None)
        stage = _blank(told[0][2][2][0], len(who))
        for at, clock, (value, calls, end) in told:
            stage.first[at], stage.began[at] = value[: len(at)], clock[0]
            self._note(stage, at, end, calls, clock)
        self._finish(stage, method, target, who)
        return stage

    def _advanced(self, members: Members, method: Method, target: Target, state: State, filled: int) -> Any:
        """A chunk of steps, or none where the host has a reason to end."""
        goes_on = self.stops() is Status.RUNNING
        least = max(1, int(filled * (1 - _STOPPED)))
        return programs.advance(members, method, target, state, np.int32(least if goes_on else filled + 1))

    def _finish(self, stage: Stage, method: Method, target: Target, who: np.ndarray) -> None:
        """Rounds until every member has stopped, or the host has a reason to."""
        few = 0
        while True:
            running = np.flatnonzero(_going(method, stage.state))
            status = self.stops()
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
        def run(members: Members, at: np.ndarray, filled: int) -> Any:
            state = part(stage.state, at)
            state.status[filled:] = Status.INTERRUPTED
            return state.calls, self._advanced(members, method, target, state, filled)

        for at, clock, (calls, end) in self._tiles(who, running, run, width, "advance", method, target):
            self._note(stage, at, end, calls, clock)

    def _note(self, stage: Stage, at: np.ndarray, end: Any, calls: np.ndarray, clock: Clock) -> None:
        """Keep what a tile came to."""
        state, trace, steps = end
        assign(stage.state, at, part(state, slice(len(at))))
        if steps:
            told = written(part(trace, slice(int(steps))), calls, *clock)
            for column, member in enumerate(at):
                stage.rows[member].append((told, column))

    def all_of(self, who: np.ndarray, function: Callable[[Members, np.ndarray], Any], *key: Any) -> Any:
        """What a program says of the members `who`, stacked; it is called with places in `who`."""
        told = self._tiles(who, np.arange(len(who)), lambda m, at, _: function(m, at), self.width, *key)
        whole = [part(out, slice(len(at))) for at, _, out in told]
        return jax.tree.map(lambda *leaves: np.concatenate(leaves), *whole)

    def _tiles(
        self, who: np.ndarray, places: np.ndarray, function: Callable[..., Any], width: int, *key: Any
    ) -> list[tuple[np.ndarray, Clock, Any]]:
        """What a program says of tiles of these places in `who`: the places, the clock, and the answer."""
        tiles = [places[i : i + width] for i in range(0, len(places), width)]

        def full(at: np.ndarray) -> np.ndarray:
            return np.concatenate([at, np.repeat(at[:1], width - len(at))])

        def run(at: np.ndarray) -> Any:
            return trees.on_host(jax.block_until_ready(function(self._members(who[full(at)]), full(at), len(at))))

        with _compiling:
            if not known((self._members(who[full(tiles[0])]), key, width, str(self.lane.device))):
                with self.lane.clock.on("compiling"):
                    run(tiles[0])
        told = []
        for at in tiles:
            before = self.lane.clock.seconds
            out = run(at)
            told.append((at, (before, self.lane.clock.seconds), out))
        return told

    def _members(self, places: np.ndarray) -> Members:
        """Those members' arrays, put together once for all programs in a row."""
        key = places.tobytes()
        if key not in self._kept:
            if len(self._kept) > self.most_kept:
                self._kept.popitem()
            self._kept[key] = self.leaves.members(places, self.lane.placed)
        return self._kept[key]


def _blank(state: State, count: int) -> Stage:
    """A stage of so many members, with states like that of a tile."""
    room = jax.tree.map(lambda leaf: np.empty((count, *leaf.shape[1:]), leaf.dtype), state)
    return Stage(room, np.empty(count, state.best.value.dtype), np.empty(count), [[] for _ in range(count)])


def _going(method: Method, state: State) -> np.ndarray:
    return np.asarray((state.status == Status.RUNNING) & (state.limit - state.calls >= method.least_calls))
