"""The theorems beside runs."""

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak import diagnostics


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
