"""Solves of streamed rows: the iterates of the same rows in memory, and what a solve can meet between two blocks."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import jax
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.base import memory
from gnpolyak.base.streams import reading
from gnpolyak.oracles.parts import PartsOracle
from gnpolyak.solve import finish
from gnpolyak.solve.uncertainty import Uncertainty

D, R, M = 6, 1, 300


@pytest.fixture(scope="module", autouse=True)
def tiny():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "BLOCK_BYTES", 64 * 2 * D * 8)
        yield


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    p, q = rng.standard_normal((2, M, D))
    x = rng.standard_normal((D, R))
    b = np.sum((p @ x) ** 2 - (q @ x) ** 2, axis=1)
    b[:: M // 60] += 5 * rng.standard_normal(len(b[:: M // 60]))
    return p, q, b


def stated(b, *rows):
    return gnp.composite(gnp.SymmetricCP(2), gnp.L1(b), sensing=gnp.PowerSensing(*rows))


@pytest.fixture(scope="module")
def problem(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    for name, rows in zip("pq", data, strict=False):
        np.save(folder / f"{name}.npy", rows)
    return stated(data[2], *(np.load(folder / f"{name}.npy", mmap_mode="r") for name in "pq"))


@pytest.fixture(scope="module")
def solved(problem):
    return solve(problem)


def solve(problem, **more):
    """By graduated steps alone: what a step of the other kind does is compiled operation by operation, for seconds."""
    return gnp.minimize(problem, np.ones((D, R)), method="graduated", **more)


def before_each(monkeypatch, kind, hear):
    """Call `hear` before the measurements, or each product, of a block."""
    method = "measure" if kind == "measure" else "actions"
    found = getattr(PartsOracle, method)

    def heard(ask):
        def answer(*args):
            hear()
            return ask(*args)

        return answer

    def actions(*args):
        products = found(*args)
        return replace(products, product=heard(products.product))

    monkeypatch.setattr(PartsOracle, method, heard(found) if kind == "measure" else actions)


def pressed(monkeypatch, kind, at):
    """Ctrl-C during the block number `at` that is asked this."""
    blocks = []

    def press():
        blocks.append(1)
        if len(blocks) == at:
            os.kill(os.getpid(), signal.SIGINT)

    before_each(monkeypatch, kind, press)
    return blocks


def test_iterates_and_what_follows_are_those_of_rows_in_memory(data, solved):
    p, q, b = data
    same = solve(stated(b, p, q))
    assert solved.status is same.status is gnp.Status.CERTIFIED
    assert np.allclose(solved.history.value, same.history.value, rtol=1e-10)
    assert np.allclose(solved.x, same.x, rtol=1e-10)
    assert np.array_equal(solved.outliers, same.outliers)
    assert np.isclose(solved.certificate.margin, same.certificate.margin, rtol=1e-6)


def test_a_solve_that_was_ended_by_its_limit_goes_on_from_its_file(problem, solved, tmp_path, data):
    path = tmp_path / "run.ckpt"
    some = solve(problem, checkpoint=path, max_calls=solved.calls - 10)
    assert some.status is gnp.Status.CALL_LIMIT
    res = solve(problem, checkpoint=path)
    assert np.array_equal(res.x, solved.x)
    assert np.array_equal(res.history.value, solved.history.value)
    p, q, b = data
    np.save(tmp_path / "p.npy", p + 1)
    other = stated(b, np.load(tmp_path / "p.npy", mmap_mode="r"), q)
    with pytest.raises(gnp.InputError, match="problem"):
        solve(other, checkpoint=path)


def test_ctrl_c_inside_a_pass_ends_with_the_best_and_the_solve_can_be_taken_up(problem, solved, monkeypatch):
    with monkeypatch.context() as patch:
        blocks = pressed(patch, "product", 30)
        res = solve(problem)
    assert len(blocks) == 30, "no further block was computed with"
    assert res.status is gnp.Status.INTERRUPTED
    assert np.array_equal(gnp.minimize(problem, resume=res).x, solved.x)


def test_ctrl_c_in_the_first_pass_is_what_it_always_is(problem, monkeypatch):
    pressed(monkeypatch, "measure", 2)
    with pytest.raises(KeyboardInterrupt):
        solve(problem)


def test_ctrl_c_in_the_certificate_leaves_the_point(problem, solved, monkeypatch):
    certify = finish.certify

    def interrupted(*args):
        os.kill(os.getpid(), signal.SIGINT)
        return certify(*args)

    monkeypatch.setattr(finish, "certify", interrupted)
    res = solve(problem)
    assert res.status is gnp.Status.INTERRUPTED
    assert not res.success
    assert np.isclose(res.value, solved.value, rtol=1e-9)


def test_the_time_limit_counts_inside_a_step(problem, monkeypatch):
    before_each(monkeypatch, "product", lambda: time.sleep(0.05))
    res = solve(problem, max_seconds=0.3)
    assert res.status is gnp.Status.TIME_LIMIT
    assert res.calls == 1


def test_a_file_that_changes_during_the_solve_ends_it(data, tmp_path):
    p, q, b = data
    np.save(tmp_path / "p.npy", p)

    def touch(res):
        np.save(tmp_path / "p.npy", p)

    with pytest.raises(gnp.InputError, match="changed or replaced since"):
        solve(stated(b, np.load(tmp_path / "p.npy", mmap_mode="r"), q), callback=touch)


def test_a_callback_compiles_as_it_would_anywhere(problem):
    seen = []

    def traced(x):
        seen.append(isinstance(x, jax.core.Tracer))
        return x

    def look(res):
        jax.jit(traced)(res.x)
        raise StopIteration

    assert solve(problem, callback=look).status is gnp.Status.STOPPED_BY_CALLBACK
    assert seen == [True]


def test_memory_is_asked_for_before_it_is_taken(problem, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 10**6)
    with pytest.raises(gnp.InputError, match="a problem of 300 streamed rows, which takes"):
        solve(problem)


def test_a_covariance_is_that_of_rows_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    a, x = rng.standard_normal((500, 24)), rng.standard_normal((24, 1))
    penalty = gnp.L1(np.sum((a @ x) ** 2, axis=1) + 0.1 * rng.standard_normal(500), weights=np.arange(500) % 4.0)
    np.save(tmp_path / "a.npy", a)
    ours, theirs = (
        Uncertainty(gnp.composite(gnp.SymmetricCP(2), penalty, sensing=gnp.PowerSensing(rows)), x, 0.2)
        for rows in (np.load(tmp_path / "a.npy", mmap_mode="r"), a)
    )
    assert np.allclose(ours.covariance(), theirs.covariance(), rtol=1e-8, atol=1e-12)
    assert np.isclose(ours.covariance(along=[x]), theirs.covariance(along=[x]), rtol=1e-5)


_PEAK = """
import resource, sys
import numpy as np
import gnpolyak as gnp
from gnpolyak.oracles import host_oracle
from gnpolyak.base.streams import reading
reading.BLOCK_BYTES = 8 * 2**20
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
rows = np.load(sys.argv[1], mmap_mode="r")
m, d = rows.shape
problem = gnp.composite(gnp.SymmetricCP(2), gnp.L1(np.ones(m)), sensing=gnp.PowerSensing(rows))
x = np.ones((d, 2))
oracle = host_oracle(problem, x)
before = peak()
oracle.evaluate(x)
oracle.actions(x, oracle.measure(x)[1]).product(x, np.ones(m))
print(peak() - before)
"""


def test_the_peak_of_memory_is_blocks_and_not_data(tmp_path):
    # 200 MB of rows, of which a hole in the file takes no disk.
    rows = np.lib.format.open_memmap(tmp_path / "rows.npy", "w+", np.float64, (25_000, 1000))
    rows[::5000] = 1.0
    del rows
    told = subprocess.run(
        [sys.executable, "-c", _PEAK, tmp_path / "rows.npy"], capture_output=True, text=True, check=True, timeout=120
    )
    assert float(told.stdout) < 100
