import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base.arrays import precise
from reference import factor


@pytest.fixture(autouse=True)
def float64():
    with precise(True):
        yield


def test_one_step_solves_an_asymmetric_l1_problem_exactly():
    """In one dimension {f = target} is a point of each branch of |3x − 6|, and the step lands on it."""
    problem = gnp.composite(lambda x: 3.0 * x, gnp.L1(np.array([6.0])))
    state = gnp.init(problem, gnp.GNP(), gnp.Known(0.0), jnp.array([10.0]))
    state, info = gnp.step(problem, gnp.GNP(), gnp.Known(0.0), state)
    assert float(state.point.x[0]) == pytest.approx(2.0, rel=1e-15)
    assert float(info.step) == pytest.approx(24.0)
    assert int(state.status) == gnp.Status.TARGET_REACHED


def test_gnp_step_by_hand():
    """c(x) = (x₀, 4x₁), b = 0, from (1, 1): v = (1, 1), J†v = (1, ¼), ‖Pv‖² = 2, γ = 5/2."""
    problem = gnp.composite(lambda x: jnp.array([1.0, 4.0]) * x, gnp.L1(np.zeros(2)))
    state = gnp.init(problem, gnp.GNP(), gnp.Known(0.0), jnp.ones(2))
    moved, info = gnp.step(problem, gnp.GNP(), gnp.Known(0.0), state)
    assert np.allclose(moved.point.x, [1 - 2.5, 1 - 2.5 / 4])
    assert float(info.step) == pytest.approx(2.5)
    polyak, _ = gnp.step(problem, gnp.Polyak(), gnp.Known(0.0), state)
    assert np.allclose(polyak.point.x, [1 - 5 / 17, 1 - 4 * 5 / 17])


def run_pure(problem, x0, target, length):
    def body(state, _):
        state, info = gnp.step(problem, gnp.GNP(), target, state)
        return state, info.value

    return jax.lax.scan(body, gnp.init(problem, gnp.GNP(), target, x0), None, length=length)


def test_pure_functions_inside_jit_and_scan_agree_with_minimize():
    case = gnp.instances.tensor_sensing(d=20, r=2, kappa=5.0)
    res = gnp.minimize(case.problem, case.x0, "gnp", target=0.0)
    state, values = jax.jit(run_pure, static_argnames="length")(
        case.problem, jnp.asarray(case.x0), gnp.Known(0.0), length=res.calls + 10
    )
    assert np.allclose(values[: res.calls - 1], res.history.value[1:], rtol=1e-9)
    # Past the end the state stands still: no calls are counted that were not made.
    assert int(state.calls) == res.calls
    assert int(state.status) == gnp.Status.TARGET_REACHED


def test_vmap_over_starts_stops_each_on_its_own():
    case = gnp.instances.tensor_sensing(d=20, r=2, kappa=5.0)
    starts = jnp.stack([jnp.asarray(case.truth + t * (case.x0 - case.truth)) for t in (0.1, 0.5, 1.0)])
    state, _ = jax.vmap(lambda x: run_pure(case.problem, x, gnp.Known(0.0), 80))(starts)
    alone = [gnp.minimize(case.problem, np.asarray(x), "gnp", target=0.0).calls for x in starts]
    assert state.calls.tolist() == alone
    assert set(state.status.tolist()) == {gnp.Status.TARGET_REACHED}


def test_vmap_over_data():
    data = jnp.array([[1.0, 8.0], [27.0, 64.0]])

    def solve(b):
        problem = gnp.composite(lambda x: x**3, gnp.L1(b))
        return run_pure(problem, jnp.array([2.5, 2.5]), gnp.Known(0.0), 200)[0].best.x

    assert np.allclose(jax.vmap(solve)(data), [[1.0, 2.0], [3.0, 4.0]], atol=1e-6)


def test_values_along_gnp_are_invariant_under_rotation_of_the_factor():
    case = gnp.instances.tensor_sensing(d=20, r=3, kappa=20.0, seed=1)
    rotation, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))
    plain = gnp.minimize(case.problem, case.x0, "gnp", target=0.0, max_calls=25)
    turned = gnp.minimize(case.problem, case.x0 @ rotation, "gnp", target=0.0, max_calls=25)
    assert np.allclose(plain.history.value, turned.history.value, rtol=1e-9)
    assert np.allclose(plain.x @ rotation, turned.x, rtol=1e-7, atol=1e-10)


