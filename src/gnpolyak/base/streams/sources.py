"""Where rows come from that are not in memory: files, functions, seeds."""

from __future__ import annotations

import abc
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np

from gnpolyak.base.errors import InputError

# The precisions that the linear algebra is done in.
DTYPES = tuple(np.dtype(name) for name in ("float32", "float64", "complex64", "complex128"))
# What a disk is read in, and the bytes that reading whole pages may take beside the rows.
PAGE = 4096
SPARE = 2 * PAGE
# Reads from which on the system is to read ahead.
_LONG = 2**20
# Pieces that a sample of the rows is made of.
_PIECES = 64


class Source(abc.ABC):
    """A matrix of which some rows at a time can be had."""

    shape: tuple[int, ...]
    dtype: np.dtype
    workers: int = 2
    """How many threads may read at once."""
    grain: int = 1
    """Rows that come together: blocks begin at multiples of this."""

    @abc.abstractmethod
    def read(self, start: int, stop: int, out: np.ndarray) -> None:
        """Write the rows start:stop into an array of their shape and type."""

    @property
    @abc.abstractmethod
    def label(self) -> str:
        """How errors and summaries call it."""

    def __repr__(self) -> str:
        return f"{'×'.join(f'{side:,}' for side in self.shape)} {self.dtype} numbers of {self.label}"

    def fill(self, start: int, stop: int, raw: np.ndarray) -> np.ndarray:
        """The rows start:stop, written somewhere into bytes that begin at a page and have `SPARE` more than enough."""
        out = self.within(raw, 0, stop - start)
        self.read(start, stop, out)
        return out

    def within(self, raw: np.ndarray, begin: int, count: int) -> np.ndarray:
        """So many rows in these bytes, from one of them on."""
        return raw[begin : begin + count * self.row_bytes].view(self.dtype).reshape(count, *self.shape[1:])

    def rows(self, start: int, stop: int) -> np.ndarray:
        """The rows start:stop, in an array of their own."""
        out = np.empty((stop - start, *self.shape[1:]), self.dtype)
        self.read(start, stop, out)
        return out

    @property
    def row_bytes(self) -> int:
        """The bytes of a row."""
        return int(np.prod(self.shape[1:])) * self.dtype.itemsize

    def take(self, places: np.ndarray) -> np.ndarray:
        """The rows at these places, which rise."""
        out = np.empty((len(places), *self.shape[1:]), self.dtype)
        at = 0
        for run in np.split(places, np.flatnonzero(np.diff(places) != 1) + 1):
            self.read(int(run[0]), int(run[-1]) + 1, out[at : at + len(run)])
            at += len(run)
        return out

    def sample(self) -> list[Any]:
        """What these rows are known by: type, shape, and some of them from all over. To hash all would take a pass."""
        places = np.unique(np.linspace(0, self.shape[0] - 1, _PIECES).astype(np.int64))
        return [f"{self.dtype.str} {self.shape}", self.take(places).reshape(-1).view(np.uint8).data]


class InMemory(Source):
    """Rows that are in memory, beside others that are not."""

    def __init__(self, rows: np.ndarray, name: str) -> None:
        self._rows, self._name = np.ascontiguousarray(rows), name
        self.shape, self.dtype = rows.shape, rows.dtype

    @property
    def label(self) -> str:
        return self._name

    def read(self, start: int, stop: int, out: np.ndarray) -> None:
        np.copyto(out, self._rows[start:stop])


