"""Blocks of rows, the next ones being read while one is used."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np

from gnpolyak.base.halting import go_on
from gnpolyak.base.streams.sources import PAGE, SPARE, Source

# The bytes of a block: some tens of milliseconds of reading, beside which what a block costs by itself is nothing.
BLOCK_BYTES = 64 * 2**20
# Blocks begin at multiples of so many rows where they can: there an array begins where JAX takes it without a copy.
_EVEN = 64


@dataclass
class _Buffers:
    """Memory that blocks are read into, used again and again."""

    free: dict[int, list[np.ndarray]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, size: int) -> np.ndarray:
        with self.lock:
            kept = self.free.get(size)
            if kept:
                return kept.pop()
        raw = np.empty(size + PAGE, np.uint8)
        begin = -raw.ctypes.data % PAGE
        return raw[begin : begin + size]

    def give(self, buffer: np.ndarray) -> None:
        with self.lock:
            self.free.setdefault(buffer.size, []).append(buffer)


_BUFFERS: ContextVar[_Buffers | None] = ContextVar("_BUFFERS", default=None)


@contextmanager
def many_passes() -> Iterator[None]:
    """A block of code whose passes share their buffers."""
    token = _BUFFERS.set(_BUFFERS.get() or _Buffers())
    try:
        yield
    finally:
        _BUFFERS.reset(token)


def edges(sources: Sequence[Source]) -> list[tuple[int, int]]:
    """Where the blocks begin and end, all of one length but the last."""
    m, size = sources[0].shape[0], sum(source.row_bytes for source in sources)
    grain, most = max(source.grain for source in sources), max(BLOCK_BYTES // size, 1)
    unit = next(unit for unit in (max(grain, _EVEN), grain, 1) if unit <= most)
    length = most - most % unit
    return [(start, min(start + length, m)) for start in range(0, m, length)]


def blocks(sources: Sequence[Source]) -> Iterator[tuple[int, int, list[np.ndarray]]]:
    """The rows start:stop of each source, block after block: valid until the next is asked for.

    A block that is used, and as many as there are threads being read: that is all the memory it takes.
    """
    workers = min(source.workers for source in sources)
    cuts, buffers = deque(edges(sources)), _BUFFERS.get() or _Buffers()
    sizes = [source.row_bytes * (cuts[0][1] - cuts[0][0]) + SPARE for source in sources]
    ahead: deque[tuple[int, int, list[np.ndarray], Future[list[np.ndarray]]]] = deque()

    def send() -> None:
        start, stop = cuts.popleft()
        raw = [buffers.take(size) for size in sizes]
        ahead.append((start, stop, raw, pool.submit(_fill, sources, start, stop, raw)))

    with ThreadPoolExecutor(workers, thread_name_prefix="gnpolyak rows") as pool:
        try:
            while cuts or ahead:
                while cuts and len(ahead) < workers + 1:
                    send()
                start, stop, raw, read = ahead[0]
                yield start, stop, read.result()
                ahead.popleft()
                for each in raw:
                    buffers.give(each)
                if cuts or ahead:
                    go_on()
        finally:
            # What is being read is waited for: a thread must not write into memory that is somebody else's by then.
            pool.shutdown(wait=True, cancel_futures=True)
            for _, _, raw, _ in ahead:
                for each in raw:
                    buffers.give(each)


def _fill(sources: Sequence[Source], start: int, stop: int, raw: list[np.ndarray]) -> list[np.ndarray]:
    return [source.fill(start, stop, each) for each, source in zip(raw, sources, strict=True)]
