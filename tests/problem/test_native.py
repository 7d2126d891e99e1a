"""The fused oracle against NumPy and against XLA."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base import arrays
from gnpolyak.problem.oracles import native
from gnpolyak.problem.oracles.native import build, calls, library
from passes import RANKS, SHAPES, assert_close, by_numpy, data, needs_library, python


def fused(p, q, b, x, n):
    with arrays.computing_in(np.result_type(x)):
        f, g = jax.jit(native.power_l1, static_argnums=4)(p, q, b, x, n)
    return np.asarray(f), np.asarray(g)


def by_xla(problem, x):
    """The parts one after the other, as they are evaluated where no kernel serves."""
    z, pullback = problem.sensing.measure(problem.map, x)
    return problem.penalty.value(z), pullback(problem.penalty.subgradient(z))


@needs_library
@pytest.mark.parametrize(("m", "d"), SHAPES)
@pytest.mark.parametrize("n", [2, 3, 6])
def test_agrees_with_numpy_on_any_shape(m, d, n):
    for r in RANKS:
        args = data(m, d, r)
        assert_close(fused(*args, n), by_numpy(*args, n), 1e-12)


@needs_library
@pytest.mark.parametrize("n", [2, 5])
def test_agrees_with_xla(n):
    p, q, b, x = data(333, 41, 6)
    problem = gnp.Composite(gnp.SymmetricCP(n), gnp.L1(b), gnp.PowerSensing(p, q))
    with arrays.computing_in(np.dtype(np.float64)):
        point = jax.jit(lambda problem, x: problem.evaluate(x))(problem, x)
        plain = jax.jit(by_xla)(problem, x)
    assert_close((point.value, point.subgradient), plain, 1e-12)
    # Two ways of summing that agree to the last bit would mean that one of them was not taken.
    assert np.any(np.asarray(point.subgradient) != np.asarray(plain[1]))


@needs_library
@pytest.mark.parametrize(("m", "d"), SHAPES)
def test_float32_rows_with_float64_arithmetic_lose_nothing(m, d):
    p, q, b, x = data(m, d, 5)
    p, q = p.astype(np.float32), q.astype(np.float32)
    assert_close(fused(p, q, b, x, 3), by_numpy(p, q, b, x, 3), 1e-12)


@needs_library
@pytest.mark.parametrize(("m", "d"), SHAPES)
def test_float32_throughout(m, d):
    single = [part.astype(np.float32) for part in data(m, d, 5)]
    f, g = fused(*single, 2)
    assert f.dtype == g.dtype == np.float32
    assert_close((f, g), by_numpy(*(part.astype(np.float64) for part in single), 2), 1e-4)


@needs_library
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(("i", "k"), [(0, 0), (200, 99), (399, 50)])
def test_a_broken_row_is_seen(bad, i, k):
    p, q, b, x = data(400, 100, 5)
    q[i, k] = bad
    f, g = fused(p, q, b, x, 2)
    assert not np.isfinite(f)
    assert not np.isfinite(g).all()


@needs_library
def test_zero_residuals_have_zero_subgradient():
    rng = np.random.default_rng(0)
    p, q, x = (rng.integers(-2, 3, shape).astype(float) for shape in ((50, 12), (50, 12), (12, 3)))
    b = ((p @ x) ** 2).sum(1) - ((q @ x) ** 2).sum(1)
    f, g = fused(p, q, b, x, 2)
    assert f == 0
    assert not g.any()


@needs_library
def test_no_rows_at_all():
    f, g = fused(*data(0, 4, 2), 2)
    assert f == 0
    assert not g.any()


@needs_library
def test_the_number_of_threads_does_not_change_a_bit():
    args = data(5000, 60, 7)
    try:
        native.set_num_threads(1)
        alone = fused(*args, 3)
        assert native.status().threads == 1
        native.set_num_threads(None)
        together = fused(*args, 3)
    finally:
        native.set_num_threads(None)
    assert alone[0] == together[0]
    assert np.array_equal(alone[1], together[1])


def test_a_thread_count_of_zero_is_refused():
    with pytest.raises(gnp.InputError, match="count=0"):
        native.set_num_threads(0)


@needs_library
@pytest.mark.parametrize("text", ["0", "two", "1.5"])
def test_a_bad_thread_count_in_the_environment_is_named(text, monkeypatch):
    monkeypatch.setenv("GNPOLYAK_NUM_THREADS", text)
    library.load.cache_clear()
    try:
        with pytest.raises(gnp.InputError, match="GNPOLYAK_NUM_THREADS="):
            native.status()
    finally:
        monkeypatch.undo()
        library.load.cache_clear()
        native.set_num_threads(None)


def test_the_oracle_is_described_by_its_status():
    told, state = native.describe(), native.status()
    assert set(told) == {"oracle", "threads"}
    assert state.reason in told["oracle"] or "computing on" in told["oracle"]


@needs_library
def test_inside_vmap_scan_and_while():
    p, q, b, x = data(300, 20, 3)
    batch = np.stack([x, 2 * x, -x])
    with arrays.computing_in(np.dtype(np.float64)):
        stacked = jnp.asarray(batch)
        f, g = jax.vmap(lambda x: native.power_l1(p, q, b, x, 3))(batch)
        _, scanned = jax.lax.scan(lambda _, x: (None, native.power_l1(p, q, b, x, 3)[0]), None, batch)
        looped = jax.lax.fori_loop(0, 3, lambda i, t: t + native.power_l1(p, q, b, stacked[i], 3)[0], np.float64(0))
    for k in range(3):
        assert_close((np.asarray(f)[k], np.asarray(g)[k]), by_numpy(p, q, b, batch[k], 3), 1e-12)
    assert np.array_equal(np.asarray(f), np.asarray(scanned))
    np.testing.assert_allclose(np.asarray(looped), np.asarray(f).sum(), rtol=1e-14)


@needs_library
def test_the_oracle_can_be_differentiated():
    p, q, b, x = data(60, 9, 2)
    problem = gnp.Composite(gnp.SymmetricCP(2), gnp.L1(b), gnp.PowerSensing(p, q))
    with arrays.computing_in(np.dtype(np.float64)):
        gradient = jax.grad(lambda x: problem.evaluate(x).value)(jnp.asarray(x))
    assert_close([gradient], [by_numpy(p, q, b, x, 2)[1]], 1e-12)


@needs_library
def test_one_trace_serves_a_gpu_without_the_kernel():
    p, q, b, x = data(60, 9, 2)
    problem = gnp.Composite(gnp.SymmetricCP(2), gnp.L1(b), gnp.PowerSensing(p, q))
    with arrays.computing_in(np.dtype(np.float64)):
        traced = jax.jit(lambda problem, x: problem.evaluate(x)).trace(problem, jnp.asarray(x))
        texts = {name: traced.lower(lowering_platforms=(name,)).as_text() for name in ("cpu", "cuda")}
    assert "gnpolyak_power_l1" in texts["cpu"]
    assert "gnpolyak_power_l1" not in texts["cuda"]


SNIPPET = """
import jax, numpy as np
from passes import assert_close, by_numpy, data, measured, pulled, pushed
from gnpolyak.problem.oracles import native
jax.config.update("jax_enable_x64", True)
for m, d, r in ((1, 1, 1), (3, 3, 4), (130, 31, 7), (257, 100, 12)):
    p, q, b, x = data(m, d, r)
    for q in (q, None):
        assert_close(native.power_l1(p, q, b, x, 3), by_numpy(p, q, b, x, 3), 1e-12)
        values, slopes = native.power_forms(p, q, x, 3)
        s = pushed(p, q, x, 3, 2 * x)
        found = values, *native.power_product(p, q, slopes, 2 * x, b)
        assert_close(found, (measured(p, q, x, 3), s, pulled(p, q, x, 3, b * s)), 1e-12)