class InFile(Source):
    """Rows in a file, one after the other: what a `numpy.memmap` shows.

    They are read, and not mapped: pages of a map would be memory of this process for as long as the system likes.
    """

    def __init__(self, mapped: np.memmap, name: str) -> None:
        _require_plain(mapped, name)
        self.shape, self.dtype = mapped.shape, mapped.dtype
        self._path, self._name = Path(str(mapped.filename)), name
        self._offset = _offset(mapped)
        self._known = _identity(os.stat(self._path))
        self.direct = False
        """Whether blocks come from the disk itself, past the system's cache: for more data than that can hold."""

    @property
    def label(self) -> str:
        return f"{self._name} in {self._path.name}"

    def read(self, start: int, stop: int, out: np.ndarray) -> None:
        wanted = out.reshape(-1).view(np.uint8).data
        try:
            with self._path.open("rb", buffering=0) as file:
                self._require_unchanged(file.fileno())
                _advise(file.fileno(), len(wanted))
                file.seek(self._offset + start * self.row_bytes)
                while wanted:
                    wanted = wanted[self._some(file.readinto(wanted)) :]
                self._require_unchanged(file.fileno())
        except OSError as error:
            raise self._refused(f"the right to read it: {error.strerror or error}") from error

    def fill(self, start: int, stop: int, raw: np.ndarray) -> np.ndarray:
        flag = getattr(os, "O_DIRECT", 0)
        begin, end = (self._offset + place * self.row_bytes for place in (start, stop))
        if not (self.direct and flag) or not self._filled(begin, end, raw, flag):
            return super().fill(start, stop, raw)
        return self.within(raw, begin % PAGE, stop - start)

    def _filled(self, begin: int, end: int, raw: np.ndarray, flag: int) -> bool:
        """Read whole pages around these bytes, into memory that begins at one; false where that cannot be done."""
        page = begin - begin % PAGE
        wanted, read = raw[: -(-(end - page) // PAGE) * PAGE].data, 0
        try:
            descriptor = os.open(self._path, os.O_RDONLY | flag)
        except OSError:
            # Not every file system has it; another reason is met again by who reads as usual.
            return False
        try:
            self._require_unchanged(descriptor)
            while read < end - page:
                read += self._some(os.preadv(descriptor, [wanted[read:]], page + read))
                if read % PAGE:
                    break
            self._require_unchanged(descriptor)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return read >= end - page

    def _some(self, count: int | None) -> int:
        if not count:
            raise self._refused("its end: it is shorter than it was")
        return count

    def _require_unchanged(self, descriptor: int) -> None:
        if _identity(os.fstat(descriptor)) != self._known:
            raise self._refused("the file that it was when the problem was stated: it was changed or replaced since")

    def _refused(self, missing: str) -> InputError:
        return InputError(
            given=f"{self._name}, rows in {self._path}",
            needed="a file that stays as it is while it is read, pass after pass",
            missing=missing,
            advice="state the problem again with the file as it is now, and leave it alone during the solve",
        )


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _advise(descriptor: int, size: int) -> None:
    """Have the system read ahead of a block, and not of single rows that are picked out here and there."""
    if hasattr(os, "posix_fadvise"):
        advice = os.POSIX_FADV_SEQUENTIAL if size >= _LONG else os.POSIX_FADV_RANDOM
        os.posix_fadvise(descriptor, 0, 0, advice)


def _offset(mapped: np.memmap) -> int:
    """Where in the file the first row begins; `mapped` may be a part of what was mapped."""
    whole: Any = mapped
    while not isinstance(whole, mmap.mmap):
        whole = whole.base
    begin = np.frombuffer(whole, np.uint8).__array_interface__["data"][0]
    # A map begins at a multiple of this; NumPy keeps the offset that it was asked for.
    page = mapped.offset - mapped.offset % mmap.ALLOCATIONGRANULARITY
    return int(page + mapped.__array_interface__["data"][0] - begin)


def _require_plain(mapped: np.memmap, name: str) -> None:
    if mapped.dtype not in DTYPES:
        raise InputError(
            given=f"{name}, a memory-mapped file of dtype {mapped.dtype}",
            needed="float32 or float64, or complex numbers of these, in this machine's order of bytes",
            missing="a precision that the linear algebra is done in",
            advice=f"convert the file once, block by block, or pass numpy.asarray({name}) if memory can hold it",
        )
    if not mapped.flags.c_contiguous:
        raise InputError(
            given=f"{name}, a memory-mapped file whose rows do not lie one after the other",
            needed="rows in C order, all of them or a run start:stop",
            missing="that order: it is Fortran's, or a part with gaps",
            advice=f"save it once in C order, or pass numpy.array({name}, order='C') if memory can hold it",
        )
    if mapped.filename is None or mapped.mode == "c":
        raise InputError(
            given=f"{name}, a memory map " + ("without a file name" if mapped.filename is None else "of mode 'c'"),
            needed="a file that holds what the map shows",
            missing="its name"
            if mapped.filename is None
            else "what was written to the map, which the file does not see",
            advice="open it with numpy.load(path, mmap_mode='r')",
        )