def test_values_along_gnp_are_invariant_under_linear_changes_of_variable():
    """x = Tu with invertible T: the same images, exactly, however badly T is scaled; Polyak's differ at once."""
    a, b = np.random.default_rng(0).standard_normal((15, 3)), np.random.default_rng(1).standard_normal(15)
    t = np.diag([1e-3, 1.0, 1e3]) + 0.1
    x0 = np.array([1.0, -1.0, 0.5])
    in_x = gnp.composite(lambda x, a: a @ x, gnp.L1(b), args=(a,))
    in_u = gnp.composite(lambda u, a: a @ u, gnp.L1(b), args=(a @ t,))
    for method, same in (("gnp", True), ("polyak", False)):
        first = gnp.minimize(in_x, x0, method, target=0.0, max_calls=10).history.value
        second = gnp.minimize(in_u, np.linalg.solve(t, x0), method, target=0.0, max_calls=10).history.value
        assert np.allclose(first, second, rtol=1e-6) is same


def test_observed_rate_respects_the_theorems_bound():
    """On the linear map c(x) = x with h = ‖·‖₁ in d dimensions, μ_h = 1 and L_h = √d, so c₁² = 1 − 1/(2d)."""
    d = 8
    problem = gnp.composite(lambda x: x, gnp.L1(np.zeros(d)))
    x = jnp.asarray(np.random.default_rng(0).standard_normal(d))
    target = gnp.Known(0.0, tol=1e-14)
    step = jax.jit(lambda state: gnp.step(problem, gnp.GNP(), target, state)[0])
    state = gnp.init(problem, gnp.GNP(), target, x)
    distances = [float(jnp.linalg.norm(x))]
    while int(state.status) == gnp.Status.RUNNING:
        state = step(state)
        distances.append(float(jnp.linalg.norm(state.point.x)))
    ratios = np.array(distances[1:]) / np.array(distances[:-1])
    assert len(ratios) > 10
    assert np.all(ratios**2 <= 1 - 1 / (2 * d))


def test_a_failed_solve_makes_no_oracle_call():
    x = factor(6, 3, 5.0, seed=0)
    problem = gnp.composite(gnp.SymmetricCP(2), gnp.L1(np.eye(6)))
    state = gnp.init(problem, gnp.GNP(), gnp.Known(0.0), jnp.asarray(x))
    state, info = gnp.step(problem, gnp.GNP(solver="cg", max_inner=1), gnp.Known(0.0), state)
    assert int(state.status) == gnp.Status.LINEAR_SOLVE_FAILED
    assert int(state.calls) == 1
    assert float(info.residual) > 1e-3


@pytest.mark.parametrize("solved", [True, False])
def test_a_step_without_its_branch_is_the_same_step(solved):
    """Where the direction is a number, and where it is none: there the state stops without a call."""
    case = gnp.instances.tensor_sensing(d=12, r=2, kappa=2.0)
    method, target = gnp.Auto(), gnp.Known(0.0)
    with precise(True):
        state = gnp.init(case.problem, method, target, jnp.asarray(case.x0))
        if not solved:
            lost = jnp.full_like(state.point.subgradient, jnp.nan)
            state = state._replace(point=state.point._replace(subgradient=lost))
        run = jax.jit(gnp.step, static_argnames="branch")
        one, other = (run(case.problem, method, target, state, branch=branch) for branch in (True, False))
    assert int(one[0].calls) == (2 if solved else 1)
    for ours, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert np.allclose(ours, theirs, rtol=1e-12, atol=0, equal_nan=True)


def test_the_size_of_the_data_is_found_once_and_kept():
    """For L1 it is the sum of |b|: rounding is measured in units of it."""
    case = gnp.instances.tensor_sensing(d=8, r=2, kappa=2.0)
    method, target = gnp.GNP(), gnp.Known(0.0)
    with precise(True):
        first = gnp.init(case.problem, method, target, jnp.asarray(case.x0))
        later = gnp.step(case.problem, method, target, first)[0]
    assert float(first.scale) == pytest.approx(np.sum(np.abs(case.problem.penalty.b)), rel=1e-14)
    assert float(later.scale) == float(first.scale)
