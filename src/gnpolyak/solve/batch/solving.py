"""A batch in pieces, on as many lanes as there are, and their results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from gnpolyak.base.halting import HaltedError, halted_by
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import NumpyMap
from gnpolyak.solve.batch.given import Given
from gnpolyak.solve.batch.lanes import Lanes
from gnpolyak.solve.batch.members import Leaves, part, stack
from gnpolyak.solve.batch.rounds import Rounds
from gnpolyak.solve.batch.task import Task
from gnpolyak.solve.batch.together import Piece, Together
from gnpolyak.solve.batch.whitening import Whitening
from gnpolyak.solve.driver import Run
from gnpolyak.solve.evaluation import chosen_runner
from gnpolyak.solve.result import Result
from gnpolyak.solve.ways import delivered, ended, solution
from gnpolyak.steps.status import Status

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


class Batch:
    """All members of a batch, and the way to their results."""

    def __init__(self, task: Task, given: Given) -> None:
        self.task, self.given = task, given
        self._whitening = Whitening(given.problems) if task.method.assisted else None

    def results(self) -> Done:
        """Members and their results, some at a time."""
        return self._one_by_one() if self._is_hosted() else self._in_pieces()

    def _is_hosted(self) -> bool:
        """Whether members are solved one after the other, in NumPy: few small problems, or models that run there."""
        problem = self.given.problems[0]
        if self.given.count >= _WORTH_COMPILING:
            return isinstance(problem.map, NumpyMap)
        # What a method leaves open may be what only JAX can run.
        task = self.task.suited(problem, part(self.given.x, 0))
        return chosen_runner(problem, task.method, task.rule) == "host" or isinstance(problem.map, NumpyMap)

    def _one_by_one(self) -> Done:
        for i in range(self.given.count):
            ((_, task, piece),) = self._settled([i])
            x, solved = part(piece.x, 0), piece.solved[0]
            run = task.run(piece.given[0], solved, x)
            try:
                with halted_by(_stops(task, run)):
                    res = ended(run, task.method, task.rule, solution(run, task.method, task.rule, x), task.polish)
            except HaltedError:
                res = run.given_up()
            yield [i], [delivered(res, task.method, piece.like[0])]

    def _in_pieces(self) -> Done:
        """By programs that are compiled once."""
        few, count = Leaves(self.given.problems[:2]), self.given.count
        lanes = Lanes(self.given.problems[0], self.task.clock)
        width = _width(few.size, count, lanes)
        size = width * int(np.clip(count // (width * lanes.count), 1, _TILES))

        def solve(who: Sequence[int]) -> dict[int, Result]:
            results: dict[int, Result] = {}
            with lanes.one(self.task.dtype) as lane:
                for members, task, piece in self._settled(who):
                    rounds = Rounds(Leaves(piece.solved), width, lane, task.stops, most_kept=_TILES)
                    results.update(zip(members, Together(task, piece, rounds).results(), strict=True))
            return results

        pieces = [range(i, min(i + size, count)) for i in range(0, count, size)]
        for results in _ahead(pieces, solve, self.task, lanes.count):
            yield list(results), list(results.values())

    def _settled(self, who: Sequence[int]) -> Iterator[tuple[list[int], Task, Piece]]:
        """Some members in groups of one structure: of the same problems some may be whitened, and others not."""
        given = [self.given.problems[i] for i in who]
        solved = given if self._whitening is None else self._whitening.of(given)
        groups: dict[Any, list[int]] = {}
        for place, each in enumerate(solved):
            groups.setdefault(type(each.sensing), []).append(place)
        for places in groups.values():
            members, some = [who[place] for place in places], [solved[place] for place in places]
            problems, likes = [given[place] for place in places], [self.given.like(i) for i in members]
            x = _into(some, problems, part(self.given.x, np.asarray(members)))
            yield members, self.task.suited(some[0], part(x, 0)), Piece(problems, some, x, likes)


def _stops(task: Task, run: Run) -> Callable[[], bool]:
    """Whether a member's solve is to end; its first point is evaluated however long it takes."""
    return lambda: bool(run.rows) and task.stops() is not Status.RUNNING


def _into(solved: Sequence[Composite], given: Sequence[Composite], x: Tree) -> Tree:
    """The starts in the variables that the problems are solved in."""
    if all(new is old for new, old in zip(solved, given, strict=True)):
        return x
    return stack([each.sensing.into(part(x, i)) for i, each in enumerate(solved)])


def _ahead(
    pieces: Sequence[Sequence[int]], solve: Callable[[Sequence[int]], dict[int, Result]], task: Task, count: int
) -> Iterator[dict[int, Result]]:
    """The results of pieces, in order; those that come next are worked on meanwhile."""
    begun: deque[Future[dict[int, Result]]] = deque()
    with ThreadPoolExecutor(count) as pool:
        try:
            for piece in pieces:
                begun.append(pool.submit(solve, piece))
                if len(begun) > _AHEAD * count:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        except BaseException:
            # Whatever it was, nobody will ask for the others.
            task.stopped.set()
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
