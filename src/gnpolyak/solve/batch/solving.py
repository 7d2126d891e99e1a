"""A batch in pieces, on as many lanes as there are, and their results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import NumpyMap
from gnpolyak.solve.batch.given import Given
from gnpolyak.solve.batch.lanes import Lanes, devices_of
from gnpolyak.solve.batch.members import Leaves, part
from gnpolyak.solve.batch.rounds import Rounds
from gnpolyak.solve.batch.task import Task
from gnpolyak.solve.batch.together import Piece, Together
from gnpolyak.solve.finish import proves
from gnpolyak.solve.hosted import is_hosted
from gnpolyak.solve.result import Result
from gnpolyak.solve.ways import concluded, solution

# Small problems take some ten milliseconds each on the host, and some seconds to compile a batch for.
_WORTH_COMPILING = 100
# Members of a tile: so many that their own numbers stay in a core's cache, and that no member waits for many others.
_NARROWEST, _WIDEST, _CACHE = 8, 32, 2**22
# An accelerator is filled by more.
_WIDEST_ELSEWHERE = 1024
# Tiles of a piece: what is left over of them when most of their members have stopped fills one more.
_TILES = 8
# Pieces that are begun before their turn, for each lane.
_AHEAD = 2

Done = Iterator[tuple[list[int], list[Result]]]


@dataclass(frozen=True)
class Batch:
    """All members, and what they are solved as."""

    task: Task
    given: Given
    solved: list[Composite]
    x: Tree
    """The starts, stacked, in the variable that they are solved in."""

    def results(self) -> Done:
        """Members and their results, some at a time."""
        for who in self._of_one_structure():
            yield from self._one_by_one(who) if self._is_hosted(who) else self._in_pieces(who)

    def _of_one_structure(self) -> list[list[int]]:
        """The members in groups: of the same problems some may have been whitened, and others not."""
        if all(each is self.solved[0] for each in self.solved):
            return [list(range(self.given.count))]
        groups: dict[Any, list[int]] = {}
        for i, each in enumerate(self.solved):
            groups.setdefault(type(each.sensing), []).append(i)
        return list(groups.values())

    def _is_hosted(self, who: list[int]) -> bool:
        """Whether members are solved one after the other, in NumPy: few small problems, or models that run there."""
        problem, x, task = self.solved[who[0]], part(self.x, who[0]), self.task
        stages = task.method.stages(problem, task.rule, x)
        few = self.given.count < _WORTH_COMPILING and any(is_hosted(problem, *stage, x) for stage in stages)
        return few or isinstance(problem.map, NumpyMap)

    def _one_by_one(self, who: list[int]) -> Done:
        task, seconds = self.task, 0.0
        for i in who:
            x, solved = part(self.x, i), self.solved[i]
            run = task.run(self.given.problems[i], solved, proves=proves(solved, task.rule, x), seconds=seconds)
            res = solution(run, task.method, task.rule, x)
            res = concluded(run, task.method, task.rule, res, task.polish, self.given.like(i))
            seconds = run.seconds
            yield [i], [res]

    def _in_pieces(self, who: list[int]) -> Done:
        """Those of one structure, by programs that are compiled once."""
        leaves = Leaves([self.solved[i] for i in who])
        lanes = Lanes(devices_of(leaves.shared))
        width = _width(leaves.size, len(who), lanes)
        size = width * int(np.clip(len(who) // (width * lanes.count), 1, _TILES))
        pieces = [np.arange(i, min(i + size, len(who))) for i in range(0, len(who), size)]

        def solve(places: np.ndarray) -> list[Result]:
            with lanes.one(self.task.dtype) as lane:
                members = [who[place] for place in places]
                rounds = Rounds(leaves.some(places), width, lane, self.task.stops, most_kept=_TILES)
                return Together(self.task, self._piece(members), rounds).results()

        for places, results in _ahead(pieces, solve, self.task, lanes.count):
            yield [who[place] for place in places], results

    def _piece(self, who: Sequence[int]) -> Piece:
        given, places = self.given, np.asarray(who)
        problems, solved = [given.problems[i] for i in who], [self.solved[i] for i in who]
        return Piece(problems, solved, part(self.x, places), [given.like(i) for i in who])


def _ahead(pieces: list[np.ndarray], solve: Any, task: Task, count: int) -> Iterator[tuple[np.ndarray, list[Result]]]:
    """Pieces with their results, in order; those that come next are worked on meanwhile."""
    begun: deque[tuple[np.ndarray, Future[list[Result]]]] = deque()
    with ThreadPoolExecutor(count) as pool:
        try:
            for piece in pieces:
                begun.append((piece, pool.submit(solve, piece)))
                if len(begun) > _AHEAD * count:
                    first, future = begun.popleft()
                    yield first, future.result()
            while begun:
                first, future = begun.popleft()
                yield first, future.result()
        except BaseException:
            # Whatever it was, nobody will ask for the others.
            task.stopped = True
            raise


def _width(size: int, count: int, lanes: Lanes) -> int:
    """How many members, each with so many bytes of its own, a program takes at once."""
    fitting = _CACHE // max(size, 1)
    widest = int(np.clip(_power_below(fitting), _NARROWEST, _WIDEST)) if lanes.on_cpu else _WIDEST_ELSEWHERE
    return min(widest, _power_above(count))


def _power_above(number: int) -> int:
    """The least power of two that is not smaller."""
    return 1 << max(number - 1, 0).bit_length()


def _power_below(number: int) -> int:
    """The largest power of two that is not larger, and at least 1."""
    return 1 << max(number.bit_length() - 1, 0)
