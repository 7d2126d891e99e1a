"""Measurements and products with AJ, in fused passes, against NumPy and against XLA."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base import arrays
from gnpolyak.oracles import oracle_for
from gnpolyak.problem.oracles import linearised, native
from passes import RANKS, SHAPES, assert_close, by_numpy, data, measured, needs_library, pulled, pushed

pytestmark = needs_library
centred = pytest.mark.parametrize("centred", [True, False], ids=["with q", "without q"])


def case(m, d, r, centred, dtype=np.float64):
    """Rows, a point, a direction, weights."""
    p, q, w, x = data(m, d, r)
    z = np.random.default_rng([1, m, d, r]).standard_normal((d, r))
    return [None if part is None else part.astype(dtype) for part in (p, q if centred else None, x, z, w)]


def fused(p, q, x, z, w, n):
    """Measurements, AJz, (AJ)ᵀ(w ⊙ AJz), (AJ)ᵀw."""

    @jax.jit
    def passes(p, q, x, z, w):
        values, slopes = native.power_forms(p, q, x, n)
        return values, *native.power_product(p, q, slopes, z, w), native.power_product(p, q, slopes, None, w)[1]

    with arrays.computing_in(np.result_type(x)):
        return [np.asarray(part) for part in passes(p, q, x, z, w)]


def expected(p, q, x, z, w, n):
    s = pushed(p, q, x, n, z)
    return measured(p, q, x, n), s, pulled(p, q, x, n, w * s), pulled(p, q, x, n, w)


def problem_of(p, q, x, n):
    return gnp.Composite(gnp.SymmetricCP(n), gnp.L1(np.ones(len(p), x.dtype)), gnp.PowerSensing(p, q))


@centred
@pytest.mark.parametrize(("m", "d"), SHAPES)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_agree_with_numpy_on_any_shape(m, d, n, centred):
    for r in RANKS:
        args = case(m, d, r, centred)
        assert_close(fused(*args, n), expected(*args, n), 1e-12)


@pytest.mark.parametrize(("m", "d"), SHAPES)
@pytest.mark.parametrize("n", [2, 5])
def test_the_oracle_without_q(m, d, n):
    for r in (1, 5, 8):
        p, _, b, x = data(m, d, r)
        with arrays.computing_in(np.dtype(np.float64)):
            found = native.power_l1(p, None, b, x, n)
        assert_close(found, by_numpy(p, None, b, x, n), 1e-12)


@centred
@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("d", [8, 17])
def test_a_problem_hands_out_what_xla_would(d, n, centred):
    for r in (1, 5, 8):
        p, q, x, z, w = case(41, d, r, centred)
        problem = problem_of(p, q, x, n)

        @jax.jit
        def both(problem, x, z, w):
            found = oracle_for(problem, x).linearise(x)
            plain = linearised(problem.map, problem.sensing, problem.penalty, x)
            measured = problem.measure(x), problem.sensing.measure(problem.map, x)[0]
            return measured, *((way.push(z), way.pull(w), *way.product(z, w)) for way in (found, plain))

        with arrays.computing_in(np.dtype(np.float64)):
            measured, found, plain = both(problem, x, z, w)
        assert_close([measured[0], *found], [measured[1], *plain], 1e-12)
        # Two ways of summing that agree to the last bit would mean that one of them was not taken.
        assert any(np.any(np.asarray(a) != np.asarray(b)) for a, b in zip(found, plain, strict=True))


@centred
@pytest.mark.parametrize(("m", "d"), SHAPES)
def test_float32_rows_with_float64_arithmetic_lose_nothing(m, d, centred):
    p, q, *others = case(m, d, 5, centred)
    args = p.astype(np.float32), None if q is None else q.astype(np.float32), *others
    assert_close(fused(*args, 3), expected(*args, 3), 1e-12)


@centred
@pytest.mark.parametrize(("m", "d"), SHAPES)
def test_float32_throughout(m, d, centred):
    args = case(m, d, 5, centred, np.float32)
    found = fused(*args, 2)
    assert {part.dtype for part in found} == {np.dtype(np.float32)}
    wide = [None if part is None else part.astype(np.float64) for part in args]
    assert_close(found, expected(*wide, 2), 1e-4)


@centred
def test_the_number_of_threads_does_not_change_a_bit(centred):
    args = case(5000, 60, 7, centred)
    try:
        found = []
        for count in (1, 2, 3):
            native.set_num_threads(count)
            found.append(fused(*args, 3))
    finally:
        native.set_num_threads(None)
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


@centred
@pytest.mark.parametrize(("i", "k"), [(0, 0), (200, 99), (399, 50)])
def test_a_broken_row_is_seen_in_its_place_and_nowhere_else(centred, i, k):
    p, q, x, z, w = case(400, 100, 5, centred)
    whole = fused(p, q, x, z, w, 3)
    (p if q is None else q)[i, k] = np.nan
    values, s, both, alone = fused(p, q, x, z, w, 3)
    others = np.arange(400) != i
    for found, before in ((values, whole[0]), (s, whole[1])):
        assert np.isnan(found[i])
        assert np.array_equal(found[others], before[others])
    assert np.isnan(both).any()
    assert np.isnan(alone).any()


@centred
def test_no_rows_at_all(centred):
    values, s, *adjoint = fused(*case(0, 4, 2, centred), 2)
    assert values.shape == s.shape == (0,)
    assert not np.any(adjoint)


@centred
def test_inside_vmap_and_while(centred):
    p, q, x, z, w = case(300, 20, 3, centred)
    batch = np.stack([z, -2 * z, x])
    with arrays.computing_in(np.dtype(np.float64)):
        problem, point, direction = problem_of(p, q, x, 3), jnp.asarray(x), jnp.asarray(z)
        found = jax.jit(jax.vmap(lambda z: oracle_for(problem, point).linearise(point).product(z, w)))(batch)
        at = jax.jit(jax.vmap(lambda x: oracle_for(problem, x).linearise(x).product(direction, w)))(batch)
        go = oracle_for(problem, point).linearise(point).product
        twice = jax.jit(lambda z: jax.lax.fori_loop(0, 2, lambda _, z: go(z, w)[1], z))(direction)
    for k in range(3):
        assert_close([part[k] for part in found], expected(p, q, x, batch[k], w, 3)[1:3], 1e-12)
        assert_close([part[k] for part in at], expected(p, q, batch[k], z, w, 3)[1:3], 1e-12)
    once = expected(p, q, x, z, w, 3)[2]
    assert_close([twice], [expected(p, q, x, once, w, 3)[2]], 1e-12)


@centred
def test_who_differentiates_gets_xlas_derivative(centred):
    p, q, x, z, w = case(60, 9, 2, centred)
    problem = problem_of(p, q, x, 3)
    with arrays.computing_in(np.dtype(np.float64)):
        slope = jax.jvp(problem.measure, (jnp.asarray(x),), (jnp.asarray(z),))[1]
        gradient = jax.grad(lambda z: jnp.sum(w * oracle_for(problem, x).linearise(x).push(z)))(jnp.asarray(z))
    assert_close([slope, gradient], [pushed(p, q, x, 3, z), pulled(p, q, x, 3, w)], 1e-12)


@centred
def test_what_other_devices_compute(centred):
    """The derivative is taken of the branch that XLA serves: it comes with that branch's values."""
    p, q, x, z, w = case(60, 9, 2, centred)
    problem = problem_of(p, q, x, 3)

    def found(x, z, w):
        products = oracle_for(problem, x).linearise(x)
        return problem.measure(x), *products.product(z, w), products.pull(w)

    def plain(x, z, w):
        products = linearised(problem.map, problem.sensing, problem.penalty, x)
        return problem.sensing.measure(problem.map, x)[0], *products.product(z, w), products.pull(w)

    with arrays.computing_in(np.dtype(np.float64)):
        at = tuple(map(jnp.asarray, (x, z, w)))
        values, slopes = jax.jvp(found, at, at)
        expected_slopes = jax.jvp(plain, at, at)[1]
    assert_close(values, expected(p, q, x, z, w, 3), 1e-12)
    assert_close(slopes, expected_slopes, 1e-12)


