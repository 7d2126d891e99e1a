"""A solve in several processes: one that is lost ends it in the others, with the best point so far."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from dataclasses import replace
from functools import wraps
from typing import ParamSpec

from gnpolyak.base.hosts import ALONE, Peers, peers_of
from gnpolyak.base.interrupts import interruptible
from gnpolyak.base.leaving import is_alone
from gnpolyak.base.watch import Watch, told
from gnpolyak.solve.result import Result
from gnpolyak.steps.status import Status

P = ParamSpec("P")
_TICK = 0.5
# How long a collective that fails at all takes to fail once a process is known to be lost.
_GRACE = 2.0
# How XLA speaks of a collective that has failed: a code, and what carried it.
_FAILED = re.compile(
    r"^(UNKNOWN|UNAVAILABLE|INTERNAL|ABORTED|CANCELLED|DEADLINE_EXCEEDED|FAILED_PRECONDITION): "
    r".*(gloo|nccl|rccl|mpi|collective|connection|coordination|heartbeat|socket)",
    re.IGNORECASE | re.DOTALL,
)
_CURRENT: ContextVar[Joint | None] = ContextVar("_CURRENT", default=None)


class Joint:
    """One solve of several processes, as one of them sees it.

    The solve runs in a thread of its own, since a collective that waits for a lost process can be left only with the
    thread that waits in it.
    """

    def __init__(self, peers: Peers) -> None:
        self.peers = peers
        self._latest: Result | None = None
        self._outcome: list[Result] = []
        self._error: BaseException | None = None

    def note(self, res: Result) -> None:
        """An observer: what is returned if a process is lost before the next look."""
        self._latest = res

    def result(self, solve: Callable[[], Result]) -> Result:
        """What the solve returns; the best point so far where another process is lost."""
        with interruptible(terminable=True), Watch(self.peers) as watch:
            token = _CURRENT.set(self)
            worker = threading.Thread(target=copy_context().run, args=(self._work, solve), daemon=True)
            _CURRENT.reset(token)
            worker.start()
            while worker.is_alive() and not watch.lost.is_set():
                worker.join(_TICK)
                watch.check()
            worker.join(_GRACE)
            if self._error is not None and _FAILED.search(str(self._error)):
                watch.lose(f"another process was lost: {told(self._error).partition(': ')[2]}")
            if watch.lost.is_set() and not self._outcome:
                return self._without(watch.reason)
            if self._error is not None:
                raise self._error
            return self._outcome[0]

    def _work(self, solve: Callable[[], Result]) -> None:
        try:
            self._outcome.append(solve())
        except BaseException as error:
            self._error = error

    def _without(self, reason: str) -> Result:
        """The result without the lost process, as far as all were seen to be there."""
        if self._latest is None:
            raise _lost(f"{reason}, before there was a point to return") from self._error
        return replace(self._latest, status=Status.PEER_LOST)


def _lost(what: str) -> ConnectionError:
    return ConnectionError(f"{what}. Start all processes again; with checkpoint= the solve goes on from there.")


def together(solve: Callable[P, Result]) -> Callable[P, Result]:
    """A function of a problem, also for a problem that several processes hold the parts of."""

    @wraps(solve)
    def chosen(*args: P.args, **kwargs: P.kwargs) -> Result:
        peers = peers_of(args[0] if args else kwargs.get("problem"))
        if peers.count == 1:
            return solve(*args, **kwargs)
        if is_alone():
            raise _lost("This process has lost another one")
        return Joint(peers).result(lambda: solve(*args, **kwargs))

    return chosen


def current() -> Joint:
    """The solve that this thread works for."""
    return _CURRENT.get() or Joint(ALONE)
