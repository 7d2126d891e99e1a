"""Small problems run on the host: the same steps as in compiled chunks, and little to compile."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base.arrays import computing_in
from gnpolyak.oracles import programs
from gnpolyak.solve.evaluation import Evaluation, chosen_runner
from gnpolyak.steps.least_absolute import LeastAbsolute


def decay(m=60, noise=0.01, dtype=np.float64, penalty=gnp.L1):
    rng = np.random.default_rng(3)
    t = np.linspace(0, 4, m)
    b = 2.5 * np.exp(-1.3 * t) + 0.5 + noise * rng.standard_normal(m)
    b[:: m // 8] += 3.0
    model = lambda p, t: p["a"] * jnp.exp(-p["b"][0] * t) + p["b"][1]  # noqa: E731
    problem = gnp.composite(model, penalty(b.astype(dtype)), args=(t.astype(dtype),))
    return problem, {"a": np.array(1.0, dtype), "b": np.array([1.0, 0.0], dtype)}


@pytest.mark.parametrize(
    ("method", "penalty"),
    [
        (gnp.Graduated(), gnp.L1),
        (gnp.Graduated(), lambda b: gnp.L1(b, weights=np.arange(b.size) % 3)),
        (LeastAbsolute(), gnp.L1),
        (LeastAbsolute(), lambda b: gnp.Pinball(b, 0.3)),
    ],
    ids=["graduated", "weights", "least-absolute", "quantile"],
)
def test_the_host_takes_the_steps_that_a_compiled_chunk_takes(method, penalty):
    problem, x = decay(penalty=penalty)
    with computing_in(np.dtype(np.float64)):
        problem, x = problem.cast(np.dtype(np.float64)).settled(x), jax.tree.map(jnp.asarray, x)
        target = gnp.Level(0.0, patience=4)
        assert chosen_runner(problem, method, target) == "host"
        ends = []
        for name in ("compiled", "host"):
            runner = Evaluation(problem, x, name).runner
            bound, rule = runner.bind(method), runner.bind(target)
            state = runner.begin(bound, rule, x, (0, 500))
            state, columns = runner.advance(bound, rule, state, 300, float("inf"))
            ends.append((jax.tree.map(np.asarray, state), columns))
    (compiled, there), (hosted, here) = ends
    assert (int(compiled.status), int(compiled.calls)) == (int(hosted.status), int(hosted.calls))
    assert here.shape == there.shape
    np.testing.assert_allclose(here, there, rtol=1e-8, atol=1e-12)
    for a, b in zip(jax.tree.leaves(compiled.best.x), jax.tree.leaves(hosted.best.x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_nothing_but_the_model_is_compiled(compilations):
    problem, x = decay(m=61)
    with compilations() as seen:
        res = gnp.minimize(problem, x)
    assert res.success
    assert seen.count <= 8
    assert not {"jit(_chunk)", "jit(_start)", "jit(_least)"} & set(seen.names)


def test_the_programs_that_are_kept_are_bounded(monkeypatch):
    monkeypatch.setattr(programs, "MOST_KEPT", 3)
    for m in range(40, 46):
        problem, x = decay(m=m)
        assert np.isfinite(gnp.minimize(problem, x, max_calls=9).value)
    assert len(programs._kept) <= 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_jax_in_jax_out(dtype):
    problem, x = decay(dtype=dtype)
    with jax.enable_x64(dtype == np.float64):
        res = gnp.minimize(problem, jax.tree.map(jnp.asarray, x))
    assert all(isinstance(leaf, jax.Array) and leaf.dtype == dtype for leaf in jax.tree.leaves(res.x))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_model_that_leaves_its_domain_ends_with_the_best(bad):
    """Steps to points without a value are refused, on the host as anywhere."""
    t = np.linspace(0.1, 2, 30)
    problem = gnp.composite(lambda p: jnp.where(p[0] > 2, bad, p[0] * t + p[1]), gnp.L1(1.9 * t + 1))
    res = gnp.minimize(problem, np.array([0.5, 0.0]))
    assert res.success
    np.testing.assert_allclose(res.x, [1.9, 1.0], rtol=1e-9)
