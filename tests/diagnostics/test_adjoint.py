"""Adjoints and the structure that maps offer: right ones pass, and each wrong one is named."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak import diagnostics
from reference import factor


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


class WrongKernel(gnp.Kernel):
    def evaluate(self, c, sensing, penalty, x):
        z, pullback = sensing.measure(c, x)
        return penalty.value(z) + 1, 2 * pullback(penalty.subgradient(z))


def faults(sensing):
    case = gnp.instances.tensor_sensing(d=8, r=2)
    p, q = case.problem.sensing.p, case.problem.sensing.q
    problem = gnp.composite(case.problem.map, case.problem.penalty, sensing=sensing(p, q))
    return diagnostics.check_adjoint(problem, case.x0)


def test_wrong_measurements_are_found():
    found = faults(WrongSensing)
    assert not found.passed
    assert "measurements (" in found.message


def test_a_wrong_fused_oracle_is_found(monkeypatch):
    monkeypatch.setitem(gnp.tables.kernels, (gnp.SymmetricCP, gnp.PowerSensing, gnp.L1), WrongKernel())
    found = faults(gnp.PowerSensing)
    assert not found.passed
    assert all(f"{figure} (" in found.message for figure in ("oracle value", "oracle subgradient"))
