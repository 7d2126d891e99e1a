"""Going on from a result: with what its solve was asked, and from where it stood."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.trees import Tree
from gnpolyak.solve.course import Course, Record
from gnpolyak.solve.result import Result
from gnpolyak.steps.status import Status


@dataclass(frozen=True)
class Asked:
    """The arguments of `minimize` that decide the course of a solve; limits only end it."""

    x0: Any = None
    method: Any = "auto"
    bounds: Any = None
    rank: Any = "auto"
    cuts: Any = None
    target: Any = None
    lower_bound: Any = None
    strategy: Any = None
    inner: Any = 200
    outer: Any = 50
    tol: Any = 1e-10
    polish: Any = False


@dataclass(frozen=True)
class Past:
    """What a result keeps, for another solve to go on from."""

    asked: Asked
    start: Tree
    """x0, or the start from the data that stood in for it."""
    record: Record


def taken_up(asked: Asked, resume: Any) -> tuple[Asked, Past | None]:
    """The arguments of the solve that a result came from, with those of this call checked against them."""
    if resume is None:
        return asked, None
    if not isinstance(resume, Result) or not isinstance(resume.past, Past):
        raise InputError(
            given=f"resume of type {type(resume).__name__}" + (" without a past" if isinstance(resume, Result) else ""),
            needed="a Result of minimize",
            missing="where its solve stood",
            advice="pass what minimize returned; to go on from a point, pass it as x0",
        )
    then = resume.past.asked
    for field in fields(asked):
        now, was = getattr(asked, field.name), getattr(then, field.name)
        if not (_is_default(now, field.default) or _same(now, was)):
            raise InputError(
                given=f"{field.name}={shown(now)} with resume",
                needed=f"the {field.name} of the solve that is resumed, {shown(was)}",
                missing="a course that both belong to",
                advice=f"leave out {field.name}; or begin another solve with x0=res.x",
            )
    return then, resume.past


def course_of(resume: Result | None, limit: int) -> Course:
    """The course that a solve of at most so many calls takes up, if any."""
    if resume is None:
        return Course(Record(limit))
    if resume.status is Status.CALL_LIMIT and limit <= resume.past.record.limit:
        raise InputError(
            given=f"resume of a result that ended at its limit of {resume.past.record.limit:,} calls, with {limit:,}",
            needed="more calls",
            missing="room to go on",
            advice=f"pass max_calls={2 * resume.past.record.limit}, say: it counts all calls, those made before too",
        )
    told = resume.history
    rows = np.array([told.value, told.best, told.step, told.inner_iterations, told.seconds], np.float64)
    return Course(resume.past.record.under(limit), rows, float(told.value[0]))


def with_past(res: Result, asked: Asked, start: Tree, course: Course) -> Result:
    """The result, with what another solve can go on from."""
    return replace(res, past=Past(asked, start, course.record()))


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and not hasattr(value, "shape") and value == default)


def _same(a: Any, b: Any) -> bool:
    plain = (str, int, float, bool, tuple)
    return a is b or (isinstance(a, plain) and isinstance(b, plain) and a == b)
