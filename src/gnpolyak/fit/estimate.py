"""The efficient robust estimate of a model's parameters, from one start or from several."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.base.halting import HaltedError, go_on, halted_by
from gnpolyak.base.interrupts import interruptible
from gnpolyak.fit import judgement, starting
from gnpolyak.fit.bounds import Box
from gnpolyak.fit.data import Data
from gnpolyak.fit.model import Predict, as_map
from gnpolyak.fit.result import Fit, FitWarning
from gnpolyak.oracles import Oracle, host_oracle
from gnpolyak.problem.composite import Composite, composite
from gnpolyak.problem.maps import Map, NumpyMap
from gnpolyak.problem.penalties import L1
from gnpolyak.solve.clock import Clock
from gnpolyak.solve.minimize import minimize
from gnpolyak.solve.result import Result
from gnpolyak.steps.status import STOPPED, Status
from gnpolyak.steps.weights import TUKEY

_DOUBLE = np.dtype(np.float64)
# Draws that are looked at and fits that are made of them: where no start was given, and where all so far look poor.
_FEW, _MANY = (60, 2), (400, 8)
# Draws at which a model that has no value at ones is tried.
_TRIES = 20


@dataclass(frozen=True)
class Task:
    """A model, its data and its bounds, ready to be fitted from anywhere."""

    problem: Composite
    oracle: Oracle
    data: Data
    lower: np.ndarray
    upper: np.ndarray
    clock: Clock
    """What the caller has waited."""

    @classmethod
    def of(
        cls, predict: Predict, data: Data, start: np.ndarray | None, box: Box, derivative: Predict | None = None
    ) -> tuple[Task, np.ndarray]:
        """The task, and a start at which the model has values."""
        (lower, upper), clock = box, Clock()
        _require_enough(data, lower.size)
        first = starting.ones(lower.size, lower, upper) if start is None else start
        others = starting.drawn(data, lower.size, lower, upper, _TRIES if start is None else 0)
        c = as_map(predict, data, (first, *others), derivative, box)
        problem = composite(c, L1(data.y, None if data.sigma is None else 1.0 / data.sigma))
        with arrays.computing_in(_DOUBLE, compiled=False):
            problem = problem.cast(_DOUBLE).settled(first)
            return cls(problem, host_oracle(problem, first), data, lower, upper, clock), first

    def look(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The residuals at p and the derivative of the model, both in units of sigma."""
        go_on()
        with arrays.computing_in(_DOUBLE, compiled=False), _naming(self.problem.map):
            return self.oracle.residuals(p)[1], self.oracle.matrix(p)

    def solved(self, p: np.ndarray) -> Result:
        """The efficient estimate from p on."""
        bounded = bool(np.any(np.isfinite(self.lower) | np.isfinite(self.upper)))
        options: dict[str, Any] = {"bounds": (self.lower, self.upper)} if bounded else {}
        with _naming(self.problem.map):
            return minimize(self.problem, p, polish=True, **options)

    def score(self, res: Result) -> tuple[bool, float, float]:
        """How good a fit is, the smaller the better: whether it is one, its scale, and its value."""
        if not np.all(np.isfinite(res.x)) or not np.isfinite(res.value):
            return True, np.inf, np.inf
        return False, judgement.scale(self.look(res.x)[0], res.x.size), res.value

    def is_poor(self, res: Result) -> bool:
        """Whether it seems worth while to try from elsewhere."""
        if not (res.success or res.efficient):
            return True
        r, _ = self.look(res.x)
        y = self.data.y.ravel() if self.data.sigma is None else (self.data.y / self.data.sigma).ravel()
        return judgement.is_poor(r, y, self.data.line, judgement.noise(r, res.x.size))


