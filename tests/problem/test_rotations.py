"""Rotations against SciPy's, and the rank and the parts of the graph of pairs."""

import jax
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import gnpolyak as gnp


def quaternions(n, seed=0):
    q = np.random.default_rng(seed).standard_normal((n, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def theirs(q):
    """SciPy has the real part last."""
    return Rotation.from_quat(np.roll(q, -1, axis=1))


def test_relative_rotations_are_those_of_scipy():
    q, i, j = quaternions(4), np.array([0, 2, 3]), np.array([1, 3, 0])
    expected = (theirs(q[i]) * theirs(q[j]).inv()).as_matrix()
    with jax.enable_x64(True):
        found = gnp.RelativeRotations(i, j)(3.0 * q)
    assert np.allclose(found, expected, atol=1e-14)
    assert np.allclose(gnp.RelativeRotations.rotations(-q), theirs(q).as_matrix(), atol=1e-14)


@pytest.mark.parametrize(("pairs", "parts"), [([(0, 1), (1, 2), (2, 3)], 1), ([(0, 1), (2, 3), (3, 2)], 2)])
def test_the_rank_of_the_jacobian_is_three_for_each_rotation_less_one_in_each_part(pairs, parts):
    i, j = np.array(pairs).T
    with jax.enable_x64(True):
        jacobian = np.asarray(jax.jacfwd(gnp.RelativeRotations(i, j))(quaternions(4))).reshape(-1, 16)
    assert np.linalg.matrix_rank(jacobian, tol=1e-9) == 3 * (4 - parts)


@pytest.mark.parametrize(
    ("i", "j", "n", "expected"),
    [
        ([0, 1], [1], None, "shapes (2,) and (1,)"),
        ([], [], None, "shapes (0,)"),
        ([0.5], [1], None, "float64"),
        ([0], [-1], None, "from -1 to 0"),
        ([0, 2], [1, 2], None, "1 of a rotation with itself"),
        ([0], [7], 3, "from 0 to 2"),
    ],
)
def test_pairs_that_are_none_are_named(i, j, n, expected):
    with pytest.raises(gnp.InputError) as error:
        gnp.RelativeRotations(i, j, n)
    assert expected in str(error.value)


@pytest.mark.parametrize("x", [np.ones((3, 3)), np.zeros((3, 4)), np.ones(4)])
def test_variables_that_are_no_quaternions_are_refused(x):
    problem = gnp.composite(gnp.RelativeRotations([0, 1], [1, 2]), gnp.L1(np.zeros((2, 3, 3))))
    with pytest.raises(gnp.InputError, match=r"\(3, 4\)"):
        gnp.minimize(problem, x)


def test_linear_models_name_the_shape_they_need():
    with pytest.raises(gnp.InputError, match=r"\(5,\)"):
        gnp.Linear(np.ones(5))
    with pytest.raises(gnp.InputError, match=r"\(2,\)"):
        gnp.minimize(gnp.composite(gnp.Linear(np.ones((5, 2))), gnp.L1(np.ones(5))), np.ones(3))
