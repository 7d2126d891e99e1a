"""Whether all processes of a solve are still there.

A process that dies leaves the others in a collective that may fail at once or wait forever. JAX itself aborts those:
after 100 seconds, or at once where the first one died, which holds what all others are connected to. Here the processes
tell each other that they live, in the store that JAX keeps for all, so that whoever misses one can still return what it
has.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from gnpolyak.base.hosts import Peers
from gnpolyak.base.leaving import Aborts, leave, leave_alone, store

_INTERVAL = 1.0
# How long nothing may be heard of a process. Python's threads stand still while an extension module keeps them from
# running, and that is no death.
_SILENCE = 30.0
# How long the store may take to answer.
_ANSWER = 2.0
_DONE, _LEFT, _LOST = "done", "left: ", "lost: "
_log = logging.getLogger("gnpolyak")


class Watch:
    """The processes of one solve, while it runs.

    Each writes a number that grows. The first one reads those of all others, and they read its own and its verdict: a
    message or two a second for each process. Where JAX was not started by ``jax.distributed.initialize`` there is no
    store, and nothing is watched.
    """

    _solves = 0
    _parting: Watch | None = None
    """The last that this process left by an exception, while nothing was done together since."""

    def __init__(self, peers: Peers, shared: Any = None) -> None:
        Watch._solves += 1
        self.lost = threading.Event()
        self.reason = ""
        """Which process was lost, and how."""
        self._peers, self._store = peers, store() if shared is None else shared
        self._folder = f"gnpolyak/{Watch._solves}"
        self._name = f"{'first' if peers.first else 'each'}/{peers.index}"
        self._heard: dict[int, tuple[str, float]] = {}
        self._answered = time.monotonic()
        self._over, self._deciding = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._beats, name="gnpolyak-watch", daemon=True)

    def __enter__(self) -> Watch:
        if self._store is not None:
            Watch._part_from(None)
            Aborts.held(self._aborted)
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._over.set()
        if self.lost.is_set() or self._store is None:
            return
        self._thread.join(_ANSWER)
        self._say(_DONE if error is None else f"{_LEFT}{told(error)}")
        Aborts.let_go(self._aborted)
        if error is not None:
            Watch._part_from(self)

    @classmethod
    def _part_from(cls, watch: Watch | None) -> None:
        if cls._parting is not None:
            atexit.unregister(cls._parting._part)
        if watch is not None:
            atexit.register(watch._part)
        cls._parting = watch

    def lose(self, reason: str) -> None:
        """Take it that another process is lost: from now on this one waits for none."""
        with self._deciding:
            if self.lost.is_set():
                return
            self.reason = reason
            leave_alone()
            _log.warning("gnpolyak, process %d of %d: %s", self._peers.index, self._peers.count, reason)
            self._say(f"{_LOST}{reason}")
            # At last, since whoever waits for it may end the process.
            self.lost.set()

    def fail(self, reason: str) -> None:
        """Take it that another process is lost because something failed: one that has left is the reason itself."""
        left = (_whose(index, word) for index, (word, _) in tuple(self._heard.items()) if word.startswith(_LEFT))
        self.lose(next(left, reason))

    def check(self) -> None:
        """Look at the clock: the store itself may have fallen silent."""
        if self._store is not None and time.monotonic() - self._answered > _SILENCE:
            self.lose(f"process 0 was lost: no answer for {_SILENCE:.0f} s")

    def _beats(self) -> None:
        # Nobody reads any more what was written in the solve before the last one: all have come to the last.
        _soon(lambda: self._store.key_value_delete(f"gnpolyak/{Watch._solves - 2}/{self._name}"))
        count = 0
        while not self._over.is_set() and not self.lost.is_set():
            count += 1
            try:
                self._write(str(count))
                words = self._words("each" if self._peers.first else "first")
            except Exception as error:
                self.lose(f"process 0 was lost: {told(error)}")
                return
            self._answered = time.monotonic()
            for index, word in words.items():
                self._hear(index, word)
            self._over.wait(_INTERVAL)

    def _words(self, folder: str) -> dict[int, str]:
        told = self._store.key_value_dir_get(f"{self._folder}/{folder}")
        return {int(name.rsplit("/", 1)[-1]): word for name, word in told}

    def _hear(self, index: int, word: str) -> None:
        now = time.monotonic()
        before, since = self._heard.get(index, ("", now))
        since = now if word != before else since
        self._heard[index] = (word, since)
        if word.startswith(_LOST):
            self.lose(word.removeprefix(_LOST))
        elif word.startswith(_LEFT):
            # This process may be about to meet the same error, and come back with all others.
            if now - since > _ANSWER:
                self.lose(_whose(index, word))
        elif word != _DONE and now - since > _SILENCE:
            self.lose(f"process {index} was lost: not a word for {_SILENCE:.0f} s")

    def _say(self, word: str) -> None:
        """Write a last word, if that can be done soon."""
        _soon(lambda: self._write(word))

    def _write(self, word: str) -> None:
        self._store.key_value_set(f"{self._folder}/{self._name}", word, allow_overwrite=True)

    def _aborted(self) -> bool:
        """Whether an abort comes of lost processes: JAX's client does not answer once it has given up on them."""
        if self.lost.is_set() or not _soon(lambda: self._words("first")):
            self.lose("process 0 was lost, or JAX has given up on another")
            return True
        return False

    def _part(self) -> None:
        """At the end of a process that left the solve by an exception: wait for no others that it has left in it."""
        # Longer than the others wait before they believe it: what they know from this process has a name.
        deadline = time.monotonic() + 2 * _ANSWER
        while not self._all_left():
            if time.monotonic() > deadline:
                leave(1)
            time.sleep(_INTERVAL / 10)

    def _all_left(self) -> bool:
        """Whether all processes have left the solve by themselves, as by an error that all of them met."""
        try:
            words = self._words("first") | self._words("each")
        except Exception:
            return False
        return len(words) == self._peers.count and all(word.startswith((_DONE, _LEFT)) for word in words.values())


def told(error: BaseException) -> str:
    """An exception in one line."""
    words = str(error).strip().splitlines()
    return f"{type(error).__name__}: {words[0][:200]}" if words else type(error).__name__


def _whose(index: int, word: str) -> str:
    return f"process {index} left it: {word.removeprefix(_LEFT)}"


def _soon(action: Callable[[], object]) -> bool:
    """Whether something was done without an error, and soon; what takes longer is left to itself."""
    ended, well = threading.Event(), []

    def act() -> None:
        try:
            action()
            well.append(True)
        except Exception:
            _log.debug("no answer from the other processes", exc_info=True)
        finally:
            ended.set()

    threading.Thread(target=act, daemon=True).start()
    return ended.wait(_ANSWER) and bool(well)
