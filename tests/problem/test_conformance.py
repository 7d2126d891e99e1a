"""Every entry of every table passes the conformance suite; a new one is tried by being registered."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp


def cases(table):
    """The examples of every row, each under the row's name and its place among them."""
    found = {name: list(part.examples(np.random.default_rng(0))) for name, part in table.items()}
    assert all(found.values()), "a row without examples would be tried on nothing"
    return [pytest.param(each, id=f"{name}-{i}") for name, examples in found.items() for i, each in enumerate(examples)]


# A map with a closed form and complex variables, and one that has only its image: methods and solvers know of maps no
# more than what these offer.
KINDS = ("Hermitian", "AutodiffMap")


def with_each_map(names, default):
    """The first example of every map with the default, and those of a map of each kind with every other name."""
    first = [example for example in cases(gnp.tables.maps) if example.id.endswith("-0")]
    return [
        pytest.param(name, example.values[0], id=f"{name}-{example.id}")
        for example in first
        for name in names
        if name == default or example.id.removesuffix("-0") in KINDS
    ]


@pytest.mark.parametrize("example", cases(gnp.tables.maps))
def test_maps(example):
    gnp.testing.check_map(*example)


@pytest.mark.parametrize("example", cases(gnp.tables.sensing))
def test_sensing(example):
    gnp.testing.check_sensing(*example)


@pytest.mark.parametrize("example", cases(gnp.tables.penalties))
def test_penalties(example):
    gnp.testing.check_penalty(*example)


def fused():
    """Problems of the kernels' types, from the examples of their sensing."""
    for c, sensing, penalty in gnp.tables.kernels:
        for place, (operator, image, x) in enumerate(sensing.examples(np.random.default_rng(1))):
            if type(image) is c and penalty in gnp.tables.penalties.values():
                yield pytest.param((operator, image, x, penalty), id=f"{sensing.__name__}-{penalty.__name__}-{place}")


@pytest.mark.parametrize("example", list(fused()))
def test_kernels(example):
    operator, image, x, penalty = example
    with jax.enable_x64(True):
        z = np.asarray(operator.measure(image, x)[0])
    # No residual is zero: there the sign is that of the rounding.
    problem = gnp.composite(image, penalty(z + np.resize([0.7, -0.4, 0.3], z.shape)), sensing=operator)
    kernel = gnp.tables.kernels[type(image), type(operator), penalty]
    if not kernel.serves(image, operator, problem.penalty, x):
        pytest.skip("the kernel does not serve this example here")
    gnp.testing.check_kernel(problem, x)


@pytest.mark.parametrize("example", list(fused()))
def test_kernels_serve_weighted_data_rightly_or_not_at_all(example):
    operator, image, x, penalty = example
    if penalty is not gnp.L1:
        pytest.skip("a penalty without weights")
    with jax.enable_x64(True):
        z, pullback = operator.measure(image, jax.tree.map(jnp.asarray, x))
        w, b = np.resize([2.0, 0.0, 0.5], z.shape), np.asarray(z) + np.resize([0.7, -0.4, 0.3, -0.2], z.shape)
        point = gnp.composite(image, gnp.L1(b, weights=w), sensing=operator).evaluate(jax.tree.map(jnp.asarray, x))
        expected = pullback(jnp.asarray(w * np.sign(np.asarray(z) - b)))
        assert float(point.value) == pytest.approx(np.sum(w * np.abs(np.asarray(z) - b)), rel=1e-12)
        for found, right in zip(jax.tree.leaves(point.subgradient), jax.tree.leaves(expected), strict=True):
            assert np.allclose(found, right, rtol=1e-10, atol=1e-12)


def four_parts(error):
    return all(part in str(error.value) for part in ("Given: ", "Needed: ", "Missing: ", "Do: "))


@pytest.mark.parametrize("example", cases(gnp.tables.sensing))
@pytest.mark.parametrize("c", list(gnp.tables.maps.values()), ids=list(gnp.tables.maps))
def test_measurements_of_a_map_that_lacks_what_they_need(example, c):
    sensing = example[0]
    for image, x in c.examples(np.random.default_rng(2)):
        if not image.has(sensing.needs):
            problem = gnp.composite(image, gnp.L1(np.zeros(3)), sensing=sensing)
            with pytest.raises(gnp.InputError, match=sensing.needs.name) as error:
                gnp.minimize(problem, x)
            assert four_parts(error)
            assert sensing.label in str(error.value)
            assert image.label in str(error.value)


@pytest.mark.parametrize(("solver", "example"), with_each_map(gnp.tables.solvers, "auto"))
def test_solvers_solve_or_say_what_they_miss(solver, example):
    image, x = example
    problem = gnp.testing.maps.problem_around(image, x)
    method = gnp.GNP(solver=solver)
    needed = gnp.tables.solvers[solver].needs
    if image.has(needed):
        res = gnp.minimize(problem, x, method, target=0.0, max_calls=2)
        assert res.status is not gnp.Status.LINEAR_SOLVE_FAILED
    else:
        with pytest.raises(gnp.InputError, match=needed.name) as error:
            gnp.minimize(problem, x, method, target=0.0)
        assert four_parts(error)


@pytest.mark.parametrize(("method", "example"), with_each_map(gnp.tables.methods, "auto"))
def test_methods_step_or_say_what_they_miss(method, example):
    image, x = example
    problem = gnp.testing.maps.problem_around(image, x)
    unfit = method == "scaledsm" and not image.has(gnp.capabilities.RIGHT_GRAM)
    if unfit:
        with pytest.raises(gnp.InputError, match="right_gram") as error:
            gnp.minimize(problem, x, method)
        assert four_parts(error)
    else:
        res = gnp.minimize(problem, x, method, max_calls=3)
        assert res.value <= res.history.value[0]


@pytest.mark.parametrize("strategy", list(gnp.tables.strategies))
def test_strategies_are_known_by_their_names(strategy):
    problem = gnp.composite(lambda x: x**3, gnp.L1(np.array([8.0, 27.0])))
    assert gnp.minimize(problem, np.array([1.5, 2.5]), strategy=strategy, tol=1e-6).value < 1e-4
