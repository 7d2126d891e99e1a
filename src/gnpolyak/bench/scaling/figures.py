"""What a run of the suite found, in numbers: the rows of a file, read back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gnpolyak.bench.rows import Row
from gnpolyak.bench.scaling.inside import CALL, ITERATION, READ
from gnpolyak.bench.scaling.measure import ALONE, LONG, MEMORY, SHORT, TOGETHER, summing
from gnpolyak.bench.scaling.model import ITEM, Host, Network, numbers, row_bytes
from gnpolyak.bench.specs import Size

_LABEL = re.compile(r"d=(\d+) r=(\d+) n=2 m=(\d+)")
_COUNT = re.compile(r"(\d+) process")
FILLED = 0.8
"""The share of a memory that rows may fill: the rest is for what is as long as the data, and for the program."""


@dataclass(frozen=True)
class Case:
    """Medians in seconds of one size, of one process or several."""

    size: Size
    processes: int
    seconds: dict[str, float]

    @property
    def bytes(self) -> int:
        """The rows of one process."""
        return row_bytes(self.size.d, self.size.rows)

    @property
    def sum(self) -> float:
        """The sum of as many numbers as a call needs."""
        return self.seconds.get(summing(numbers(self.size.d, self.size.r)), 0.0)

    @property
    def share(self) -> float:
        """The speed of an oracle call as a share of that of one read."""
        return self.seconds[READ] / self.seconds[CALL]

    @property
    def speed(self) -> float:
        """The bytes of rows a second at which oracle calls run; of several processes, at which iterations do."""
        return self.bytes / self.seconds[CALL if CALL in self.seconds else ITERATION]


def cases(rows: Sequence[Row], measure: str, of: str = "") -> list[Case]:
    """The cases of a measure that were not skipped, in the order of the file."""
    found: dict[str, Case] = {}
    for row in rows:
        if row.measure == measure and row.case.endswith(of) and row.median is not None:
            case = found.setdefault(row.case, Case(_size(row.case), _processes(row.case), {}))
            case.seconds[row.contestant] = row.median / 1e3
    return list(found.values())


def host(rows: Sequence[Row], of: str) -> Host | None:
    """The machine on which one process ran, as the smaller size shows it; None where there was none such."""
    found = cases(rows, ALONE, of)
    if not found:
        return None
    memory = max(row.median or 0.0 for row in rows if row.measure == MEMORY and row.case.endswith(of))
    return Host(smallest(found).speed, FILLED * memory * 1e9)


def smallest(found: Sequence[Case]) -> Case:
    """The case with the fewest bytes on the fewest processes: what a model is fitted to."""
    return min(found, key=lambda case: (case.processes, case.bytes))


def network(rows: Sequence[Row]) -> Network | None:
    """What two processes of the smaller size have between them, from a short sum and a long one."""
    pairs = [case for case in cases(rows, TOGETHER) if case.processes == 2]
    if not pairs:
        return None
    short, long = (smallest(pairs).seconds[summing(length)] for length in (SHORT, LONG))
    # Over two processes the model has one message, and each of them sends as many bytes as the sum has.
    return Network(short, ITEM * (LONG - SHORT) / max(long - short, 1e-9))


def _size(case: str) -> Size:
    found = _LABEL.search(case)
    if found is None:
        raise ValueError(f"no size in {case!r}")
    d, r, m = (int(word) for word in found.groups())
    return Size(d=d, r=r, m=m)


def _processes(case: str) -> int:
    found = _COUNT.search(case)
    return 1 if found is None else int(found.group(1))
