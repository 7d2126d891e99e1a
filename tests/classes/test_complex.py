"""Complex and phaseless problems over seeds: near, and from the data alone. Figures are printed (`-s`)."""

import numpy as np
import pytest

import gnpolyak as gnp

SEEDS = range(5)
pytestmark = pytest.mark.slow


def solved(case, **start):
    """Whether the truth was found, and with how many calls; a success that is none fails here."""
    res = gnp.minimize(case.problem, **start)
    error = case.recovery_error(res.x)
    assert not (res.success and error > 1e-6), f"a false success: {case.settings}, {error:.1e}"
    return error <= 1e-10 and res.success, res.calls


def tried(name, cases, **start):
    found = [solved(case, **(start or {"x0": case.x0})) for case in cases]
    right, calls = sum(ok for ok, _ in found), [calls for _, calls in found]
    print(f"{name}: {right} of {len(found)}, {min(calls)}-{max(calls)} calls")
    return right, max(calls)


@pytest.mark.parametrize("p_fail", [0.1, 0.2])
@pytest.mark.parametrize("settings", [{"d": 200}, {"d": 100, "complex": True}], ids=str)
def test_phase_retrieval(settings, p_fail):
    cases = [gnp.instances.phase_retrieval(**settings, p_fail=p_fail, seed=seed) for seed in SEEDS]
    for start in ({}, {"rank": 1}):
        right, calls = tried(f"phase retrieval {settings} {p_fail} {start or 'near'}", cases, **start)
        assert right == len(SEEDS)
        assert calls <= 250


@pytest.mark.parametrize("p_fail", [0.1, 0.2])
@pytest.mark.parametrize("kappa", [1.0, 10.0, 100.0])
@pytest.mark.parametrize(("qubits", "r"), [(4, 2), (6, 3)])
def test_quantum_tomography(qubits, r, kappa, p_fail):
    settings = {"qubits": qubits, "r": r, "kappa": kappa, "p_fail": p_fail}
    cases = [gnp.instances.quantum_tomography(**settings, seed=seed) for seed in SEEDS]
    for start in ({}, {"rank": r}):
        right, calls = tried(f"tomography {settings} {start or 'near'}", cases, **start)
        assert right == len(SEEDS)
        assert calls <= 250


@pytest.mark.parametrize("p_fail", [0.1, 0.2])
@pytest.mark.parametrize("kappa", [1.0, 10.0, 100.0])
def test_power_measurements_of_a_hermitian_matrix(kappa, p_fail):
    cases = [hermitian_sensing(kappa, p_fail, seed) for seed in SEEDS]
    for start in ({}, {"rank": 3}):
        right, _ = tried(f"hermitian sensing κ={kappa} {p_fail} {start or 'near'}", cases, **start)
        assert right == len(SEEDS)


def hermitian_sensing(kappa, p_fail, seed, d=40, r=3):
    rng = np.random.default_rng([seed, 9])
    m = 8 * (2 * d * r - r * r)
    rows, drawn = ((rng.standard_normal((k, d)) + 1j * rng.standard_normal((k, d))) / np.sqrt(2) for k in (m, r))
    truth = np.linalg.qr(drawn.T)[0] * np.linspace(1.0, 1.0 / kappa, r)
    clean = np.sum(np.abs(rows @ truth) ** 2, axis=1)
    b = gnp.instances.base.corrupted(clean, p_fail, rng)
    problem = gnp.composite(gnp.Hermitian(), gnp.L1(b), sensing=gnp.PowerSensing(rows))
    target = float(np.sum(np.abs(b - clean)))
    return gnp.instances.Instance(problem, gnp.starts.near(truth, 0.1, rng), truth, target, {"seed": seed})


@pytest.mark.parametrize("p_fail", [0.1, 0.2])
@pytest.mark.parametrize("settings", [{"d": 200}, {"d": 100, "is_complex": True}], ids=str)
def test_amplitudes(settings, p_fail):
    for near in (True, False):
        found = [amplitudes(near=near, p_fail=p_fail, seed=seed, **settings) for seed in SEEDS]
        right = sum(res.success and error <= 1e-10 for res, error in found)
        calls = [res.calls for res, _ in found]
        print(f"amplitudes {settings} {p_fail} near={near}: {right} of {len(found)}, {min(calls)}-{max(calls)} calls")
        assert not any(res.success and error > 1e-6 for res, error in found)
        assert right == len(SEEDS)


def amplitudes(near, p_fail, seed, d, is_complex=False):
    """The solve, and how far it ended from the truth, which is known up to a phase."""
    rng = np.random.default_rng([seed, 5])
    shapes = ((16 if is_complex else 8) * d, d), (d,)
    rows, truth = (rng.standard_normal(s) + (1j * rng.standard_normal(s) if is_complex else 0.0) for s in shapes)
    b = gnp.instances.base.corrupted(np.abs(rows @ truth), p_fail, rng)
    problem = gnp.composite(gnp.Linear(rows), gnp.Amplitude(b))
    res = gnp.minimize(problem, gnp.starts.near(truth, 0.1, rng) if near else None)
    turn = np.vdot(res.x, truth)
    return res, float(np.linalg.norm(res.x * turn / abs(turn) - truth) / np.linalg.norm(truth))
