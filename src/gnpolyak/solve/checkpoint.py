"""A solve's record in a file, written now and then, from which the same call goes on after whatever ended it."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from gnpolyak.base import container
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.files import require_writable
from gnpolyak.base.hosts import ALONE, Peers
from gnpolyak.base.measurements import fetched
from gnpolyak.base.numbers import is_real
from gnpolyak.solve.certificate import Certificate
from gnpolyak.solve.course import Course, Mark, Proof, Record, Stage
from gnpolyak.steps.status import Status

_DIFFERENT = {
    "versions": "the library: it was written with {was}, this is {now}",
    "runner": "what computes: it was written by {was}, this is {now}",
    "problem": "the problem: its data, its model or its bounds are not those of this call",
    "x0": "the start: x0 is not the one that it was begun from",
    "settings": "the settings: method, cuts, target, strategy, tol, rank or polish are not those of this call",
}


class Checkpoint:
    """A file for the record of a solve.

    A file that is there is read, and refused unless it is whole, before anything else is done.

    Parameters
    ----------
    path : str or path
        The file, in a folder that exists.
    seconds : float
        How much time may lie between two writes.
    peers : Peers
        Those who make the solve together. The first of them has the file: it reads for all, and writes.

    Raises
    ------
    InputError
        Where the file is not a whole checkpoint, or none can be written there.
    """

    def __init__(self, path: Any, seconds: Any = 60.0, peers: Peers = ALONE) -> None:
        self._path, self._seconds, self._peers = _checked_name(path), _checked_seconds(seconds), peers
        found = peers.from_first(lambda: _content(self._path))
        self._found = container.parsed(self._path, found) if found else None
        self._owner: dict[str, str] = {}
        self._written = time.monotonic()

    def course(self, owner: dict[str, str], limit: int, otherwise: Course) -> Course:
        """The course of a solve that goes on from what is on file, if anything is, and is kept there.

        Parameters
        ----------
        owner : dict
            The `fingerprint` of this solve.
        limit : int
            The most calls that it may make.
        otherwise : Course
            What it is where there is no file yet.
        """
        self._owner = owner
        found = otherwise if self._found is None else self._on_file(limit, *self._found)
        self._found, found.save, found.shared = None, self.save, self._peers.count > 1
        return found

    def _on_file(self, limit: int, header: dict[str, Any], arrays: list[np.ndarray]) -> Course:
        _require_same(self._path, header, self._owner)
        try:
            record = _decoded(header, arrays)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise _refused(self._path, "entries that this version reads", "remove it to begin afresh") from error
        return Course(record.under(limit), arrays[0])

    def save(self, record: Record, rows: Sequence[np.ndarray], last: bool = False) -> None:
        """Write a record and its history, if it is time or the last one. A disk that is full does not end a solve."""
        due = last or (self._peers.first and time.monotonic() - self._written >= self._seconds)
        if not self._peers.anywhere(due)[0]:
            return
        header, arrays = _encoded(record, np.concatenate(rows, axis=1)[:, : record.calls])
        if not self._peers.first:
            return
        try:
            container.write(self._path, {**header, "owner": self._owner}, arrays)
        except OSError as error:
            warnings.warn(f"the checkpoint {self._path} could not be written: {error}", RuntimeWarning, stacklevel=2)
        self._written = time.monotonic()


def _checked_name(path: Any) -> Path:
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise InputError(
            given=f"checkpoint={shown(path)}",
            needed="the name of a file",
            missing="a valid checkpoint",
            advice="pass a name such as 'run.ckpt', or leave checkpoint out",
        )
    return Path(path)


def _content(path: Path) -> bytes:
    """What is in the file, where there is one; none could be written to a place that is refused."""
    try:
        require_writable(path)
    except OSError as error:
        reason = f"a place to write it: {error.strerror or error}"
        raise _refused(path, reason, "make the folder first, or name another file") from error
    return container.content(path) if path.exists() else b""


def _checked_seconds(seconds: Any) -> float:
    if not is_real(seconds) or seconds < 0:
        raise InputError(
            given=f"checkpoint_seconds={shown(seconds)}",
            needed="a number of at least 0",
            missing="a valid checkpoint_seconds",
            advice="leave checkpoint_seconds out for its default",
        )
    return float(seconds)


def _require_same(path: Path, header: dict[str, Any], owner: dict[str, str]) -> None:
    told = header.get("owner")
    was = told if isinstance(told, dict) else {}
    for name, words in _DIFFERENT.items():
        if was.get(name) != owner[name]:
            different = words.format(was=shown(was.get(name)), now=owner[name])
            raise _refused(path, different, "name another file, or remove this one to begin afresh")


def _refused(path: Path, missing: str, advice: str) -> InputError:
    return InputError(
        given=f"checkpoint={str(path)!r}", needed="the checkpoint of this solve", missing=missing, advice=advice
    )


def _encoded(record: Record, rows: np.ndarray) -> tuple[dict[str, Any], list[np.ndarray]]:
    arrays = [rows]

    def leaves(tree: Any) -> list[int]:
        """The places of a tree's leaves in the file."""
        first = len(arrays)
        arrays.extend(fetched(leaf) for leaf in jax.tree.leaves(tree))
        return list(range(first, len(arrays)))

    def mark(at: Mark | None) -> Any:
        return None if at is None else [leaves(at.state), at.calls, at.seconds]

    def entry(each: Stage | Proof) -> dict[str, Any]:
        if isinstance(each, Stage):
            return {"status": int(each.status), "at": mark(each.at), "free": mark(each.free)}
        told = asdict(replace(each.certificate, dual=None)) | {"dual": leaves(each.certificate.dual)}
        return {"certificate": told, "budget": each.budget, "calls": each.calls, "seconds": each.seconds}

    return {"limit": record.limit, "entries": [entry(each) for each in record.entries]}, arrays


def _decoded(header: dict[str, Any], arrays: list[np.ndarray]) -> Record:
    def mark(told: Any) -> Mark:
        places, calls, seconds = told
        return Mark([arrays[place] for place in places], calls, seconds)

    def entry(told: dict[str, Any]) -> Stage | Proof:
        if "status" in told:
            return Stage(mark(told["at"]), Status(told["status"]), None if told["free"] is None else mark(told["free"]))
        dual = [arrays[place] for place in told["certificate"]["dual"]]
        found = Certificate(**told["certificate"] | {"dual": dual[0] if dual else None})
        return Proof(found, told["budget"], told["calls"], told["seconds"])

    return Record(header["limit"], tuple(entry(each) for each in header["entries"]))
