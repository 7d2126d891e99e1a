"""Sharpness and regularity, against constants known exactly."""

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak import diagnostics
from reference import cp_jacobian


def test_constants_of_the_l1_norm():
    """μ = 1, on the axes alone, and L = √k, at every point without zeros: ‖v‖ is that of a vector of signs."""
    b = np.array([1.0, -2.0, 3.0])
    problem = gnp.composite(lambda x: x, gnp.L1(b))
    found = diagnostics.sharpness(problem, b, samples=200)
    assert 1.0 <= found.mu < 1.1
    assert found.lipschitz == pytest.approx(np.sqrt(3), rel=1e-9)
    axis = diagnostics.sharpness(problem, b, samples=2, points=[np.array([1.1, -2.0, 3.0])])
    assert axis.mu == pytest.approx(1.0, rel=1e-9)
    assert found.holds is True


def test_a_minimum_over_samples_only_bounds_the_sharpness_from_above():
    """In many dimensions no sample comes near an axis: (2k/π)^½ is seen where μ = 1."""
    b = np.ones(100)
    found = diagnostics.sharpness(gnp.composite(lambda x: x, gnp.L1(b)), b, 0.0)
    assert 6.0 < found.mu < np.sqrt(200 / np.pi) < found.lipschitz
    assert found.lipschitz == pytest.approx(10.0)


def test_constants_of_the_euclidean_norm_do_not_see_the_map():
    problem = gnp.composite(lambda x: jnp.array([1.0, 1e3]) * x, gnp.L2(np.array([1.0, 2e3])))
    found = diagnostics.sharpness(problem, np.array([1.0, 2.0]))
    assert found.mu == pytest.approx(1.0, rel=1e-6)
    assert found.lipschitz == pytest.approx(1.0, rel=1e-6)


def test_the_condition_number_of_h_on_the_image_does_not_grow_with_that_of_the_map():
    found = []
    for kappa in (1.0, 10.0, 100.0):
        case = gnp.instances.tensor_sensing(d=40, r=3, kappa=kappa)
        found.append(diagnostics.sharpness(case.problem, case.truth, case.target).rate().condition)
    assert max(found) / min(found) < 1.05
    assert max(found) < 3.0


def test_directions_uniform_in_x_hide_what_those_in_the_image_show():
    """h = 1·|z₁| + 0.01·|z₂| behind a map that stretches z₁ a thousandfold: nearly all x move z₁ alone."""
    weigh = jnp.array([1.0, 0.01])
    penalty = gnp.CustomPenalty(lambda z: jnp.sum(weigh * jnp.abs(z)), lambda z: weigh * jnp.sign(z), infimum=0.0)
    problem = gnp.composite(lambda x: jnp.array([1e3, 1.0]) * (x - 1), penalty)
    found = diagnostics.sharpness(problem, np.ones(2), 0.0, samples=400)
    # Uniform in x, 600 directions come within 1/600 of the weak one, which leaves a ratio of about 0.5.
    assert 0.01 <= found.mu < 0.05


def test_quadratic_growth_is_not_sharp():
    penalty = gnp.CustomPenalty(lambda z: jnp.sum(z**2), lambda z: 2 * z, infimum=0.0)
    found = diagnostics.sharpness(gnp.composite(lambda x: x - 1, penalty), np.ones(3))
    assert found.holds is False
    assert found.mu_at[0] == pytest.approx(100 * found.mu_at[2], rel=1e-6)


@pytest.mark.parametrize("m", [20, 35])
def test_too_few_measurements_are_not_sharp(m):
    """The image has 39 dimensions, so m = 35 leave directions that no measurement sees; random ones are all seen."""
    case = gnp.instances.tensor_sensing(d=20, r=2, m=m)
    assert diagnostics.sharpness(case.problem, case.truth, case.target).holds is False


def test_the_extremes_of_the_measurements_are_looked_at():
    """Along the extreme generalised eigenvectors of ((AJ)ᵀAJ, JᵀJ), found densely, h rises no less and no more."""
    case = gnp.instances.tensor_sensing(d=20, r=2, kappa=30.0)
    found = diagnostics.sharpness(case.problem, case.truth, case.target, radii=[1e-4])
    p, q = np.asarray(case.problem.sensing.p), np.asarray(case.problem.sensing.q)
    x, jacobian = case.truth, cp_jacobian(case.truth, 2)
    rows = [2 * np.outer(a, a @ x) - 2 * np.outer(b, b @ x) for a, b in zip(p, q, strict=True)]
    _, values, right = np.linalg.svd(jacobian, full_matrices=False)
    sensed = np.array([row.ravel() for row in rows]) @ (right[:39].T / values[:39])
    _, vectors = np.linalg.eigh(sensed.T @ sensed)
    slopes = np.abs(sensed @ vectors[:, [0, -1]]).sum(axis=0)
    assert found.mu <= slopes[0] * 1.01
    assert found.lipschitz >= slopes[1] * 0.99


def test_a_target_above_the_optimum_is_not_sharp():
    b = np.array([1.0, 2.0])
    assert diagnostics.sharpness(gnp.composite(lambda x: x, gnp.L1(b)), b, 0.1).holds is False


@pytest.mark.parametrize("settings", [{"p_fail": 0.2}, {"n": 3}])
def test_convex_penalties_are_regular(settings):
    case = gnp.instances.tensor_sensing(d=20, r=2, kappa=3.0, **settings)
    found = diagnostics.regularity(case.problem, case.truth, case.target)
    assert found.holds
    assert max(found.ratios) < 1e-6 * found.allowed


def test_a_penalty_that_points_away_is_not_regular():
    """h = |z|^½ grows ever steeper: v overshoots, h + v(0 − z) = |z|^½/2. A wrong v does the same."""
    steep = gnp.CustomPenalty(
        lambda z: jnp.sum(jnp.sqrt(jnp.abs(z))), lambda z: jnp.sign(z) / (2 * jnp.sqrt(jnp.abs(z))), infimum=0.0
    )
    found = diagnostics.regularity(gnp.composite(lambda x: x - 1, steep), np.ones(1))
    assert not found.holds
    assert found.ratios[-1] == pytest.approx(0.5 / np.sqrt(1e-3), rel=1e-6)
    weak = gnp.CustomPenalty(lambda z: jnp.sum(jnp.abs(z)), lambda z: 0.5 * jnp.sign(z), infimum=0.0)
    assert not diagnostics.regularity(gnp.composite(lambda x: x - 1, weak), np.ones(2)).holds


def test_points_outside_the_domain_are_left_out():
    """log x at x⋆ = 0.05: a tenth of the norm of (1, 0.05) away, many points have a negative x₂."""
    problem = gnp.composite(jnp.log, gnp.L1(np.log([1.0, 0.05])))
    found = diagnostics.sharpness(problem, np.array([1.0, 0.05]))
    assert 100 < found.points < 204
    assert 0.9 < found.mu < found.lipschitz < 1.5


def test_other_samples_compile_nothing(compilations):
    case = gnp.instances.tensor_sensing(d=20, r=2)
    first = diagnostics.sharpness(case.problem, case.truth, case.target, seed=0)
    with compilations() as compiled:
        second = diagnostics.sharpness(case.problem, case.truth, case.target, seed=1, points=[case.x0])
    assert compiled.count == 0
    assert first.mu != second.mu
