"""Starts run on the host, in NumPy: nothing is compiled for them."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

import gnpolyak as gnp
from gnpolyak.problem.sensing import linear
from gnpolyak.starts import host, low_rank, rows
from starts.cases import sensing_case

EACH = """
import numpy as np
import gnpolyak as gnp
from conftest import Compilations

make, starts = gnp.instances, gnp.starts
small = {"seed": 1, "p_fail": 0.1}
cases = [
    make.robust_pca(d1=12, d2=10, r=2, **small),
    make.matrix_completion(d1=20, d2=15, r=1, observed=0.6, **small),
    make.bilinear_sensing(d1=6, d2=5, r=1, **small),
    make.tensor_decomposition(shape=(6, 5, 4), r=2, **small),
    make.tucker(shape=(6, 5, 4), ranks=(2, 2, 2), **small),
    make.sparse_recovery(**small),
    make.synchronisation(n=10, **small),
    make.quantum_tomography(qubits=2, r=1, **small),
    make.regression(d=3, m=30, **small),
    *(make.tensor_sensing(d=8, r=2, n=n, centred=n != 4, dtype=np.float32, **small) for n in (2, 3, 4)),
    *(make.phase_retrieval(d=10, complex=each, **small) for each in (False, True)),
    *(make.phase_retrieval(transform=each, shape=(4, 4), **small) for each in ("fourier", "hadamard")),
]
leaves = lambda x: [each for part in x for each in leaves(part)] if isinstance(x, tuple) else [x]
problems = [case.problem for case in cases]
rows = np.random.default_rng(0).standard_normal((60, 4))
problems.append(gnp.composite(gnp.Linear(rows), gnp.Amplitude(np.abs(rows @ np.ones(4)))))
problems.append(gnp.composite(gnp.Hadamard(), gnp.L1(rows)))
weights = np.arange(240.0).reshape(60, 4)
problems.append(gnp.composite(gnp.LowRank(), gnp.L1(rows, weights=weights)))
used = set()
with Compilations() as counted:
    for problem in problems:
        start, larger = (starts.row_for(table, problem) for table in (starts.STARTS, starts.LARGER))
        used |= {start, larger} - {None}
        rank = {"rank": 2} if start in (starts.spectral, starts.tomography, starts.cp) else {}
        x = larger(problem, None) if start is None else start(problem, **rank)
        found = [x] if larger is None else [x, larger(problem, x)]
        for leaf in (leaf for each in found if each is not None for leaf in leaves(each)):
            assert type(leaf) is np.ndarray, problem.label
            assert np.all(np.isfinite(leaf)), problem.label
    assert starts.estimate_rank(cases[9].problem) > 0
    starts.near(np.ones(3), 0.1, np.random.default_rng(0))
assert counted.count == 0, counted.names
assert used == {*starts.STARTS.values(), *starts.LARGER.values()}
"""


def test_no_start_compiles_anything_in_a_fresh_process():
    path = os.pathsep.join(filter(None, [os.path.dirname(os.path.dirname(__file__)), os.environ.get("PYTHONPATH")]))
    subprocess.run([sys.executable, "-W", "error", "-c", EACH], check=True, env={**os.environ, "PYTHONPATH": path})


@pytest.mark.parametrize("n", [2, 3])
def test_rows_that_are_shared_by_threads_give_the_same_start(monkeypatch, n):
    case = sensing_case(n=n, d=12)
    alone = gnp.starts.spectral(case.problem, rank=3)
    monkeypatch.setattr(rows, "_PIECE", 500)
    monkeypatch.setattr(rows, "cores", lambda: 3)
    monkeypatch.setattr(host, "cores", lambda: 3)
    assert np.allclose(gnp.starts.spectral(case.problem, rank=3), alone, rtol=1e-6)


def test_a_large_matrix_of_entries_is_not_formed(monkeypatch):
    case = gnp.instances.matrix_completion(d1=30, d2=20, r=1)
    larger = gnp.starts.row_for(gnp.starts.LARGER, case.problem)
    formed = larger(case.problem)
    monkeypatch.setattr(low_rank, "_LARGEST_DENSE", 10)
    for ours, theirs in zip(larger(case.problem), formed, strict=True):
        assert np.allclose(np.abs(ours), np.abs(theirs))


def test_a_sparse_matrix_starts_a_difference_of_squares_as_a_dense_one_does():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((30, 12)) * (rng.random((30, 12)) < 0.4)
    problems = [
        gnp.composite(gnp.Hadamard(), gnp.L1(a @ np.ones(12)), sensing=gnp.LinearSensing(given))
        for given in (a, scipy.sparse.csr_array(a))
    ]
    assert isinstance(problems[1].sensing.operator, linear.Sparse)
    dense, sparse = (gnp.starts.row_for(gnp.starts.STARTS, problem)(problem) for problem in problems)
    assert all(np.allclose(ours, theirs) for ours, theirs in zip(dense, sparse, strict=True))


def test_pairs_without_weight_do_not_start_rotations():
    case = gnp.instances.synchronisation(n=20, p_fail=0.0)
    b = np.array(case.problem.penalty.b)
    wrong = np.arange(len(b)) % 3 == 0
    b[wrong] = np.eye(3)
    weights = np.broadcast_to(np.where(wrong, 0.0, 2.0)[:, None, None], b.shape)
    problem = gnp.composite(case.problem.map, gnp.L1(b, weights=weights))
    assert case.recovery_error(gnp.starts.synchronised(problem)) < 1e-6