print(native.status().instruction_set)
"""


@needs_library
@pytest.mark.parametrize("isa", ["baseline", "avx2"])
def test_older_processors(isa):
    served = python(SNIPPET, GNPOLYAK_ISA=isa)
    assert served == isa or (isa == "avx2" and served == "baseline")


def test_switched_off_it_says_so_and_xla_serves():
    code = """
import gnpolyak as gnp
case = gnp.instances.tensor_sensing(d=8, r=2, kappa=2.0)
print(gnp.minimize(case.problem, case.x0, target=case.target).success, gnp.native.status().reason)
"""
    assert python(code, GNPOLYAK_NATIVE="0") == "True switched off by GNPOLYAK_NATIVE=0"


def test_without_a_compiler_the_build_leaves_a_note(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert build.build(tmp_path) is None
    assert "no C++ compiler" in (tmp_path / build.NOTE).read_text()


def test_a_failing_compiler_is_quoted(tmp_path, monkeypatch):
    monkeypatch.setenv("CXX", "false")
    assert build.build(tmp_path) is None
    assert "failed" in (tmp_path / build.NOTE).read_text()


@pytest.mark.parametrize("n", [2, 3])
def test_the_xla_oracle_makes_no_copy_of_the_rows(n):
    p, q, b, x = data(4000, 200, 3)
    problem = gnp.Composite(gnp.SymmetricCP(n), gnp.L1(b), gnp.PowerSensing(p, q))
    with arrays.computing_in(np.dtype(np.float64)):
        compiled = jax.jit(by_xla).lower(problem, x).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 0.2 * p.nbytes


@needs_library
@pytest.mark.parametrize("batched", ["x", "b", "p"])
def test_a_batch_of_problems_is_each_problem_on_its_own(batched):
    p, q, b, x = data(50, 8, 2)
    parts = {"p": p, "b": b, "x": x}
    stack = np.stack([parts[batched], 2 * parts[batched]])

    def evaluate(part):
        now = {**parts, batched: part}
        problem = gnp.Composite(gnp.SymmetricCP(2), gnp.L1(now["b"]), gnp.PowerSensing(now["p"], q))
        point = problem.evaluate(now["x"])
        return point.value, point.subgradient

    with arrays.computing_in(np.dtype(np.float64)):
        f, g = jax.jit(jax.vmap(evaluate))(stack)
    for k in range(2):
        now = {**parts, batched: stack[k]}
        assert_close((np.asarray(f)[k], np.asarray(g)[k]), by_numpy(now["p"], q, now["b"], now["x"], 2), 1e-12)


@needs_library
@pytest.mark.parametrize("centred", [True, False])
def test_a_batch_has_the_bits_of_its_members(centred):
    """Own rows and shared ones, and axes of two batches one inside the other."""
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        p, q = jnp.asarray(rng.standard_normal((2, 3, 140, 5)))
        b, x = jnp.asarray(rng.standard_normal((3, 140))), jnp.asarray(rng.standard_normal((3, 5, 2)))

        def others(k):
            return q[k] if centred else None

        own = jax.vmap(lambda p, q, b, x: calls.power_l1(p, q if centred else None, b, x, 2))(p, q, b, x)
        shared = jax.vmap(lambda x: calls.power_forms(p[0], others(0), x, 3))(x)
        pushed = jax.vmap(lambda s, z, w: calls.power_product(p[0], others(0), s, z, w))(shared[1], x, b)
        pulled = jax.vmap(lambda s, w: calls.power_product(p[0], others(0), s, None, w)[1])(shared[1], b)
        inner = jax.vmap(lambda x, b: calls.power_l1(p[0], others(0), b, x, 2)[0], in_axes=(0, None))
        nested = jax.vmap(inner, in_axes=(None, 0))(x, b)
        for k in range(3):
            same(own, calls.power_l1(p[k], others(k), b[k], x[k], 2), k)
            same(shared, calls.power_forms(p[0], others(0), x[k], 3), k)
            same(pushed, calls.power_product(p[0], others(0), shared[1][k], x[k], b[k]), k)
            same((pulled,), (calls.power_product(p[0], others(0), shared[1][k], None, b[k])[1],), k)
            assert nested[k, 2] == calls.power_l1(p[0], others(0), b[k], x[2], 2)[0]


def same(stacked, one, k):
    for all_of_them, member in zip(stacked, one, strict=True):
        np.testing.assert_array_equal(all_of_them[k], member)
