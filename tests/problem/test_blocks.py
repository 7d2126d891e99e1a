"""A problem that is cut by measurements is the sum of its parts."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

import gnpolyak as gnp
from gnpolyak.problem.composite import Composite

RNG = np.random.default_rng(0)
X = RNG.standard_normal((5, 2))
PAIR = RNG.standard_normal((20, 2)), RNG.standard_normal((7, 2))
TENSOR = tuple(RNG.standard_normal((d, 2)) for d in (10, 4, 3))
CASES = {
    "power": (gnp.SymmetricCP(2), gnp.PowerSensing(*RNG.standard_normal((2, 20, 5))), (20,), X),
    "image": (gnp.LowRank(), None, (20, 7), PAIR),
    "tensor": (gnp.CP(), None, (10, 4, 3), TENSOR),
    "entries": (gnp.LowRank(), gnp.Entries(*(RNG.integers(0, d, 50) for d in (20, 7)), shape=(20, 7)), (50,), PAIR),
    "wide entries": (
        gnp.LowRank(),
        gnp.Entries(*(RNG.integers(0, d, 50) for d in (7, 20)), shape=(7, 20)),
        (50,),
        PAIR[::-1],
    ),
    "rows": (gnp.LowRank(), gnp.LinearSensing(RNG.standard_normal((50, 20, 7))), (50,), PAIR),
    "sparse": (gnp.LowRank(), gnp.LinearSensing(scipy.sparse.random(50, 140, 0.1, random_state=0)), (50,), PAIR),
    "bilinear": (
        gnp.LowRank(),
        gnp.BilinearSensing(*(RNG.standard_normal((50, d)) for d in (20, 7))),
        (50,),
        PAIR,
    ),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_parts_add_up_to_the_whole(case: str, weighted: bool) -> None:
    c, sensing, shape, start = CASES[case]
    b = RNG.standard_normal(shape)
    penalty = gnp.L1(b, weights=1 + RNG.random(shape)) if weighted else gnp.L1(b)
    with jax.enable_x64():
        x = jax.tree.map(jnp.asarray, start)
        whole = gnp.composite(c, penalty, sensing=sensing).cast(np.dtype(np.float64))
        expected = whole.evaluate(x)
        size = -(-shape[0] // 3)
        ends = [(k * size, min(shape[0], (k + 1) * size)) for k in range(3)]
        parts = [Composite(c, whole.penalty.block(*e, size), whole.sensing.block(*e, size)) for e in ends]
        points = [part.evaluate(x) for part in parts]
        value = sum(float(point.value) for point in points)
        np.testing.assert_allclose(value, float(expected.value), rtol=1e-13)
        pulled = jax.tree.map(lambda *each: sum(each), *(point.subgradient for point in points))
        for got, want in zip(*map(jax.tree.leaves, (pulled, expected.subgradient)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
        seen = np.concatenate([np.asarray(part.measure(x))[: e[1] - e[0]] for part, e in zip(parts, ends, strict=True)])
        np.testing.assert_allclose(seen, whole.measure(x), rtol=1e-12, atol=1e-12)
        # What was added is zero of every image, and so are the data that belong to it.
        assert not np.any(np.asarray(parts[-1].measure(x))[ends[-1][1] - ends[-1][0] :])


def test_functions_and_groups_are_not_cut() -> None:
    pair = gnp.LinearSensing((lambda m: m, lambda v: v))
    for part in (pair, gnp.L21(np.ones((4, 2))), gnp.L2(np.ones(4))):
        with pytest.raises(gnp.InputError, match="cut by measurements"):
            part.block(0, 2)


def test_one_program_serves_all_blocks() -> None:
    entries = CASES["entries"][1]
    blocks = [entries.block(k, min(50, k + 20), 20) for k in (0, 20, 40)]
    shapes = [jax.tree.map(np.shape, eqx.filter(block, eqx.is_array_like)) for block in blocks]
    assert shapes[0] == shapes[1] == shapes[2]
