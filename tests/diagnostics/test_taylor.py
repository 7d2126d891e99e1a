"""Derivatives against differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak import diagnostics


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


@pytest.mark.parametrize("factors", [(-1.0, -1.0), (1.0, 0.0), (1.1, 1.1)])
def test_a_wrong_subgradient_is_found(factors):
    """Of the wrong sign, zero for half of the data, and a tenth too long."""
    b, weights = np.linspace(-1, 1, 10), np.repeat(factors, 5)
    penalty = gnp.CustomPenalty(lambda z: jnp.sum(jnp.abs(z - b)), lambda z: weights * jnp.sign(z - b))
    found = diagnostics.check_taylor(gnp.composite(lambda x: x**2, penalty), np.arange(1.0, 11.0) / 7)
    assert not found.passed
    assert "subgradient (" in found.message
    assert found.figures["map"] > 1.8


# Correct models with parameters over eight orders of magnitude, and the same with a mistake in the derivative.

TIMES = np.linspace(0.05, 3, 12)


def exponentials(p):
    return sum(p["heights"][k] * jnp.exp(-p["rates"][k] * TIMES / p["unit"]) for k in range(2))


def gaussians(p):
    offsets = [TIMES * p["unit"] - centre for centre in p["centres"]]
    return sum(p["heights"][k] * jnp.exp(-((offsets[k] / p["widths"][k]) ** 2)) for k in range(2))


def rational(p):
    t = TIMES / p["unit"]
    return (p["heights"][0] + p["heights"][1] * TIMES) / (1 + p["rates"][0] * t + (p["rates"][1] * t) ** 2)


def polynomial(p):
    return sum(p["heights"][k] * (TIMES - p["unit"]) ** k for k in range(4))


MODELS = (exponentials, gaussians, rational, polynomial)


def parameters(model, rng):
    """Heights and the unit of time between 1e-4 and 1e4; peaks down to a hundredth of the unit."""
    sizes = 10.0 ** rng.uniform(-4, 4, 5) * rng.choice([-1, 1], 5)
    unit = np.abs(sizes[4])
    return {
        "heights": sizes[: 4 if model is polynomial else 2],
        "unit": unit,
        **({"rates": unit * rng.uniform(0.2, 3, 2)} if model in (exponentials, rational) else {}),
        **({"centres": unit * rng.uniform(0.2, 2.5, 2)} if model is gaussians else {}),
        **({"widths": unit * 10.0 ** rng.uniform(-2, 0.5, 2)} if model is gaussians else {}),
    }


def mistaken(model, tangent):
    """The model with another derivative: `tangent` maps Ju and u to what is returned instead."""

    @jax.custom_jvp
    def wrong(p):
        return model(p)

    @wrong.defjvp
    def _(primals, tangents):
        return model(*primals), tangent(lambda u: jax.jvp(model, primals, (u,))[1], *tangents)

    return gnp.AutodiffMap(wrong)


MISTAKES = {
    "a factor": lambda j, u: 1.01 * j(u),
    "a sign": lambda j, u: -j(u),
    "a missing term": lambda j, u: j({**u, "unit": 0 * u["unit"]}),
}


@pytest.mark.parametrize("model", MODELS)
def test_no_false_alarm_on_parameters_of_any_scale(model):
    c = gnp.AutodiffMap(model)
    problem = gnp.composite(c, gnp.L1(np.zeros(len(TIMES))))
    for seed in range(12):
        found = diagnostics.check_taylor(problem, parameters(model, np.random.default_rng(seed)), seed=seed)
        assert found.passed, (seed, found.message)
        assert 1.9 < found.figures["map"] < 2.1


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_every_mistake_is_found_at_any_scale(model, mistake):
    wrong = mistaken(model, MISTAKES[mistake])
    for seed in range(12):
        found = diagnostics.check_taylor(wrong, parameters(model, np.random.default_rng(seed)), seed=seed)
        assert not found.passed, (seed, found.message)


def test_a_mistake_shows_however_curved_the_model_is():
    """Et + Kt² with K/E = 1e6 is of second order in all steps longer than a millionth."""
    wrong = mistaken(lambda p: jnp.sin(1e4 * p["unit"]) + 0 * TIMES, MISTAKES["a factor"])
    assert diagnostics.check_taylor(wrong, {"unit": np.array(1.234)}).figures["map"] < 1.2


def test_what_rounding_hides_passes():
    """1 + x does not see x = 1e-15; a claimed slope of what stands still everywhere is not hidden by rounding."""
    assert diagnostics.check_taylor(lambda x: 1 + x**2, np.array([1e-15])).figures["map"] == np.inf
    constant = mistaken(lambda p: 0 * p["unit"] + 1.0, lambda j, u: u["unit"])
    assert not diagnostics.check_taylor(constant, {"unit": np.array([2.0])}).passed


def test_a_zero_among_the_parameters_is_moved_by_the_size_of_the_others():
    @jax.custom_jvp
    def wrong(x):
        return x**2 + x[0]

    wrong.defjvp(lambda primals, tangents: (wrong(*primals), 2 * primals[0] * tangents[0]))
    assert not diagnostics.check_taylor(wrong, np.array([0.0, 1e3])).passed
    assert diagnostics.check_taylor(lambda x: x**2 + x[0], np.array([0.0, 1e3])).passed
