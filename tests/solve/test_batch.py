"""Batches: each member as alone, in order, by one compiled loop."""

import signal
from dataclasses import fields, replace

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.solve.batch import lanes, solving, together
from gnpolyak.solve.batch.members import Leaves
from gnpolyak.solve.multistart import around, best
from gnpolyak.solve.progress import members_bar
from gnpolyak.steps.status import Status

SHAPE = {"d": 6, "r": 1, "m": 60, "kappa": 1.0}


def sensing(seed, p_fail=0.1):
    return gnp.instances.tensor_sensing(**SHAPE, p_fail=p_fail, seed=seed)


def noisy(seed):
    """The same kind of problem with noise in all data, which has another end."""
    instance = sensing(seed)
    b = np.asarray(instance.problem.penalty.b) + 0.05 * np.random.default_rng(seed).standard_normal(SHAPE["m"])
    return gnp.Composite(instance.problem.map, gnp.L1(b), instance.problem.sensing), instance.x0


@pytest.fixture(scope="module")
def five():
    cases = [(sensing(seed).problem, sensing(seed).x0) for seed in range(4)]
    cases.insert(2, noisy(9))
    problems, x0s = zip(*cases, strict=True)
    return list(problems), np.stack(x0s)


def test_every_member_ends_as_it_does_alone(five):
    problems, x0s = five
    together = gnp.minimize_batch(problems, x0s)
    alone = [gnp.minimize(problem, x0) for problem, x0 in zip(problems, x0s, strict=True)]
    assert [res.status for res in together] == [res.status for res in alone]
    assert {res.status for res in together} >= {Status.CERTIFIED, Status.NOISE}
    for each, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(each.x, other.x, atol=1e-8)
        assert each.value == pytest.approx(other.value, rel=1e-9)
        assert each.method == other.method
        assert each.measurements == other.measurements
        assert (each.outliers is None) == (other.outliers is None)
        assert len(each.history) == each.calls
        assert np.all(np.diff(each.history.seconds) >= 0)
    for i in (0, 1, 3, 4):
        np.testing.assert_array_equal(together[i].outliers, alone[i].outliers)
        np.testing.assert_allclose(together[i].history.value[:20], alone[i].history.value[:20], rtol=1e-6)
    assert together[2].noise == pytest.approx(alone[2].noise, rel=1e-6)


def test_the_short_way_to_a_result_is_that_of_every_member(monkeypatch, five):
    problems, x0s = five
    short = gnp.minimize_batch(problems, x0s)
    monkeypatch.setattr(together.Together, "_outliers_of_the_plain", lambda self, certificates, r: [None] * self.count)
    for res, other in zip(short, gnp.minimize_batch(problems, x0s), strict=True):
        for each in fields(res):
            if each.name not in {"seconds", "timings", "history", "certificate", "state", "past", "uncertainty"}:
                np.testing.assert_array_equal(getattr(res, each.name), getattr(other, each.name), each.name)
        for each in fields(res.history):
            if each.name != "seconds":
                np.testing.assert_array_equal(getattr(res.history, each.name), getattr(other.history, each.name))
        np.testing.assert_array_equal(res.state.best.x, other.state.best.x)
        assert res.history.seconds.shape == other.history.seconds.shape
        assert (res.certificate is None) == (other.certificate is None)
        if res.certificate is not None:
            assert replace(res.certificate, seconds=0.0) == replace(other.certificate, seconds=0.0)


def test_a_second_batch_of_a_shape_compiles_nothing_and_is_the_same_to_the_bit(five, compilations):
    problems, x0s = five
    first = gnp.minimize_batch(problems[:2], x0s[:2], "graduated")
    with compilations() as seen:
        again = gnp.minimize_batch(problems[:2], x0s[:2], "graduated")
        gnp.minimize_batch(problems[3:], x0s[3:], "graduated")
    assert seen.count == 0, seen.names
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.x, b.x)


