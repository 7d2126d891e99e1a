"""Theory beside practice: the diagnostics against dense linear algebra, exact constants and the theorems."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner

import gnpolyak as gnp
from gnpolyak import diagnostics
from gnpolyak.cli.main import main
from reference import cp_jacobian, factor


def matrix_rank(d, r):
    return d * r - r * (r - 1) // 2


def wide_model(x):
    """Seven outputs of forty variables."""
    a = np.random.default_rng(0).standard_normal((7, 40))
    return jnp.sin(a @ x)


# Rank and singular values.


@pytest.mark.parametrize(("d", "r"), [(5, 3), (6, 1), (20, 5)])
def test_rank_of_a_matrix_factor_is_not_the_papers(d, r):
    """dr − r(r−1)/2; the appendix prints r(r+1)/2, which is 6 instead of 12 at d=5, r=3."""
    x = factor(d, r, 3.0 if r > 1 else 1.0, seed=1)
    expected = matrix_rank(d, r)
    assert diagnostics.spectrum(gnp.SymmetricCP(2), x).rank == expected
    assert diagnostics.jacobian_rank(gnp.SymmetricCP(2), x).rank == expected
    assert diagnostics.jacobian_rank(gnp.SymmetricCP(2), x).rank == np.linalg.matrix_rank(cp_jacobian(x, 2))


def test_rank_without_forming_anything_at_the_papers_size():
    found = diagnostics.jacobian_rank(gnp.SymmetricCP(2), factor(1000, 5, 10.0, seed=1))
    assert found.rank == 4990
    assert found.variables == 5000
    assert found.distinct == 20


@pytest.mark.parametrize("n", [3, 4])
def test_tensor_factors_have_no_gauge_freedom(n):
    x = factor(7, 3, 3.0, seed=n)
    assert diagnostics.spectrum(gnp.SymmetricCP(n), x).rank == 21
    assert diagnostics.jacobian_rank(gnp.SymmetricCP(n), x).rank == 21


def test_rank_at_a_rank_deficient_factor():
    x = factor(12, 4, 3.0, seed=1, rank=2)
    assert diagnostics.spectrum(gnp.SymmetricCP(2), x).rank == matrix_rank(12, 2)
    assert diagnostics.jacobian_rank(gnp.SymmetricCP(2), x).rank == matrix_rank(12, 2)


def test_rank_of_a_model_with_more_variables_than_outputs():
    x = np.random.default_rng(1).standard_normal(40)
    found = diagnostics.spectrum(wide_model, x)
    assert found.shape == (7, 40)
    assert found.rank == diagnostics.jacobian_rank(wide_model, x).rank == 7


def test_zero_has_rank_zero():
    assert diagnostics.spectrum(gnp.SymmetricCP(2), np.zeros((5, 2))).rank == 0
    assert diagnostics.jacobian_rank(gnp.SymmetricCP(2), np.zeros((5, 2))).rank == 0


@pytest.mark.parametrize(("d", "r", "n", "kappa"), [(20, 5, 2, 100.0), (12, 3, 3, 20.0)])
def test_extreme_singular_values_against_the_dense_jacobian(d, r, n, kappa):
    x = factor(d, r, kappa, seed=2)
    values = np.linalg.svd(cp_jacobian(x, n), compute_uv=False)
    rank = matrix_rank(d, r) if n == 2 else d * r
    dense, free = diagnostics.spectrum(gnp.SymmetricCP(n), x), diagnostics.jacobian_rank(gnp.SymmetricCP(n), x)
    assert np.allclose(dense.singular_values[:rank], values[:rank], rtol=1e-9)
    assert dense.condition == pytest.approx(values[0] / values[rank - 1], rel=1e-8)
    assert free.largest == pytest.approx(values[0], rel=1e-9)
    assert free.smallest == pytest.approx(values[rank - 1], rel=1e-6)


def test_distinct_singular_values_are_why_conjugate_gradients_end_so_soon():
    """2σᵢ² and 2(σᵢ² + σⱼ²): 20 values for r = 5, of a Jacobian of rank 90 (and not 15)."""
    x = factor(20, 5, 10.0, seed=1)
    sigma = np.linspace(1.0, 0.1, 5)
    squares = {round(2 * s**2, 9) for s in sigma} | {round(2 * (s**2 + t**2), 9) for s in sigma for t in sigma}
    assert len(squares) == 20
    found = diagnostics.spectrum(gnp.SymmetricCP(2), x)
    assert found.distinct() == 20
    assert found.rank == 90
    case = gnp.instances.tensor_sensing(d=20, r=5, kappa=10.0)
    res = gnp.minimize(case.problem, case.x0, gnp.GNP(solver="cg", rtol=1e-8), target=0.0, max_calls=8)
    assert 15 < np.median(res.history.inner_iterations[1:]) <= 22
    assert diagnostics.spectrum(gnp.SymmetricCP(2), factor(12, 5, 1.0, seed=1)).distinct() == 2


def test_an_unsettled_rank_is_not_claimed(monkeypatch):
    monkeypatch.setattr("gnpolyak.diagnostics.rank.LARGEST_ARRAY", 100)
    x = factor(12, 4, 3.0, seed=1, rank=2)
    found = diagnostics.jacobian_rank(gnp.SymmetricCP(2), x)
    assert found.rank is None
    assert found.lower <= matrix_rank(12, 2) <= found.upper
    assert diagnostics.constant_rank(gnp.SymmetricCP(2), x).holds is None


def test_constant_rank_holds_where_the_factor_has_full_rank():
    full = diagnostics.constant_rank(gnp.SymmetricCP(2), factor(12, 4, 3.0, seed=1))
    assert full.holds is True
    assert set(full.ranks) == {matrix_rank(12, 4)}
    lost = diagnostics.constant_rank(gnp.SymmetricCP(2), factor(12, 4, 3.0, seed=1, rank=3))
    assert lost.holds is False
    assert lost.ranks[0] == matrix_rank(12, 3)


# Sharpness and regularity.


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


# The theorems.


def test_rate_by_hand():
    rate = diagnostics.Rate(mu=1.0, lipschitz=1.0)
    assert rate.c1 == pytest.approx(np.sqrt(0.5))
    assert rate.factor == pytest.approx(0.8535533905932737)
    assert rate.factor ** rate.calls(2.0, 1e-6) * 2.0 <= 1e-6 < rate.factor ** (rate.calls(2.0, 1e-6) - 1) * 2.0
    assert diagnostics.Rate.restarts(8.0, 1.0) == 4
    assert diagnostics.Rate.restarts(8.1, 1.0) == 5
    assert diagnostics.Rate.restarts(0.5, 1.0) == 1


def test_contraction_of_a_known_sequence():
    """A slow start, a jump, a linear phase with idle calls, and a rounding floor."""
    linear = 10.0 * 0.8 ** np.arange(1, 120)
    values = 3.0 + np.concatenate([np.full(20, 1e3), [500.0], linear, np.full(30, 1e-15)])
    values[60] = 1e4
    assert diagnostics.contraction(values, 3.0) == pytest.approx(0.8, rel=1e-3)
    assert np.isnan(diagnostics.contraction([1.0, 1.0, 1.0]))


@pytest.mark.parametrize(
    "settings",
    [
        {"kappa": 1.0},
        {"kappa": 10.0},
        {"kappa": 100.0},
        {"kappa": 3.0, "p_fail": 0.1},
        {"kappa": 3.0, "n": 3},
    ],
    ids=str,
)
def test_theorem_1_bounds_what_gnp_does(settings):
    case = gnp.instances.tensor_sensing(d=20, r=2, **settings)
    found = diagnostics.assess(case.problem, case.x0, case.truth, case.target)
    assert found.passed, found.verdicts
    assert found.run.success
    assert found.run.calls - 1 <= found.calls_bound < 2000
    assert 0.3 < found.contraction <= found.rate.factor < 0.99


def test_theorem_1_is_about_gnp_and_not_about_polyak():
    case = gnp.instances.tensor_sensing(d=20, r=2, kappa=20.0)
    bound = diagnostics.sharpness(case.problem, case.truth, case.target).rate().factor
    run = gnp.minimize(case.problem, case.x0, "polyak", target=case.target, max_calls=2000)
    assert diagnostics.contraction(run.history, case.target) > bound


def test_theorem_2_says_how_many_restarts_and_fewer_do_not_do():
    case = gnp.instances.tensor_sensing(d=20, r=2, kappa=3.0, p_fail=0.1)
    found = diagnostics.assess(case.problem, case.x0, case.truth, case.target, tolerance=1e-6)
    epsilon, inner, outer = found.tolerance, found.calls_bound, found.restarts_bound
    assert outer == 1 + np.ceil(np.log2(case.target / epsilon))

    def gap(outer):
        res = gnp.minimize(
            case.problem, case.x0, "gnp", lower_bound=0.0, strategy="restart", inner=inner, outer=outer, tol=0.0
        )
        return res.value - case.target

    assert gap(outer) <= epsilon
    # Ten halvings, as many as the paper gives RPolyak, leave the level a thousandth of h* short.
    assert gap(10) > epsilon


def test_without_a_solution_one_is_found():
    problem = gnp.composite(lambda x: x**3, gnp.L1(np.array([8.0, 27.0])))
    found = diagnostics.assess(problem, np.array([1.9, 2.9]))
    assert found.passed
    assert found.restarts_bound is None


# Adjoints and derivatives.


def library_problems():
    case = gnp.instances.tensor_sensing(d=20, r=2, kappa=3.0)
    yield "centred", case.problem, case.x0
    case = gnp.instances.tensor_sensing(d=8, r=2, kappa=3.0, centred=False, p_fail=0.1)
    yield "plain", case.problem, case.x0
    x = {"a": np.array([0.3, -0.2]), "b": np.array([1.1])}
    yield "pytree", gnp.composite(lambda t: jnp.sin(t["a"]) * t["b"], gnp.L2(np.zeros(2))), x
    yield "affine", gnp.composite(lambda t: 2 * t + 1, gnp.L1(np.array([5.0, 1.0]))), np.array([1.0, -3.0])


@pytest.mark.parametrize(("problem", "x"), [pytest.param(p, x, id=name) for name, p, x in library_problems()])
def test_library_problems_pass_both_checks(problem, x):
    for check in (diagnostics.check_adjoint, diagnostics.check_taylor):
        found = check(problem, x)
        assert found.passed, found.message
        assert found.figures


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("kappa", [1.0, 100.0])
def test_library_maps_pass_both_checks(n, kappa):
    x = factor(7, 3, kappa, seed=0)
    adjoint = diagnostics.check_adjoint(gnp.SymmetricCP(n), x)
    assert adjoint.passed, adjoint.message
    assert {"adjoint", "gram", "gram_pinv", "gram_pinv norm", "inner", "distance"} <= set(adjoint.figures)
    assert ("right_gram" in adjoint.figures) == (n == 2)
    assert diagnostics.check_taylor(gnp.SymmetricCP(n), x).figures["map"] == pytest.approx(2.0, abs=0.1)


def test_an_image_too_large_to_form_is_left_out():
    case = gnp.instances.tensor_sensing(d=40, r=2, n=5, m=50)
    found = diagnostics.check_adjoint(case.problem, case.x0)
    assert found.passed
    assert "adjoint" not in found.figures
    assert "measurements" in found.figures
    nothing = diagnostics.check_taylor(gnp.SymmetricCP(5), case.x0)
    assert not nothing.passed
    assert "too large" in nothing.message


class WrongPinv(gnp.SymmetricCP):
    def gram_pinv(self, x, g, damping=0.0):
        return super().gram_pinv(x, g, damping) * 1.01


class WrongDamping(gnp.SymmetricCP):
    def gram_pinv(self, x, g, damping=0.0):
        return super().gram_pinv(x, g)


class GaugePinv(gnp.SymmetricCP):
    """Solves the system, but not with the minimum norm: X·skew is in the null space of J."""

    def gram_pinv(self, x, g, damping=0.0):
        moment = x.T @ g + jnp.arange(1.0, x.shape[1] + 1) * jnp.sum(g[0])
        return super().gram_pinv(x, g, damping) + x @ (moment - moment.T)


class WrongGram(gnp.SymmetricCP):
    def gram(self, x):
        action = super().gram(x)
        return lambda z: action(z) + 0.1 * z


class WrongDistance(gnp.SymmetricCP):
    def distance(self, x, y):
        return jnp.linalg.norm(x - y)


class WrongInner(gnp.SymmetricCP):
    def inner(self, x, y):
        return jnp.sum(x * y)


class WrongRightGram(gnp.SymmetricCP):
    def right_gram(self, x):
        return jnp.eye(x.shape[1])


class WrongForms(gnp.SymmetricCP):
    def power_forms(self, x, rows):
        values, pullback = super().power_forms(x, rows)
        return values, lambda w: pullback(w) / 2


class WrongLinearize(gnp.SymmetricCP):
    def linearize(self, x):
        push, pull = super().linearize(x)
        return push, lambda v: 2 * pull(v)


@pytest.mark.parametrize(
    ("wrong", "figure"),
    [
        (WrongPinv, "gram_pinv"),
        (WrongDamping, "gram_pinv damped"),
        (GaugePinv, "gram_pinv norm"),
        (WrongGram, "gram"),
        (WrongDistance, "distance"),
        (WrongInner, "inner"),
        (WrongRightGram, "right_gram"),
        (WrongForms, "power_forms"),
        (WrongLinearize, "adjoint"),
    ],
)
def test_wrong_structure_is_found_and_named(wrong, figure):
    found = diagnostics.check_adjoint(wrong(2), factor(7, 3, 3.0, seed=0))
    assert not found.passed
    assert not found
    assert f"{figure} (" in found.message


@jax.custom_jvp
def sine(x):
    return jnp.sin(x)


@sine.defjvp
def _(primals, tangents):
    return jnp.sin(primals[0]), 1.05 * jnp.cos(primals[0]) * tangents[0]


def test_a_wrong_derivative_is_found_by_taylor_and_by_nothing_else():
    x = np.array([0.3, 0.7, -1.2])
    assert diagnostics.check_adjoint(sine, x).passed
    found = diagnostics.check_taylor(sine, x)
    assert not found.passed
    assert found.figures["map"] == pytest.approx(1.0, abs=0.1)


@jax.custom_vjp
def only_backwards(x):
    return 2 * x


only_backwards.defvjp(lambda x: (2 * x, None), lambda _, v: (2 * v,))


def test_a_map_without_forward_derivative_is_refused_with_advice():
    for check in (diagnostics.check_adjoint, diagnostics.check_taylor):
        with pytest.raises(gnp.InputError, match="custom_jvp"):
            check(only_backwards, np.ones(2))


class WrongSensing(gnp.PowerSensing):
    def measure(self, c, x):
        values, pullback = super().measure(c, x)
        return values, lambda v: 1.001 * pullback(v)


class WrongOracle(gnp.PowerSensing):
    def evaluate(self, c, penalty, x):
        value, g = super().evaluate(c, penalty, x)
        return value + 1, 2 * g


@pytest.mark.parametrize(
    ("wrong", "figures"), [(WrongSensing, ["measurements"]), (WrongOracle, ["oracle value", "oracle subgradient"])]
)
def test_wrong_measurements_are_found(wrong, figures):
    case = gnp.instances.tensor_sensing(d=8, r=2)
    p, q = case.problem.sensing.p, case.problem.sensing.q
    problem = gnp.composite(case.problem.map, case.problem.penalty, sensing=wrong(p, q))
    found = diagnostics.check_adjoint(problem, case.x0)
    assert not found.passed
    assert all(f"{figure} (" in found.message for figure in figures)


@pytest.mark.parametrize("factors", [(-1.0, -1.0), (1.0, 0.0), (1.1, 1.1)])
def test_a_wrong_subgradient_is_found(factors):
    """Of the wrong sign, zero for half of the data, and a tenth too long."""
    b, weights = np.linspace(-1, 1, 10), np.repeat(factors, 5)
    penalty = gnp.CustomPenalty(lambda z: jnp.sum(jnp.abs(z - b)), lambda z: weights * jnp.sign(z - b))
    found = diagnostics.check_taylor(gnp.composite(lambda x: x**2, penalty), np.arange(1.0, 11.0) / 7)
    assert not found.passed
    assert "subgradient (" in found.message
    assert found.figures["map"] > 1.8


# Input, and the command.


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: diagnostics.spectrum(gnp.SymmetricCP(2), np.ones((1000, 5))), "1,000,000 × 5,000"),
        (lambda x: diagnostics.spectrum("c", x), "type str"),
        (lambda x: diagnostics.spectrum(gnp.SymmetricCP(2), np.ones(3)), "one matrix X"),
        (lambda x: diagnostics.jacobian_rank(gnp.SymmetricCP(2), x, seed=-1), "seed=-1"),
        (lambda x: diagnostics.sharpness(gnp.SymmetricCP(2), x), "a Composite"),
        (lambda x: diagnostics.sharpness(square(), x, samples=1), "samples=1"),
        (lambda x: diagnostics.sharpness(square(), x, radii=[-0.1]), "radii="),
        (lambda x: diagnostics.sharpness(constant(), x), "not constant"),
        (lambda x: diagnostics.check_adjoint(square(), np.ones(9)), "model of shape"),
        (lambda x: diagnostics.Rate(0.0, 1.0), "mu=0.0"),
        (lambda x: diagnostics.Rate(2.0, 1.0), "mu <= lipschitz"),
        (lambda x: diagnostics.Rate(1.0, 1.0).calls(0.0, 1.0), "distance=0.0"),
        (lambda x: diagnostics.Rate.restarts(1.0, -1.0), "tolerance=-1.0"),
        (lambda x: diagnostics.contraction([]), "shape"),
    ],
)
def test_bad_input_is_explained(call, expected):
    with pytest.raises(gnp.InputError, match="Do: ") as error:
        call(np.ones((4, 2)))
    assert expected in str(error.value)


def square():
    return gnp.composite(lambda x: x**2, gnp.L1(np.ones((4, 2))))


def constant():
    return gnp.composite(lambda x: 0 * x + 1, gnp.L1(np.ones((4, 2))))


def check(*options):
    return CliRunner().invoke(main, ["check", *(str(option) for option in options)])


def test_check_prints_verdicts_and_bounds_in_80_columns():
    result = check("--d", 20, "--r", 2, "--kappa", 3, "--p-fail", 0.1)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= 80
    for name in ("smooth map", "constant rank", "sharpness", "regularity"):
        assert any(line.startswith(name) and "  holds  " in line for line in lines)
    assert "rank 39 of 40 variables" in result.output
    for name in ("μ_h", "L_h", "L_h/μ_h", "c₁", "contraction per call", "calls to a gap", "restarts"):
        assert any(line.startswith(name) for line in lines)


def test_check_prints_json():
    result = check("--d", 20, "--r", 2, "--n", 3, "--kappa", 3, "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.output)
    assert report["passed"]
    assert {entry["verdict"] for entry in report["assumptions"].values()} == {"holds"}
    assert report["condition"] == pytest.approx(report["lipschitz"] / report["mu"])
    assert report["calls"]["observed"] <= report["calls"]["bound"]
    assert report["contraction"]["observed"] <= report["contraction"]["bound"]
    assert report["restarts"] is None


def test_check_of_an_instance_with_too_few_measurements_exits_1():
    result = check("--d", 20, "--r", 2, "--m", 20, "--json")
    assert result.exit_code == 1
    report = json.loads(result.output)
    assert report["assumptions"]["sharpness"]["verdict"] == "does not hold"
    assert report["condition"] is None
    assert "no rate" in check("--d", 20, "--r", 2, "--m", 20).output


def test_check_says_when_the_start_is_too_far():
    result = check("--d", 20, "--r", 2, "--n", 3, "--kappa", 10, "--radius", 1.0)
    assert "start closer" in result.output
    assert "nan" not in result.output


@pytest.mark.parametrize(("options", "expected"), [(("--kappa", 0.1), "kappa=0.1"), (("--r", 200), "between 1 and d")])
def test_bad_usage_of_check_exits_2(options, expected):
    result = check(*options)
    assert result.exit_code == 2
    assert expected in result.output


def test_help_of_check_teaches():
    result = check("--help")
    assert "gnpolyak check --kappa 100" in result.output
    assert "check" in CliRunner().invoke(main, ["--help"]).output


def test_a_rank_that_only_falls_at_the_exact_solution_is_not_certified():
    """Zeros that minimize finds are small numbers: there c(x) = A(x ⊙ x) has full rank, and at the truth it has not."""
    rng = np.random.default_rng(0)
    a, truth = rng.standard_normal((200, 30)), np.where(np.arange(30) < 10, 0.0, 1.0)
    problem = gnp.composite(lambda x, a: a @ (x * x), gnp.L1(a @ truth**2), args=(a,))
    found = gnp.diagnostics.assess(problem, truth + 0.1 * rng.standard_normal(30))
    constant = next(verdict for verdict in found.verdicts if verdict.assumption == "constant rank")
    assert constant.holds is not True
    assert not found.passed


def test_a_start_outside_the_domain_is_named():
    problem = gnp.composite(jnp.log, gnp.L1(np.zeros(2)))
    with pytest.raises(gnp.InputError, match="no finite value"):
        gnp.diagnostics.assess(problem, np.array([-1.0, 2.0]), np.ones(2), 0.0)


def test_an_assessment_prints_as_the_table_of_the_command():
    case = gnp.instances.tensor_sensing(d=10, r=2)
    text = str(gnp.diagnostics.assess(case.problem, case.x0, case.truth, case.target))
    assert "constant rank" in text
    assert max(len(line) for line in text.splitlines()) <= 80
