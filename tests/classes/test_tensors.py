"""Tensor decompositions over seeds: near the truth, and from the data alone."""

import time

import numpy as np
import pytest

import gnpolyak as gnp

SEEDS = range(5)


def completion(name, kappa, p_fail, seed):
    """The class's instance, of which three entries in ten were seen."""
    made = {"r": 3} if name == "tensor_decomposition" else {}
    case = getattr(gnp.instances, name)(kappa=kappa, p_fail=0.0, seed=seed, **made)
    rng, clean = np.random.default_rng([seed, 77]), np.asarray(case.problem.penalty.b)
    places = np.unravel_index(rng.permutation(clean.size)[: clean.size * 3 // 10], clean.shape)
    b = gnp.instances.base.corrupted(clean[places], p_fail, rng)
    problem = gnp.composite(case.problem.map, gnp.L1(b), sensing=gnp.Entries(*places, shape=clean.shape))
    target = float(np.sum(np.abs(b - clean[places])))
    return gnp.instances.Instance(problem, case.x0, case.truth, target, case.settings)


def whole(name, kappa, p_fail, seed):
    return getattr(gnp.instances, name)(kappa=kappa, p_fail=p_fail, seed=seed)


def solved(name, start, kappa, p_fail, made=whole):
    """How many of the seeds were recovered; no success may be false."""
    recovered = 0
    for seed in SEEDS:
        case = made(name, kappa, p_fail, seed)
        rank = case.settings.get("r", case.settings.get("ranks"))
        began = time.perf_counter()
        res = gnp.minimize(case.problem, case.x0) if start == "near" else gnp.minimize(case.problem, rank=rank)
        error = case.recovery_error(res.x)
        took = time.perf_counter() - began
        print(f"{name} {start} κ={kappa:g} {p_fail:.0%} seed {seed}: {error:.0e} {res.calls} calls {took:.1f} s")
        assert error < 1e-6 or not (res.success and res.value > case.target * (1 + 1e-9))
        recovered += bool(res.success and error <= 1e-10)
    return recovered


@pytest.mark.slow
@pytest.mark.parametrize("p_fail", [0.1, 0.2])
@pytest.mark.parametrize("kappa", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("start", ["near", "data alone"])
@pytest.mark.parametrize("name", ["tensor_decomposition", "tucker"])
def test_every_seed_is_recovered(name, start, kappa, p_fail):
    assert solved(name, start, kappa, p_fail) == len(SEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("p_fail", [0.1, 0.2])
@pytest.mark.parametrize("start", ["near", "data alone"])
def test_every_sparse_vector_is_recovered(start, p_fail):
    for seed in SEEDS:
        case = gnp.instances.sparse_recovery(p_fail=p_fail, seed=seed)
        res = gnp.minimize(case.problem, case.x0 if start == "near" else None)
        print(f"sparse {start} {p_fail:.0%} seed {seed}: {case.recovery_error(res.x):.0e} {res.calls} calls")
        assert res.success
        assert case.recovery_error(res.x) <= 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("p_fail", [0.1, 0.2])
@pytest.mark.parametrize("kappa", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("start", ["near", "data alone"])
@pytest.mark.parametrize("name", ["tensor_decomposition", "tucker"])
def test_every_seed_is_completed(name, start, kappa, p_fail):
    assert solved(name, start, kappa, p_fail, completion) == len(SEEDS)
