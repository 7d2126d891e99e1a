"""Every kind of streamed rows, by the default method and from the data alone: as the same rows in memory."""

import jax
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base.streams import reading

pytestmark = pytest.mark.slow
M, D = 3001, 20


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def filed(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "BLOCK_BYTES", 100_000)

    def filed(array):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npy"
        np.save(path, array)
        return np.load(path, mmap_mode="r")

    return filed


def ruined(b, rng):
    b[rng.choice(M, M // 6, replace=False)] += 10 * rng.standard_normal(M // 6)
    return b


def gaussian(rng, spread=1.0, dtype=np.float64):
    p, q = (rng.standard_normal((2, M, D)) * spread).astype(dtype)
    x = rng.standard_normal((D, 2)) / np.reshape(spread, (-1, 1))
    return [p, q], ruined(np.sum((p @ x) ** 2 - (q @ x) ** 2, axis=1), rng)


def isotropic(rng):
    rows, b = gaussian(rng)
    return gnp.SymmetricCP(2), gnp.L1(b), gnp.PowerSensing, rows, {"rank": 2}


def unknown_rank(rng):
    return *isotropic(rng)[:-1], {}


def single(rng):
    rows, b = gaussian(rng, dtype=np.float32)
    return gnp.SymmetricCP(2), gnp.L1(b), gnp.PowerSensing, rows, {"rank": 2}


def anisotropic(rng):
    rows, b = gaussian(rng, np.geomspace(1, 30, D))
    return gnp.SymmetricCP(2), gnp.L1(b), gnp.PowerSensing, rows, {"rank": 2}


def weighted(rng):
    rows, b = gaussian(rng)
    return gnp.SymmetricCP(2), gnp.L1(b, rng.integers(0, 3, M) * 1.0), gnp.PowerSensing, rows, {"rank": 2}


def euclidean(rng):
    rows, b = gaussian(rng)
    return gnp.SymmetricCP(2), gnp.L2(b), gnp.PowerSensing, rows, {"rank": 2, "max_calls": 40}


def complex_rows(rng):
    p, x = (rng.standard_normal((k, D)) + 1j * rng.standard_normal((k, D)) for k in (M, 1))
    return gnp.Hermitian(), gnp.L1(ruined(np.abs(p @ x[0]) ** 2, rng)), gnp.PowerSensing, [p], {"rank": 1}


def bilinear(rng):
    p, q = rng.standard_normal((M, D)), rng.standard_normal((M, 7))
    b = np.sum((p @ rng.standard_normal((D, 2))) * (q @ rng.standard_normal((7, 2))), axis=1)
    return gnp.LowRank(), gnp.L1(ruined(b, rng)), gnp.BilinearSensing, [p, q], {"rank": 2}


def linear(rng):
    a, (u, v) = rng.standard_normal((M, 5, 6)), rng.standard_normal((2, 6, 1))
    b = np.einsum("kij,ir,jr->k", a, u[:5], v)
    return gnp.LowRank(), gnp.L1(ruined(b, rng)), gnp.LinearSensing, [a], {"x0": (u[:5] + 0.2, v - 0.2)}


CASES = [isotropic, unknown_rank, single, anisotropic, weighted, euclidean, complex_rows, bilinear, linear]


@pytest.mark.parametrize("case", CASES)
def test_a_streamed_solve_is_that_of_rows_in_memory(case, rng, filed):
    c, penalty, sensing, rows, options = case(rng)
    here, there = (gnp.composite(c, penalty, sensing=sensing(*given)) for given in (rows, map(filed, rows)))
    assert there.streamed
    ours, theirs = gnp.minimize(there, **options), gnp.minimize(here, **options)
    assert ours.status is theirs.status
    assert ours.success or case is euclidean
    assert ours.calls == theirs.calls
    loose = 1e-3 if case is single else 1e-7
    assert np.allclose(ours.history.value, theirs.history.value, rtol=loose)
    for mine, other in zip(jax.tree.leaves(ours.x), jax.tree.leaves(theirs.x), strict=True):
        assert np.allclose(mine, other, rtol=loose, atol=loose)


def test_rows_from_a_seed_are_solved_like_those_of_a_file(rng, filed):
    p, q = (gnp.GeneratedRows.gaussian(seed, (M, D)) for seed in (1, 2))
    x = rng.standard_normal((D, 2))
    b = ruined(np.sum((p[:] @ x) ** 2 - (q[:] @ x) ** 2, axis=1), rng)
    ours, theirs = (
        gnp.minimize(gnp.composite(gnp.SymmetricCP(2), gnp.L1(b), sensing=gnp.PowerSensing(*rows)), rank=2)
        for rows in ((p, q), (filed(p[:]), filed(q[:])))
    )
    assert ours.success
    assert np.allclose(ours.x, theirs.x, rtol=1e-10)