def estimated(task: Task, start: np.ndarray, given: bool) -> tuple[Result, int]:
    """The best fit from the start, and from others where it was not given or where the fit looks poor; and of how many.

    Ends are compared by an M-scale of their residuals, which half of the data decide: the sum of the residuals' sizes,
    which is minimised, could be smaller for a fit that runs through some of the outliers. Ctrl-C ends it with the best.
    """
    res, tried = task.solved(start), 1
    try:
        with interruptible() as pressed, halted_by(pressed.is_set):
            for (count, most), wanted in ((_FEW, not given), (_MANY, True)):
                if not wanted or res.status in STOPPED or (count == _MANY[0] and not task.is_poor(res)):
                    continue
                draws = starting.drawn(task.data, start.size, task.lower, task.upper, count, start if given else None)
                for p in starting.best(task.look, draws, task.lower, task.upper, most):
                    again, tried = task.solved(p), tried + 1
                    res = min(res, again, key=task.score)
                    if again.status in STOPPED or (count == _MANY[0] and not task.is_poor(res)):
                        break
    except HaltedError:
        res = replace(res, status=Status.INTERRUPTED)
    return res, tried


def finished(
    task: Task, res: Result, tried: int, names: tuple[str, ...], absolute: bool, curve: Callable[[Any, Any], Any]
) -> Fit:
    """The fit with its covariance."""
    p = np.asarray(res.x, dtype=np.float64)
    r, matrix = task.look(p)
    sigma = judgement.noise(r, p.size)
    free = (p > task.lower) & (p < task.upper)
    pcov = judgement.covariance(r, matrix, sigma, absolute, free)
    return Fit(
        **{each.name: getattr(res, each.name) for each in fields(Result)} | _told(task, res, p, r, sigma),
        names=names,
        popt=p,
        pcov=pcov,
        params=dict(zip(names, p.tolist(), strict=True)),
        errors=dict(zip(names, np.sqrt(np.diag(pcov)).tolist(), strict=True)),
        ended=res.status.success or (sigma > 0 and judgement.has_ended(r, matrix, sigma, free)),
        differences=isinstance(task.problem.map, NumpyMap) and task.problem.map.host.derivative is None,
        starts=tried,
        data=task.data,
        fitted=task.data.y - r.reshape(task.data.y.shape) * (1.0 if task.data.sigma is None else task.data.sigma),
        curve=lambda points: np.asarray(curve(points, p), dtype=np.float64),
    )


def _told(task: Task, res: Result, p: np.ndarray, r: np.ndarray, sigma: float) -> dict[str, Any]:
    """What a fit says otherwise than the solve: the time, the noise, and which of the data given are outliers.

    What was spent on other starts is part of finding a start.

    Of data without noise the solve knows better which are wrong: these are apart by a factor of a thousand.
    """
    elsewhere = task.clock.seconds - res.seconds
    places = res.outliers if res.noise is None else np.flatnonzero(np.abs(r) > TUKEY * sigma)
    kept = task.data.kept
    return {
        "x": p,
        "seconds": res.seconds + elsewhere,
        "timings": res.timings | {"start": res.timings["start"] + elsewhere},
        "noise": None if res.noise is None else sigma,
        "outliers": places if places is None or kept is None else kept[places],
    }


def warn(fit: Fit) -> None:
    """Say what a caller who looks only at the numbers would not see."""
    if not fit.success:
        warnings.warn(fit.message, FitWarning, stacklevel=3)
    elif not np.all(np.isfinite(fit.pcov)):
        warnings.warn(
            "The covariance of the parameters could not be estimated: the data do not determine all of them, or leave "
            "nothing over. pcov is infinite.",
            FitWarning,
            stacklevel=3,
        )


def _require_enough(data: Data, n: int) -> None:
    if data.y.size < n:
        raise InputError(
            given=f"{data.y.size} data for {n} parameters",
            needed="at least as many data as parameters",
            missing=f"{n - data.y.size} data",
            advice="measure more, or hold parameters fixed with gnpolyak.fit",
        )


@contextmanager
def _naming(c: Map) -> Iterator[None]:
    """Say of an error that the model raised it, where it did."""
    try:
        yield
    except Exception as error:
        inner = c.host.error if isinstance(c, NumpyMap) else None
        if inner is None:
            raise
        said = (str(inner).splitlines() or ["without a message"])[0]
        raise InputError(
            given="a model that raised an error during the fit",
            needed="a value for each datum at all parameters within the bounds",
            missing=f"one: {type(inner).__name__}: {said}",
            advice="give bounds that keep the model inside its domain, or return numpy.nan outside",
        ) from error
