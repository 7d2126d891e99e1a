"""Several processes that solve one problem together: who they are, and what they settle on.

Each process runs the same program on its own part of the data, and every compiled step adds up over all of them. One
that took another way than the others, because its clock or its user said so, would leave them waiting forever. So
whatever depends on a clock, a signal, a callback or a file is settled among all of them first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Spec

from gnpolyak.base.errors import InputError
from gnpolyak.base.namespace import Array
from gnpolyak.base.numbers import is_whole
from gnpolyak.base.settings import own_settings


@dataclass(frozen=True)
class Peers:
    """The processes that a problem is spread over, as one of them sees them.

    Every method of a group of several is called by all of them, in the same order; for one alone it does nothing.
    """

    count: int = 1
    index: int = 0

    @property
    def first(self) -> bool:
        """Whether this is the process that writes and shows."""
        return self.index == 0

    def anywhere(self, *flags: bool) -> list[bool]:
        """Which of the flags any process has set."""
        if self.count == 1:
            return list(flags)
        return [bool(every.any()) for every in _gathered(np.array(flags)).T]

    def of_first(self, number: float) -> float:
        """The number that the first process has."""
        return number if self.count == 1 else float(_gathered(np.array([number], np.float64))[0, 0])

    def joined(self, digest: str) -> str:
        """One digest of what all processes have, in their order, from each one's own."""
        if self.count == 1:
            return digest
        return hashlib.sha256(_gathered(_digested(digest)).tobytes()).hexdigest()

    def odd(self, digest: str) -> list[int]:
        """The processes that have another digest than the first one."""
        if self.count == 1:
            return []
        told = _gathered(_digested(digest))
        return [int(place) for place in np.flatnonzero((told != told[0]).any(axis=1))]

    def from_first(self, made: Callable[[], bytes]) -> bytes:
        """What the first process makes, for all; its InputError is raised by all."""
        if self.count == 1:
            return made()
        content, refused = _outcome(made) if self.first else (b"", False)
        size, failed = (int(entry) for entry in _gathered(np.array([len(content), refused], np.int64))[0])
        told = _of_first(np.frombuffer(content.ljust(size, b"\0"), np.uint8)).tobytes() if size else b""
        if failed:
            raise InputError(**json.loads(told))
        return told


ALONE = Peers()


def peers_of(tree: Any) -> Peers:
    """The processes that the arrays of a tree are spread over.

    Raises
    ------
    InputError
        Where those are some of the processes that JAX runs in, and not all.
    """
    far = [leaf for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array) and not _is_local(leaf)]
    if not far:
        return ALONE
    devices: set[Any] = {device for leaf in far for device in leaf.sharding.device_set}
    holders = {device.process_index for device in devices}
    if len(holders) < jax.process_count():
        raise InputError(
            given=f"a problem spread over {len(holders)} of {jax.process_count()} processes",
            needed="all of them",
            missing="a part of it in each process",
            advice="make the mesh of jax.devices(), or start fewer processes",
        )
    return Peers(jax.process_count(), jax.process_index())


def local_rows(rows: int) -> slice:
    """Which rows of a table are this process's own, where each process loads its part.

    Blocks of one size in the order of the processes; the first ones have one row more where they do not come out even.

    Parameters
    ----------
    rows : int
        How many there are in all.

    Returns
    -------
    slice
        All rows, where JAX runs in one process.

    Examples
    --------
    >>> local_rows(1000)
    slice(0, 1000, None)
    """
    if not is_whole(rows, 0):
        raise InputError(
            given=f"rows={rows!r}",
            needed="a whole number of at least 0",
            missing="a valid number of rows",
            advice="pass how many rows all processes have together, such as len(numpy.load(path, mmap_mode='r'))",
        )
    count, index = jax.process_count(), jax.process_index()
    size, more = divmod(int(rows), count)
    begin = index * size + min(index, more)
    return slice(begin, begin + size + (index < more))


def _is_local(leaf: Array) -> bool:
    return isinstance(leaf, jax.core.Tracer) or leaf.is_fully_addressable


def _outcome(made: Callable[[], bytes]) -> tuple[bytes, bool]:
    """What was made, or the four parts of the refusal."""
    try:
        return made(), False
    except InputError as error:
        parts = {name: getattr(error, name) for name in ("given", "needed", "missing", "advice")}
        return json.dumps(parts).encode(), True


def _digested(digest: str) -> np.ndarray:
    return np.frombuffer(bytes.fromhex(digest), np.uint8)


@cache
def _mesh() -> Mesh:
    """One device of each process."""
    firsts: dict[int, Any] = {}
    for device in sorted(jax.devices(), key=lambda device: device.id):
        firsts.setdefault(device.process_index, device)
    return Mesh(np.array([firsts[place] for place in sorted(firsts)]), ("processes",))


def _gathered(mine: np.ndarray) -> np.ndarray:
    """An array of one shape and type from each process, stacked."""
    return _exchanged(_itself, mine)


def _of_first(mine: np.ndarray) -> np.ndarray:
    return _exchanged(_head, mine)


def _exchanged(taken: Callable[[Array], Array], mine: np.ndarray) -> np.ndarray:
    with own_settings(True):
        spread = jax.make_array_from_process_local_data(NamedSharding(_mesh(), Spec("processes")), mine[None])
        everywhere = NamedSharding(_mesh(), Spec())
        return np.asarray(jax.jit(taken, out_shardings=everywhere)(spread).addressable_data(0))


def _itself(every: Array) -> Array:
    return every


def _head(every: Array) -> Array:
    return every[0]
