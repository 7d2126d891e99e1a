"""Starts of rotations and of linear models."""

import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.starts import rotations


@pytest.mark.parametrize("seed", range(3))
def test_wrong_pairs_do_not_move_the_start(seed):
    case = gnp.instances.synchronisation(n=40, p_fail=0.3, seed=seed)
    start = gnp.starts.synchronised(case.problem)
    assert start.shape == (40, 4)
    assert np.allclose(np.linalg.norm(start, axis=1), 1.0)
    assert case.recovery_error(start) < 1e-6


def test_many_rotations_are_started_by_powers(monkeypatch):
    case = gnp.instances.synchronisation(n=40, p_fail=0.2, seed=1)
    monkeypatch.setattr(rotations, "_LARGEST_DENSE", 0)
    assert case.recovery_error(gnp.starts.synchronised(case.problem)) < 1e-6


def test_half_turns_have_quaternions():
    case = gnp.instances.synchronisation(n=10, p_fail=0.0)
    c = gnp.RelativeRotations([0, 1, 2], [1, 2, 3])
    half_turns = np.eye(4)
    r = c.rotations(half_turns)
    problem = gnp.composite(c, gnp.L1(r[[0, 1, 2]] @ r[[1, 2, 3]].transpose(0, 2, 1)))
    found = c.rotations(gnp.starts.synchronised(problem))
    assert np.allclose(found[[0, 1, 2]] @ found[[1, 2, 3]].transpose(0, 2, 1), problem.penalty.b, atol=1e-6)
    assert case.recovery_error(gnp.starts.synchronised(case.problem)) < 1e-6


def test_data_of_another_shape_are_named():
    problem = gnp.composite(gnp.RelativeRotations([0, 1], [1, 2]), gnp.L1(np.zeros((2, 9))))
    with pytest.raises(gnp.InputError, match=r"\(2, 3, 3\)"):
        gnp.minimize(problem)


def test_linear_models_begin_at_zero():
    case = gnp.instances.regression(d=4, m=30, kappa=100.0, p_fail=0.2)
    assert np.array_equal(gnp.starts.origin(case.problem), np.zeros(4))
    res = gnp.minimize(case.problem)
    assert res.success
    assert case.recovery_error(res.x) < 1e-10
