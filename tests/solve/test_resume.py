"""Going on from a result: after a limit, with the bits of one longer solve."""

import copy

import jax
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.solve import driver
from gnpolyak.solve.runners import LONGEST_STEP
from solve.killed import bits, curve

SENSING = gnp.instances.tensor_sensing(d=20, r=2, kappa=10.0, p_fail=0.2)
COMPLETION = gnp.instances.matrix_completion(d1=40, d2=30, r=2, observed=0.6, kappa=3.0)
CASES = {
    "compiled": (SENSING.problem, {"x0": SENSING.x0}),
    "a walk from rank to rank": (COMPLETION.problem, {}),
    "on the host": curve(),
    "polished on the host": (curve()[0], {**curve()[1], "polish": True}),
}
PROBLEM, OPTIONS = CASES["on the host"]


@pytest.fixture(scope="module")
def whole():
    return {name: gnp.minimize(problem, **options) for name, (problem, options) in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_after_a_call_limit_it_is_one_longer_solve(whole, name):
    """Wherever the limit falls: in an opening, between two ranks, in an inner solve, in a certificate."""
    (problem, options), one = CASES[name], whole[name]
    assert one.success or one.status is gnp.Status.NOISE
    for share in (0.0, 0.3, 0.6, 0.99):
        limit = 1 + int(share * (one.calls - 2))
        short = gnp.minimize(problem, **options, max_calls=limit)
        assert short.status is gnp.Status.CALL_LIMIT or short.certificate is not None
        assert short.calls <= limit
        res = gnp.minimize(problem, resume=short, max_calls=20_000)
        assert bits(res) == bits(one), limit
        assert len(res.history) == res.calls


def test_a_limit_that_cut_an_inner_solve_short_is_taken_back():
    """The steps before a limit have fewer products than they would have without it; those are made again."""
    case = gnp.instances.matrix_completion(d1=40, d2=30, r=2, observed=0.4, kappa=10.0)
    one = gnp.minimize(case.problem, case.x0, "graduated")
    cut = set()
    for limit in range(one.calls // 2, one.calls // 2 + 4):
        short = gnp.minimize(case.problem, case.x0, "graduated", max_calls=limit)
        cut.add(bool(np.array_equal(short.history.value, one.history.value[: short.calls])))
        (stage,) = short.past.record.entries
        assert limit - stage.free.calls <= LONGEST_STEP
        assert bits(gnp.minimize(case.problem, resume=short, max_calls=20_000)) == bits(one)
    assert False in cut  # or this test has seen none


@pytest.mark.parametrize("name", ["compiled", "on the host"])
def test_the_course_does_not_depend_on_how_chunks_were_cut(whole, name, monkeypatch):
    monkeypatch.setattr(driver, "next_length", lambda *_: 3)
    problem, options = CASES[name]
    assert bits(gnp.minimize(problem, **options)) == bits(whole[name])


def test_several_limits_one_after_the_other(whole):
    res = gnp.minimize(PROBLEM, **OPTIONS, max_calls=3)
    for limit in (7, 12, 18, 20_000):
        res = gnp.minimize(PROBLEM, resume=res, max_calls=limit)
    assert bits(res) == bits(whole["on the host"])


def test_the_seconds_go_on():
    short = gnp.minimize(PROBLEM, **OPTIONS, max_calls=8)
    res = gnp.minimize(PROBLEM, resume=short)
    assert res.seconds > short.seconds
    assert (np.diff(res.history.seconds) >= 0).all()


def test_after_a_time_limit_and_after_a_callback(whole):
    short = gnp.minimize(PROBLEM, **OPTIONS, max_seconds=0.02)
    assert short.status is gnp.Status.TIME_LIMIT
    assert bits(gnp.minimize(PROBLEM, resume=short)) == bits(whole["on the host"])

    def stop(res):
        if res.calls > 5:
            raise StopIteration

    stopped = gnp.minimize(PROBLEM, **OPTIONS, callback=stop)
    assert stopped.status is gnp.Status.STOPPED_BY_CALLBACK
    assert bits(gnp.minimize(PROBLEM, resume=stopped)) == bits(whole["on the host"])


def test_a_finished_result_is_returned_as_it_is(whole):
    for name, one in whole.items():
        res = gnp.minimize(CASES[name][0], resume=one)
        assert bits(res) == bits(one)
        assert res.certificate == one.certificate


def test_nothing_is_compiled_to_go_on(compilations):
    problem, options = CASES["compiled"]
    short = gnp.minimize(problem, **options, max_calls=20)
    gnp.minimize(problem, **options)
    with compilations() as compiled:
        gnp.minimize(problem, resume=short)
    assert compiled.count == 0, compiled.names


def test_the_settings_need_not_be_repeated():
    problem, options = CASES["compiled"]
    given = {"method": "gnp", "lower_bound": 0.0, "strategy": "restart", "inner": 20, "outer": 3, "tol": 1e-6}
    one = gnp.minimize(problem, **options, **given)
    short = gnp.minimize(problem, **options, **given, max_calls=30)
    assert bits(gnp.minimize(problem, resume=short)) == bits(one)
    assert bits(gnp.minimize(problem, resume=short, **given)) == bits(one)
    with pytest.raises(gnp.InputError, match="inner=21"):
        gnp.minimize(problem, resume=short, inner=21)


def test_another_problem_is_refused():
    short = gnp.minimize(SENSING.problem, SENSING.x0, max_calls=20)
    other = gnp.instances.tensor_sensing(d=20, r=2, kappa=10.0, p_fail=0.2, seed=1).problem
    with pytest.raises(gnp.InputError, match="the value"):
        gnp.minimize(other, resume=short, max_calls=100)
    larger = gnp.instances.tensor_sensing(d=30, r=2).problem
    with pytest.raises(gnp.InputError):
        gnp.minimize(larger, resume=short, max_calls=100)


def test_another_problem_is_refused_where_the_first_stage_is_over(whole):
    noisy = gnp.composite(PROBLEM.map, gnp.L1(np.asarray(PROBLEM.penalty.b) + 1e-9))
    with pytest.raises(gnp.InputError, match="the value"):
        gnp.minimize(noisy, resume=whole["on the host"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"resume": np.ones(3)}, "ndarray"),
        ({"resume": "run.ckpt"}, "str"),
        ({"resume": gnp.Result(np.ones(3), 0.0, gnp.Status.CALL_LIMIT, 1, 0.0, 0.0, None)}, "without a past"),
    ],
    ids=["array", "text", "no past"],
)
def test_what_is_no_result_of_minimize_is_refused(options, says):
    with pytest.raises(gnp.InputError, match=says):
        gnp.minimize(PROBLEM, **options)


def test_a_limit_that_leaves_no_room_is_refused():
    short = gnp.minimize(PROBLEM, **OPTIONS, max_calls=9)
    with pytest.raises(gnp.InputError, match="max_calls=18"):
        gnp.minimize(PROBLEM, resume=short, max_calls=9)
    with pytest.raises(gnp.InputError, match=r"x0=.* with resume"):
        gnp.minimize(PROBLEM, np.zeros(3), resume=short)


def test_with_a_checkpoint_the_file_is_what_goes_on(tmp_path, whole):
    path = tmp_path / "run.ckpt"
    short = gnp.minimize(PROBLEM, **OPTIONS, checkpoint=path, max_calls=9)
    assert bits(gnp.minimize(PROBLEM, resume=short, checkpoint=path)) == bits(whole["on the host"])
    assert bits(gnp.minimize(PROBLEM, **OPTIONS, checkpoint=path)) == bits(whole["on the host"])


def test_a_copy_goes_on_too(whole):
    short = copy.deepcopy(gnp.minimize(PROBLEM, **OPTIONS, max_calls=9))
    assert bits(gnp.minimize(PROBLEM, resume=short)) == bits(whole["on the host"])
    assert jax.tree.leaves(short.state)