def test_one_problem_from_many_starts_and_with_many_data():
    instance, rng = sensing(0), np.random.default_rng(0)
    x0s = [instance.x0 + 0.05 * rng.standard_normal(instance.x0.shape) for _ in range(3)]
    clean = np.asarray(sensing(0, p_fail=0.0).problem.penalty.b)
    data = np.stack([np.where(rng.random(clean.size) < 0.1, 7.0, clean) * scale for scale in (1.0, 4.0, 9.0)])
    for res in gnp.minimize_batch(instance.problem, x0s, "graduated"):
        assert res.success
        assert instance.recovery_error(res.x) < 1e-9
    for scale, res in zip((1.0, 2.0, 3.0), gnp.minimize_batch(instance.problem, x0s, "graduated", b=data), strict=True):
        assert res.success
        assert instance.recovery_error(res.x / scale) < 1e-9


def test_limits_are_each_members_own(five):
    problems, x0s = five
    for limit in (1, 2, 9):
        for res in gnp.minimize_batch(problems[:2], x0s[:2], "graduated", max_calls=limit):
            assert res.status is Status.CALL_LIMIT
            assert res.calls <= limit
    for res in gnp.minimize_batch(problems[:2], x0s[:2], "graduated", max_seconds=1e-9):
        assert res.status is Status.TIME_LIMIT
        assert res.calls == 1


def curve(count):
    """Fits that are solved on the host, as few as they are."""
    t, rng = np.linspace(0.0, 1.0, 12), np.random.default_rng(0)
    truths = 1.0 + rng.random((count, 2))
    problem = gnp.composite(lambda x, t: x[0] * jnp.exp(x[1] * t), gnp.L1(np.zeros(12)), args=(t,))
    return problem, truths, np.stack([a * np.exp(c * t) for a, c in truths])


def test_results_come_in_order_and_the_callback_hears_of_each():
    problem, truths, data = curve(5)
    heard = []
    results = gnp.minimize_batch(problem, np.ones((5, 2)), b=data, callback=lambda i, res: heard.append((i, res)))
    np.testing.assert_allclose([res.x for res in results], truths, atol=1e-8)
    assert [i for i, _ in heard] == list(range(5))
    assert all(res is results[i] for i, res in heard)


def stopping(i, res):
    raise StopIteration


def interrupting(i, res):
    if i == 0:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(
    ("callback", "status"), [(stopping, Status.STOPPED_BY_CALLBACK), (interrupting, Status.INTERRUPTED)]
)
def test_who_was_not_done_when_it_ended_has_a_status_that_says_so(monkeypatch, five, callback, status):
    problem, _, data = curve(5)
    results = gnp.minimize_batch(problem, np.ones((5, 2)), b=data, callback=callback)
    assert [res.success for res in results] == [True, False, False, False, False]
    assert {res.status for res in results[1:]} == {status}
    assert all(np.isfinite(res.value) for res in results)
    # Pieces of two members, none of which is begun before its turn.
    monkeypatch.setattr(solving, "_NARROWEST", 1)
    monkeypatch.setattr(solving, "_WIDEST", 2)
    monkeypatch.setattr(solving, "_TILES", 1)
    monkeypatch.setattr(solving, "_AHEAD", 0)
    monkeypatch.setattr(lanes, "_cores", lambda: 1)
    problems, x0s = five
    results = gnp.minimize_batch(problems[:4], x0s[:4], "graduated", callback=callback)
    assert {res.status for res in results[2:]} == {status}


def test_small_problems_are_batched_where_there_are_many(monkeypatch):
    problem, truths, data = curve(4)
    alone = gnp.minimize_batch(problem, np.ones((4, 2)), b=data)
    monkeypatch.setattr(solving, "_WORTH_COMPILING", 1)
    together = gnp.minimize_batch(problem, np.ones((4, 2)), b=data)
    assert [res.status for res in together] == [res.status for res in alone]
    np.testing.assert_allclose([res.x for res in together], truths, atol=1e-8)


def test_bounds_are_the_same_box_for_all():
    problem, _, data = curve(3)
    for res in gnp.minimize_batch(problem, np.ones((3, 2)), b=data, bounds=(0.0, [np.inf, 0.5])):
        assert res.x[1] == pytest.approx(0.5)


