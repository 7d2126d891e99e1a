"""What is on record of a solve, and what another limit leaves of it."""

import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.solve.certificate import Certificate
from gnpolyak.solve.course import Course, Mark, Proof, Record, Stage, filled
from gnpolyak.steps.status import Status

ROWS = [np.zeros((5, 100))]


def stage(calls, status=Status.NOISE, free=None):
    return Stage(Mark([], calls, 0.1 * calls), status, None if free is None else Mark([], free, 0.1 * free))


def proof(calls, products, budget):
    found = Certificate(0.1, 0.0, 0.0, 1e-8, 1, 2, products, 0.1, True)
    return Proof(found, budget, calls, 0.1 * calls)


@pytest.mark.parametrize("status", [Status.INTERRUPTED, Status.CALL_LIMIT, Status.TIME_LIMIT, Status.RUNNING])
def test_what_came_after_a_stage_that_was_stopped_is_not_on_record(status):
    course = Course(Record(1000), made=[stage(10), stage(20, status), stage(21)])
    assert course.record().calls == 20


def test_a_record_that_was_not_gone_through_is_not_written_over():
    saved = []
    course = Course(Record(1000, (stage(10), stage(20))), save=lambda *given: saved.append(given))
    with course.kept(ROWS):
        course.made.append(course.stage())
    assert not saved
    with course.kept(ROWS):
        course.made.append(course.stage())
    assert saved[0][0] == course.past


def test_entries_of_another_kind_are_those_of_another_solve():
    with pytest.raises(gnp.InputError, match="a certificate where"):
        Course(Record(1000, (proof(10, 5, 900),))).stage()
    with pytest.raises(gnp.InputError, match="a stage where"):
        Course(Record(1000, (stage(10),))).proof()
    with pytest.raises(gnp.InputError, match="other shapes"):
        filled([np.zeros(3)], [np.zeros(4)])


@pytest.mark.parametrize(
    ("entries", "calls"),
    [
        ((stage(10), stage(20)), 20),
        ((stage(10), stage(900, free=872), stage(990)), 872),
        ((stage(10), stage(999, Status.CALL_LIMIT)), 999),
        ((stage(10), proof(40, 30, 90_000)), 40),
        ((stage(10), proof(40, 30, 50)), 10),
        ((stage(10), proof(40, 30, 50), stage(45)), 10),
    ],
    ids=["free", "cut short", "at its limit", "a certificate", "cut short itself", "and what followed"],
)
def test_another_limit_takes_back_what_the_old_one_had_a_part_in(entries, calls):
    record = Record(1000, entries)
    assert record.under(1000) is record
    longer = record.under(2000)
    assert longer.limit == 2000
    assert longer.calls == calls
    with pytest.raises(gnp.InputError, match=f"has made {calls} calls"):
        record.under(calls - 1)
