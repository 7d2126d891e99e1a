"""Robust PCA and completion, near and from the data alone: figures over seeds, conditioning and corruption."""

import time

import numpy as np
import pytest

import gnpolyak as gnp

SEEDS = range(5)
KAPPAS = (1.0, 10.0, 100.0)
CASES = [(gnp.instances.robust_pca, p) for p in (0.1, 0.2, 0.3)]
CASES += [(gnp.instances.matrix_completion, p) for p in (0.1, 0.2)]
NAMES = [f"{make.__name__}-{p}" for make, p in CASES]


def figures(solve):
    """Errors, statuses, calls and the slowest solve over the seeds."""
    errors, results, seconds = [], [], []
    for seed in SEEDS:
        began = time.perf_counter()
        error, res = solve(seed)
        seconds.append(time.perf_counter() - began)
        errors.append(error)
        results.append(res)
    calls = [res.calls for res in results]
    print(f"worst {max(errors):.0e}, calls {np.median(calls):.0f} ({max(calls)}), median {np.median(seconds):.2f} s")
    assert max(errors) <= 1e-10
    assert all(res.success for res in results)
    return results


@pytest.mark.slow
@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize(("make", "p_fail"), CASES, ids=NAMES)
def test_near(make, p_fail, kappa):
    def solve(seed):
        case = make(kappa=kappa, p_fail=p_fail, seed=seed)
        res = gnp.minimize(case.problem, case.x0)
        return case.recovery_error(res.x), res

    figures(solve)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [5, "auto", 8])
@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize(("make", "p_fail"), CASES, ids=NAMES)
def test_from_the_data_alone(make, p_fail, kappa, rank):
    def solve(seed):
        case = make(kappa=kappa, p_fail=p_fail, seed=seed)
        res = gnp.minimize(case.problem, rank=rank)
        return case.recovery_error(res.x), res

    results = figures(solve)
    # A rank that was too large is not used, and one that was to be found is right.
    assert all(np.linalg.matrix_rank(res.x[0], tol=1e-10) == 5 for res in results)
    assert all(res.x[0].shape[1] == (5 if rank == "auto" else rank) for res in results)


def few_entries(n, oversampling, p_fail, kappa, seed, r=5):
    """Few entries of a matrix with singular values from κ to 1, outliers uniform in ±max|L|: the published setting."""
    rng = np.random.default_rng(seed)
    u, v = (np.linalg.qr(rng.standard_normal((n, r)))[0] for _ in range(2))
    truth = u * np.linspace(kappa, 1.0, r) @ v.T
    seen = rng.choice(n * n, int(oversampling * r * (2 * n - r)), replace=False)
    rows, columns = np.divmod(seen, n)
    b = truth[rows, columns]
    bad = rng.random(b.size) < p_fail
    b[bad] += rng.uniform(-1, 1, bad.sum()) * np.abs(truth).max()
    return gnp.composite(gnp.LowRank(), gnp.L1(b), sensing=gnp.Entries(rows, columns, shape=(n, n))), truth


@pytest.mark.slow
@pytest.mark.parametrize("n", [400, 800])
@pytest.mark.parametrize(
    ("oversampling", "p_fail", "kappa", "rank"),
    [
        *((8, p, kappa, 5) for p in (0.05, 0.1) for kappa in (2.0, 10.0)),
        *((5, p, kappa, 5) for p in (0.05, 0.1) for kappa in (2.0, 10.0)),
        (4, 0.05, 2.0, 5),
        (8, 0.05, 2.0, 8),
    ],
)
def test_few_entries(n, oversampling, p_fail, kappa, rank):
    def solve(seed):
        problem, truth = few_entries(n, oversampling, p_fail, kappa, seed)
        res = gnp.minimize(problem, rank=rank)
        return float(np.linalg.norm(res.x[0] @ res.x[1].T - truth) / np.linalg.norm(truth)), res

    figures(solve)
