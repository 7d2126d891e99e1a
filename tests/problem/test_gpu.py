"""The pass over the rows for a GPU, run here by Pallas's interpreter."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base.arrays import precise
from gnpolyak.problem.oracles import gpu
from gnpolyak.problem.oracles.native import dispatch, oracle

M, D, R = 37, 10, 3
NARROW = gpu.Shape(rows=4, warps=1, programs=3)


def data(seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    p, q = np.round(8 * rng.standard_normal((2, M, D))).astype(dtype) / 8
    return p, q, rng.standard_normal(M), rng.standard_normal((D, R))


@pytest.mark.parametrize(("n", "centred", "together"), [(2, True, 1), (2, True, 2), (3, False, 1)])
def test_value_and_subgradient_in_one_pass(n, centred, together):
    p, q, b, x = data()
    z = np.sum((p @ x) ** n, axis=1) - (np.sum((q @ x) ** n, axis=1) if centred else 0.0)
    v = n * np.sign(z - b)[:, None]
    expected = p.T @ (v * (p @ x) ** (n - 1)) - (q.T @ (v * (q @ x) ** (n - 1)) if centred else 0.0)
    with precise(True):
        value, g = jax.jit(lambda *each: gpu.power_l1(*each, n, NARROW._replace(together=together), interpret=True))(
            p, q if centred else None, b, x
        )
    assert value == pytest.approx(np.sum(np.abs(z - b)), rel=1e-14)
    assert np.allclose(g, expected, rtol=0, atol=1e-13 * np.max(np.abs(expected)))


@pytest.mark.parametrize("storage", [np.float32, jnp.bfloat16])
def test_rows_of_few_digits_lose_none(storage):
    """Eighths of small whole numbers are exact in either dtype, and so are sums of them in float64."""
    p, q, b, x = data()
    with precise(True):
        one = jax.jit(lambda p, q: gpu.power_l1(p, q, b, jnp.asarray(x), 2, NARROW, interpret=True))
        wide, narrow = one(p, q), one(*(jnp.asarray(rows).astype(storage) for rows in (p, q)))
    assert float(wide[0]) == float(narrow[0])
    assert np.array_equal(wide[1], narrow[1])


def test_product_with_the_jacobian_and_its_adjoint_in_one_pass():
    p, q, w, z = data(1)
    slopes = np.random.default_rng(2).standard_normal((2, M, R))
    jacobian = np.concatenate([np.einsum("ij,ik->ikj", s, rows)[None] for s, rows in zip(slopes, (p, q), strict=True)])
    jacobian = jacobian.sum(axis=0).reshape(M, D * R)
    with precise(True):
        pushed, pulled = jax.jit(lambda *each: gpu.power_product(*each, NARROW, interpret=True))(p, q, slopes, z, w)
    assert np.allclose(pushed, jacobian @ z.ravel(), atol=1e-12)
    assert np.allclose(np.ravel(pulled), jacobian.T @ (w * (jacobian @ z.ravel())), atol=1e-11)


@pytest.mark.parametrize(
    ("shape", "r", "together"),
    [
        ((4_000, 100), 5, 1),
        ((12_000, 300), 5, 4),
        ((40_000, 1_000), 5, 15),
        ((40_000, 1_000), 6, None),
        ((99, 9), 9, None),
    ],
)
def test_evaluations_are_divided_by_the_length_of_the_rows(shape, r, together):
    """As many pieces of a row at once as there are; XLA serves where the registers of a program would not suffice."""
    p, x = jax.ShapeDtypeStruct(shape, np.float64), jax.ShapeDtypeStruct((shape[1], r), np.float64)
    found = gpu.chosen("evaluations", p, x)
    assert found == (None if together is None else gpu.Shape(4, 4, 264, together))


@pytest.mark.parametrize(("m", "chosen"), [(M, NARROW), (M + 1, None)])
@pytest.mark.filterwarnings("ignore:.*Triton")
def test_a_gpu_runs_the_pass_where_it_is_chosen_and_a_cpu_its_own(monkeypatch, m, chosen):
    """JAX keeps what it traced, by shape: each choice has one of its own."""
    for module in (dispatch, oracle):
        monkeypatch.setattr(module, "on_gpu", lambda: True)
    monkeypatch.setitem(gpu.CHOSEN, "evaluations", ((0, chosen),))
    case = gnp.instances.tensor_sensing(d=D, r=R, m=m)
    (p, q), b, x = map(np.asarray, ((case.problem.sensing.p, case.problem.sensing.q), case.problem.penalty.b, case.x0))
    with precise(True):
        evaluate = jax.jit(lambda problem, x: problem.evaluate(x))
        text = evaluate.trace(case.problem, jnp.asarray(x)).lower(lowering_platforms=("cuda",)).as_text()
        value = float(evaluate(case.problem, jnp.asarray(x)).value)
    assert bool(re.search(r"custom_call @\S*triton", text)) == (chosen is not None)
    assert value == pytest.approx(np.sum(np.abs(np.sum((p @ x) ** 2 - (q @ x) ** 2, axis=1) - b)), rel=1e-12)
