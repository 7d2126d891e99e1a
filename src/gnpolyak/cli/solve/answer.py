"""What came of a solve: three lines, and the arrays of NAME.answer.npz."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import gnpolyak as gnp
from gnpolyak.base import trees
from gnpolyak.base.arrays import precise
from gnpolyak.base.files import replacing
from gnpolyak.cli.solve.kinds import KINDS, Arrays, Built
from gnpolyak.cli.solve.understanding import Understood
from gnpolyak.oracles import host_oracle

_SOLVED = {
    gnp.Status.CERTIFIED: "certified: no small change of it fits the data better",
    gnp.Status.TARGET_REACHED: "exact: the data are fitted to the last digits",
    gnp.Status.NOISE: "a robust fit in noise",
}


@dataclass(frozen=True)
class Answer:
    """A result, together with what it is the answer to."""

    understood: Understood
    result: gnp.Result

    @property
    def solved(self) -> bool:
        """Whether the solve came to an end that can be relied on: certified, exact, or a robust fit in noise."""
        return self.result.status in _SOLVED

    @property
    def built(self) -> Built:
        """The problem."""
        return self.understood.built

    @cached_property
    def parts(self) -> Arrays:
        """The solution's arrays by name."""
        return KINDS[self.understood.kind].answer(self.result.x)

    @property
    def arrays(self) -> Arrays:
        """The parts of the solution, the residuals, and which data are wrong."""
        value = np.asarray(self.result.value)
        return {**self.parts, "residuals": self.residuals, "outliers": self.outliers, "value": value}

    @cached_property
    def residuals(self) -> np.ndarray:
        """Data less model, in the shape of the data."""
        problem, x = self.understood.problem, trees.on_host(self.result.x)
        data: Any = problem.penalty
        with precise(True), np.errstate(all="ignore"):
            return np.asarray(host_oracle(problem, x).residuals(x)[1]).reshape(data.b.shape)

    @cached_property
    def marked(self) -> np.ndarray:
        """True for each number in the data that is wrong; none where good and bad could not be told apart."""
        marked = np.zeros(self.residuals.size, dtype=bool)
        if self.result.outliers is not None:
            marked[np.asarray(self.result.outliers)] = True
        return marked.reshape(self.residuals.shape)

    @property
    def outliers(self) -> np.ndarray:
        """The same for each datum: a pair of rotations is wrong if one of its nine numbers is."""
        if self.built.one == "data":
            return self.marked
        return np.asarray(self.marked.any(axis=tuple(range(1, self.marked.ndim))))

    @property
    def found(self) -> str:
        """What was found, and its rank where it has one."""
        return self.built.found.format(rank=KINDS[self.understood.kind].size(self.result.x))

    @property
    def quality(self) -> str:
        """How good it is."""
        res = self.result
        words = _SOLVED.get(res.status, f"not solved ({res.status.name.lower().replace('_', ' ')})")
        noise = "" if res.noise is None else f", of size {res.noise:.3g}"
        return f"{words}{noise}; sum of errors {res.value:.6g} after {res.calls:,} calls and {res.seconds:.2g} s"

    @property
    def wrong(self) -> str:
        """How many data are wrong."""
        bad, one = self.outliers, self.built.one
        if self.result.outliers is None:
            return f"not to be told among {bad.size:,} {one}"
        return f"{int(bad.sum()):,} of {bad.size:,} {one} ({bad.mean():.1%})"

    def lines(self, *files: Path) -> str:
        """The answer in three lines."""
        written = "; see " + " and ".join(str(file) for file in files) if files else ""
        return f"Found:    {self.found}\nHow good: {self.quality}\nOutliers: {self.wrong}{written}"

    def save(self, path: Path) -> None:
        """Write the arrays, whole or not at all."""
        with replacing(path) as draft, draft.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **self.arrays)
