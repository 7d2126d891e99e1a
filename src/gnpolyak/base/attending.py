"""Work that several processes do together, which one that is lost must not keep the others in."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import wraps
from typing import Generic, ParamSpec, TypeVar

import jax

from gnpolyak.base.hosts import Peers
from gnpolyak.base.leaving import is_alone
from gnpolyak.base.watch import Watch, told

P = ParamSpec("P")
T = TypeVar("T")
_TICK = 0.5
# How long a collective that fails at all takes to fail once a process is known to be lost.
_GRACE = 2.0
# How XLA speaks of a collective that has failed: a code, and what carried it.
_FAILED = re.compile(
    r"^(UNKNOWN|UNAVAILABLE|INTERNAL|ABORTED|CANCELLED|DEADLINE_EXCEEDED|FAILED_PRECONDITION): "
    r".*(gloo|nccl|rccl|mpi|collective|connection|coordination|heartbeat|socket)",
    re.IGNORECASE | re.DOTALL,
)


class PeerLostError(ConnectionError):
    """Another process died, or left what all were doing."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}. Start all processes again; with checkpoint= a solve goes on from there.")


class _Work(Generic[T]):
    """Something done in a thread of its own: what waits for a lost process can be left only with its thread."""

    def __init__(self, action: Callable[[], T]) -> None:
        self.found: list[T] = []
        self.error: BaseException | None = None
        self._action = action
        self.thread = threading.Thread(target=copy_context().run, args=(self._run,), daemon=True)

    def _run(self) -> None:
        try:
            self.found.append(self._action())
        except BaseException as error:
            self.error = error


def attended(peers: Peers, action: Callable[[], T]) -> T:
    """What an action returns that all of several processes take part in.

    Raises
    ------
    PeerLostError
        Where one of them is lost on the way, whether or not the action itself would ever notice.
    """
    if is_alone():
        raise PeerLostError("This process has lost another one")
    with Watch(peers) as watch:
        work = _Work(action)
        work.thread.start()
        while work.thread.is_alive() and not watch.lost.is_set():
            work.thread.join(_TICK)
            watch.check()
        work.thread.join(_GRACE)
        if work.found:
            return work.found[0]
        if work.error is not None:
            if not _FAILED.search(str(work.error)):
                raise work.error
            watch.fail(f"another process was lost: {told(work.error).partition(': ')[2]}")
        raise PeerLostError(watch.reason) from work.error


def by_all(function: Callable[P, T]) -> Callable[P, T]:
    """A function that all processes of a program call at the same time, where there are several."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        if jax.process_count() == 1:
            return function(*args, **kwargs)
        return attended(Peers(jax.process_count(), jax.process_index()), lambda: function(*args, **kwargs))

    return called
