from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

import gnpolyak as gnp
from gnpolyak.base.arrays import precise
from gnpolyak.oracles import oracle_for
from gnpolyak.problem.composite import Point
from gnpolyak.steps import cuts
from gnpolyak.steps.linear import as_solver
from gnpolyak.steps.metrics import GaussNewton
from reference import cp_jacobian, factor

# Eager, the loop inside would be compiled again for each example.
nonnegative_minimizer = jax.jit(partial(cuts.nonnegative_minimizer, jnp))
MOST = 10


@given(st.integers(1, MOST), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_small_nonnegative_problem_against_scipy(size, seed):
    """½λᵀMλ − ⟨e, λ⟩ with M = AᵀA and e = Aᵀy is ½‖Aλ − y‖² up to a constant."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((12, MOST))
    a /= np.linalg.norm(a, axis=0)
    y = rng.standard_normal(12)
    with precise(True):
        found = np.asarray(nonnegative_minimizer(a.T @ a, a.T @ y, np.arange(MOST) < size))
    assert np.all(found >= 0)
    assert not np.any(found[size:])
    assert np.allclose(found[:size], nnls(a[:, :size], y)[0], atol=1e-7)


def test_equal_cuts_do_not_break_the_small_problem():
    with precise(True):
        usable = jnp.array([True, True, False])
        found = np.asarray(cuts.nonnegative_minimizer(jnp, jnp.ones((3, 3)), jnp.ones(3), usable))
    assert found.sum() == pytest.approx(1.0)
    assert found[2] == 0.0


def bundle_of(*points):
    bundle = cuts.begin(jnp, 3, points[0])
    for point in points[1:]:
        bundle = cuts.push(jnp, bundle, point)
    return bundle


def cut(x, value, g):
    return Point(jnp.asarray(x, float), jnp.asarray(value, float), jnp.asarray(g, float))


def test_displacement_goes_to_the_nearest_point_below_two_cuts():
    """f = |x₀| + 2|x₁| at (1, 1), with cuts there and at (1, −1): their common point at level 0 is the solution."""
    with precise(True):
        old, new = cut([1.0, -1.0], 3.0, [1.0, -2.0]), cut([1.0, 1.0], 3.0, [1.0, 2.0])
        bundle = cuts.from_here(jnp, bundle_of(old), new)
        step, total, sound = cuts.displacement(jnp, bundle, bundle.cuts.subgradient, jnp.asarray(3.0))
        single = 3.0 / 5.0 * np.array([1.0, 2.0])
    assert bool(sound)
    assert np.allclose(step, [1.0, 1.0])
    assert not np.allclose(step, single)
    assert float(total) > 0


def test_the_point_to_step_from_leads_the_bundle_once():
    """Going back to an older point, its own cut counts, and not twice; where it had been dropped, it counts again."""
    with precise(True):
        first, second = cut([1.0], 1.0, [1.0]), cut([2.0], 2.0, [1.0])
        bundle = cuts.from_here(jnp, bundle_of(first, second), first)
        assert bundle.cuts.x[:, 0].tolist() == [1.0, 2.0, 1.0, 1.0]
        assert bundle.filled.tolist() == [True, True, False, False]
        step, _, sound = cuts.displacement(jnp, bundle, bundle.cuts.subgradient, jnp.asarray(0.5))
        assert bool(sound)
        assert step.tolist() == pytest.approx([0.5])


def test_cuts_that_contradict_each_other_are_not_used():
    with precise(True):
        old, new = cut([-1.0], 1.0, [-1.0]), cut([1.0], 1.0, [1.0])
        bundle = cuts.from_here(jnp, bundle_of(old), new)
        _, _, sound = cuts.displacement(jnp, bundle, bundle.cuts.subgradient, jnp.asarray(2.0))
    assert not bool(sound)


def test_a_cut_that_claims_far_too_much_is_dropped():
    with precise(True):
        wrong, new = cut([0.0, 0.0], 100.0, [0.0, 1.0]), cut([1.0, 1.0], 3.0, [1.0, 2.0])
        bundle = cuts.from_here(jnp, bundle_of(wrong), new)
        step, _, sound = cuts.displacement(jnp, bundle, bundle.cuts.subgradient, jnp.asarray(3.0))
    assert bool(sound)
    assert np.allclose(step, 3.0 / 5.0 * np.array([1.0, 2.0]))


def test_one_cut_is_the_papers_step_to_the_last_bit():
    case = gnp.instances.tensor_sensing(d=20, r=2)
    paper = gnp.minimize(case.problem, case.x0, "gnp", target=0.0)
    one = gnp.minimize(case.problem, case.x0, "gnp", cuts=1, target=0.0)
    assert np.array_equal(paper.history.value, one.history.value)


@pytest.mark.parametrize(
    "setting", [{"n": 2, "kappa": 10.0}, {"n": 3, "kappa": 3.0}, {"n": 2, "kappa": 10.0, "m": 2000}], ids=str
)
def test_five_cuts_save_a_third_of_the_calls(setting):
    ratios = []
    for seed in range(3):
        case = gnp.instances.tensor_sensing(seed=seed, **setting)
        paper, several = (gnp.minimize(case.problem, case.x0, "gnp", cuts=k, target=0.0) for k in (1, 5))
        assert several.success
        ratios.append(paper.calls / several.calls)
    assert np.median(ratios) >= 1.5
    assert min(ratios) >= 1 / 1.1


@pytest.mark.parametrize("method", ["polyak", "scaledsm", "gnp", "lmm"])
@pytest.mark.parametrize("k", [2, 10])
def test_cuts_work_with_every_method(method, k):
    case = gnp.instances.tensor_sensing(d=20, r=2, kappa=3.0)
    one, several = (gnp.minimize(case.problem, case.x0, method, cuts=c, target=0.0) for c in (1, k))
    assert several.success
    assert several.calls <= 1.1 * one.calls


@pytest.mark.parametrize("solver", ["dense", "lsmr", "cg"])
def test_cuts_with_the_solvers_of_autodiff_maps(solver):
    a = np.random.default_rng(0).standard_normal((30, 4))
    x = np.arange(1.0, 5.0)
    problem = gnp.composite(lambda x, a: (a @ x) ** 3, gnp.L1((a @ x) ** 3), args=(a,))
    res = gnp.minimize(problem, x + 0.05, gnp.GNP(solver=solver, cuts=4), target=0.0)
    assert res.success
    assert np.allclose(res.x, x, atol=1e-8)


def test_cuts_inside_vmap():
    case = gnp.instances.tensor_sensing(d=12, r=2, kappa=2.0)
    method, target = gnp.Auto(), gnp.Known(0.0)

    def solve(x):
        def body(state, _):
            return gnp.step(case.problem, method, target, state)[0], None

        return jax.lax.scan(body, gnp.init(case.problem, method, target, x), None, length=60)[0]

    with precise(True):
        state = jax.vmap(solve)(jnp.stack([jnp.asarray(case.x0), jnp.asarray(case.truth)]))
    assert state.status.tolist() == [gnp.Status.TARGET_REACHED] * 2
    assert state.calls.tolist() == [gnp.minimize(case.problem, case.x0, target=0.0).calls, 1]


@pytest.mark.parametrize("solver", ["cg", "lsmr", "dense"])
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_directions_of_other_points_are_pseudo_inverses_on_the_range(solver, damping):
    """A subgradient of another point has a part along the gauge here, which the metric does not see."""
    x, g = factor(7, 3, 4.0, seed=0), np.random.default_rng(1).standard_normal((2, 7, 3))
    problem = gnp.composite(gnp.SymmetricCP(2), gnp.L1(np.eye(7)))
    _, values, right = np.linalg.svd(cp_jacobian(x, 2))
    kept = values > 1e-9 * values[0]
    right, inverse = right[: len(values)][kept], 1.0 / (values[kept] ** 2 + damping)
    with precise(True):
        oracle = oracle_for(problem, x)
        metric = GaussNewton(as_solver(solver))
        found = metric.directions(oracle, jnp.asarray(x), jnp.asarray(g), jnp.asarray(damping))
    for ours, other in zip(np.asarray(found), g, strict=True):
        expected = right.T @ (inverse * (right @ other.ravel()))
        assert np.linalg.norm(ours.ravel() - expected) < 1e-8 * np.linalg.norm(expected)


def test_auto_takes_one_cut_where_directions_are_iterative():
    model = gnp.composite(lambda x: x[:600] * x[600:], gnp.L1(np.ones(600)))
    assert "1 cut)" in gnp.minimize(model, np.full(1200, 1.2), target=0.0, max_calls=3).method
    assert "5 cuts)" in gnp.minimize(model, np.full(1200, 1.2), cuts=5, target=0.0, max_calls=3).method