def test_trees_and_models_in_plain_numpy_are_taken():
    truth = {"a": np.array([1.0, 2.0]), "c": np.array([3.0])}
    t = np.linspace(0.0, 1.0, 9)

    def model(x):
        return x["a"][0] + x["a"][1] * t + x["c"][0] * t**2

    problem = gnp.composite(gnp.NumpyMap(model), gnp.L1(model(truth)))
    starts = {"a": np.zeros((2, 2)), "c": np.ones((2, 1))}
    for res in gnp.minimize_batch(problem, starts):
        assert set(res.x) == {"a", "c"}
        np.testing.assert_allclose(res.x["a"], truth["a"], atol=1e-6)


ONE = gnp.composite(lambda x: x**3, gnp.L1(np.array([8.0, 27.0])))
OTHER = gnp.composite(lambda x: jnp.concatenate([x, x]), gnp.L1(np.ones(4)))


@pytest.mark.parametrize(
    ("arguments", "settings", "words"),
    [
        ((ONE, None), {}, "at least one member"),
        ((ONE, []), {}, "at least one member"),
        (([], np.ones((2, 2))), {}, "at least one member"),
        ((ONE, np.ones((0, 2))), {}, "number in it"),
        ((ONE, 1.0), {}, "axis for the members"),
        ((ONE, [np.ones(2), np.ones(3)]), {}, "starts of one shape"),
        (([ONE, ONE], np.ones((3, 2))), {}, "same number of members"),
        (([ONE, OTHER], np.ones((2, 2))), {}, "one structure"),
        ((ONE, np.ones((2, 2))), {"b": np.ones((3, 2))}, "same number of members"),
        ((ONE, np.ones((2, 2))), {"b": np.ones((2, 3))}, "nothing is broadcast"),
        (([ONE, ONE], np.ones((2, 2))), {"b": np.ones((2, 2))}, "one decision"),
        ((ONE, np.full((2, 2), np.nan)), {}, "finite"),
        (("problem", np.ones((2, 2))), {}, "a Composite"),
        ((ONE, np.ones((2, 2))), {"callback": 3}, "something to call"),
    ],
)
def test_what_is_no_batch_is_refused_in_one_line(arguments, settings, words):
    with pytest.raises(gnp.InputError, match=words):
        gnp.minimize_batch(*arguments, **settings)


def test_what_members_share_is_there_once():
    problems = [sensing(0).problem] * 3
    assert Leaves(problems).members([0, 1, 2]).own == ()
    own = Leaves([sensing(seed).problem for seed in range(3)]).members([2, 0])
    assert all(leaf.shape[0] == 2 for leaf in own.own)
    np.testing.assert_array_equal(own.own[0][0], np.asarray(sensing(2).problem.penalty.b))


def test_several_starts_find_what_one_does_not():
    problem = gnp.composite(lambda x: jnp.stack([x[0] ** 2 - 4, 0.3 * (x[0] - 2)]), gnp.L1(np.zeros(2)))
    assert gnp.minimize(problem, np.array([-2.5])).value > 1
    res = gnp.minimize(problem, np.array([-2.5]), starts=9)
    assert res.success
    np.testing.assert_allclose(res.x, [2.0], atol=1e-8)
    np.testing.assert_array_equal(gnp.minimize(problem, np.array([-2.5]), starts=9).x, res.x)


@pytest.mark.parametrize("kept", ["checkpoint", "resume"])
def test_several_starts_have_no_single_record(kept):
    with pytest.raises(gnp.InputError, match="record of one"):
        gnp.minimize(ONE, np.ones(2), starts=2, **{kept: "run.ckpt"})


def test_starts_lie_around_the_first_one():
    first, *others = around({"a": np.array([3.0, 4.0])}, 6)
    distances = [np.linalg.norm(each["a"] - first["a"]) for each in others]
    np.testing.assert_allclose(distances, np.linspace(1.0, 5.0, 5))


def test_a_success_is_better_than_a_low_value():
    problem, _, data = curve(2)
    good, bad = gnp.minimize_batch(problem, np.ones((2, 2)), b=data)
    low, none = replace(bad, status=Status.STALLED, value=-1.0), replace(bad, status=Status.NON_FINITE, value=np.nan)
    assert best([low, good, none]) is good
    assert best([none, low]) is low


def test_the_bar_counts_members():
    with members_bar(3, "auto") as report:
        report(2)
    problem, _, data = curve(2)
    assert len(gnp.minimize_batch(problem, np.ones((2, 2)), b=data, progress=True)) == 2