@centred
def test_one_trace_serves_a_gpu_without_the_kernel(centred):
    p, q, x, z, w = case(60, 9, 2, centred)
    with arrays.computing_in(np.dtype(np.float64)):
        product = jax.jit(lambda problem, x, z, w: oracle_for(problem, x).linearise(x).product(z, w))
        traced = product.trace(problem_of(p, q, x, 2), *map(jnp.asarray, (x, z, w)))
        texts = {name: traced.lower(lowering_platforms=(name,)).as_text() for name in ("cpu", "cuda")}
    assert texts["cpu"].count("@gnpolyak_power_forms") == texts["cpu"].count("@gnpolyak_power_product") == 1
    assert "dot_general" not in texts["cpu"]
    assert "gnpolyak_power" not in texts["cuda"]


def test_one_product_is_one_pass_in_the_engine():
    """A trial is measured once, and linearised by what that left; an inner iteration is one product."""
    with arrays.computing_in(np.dtype(np.float64)):
        case = gnp.instances.tensor_sensing(d=9, r=2, kappa=2.0)
        problem, x = case.problem.cast(np.dtype(np.float64)), jnp.asarray(case.x0)
        method, rule = gnp.Graduated(), gnp.Level(0.0)
        state = gnp.init(problem, method, rule, x)
        text = jax.jit(gnp.step).lower(problem, method, rule, state).as_text()
    assert text.count("@gnpolyak_power_forms") == 1
    # One of them pulls the residuals back, the other is the iteration's.
    assert text.count("@gnpolyak_power_product") == 2
    assert f"tensor<{len(problem.sensing.p)}x9xf64>" in text
