"""A solve in several processes: one that is lost ends it in the others, with the best point so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gnpolyak.base.attending import PeerLostError, attended
from gnpolyak.base.hosts import Peers
from gnpolyak.solve.result import Result
from gnpolyak.steps.status import Status


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
        if self.peers.count == 1:
            return solve()
        try:
            return attended(self.peers, solve)
        except PeerLostError:
            if self._latest is None:
                raise
            return replace(self._latest, status=Status.PEER_LOST)
