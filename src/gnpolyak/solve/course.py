"""The course of a solve: its stages and certificates in order, so that a solve can be taken up where another stood.

Everything between two stages follows from what the stages found. Taken up again, a solve goes through the same motions:
what is on record is read instead of computed, and the stage that was under way goes on from its last state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np

from gnpolyak.base.arrays import placed
from gnpolyak.base.errors import InputError
from gnpolyak.base.trees import Tree
from gnpolyak.solve.certificate import Certificate
from gnpolyak.steps.status import PAUSED, Status

# A search for a dual vector that has this many products left was not cut short by the limit: its rounds take fewer.
_SPARE = 1024


@dataclass(frozen=True)
class Mark:
    """Where a stage stood, and the calls and seconds of the whole solve up to there."""

    state: Tree
    """A `State`, or the list of its leaves."""
    calls: int
    seconds: float


@dataclass(frozen=True)
class Stage:
    """A stage, and how it ended."""

    at: Mark
    status: Status
    free: Mark | None = None
    """The last mark that the limit on calls had no part in, where it has had one since."""

    @property
    def over(self) -> bool:
        """Whether the stage came to an end of its own."""
        return self.status not in PAUSED


@dataclass(frozen=True)
class Proof:
    """A certificate, and the most products that it could have taken."""

    certificate: Certificate
    budget: int
    calls: int
    seconds: float


@dataclass(frozen=True)
class Record:
    """What was done, up to the stage that was under way."""

    limit: int
    """The most calls that there could be."""
    entries: tuple[Stage | Proof, ...] = ()

    @property
    def calls(self) -> int:
        """The oracle calls made up to its end."""
        last = self.entries[-1] if self.entries else None
        return 0 if last is None else last.at.calls if isinstance(last, Stage) else last.calls

    def under(self, limit: int) -> Record:
        """The same for another limit on calls: without what the old one has had a part in."""
        if limit == self.limit:
            return self
        kept: list[Stage | Proof] = []
        for entry in self.entries:
            if isinstance(entry, Proof):
                if entry.budget - entry.certificate.products < _SPARE:
                    break
                kept.append(entry)
            elif entry.free is not None or not entry.over:
                kept.append(Stage(entry.free or entry.at, Status.RUNNING))
                break
            else:
                kept.append(entry)
        found = Record(limit, tuple(kept))
        if found.calls > limit:
            raise InputError(
                given=f"max_calls={limit:,} for a solve that has made {found.calls:,} calls",
                needed="at least as many",
                missing="a way to take calls back",
                advice="raise max_calls, which counts all calls, or begin afresh",
            )
        return found


@dataclass
class Course:
    """The record of a solve under way, and the one that it takes up."""

    past: Record
    rows: np.ndarray = field(default_factory=lambda: np.zeros((5, 0)))
    """The history of the past."""
    first_value: float | None = None
    """What the value of the start must be, where nothing else tells whose past this is."""
    save: Callable[[Record, Sequence[np.ndarray], bool], None] | None = None
    """Keeps a record and its history if it is time, or in any case."""
    shared: bool = False
    """Whether several processes make it."""
    made: list[Stage | Proof] = field(default_factory=list)

    def stage(self) -> Stage | None:
        """The stage that comes next on record."""
        found = self._next()
        if isinstance(found, Proof):
            raise another("a certificate where this solve has a stage")
        return found

    def proof(self) -> Proof | None:
        """The certificate that comes next on record."""
        found = self._next()
        if isinstance(found, Stage):
            raise another("a stage where this solve has a certificate")
        return found

    @property
    def behind(self) -> bool:
        """Whether there is more on record than was gone through."""
        return len(self.made) < len(self.past.entries)

    def _next(self) -> Stage | Proof | None:
        return self.past.entries[len(self.made)] if self.behind else None

    def keep(self, rows: Sequence[np.ndarray], last: bool = False) -> None:
        """Have the record saved, if it is time or the last one; one that was not gone through is left as it is."""
        if self.save is not None and self.made and not self.behind:
            self.save(self.record(), rows, last)

    @contextmanager
    def kept(self, rows: Sequence[np.ndarray]) -> Iterator[None]:
        """A block in which a solve is made, after which its record is saved however it ended.

        Not so where several processes made it and an exception ended it: the others may not come to save their part.
        """
        try:
            yield
        except BaseException:
            if not self.shared:
                self.keep(rows, last=True)
            raise
        self.keep(rows, last=True)

    def record(self) -> Record:
        """What was done so far. What came after a stage that was stopped came of its being stopped."""
        paused = (place for place, each in enumerate(self.made) if isinstance(each, Stage) and not each.over)
        return replace(self.past, entries=tuple(self.made[: next(paused, len(self.made)) + 1]))


def filled(template: Tree, kept: Tree, everywhere: Any = None) -> Tree:
    """The state on record, as a state like the template, from its leaves.

    `everywhere` is the sharding of what all devices have, of a problem that is spread over several.
    """
    wanted, structure = jax.tree.flatten(template)
    leaves = jax.tree.leaves(kept)
    if [np.shape(leaf) for leaf in leaves] != [np.shape(leaf) for leaf in wanted]:
        raise another("states of other shapes")
    return jax.tree.unflatten(structure, [_alike(*pair, everywhere) for pair in zip(wanted, leaves, strict=True)])


def _alike(template: Any, leaf: Any, everywhere: Any) -> Any:
    if not isinstance(template, (jax.Array, jax.ShapeDtypeStruct)):
        return np.asarray(leaf)
    sharding = getattr(template, "sharding", None)
    several = sharding is not None and len(sharding.device_set) > 1
    return jax.device_put(leaf, sharding if several else everywhere) if several or everywhere else placed(leaf)


def another(what: str) -> InputError:
    """The error of a record that is not of the solve that takes it up."""
    return InputError(
        given=f"a record of a solve with {what}",
        needed="the record of a solve of this problem with these settings",
        missing="one and the same problem",
        advice="pass the problem and the settings that it was made with, or begin afresh",
    )
