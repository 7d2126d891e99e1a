"""Synchronisation, bundle adjustment and regression are what they say, and are solved from near the truth."""

import numpy as np
import pytest

import gnpolyak as gnp

MADE = {
    "synchronisation": {"n": 12, "p_fail": 0.2},
    "bundle_adjustment": {"cameras": 4, "points": 12, "p_fail": 0.1},
    "regression": {"d": 4, "m": 60, "p_fail": 0.2, "kappa": 10.0},
}


def made(name, **more):
    return gnp.instances.INSTANCES[name](**(MADE[name] | more))


def image(case, x):
    with gnp.instances.base.arrays.precise(True):
        return np.asarray(case.problem.map(x))


@pytest.mark.parametrize("name", MADE)
def test_the_target_is_the_value_at_the_truth_and_the_start_is_near(name):
    case = made(name)
    data = np.asarray(case.problem.penalty.b)
    assert case.target == pytest.approx(np.abs(image(case, case.truth) - data).sum(), rel=1e-9)
    assert case.recovery_error(case.truth) < 1e-14
    assert 1e-3 < case.recovery_error(case.x0) < 1.0


@pytest.mark.parametrize("name", MADE)
def test_settings_make_it_again_and_corruption_leaves_the_rest_alone(name):
    case = made(name)
    again, clean = gnp.instances.INSTANCES[name](**case.settings), made(name, p_fail=0.0)
    assert np.array_equal(case.problem.penalty.b, again.problem.penalty.b)
    assert all(map(np.array_equal, np.asarray(case.x0, dtype=object), np.asarray(clean.x0, dtype=object)))
    assert clean.target == pytest.approx(0.0, abs=1e-10)
    bad = np.abs(np.asarray(case.problem.penalty.b) - np.asarray(clean.problem.penalty.b)) > 1e-9
    assert 0.02 < bad.mean() < 0.4


@pytest.mark.parametrize("name", MADE)
def test_it_is_recovered_from_near_the_truth(name):
    case = made(name)
    res = gnp.minimize(case.problem, case.x0)
    assert res.success, res.message
    assert case.recovery_error(res.x) < 1e-10


def test_the_design_matrix_has_the_condition_number():
    a = np.asarray(made("regression", kappa=50.0).problem.map.a)
    assert np.linalg.cond(a) == pytest.approx(50.0)


def test_noise_in_a_regression_is_relative_to_the_median_datum():
    quiet, noisy = made("regression", p_fail=0.0), made("regression", p_fail=0.0, noise=0.1)
    b, clean = np.asarray(noisy.problem.penalty.b), np.asarray(quiet.problem.penalty.b)
    assert np.std(b - clean) == pytest.approx(0.1 * np.median(np.abs(clean)), rel=0.3)


def test_all_rotations_are_connected_and_pairs_are_seen_once():
    case = made("synchronisation", n=30, observed=0.05)
    c = case.problem.map
    assert np.all(np.asarray(c.joined) == 1)
    assert len(set(zip(np.asarray(c.i).tolist(), np.asarray(c.j).tolist(), strict=True))) == c.i.size == 30


def test_every_camera_sees_as_many_points_and_all_lie_before_it():
    case = made("bundle_adjustment", cameras=6, points=20, observed=0.5)
    camera, point = (np.asarray(each) for each in case.problem.map.function.data.args)
    assert np.array_equal(np.bincount(camera), np.full(6, 10))
    turns, shifts, points = case.truth
    r = gnp.RelativeRotations.rotations(turns)
    depth = np.einsum("eb,eb->e", r[camera][:, 2], points[point]) + shifts[camera][:, 2]
    assert depth.min() > 1.0


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("synchronisation", {"n": 2}),
        ("synchronisation", {"observed": 0.0}),
        ("bundle_adjustment", {"cameras": 1}),
        ("bundle_adjustment", {"p_fail": 0.5}),
        ("regression", {"m": 3}),
        ("regression", {"noise": -1.0}),
    ],
)
def test_a_bad_setting_is_named(name, setting):
    with pytest.raises(gnp.InputError, match="=".join(map(str, next(iter(setting.items()))))):
        made(name, **setting)
