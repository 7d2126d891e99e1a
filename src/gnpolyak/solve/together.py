"""A solve in several processes: one that is lost ends it in the others, with the best point so far."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from typing import ParamSpec

from gnpolyak.base.attending import PeerLostError, attended
from gnpolyak.base.hosts import Peers, peers_of
from gnpolyak.base.interrupts import interruptible
from gnpolyak.solve.result import Result
from gnpolyak.steps.status import Status

P = ParamSpec("P")


class Joint:
    """One solve of several processes, as one of them sees it."""

    def __init__(self, peers: Peers) -> None:
        self.peers = peers
        self._latest: Result | None = None

    def note(self, res: Result) -> None:
        """An observer: what is returned if a process is lost before the next look."""
        self._latest = res

    def result(self, solve: Callable[[], Result]) -> Result:
        """What the solve returns; the best point so far where another process is lost."""
        try:
            with interruptible(terminable=True):
                return attended(self.peers, solve)
        except PeerLostError:
            if self._latest is None:
                raise
            return replace(self._latest, status=Status.PEER_LOST)


_CURRENT: ContextVar[Joint] = ContextVar("_CURRENT")


def together(solve: Callable[P, Result]) -> Callable[P, Result]:
    """A function of a problem, also for a problem that several processes have the parts of."""

    @wraps(solve)
    def chosen(*args: P.args, **kwargs: P.kwargs) -> Result:
        peers = peers_of(args[0] if args else kwargs.get("problem"))
        joint = Joint(peers)
        # Also where this process is alone: it may be in a callback of a solve that others take part in.
        token = _CURRENT.set(joint)
        try:
            return solve(*args, **kwargs) if peers.count == 1 else joint.result(lambda: solve(*args, **kwargs))
        finally:
            _CURRENT.reset(token)

    return chosen


def current() -> Joint:
    """The solve that this thread works for."""
    return _CURRENT.get()
