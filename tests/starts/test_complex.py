"""Starts for complex and phaseless data."""

import jax.numpy as jnp
import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.starts.power import core


def drawn(rng, *shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2)


def ruined(clean, rng, share=0.2, size=10.0):
    return clean + np.where(
        rng.random(clean.shape) < share, size * np.median(clean) * rng.standard_normal(len(clean)), 0
    )


def test_the_small_hermitian_fit_is_exact_with_outliers():
    rng = np.random.default_rng(0)
    matrix = drawn(rng, 4, 4)
    matrix = matrix + matrix.conj().T
    p, q = drawn(rng, 400, 4), drawn(rng, 400, 4)
    exact = [np.einsum("ia,ab,ib->i", z, matrix, z.conj()).real for z in (p, q)]
    b = exact[0] - exact[1]
    bad = b + np.where(rng.random(400) < 0.2, 1e3, 0.0)
    assert np.allclose(core.fit_hermitian(p, None, exact[0], exact[0]), matrix, atol=1e-6)
    assert np.linalg.norm(core.fit_hermitian(p, q, bad, bad) - matrix) < 0.05 * np.linalg.norm(matrix)


@pytest.mark.parametrize("size", [10.0, 1e6])
@pytest.mark.parametrize("is_complex", [False, True])
def test_phase_retrieval_starts_near_the_truth(is_complex, size):
    case = gnp.instances.phase_retrieval(d=60, complex=is_complex, p_fail=0.0, seed=2)
    b = ruined(np.asarray(case.problem.penalty.b), np.random.default_rng(3), size=size)
    problem = gnp.composite(case.problem.map, gnp.L1(b), sensing=case.problem.sensing)
    start = gnp.starts.spectral(problem, rank=1)
    assert start.shape == (60, 1)
    assert np.iscomplexobj(start) == is_complex
    assert case.recovery_error(start) < 0.5
    scaled = gnp.composite(case.problem.map, gnp.L1(1e6 * b), sensing=case.problem.sensing)
    assert np.allclose(gnp.starts.spectral(scaled, rank=1), 1e3 * start, rtol=1e-6)


def test_complex_factors_of_higher_rank_and_one_more():
    rng = np.random.default_rng(5)
    truth, rows = drawn(rng, 20, 2), drawn(rng, 700, 20)
    b = ruined(np.sum(np.abs(rows @ truth) ** 2, axis=1), rng)
    problem = gnp.composite(gnp.Hermitian(), gnp.L1(b), sensing=gnp.PowerSensing(rows))
    image = truth @ truth.conj().T
    errors = []
    one = gnp.starts.spectral(problem, rank=1)
    for start in (gnp.starts.spectral(problem, rank=2), gnp.starts.larger(problem, one)):
        assert start.shape == (20, 2)
        errors.append(np.linalg.norm(start @ start.conj().T - image) / np.linalg.norm(image))
    assert errors[0] < 0.2
    assert errors[1] < 0.6


@pytest.mark.parametrize("kappa", [1.0, 100.0])
def test_tomography_starts_near_the_state(kappa):
    case = gnp.instances.quantum_tomography(qubits=5, r=2, kappa=kappa, p_fail=0.2, seed=1)
    start = gnp.starts.tomography(case.problem, rank=2)
    assert start.dtype == np.complex128
    assert case.recovery_error(start) < 0.05
    grown = gnp.starts.row_for(gnp.starts.LARGER, case.problem)(case.problem, start[:, :1])
    assert grown.shape == (32, 2)
    assert case.recovery_error(grown) < 0.1
    if kappa == 1.0:
        assert gnp.starts.tomography(case.problem, rank="auto").shape == (32, 2)


def test_tomography_refuses_what_it_cannot_use():
    case = gnp.instances.quantum_tomography(qubits=2, r=1)
    with pytest.raises(gnp.InputError, match="rank=5"):
        gnp.minimize(case.problem, rank=5)
    silent = gnp.composite(gnp.Hermitian(), gnp.L1(np.zeros(16)), sensing=gnp.PauliSensing(2))
    with pytest.raises(gnp.InputError, match="not zero"):
        gnp.minimize(silent, rank=1)


def test_a_start_from_amplitudes():
    rng = np.random.default_rng(7)
    rows, x = drawn(rng, 480, 30), drawn(rng, 30)
    b = ruined(np.abs(rows @ x), rng)
    start = gnp.starts.from_amplitudes(rows, b)
    phase = np.vdot(start, x) / np.abs(np.vdot(start, x))
    assert np.linalg.norm(phase * start - x) < 0.3 * np.linalg.norm(x)


def apart(x, truth):
    """How far x is from the truth, which is known up to a phase."""
    return np.linalg.norm(x * np.vdot(x, truth) / abs(np.vdot(x, truth)) - truth) / np.linalg.norm(truth)


def test_amplitudes_from_the_data_alone():
    rng = np.random.default_rng(11)
    rows, truth = drawn(rng, 200, 12), drawn(rng, 12)
    res = gnp.minimize(gnp.composite(gnp.Linear(rows), gnp.Amplitude(ruined(np.abs(rows @ truth), rng))))
    assert res.success
    assert np.iscomplexobj(res.x)
    assert apart(res.x, truth) < 1e-10
    rows, truth = rows.real, truth.real
    res = gnp.minimize(gnp.composite(gnp.Linear(rows), gnp.Amplitude(ruined(np.abs(rows @ truth), rng))))
    assert res.success
    assert res.x.dtype == np.float64
    assert apart(res.x, truth) < 1e-10


def test_a_real_variable_seen_through_complex_rows_stays_real():
    rng = np.random.default_rng(12)
    rows, truth = drawn(rng, 120, 8), rng.standard_normal(8)
    problem = gnp.composite(gnp.Linear(rows), gnp.Amplitude(ruined(np.abs(rows @ truth), rng)))
    res = gnp.minimize(problem, truth + 0.1 * rng.standard_normal(8))
    assert res.success
    assert res.x.dtype == np.float64
    assert apart(res.x, truth) < 1e-10


@pytest.mark.parametrize("penalty", [gnp.L1, gnp.L2])
def test_a_penalty_of_real_data_refuses_complex_measurements(penalty):
    rng = np.random.default_rng(13)
    rows = drawn(rng, 20, 4)
    for problem in (
        gnp.composite(gnp.Linear(rows), penalty(np.ones(20))),
        gnp.composite(lambda x: x, penalty(np.ones(20)), sensing=gnp.LinearSensing(rows)),
    ):
        with pytest.raises(gnp.InputError, match=r"Given: .*complex.* Needed: .* Missing: .* Do: .*Amplitude"):
            gnp.minimize(problem, None if isinstance(problem.map, gnp.Linear) else np.ones(4))


@pytest.mark.slow
def test_amplitudes_of_complex_measurements_of_an_image():
    rng = np.random.default_rng(14)
    a, truth = drawn(rng, 300, 36), drawn(rng, 6, 1)
    b = ruined(np.abs(a @ (truth @ truth.conj().T).ravel()), rng)
    problem = gnp.composite(gnp.Hermitian(), gnp.Amplitude(b), sensing=gnp.LinearSensing(a))
    res = gnp.minimize(problem, truth + 0.05 * drawn(rng, 6, 1))
    assert res.success
    assert apart(res.x[:, 0], truth[:, 0]) < 1e-10


def test_a_pair_of_functions_on_complex_numbers():
    rng = np.random.default_rng(15)
    truth, masks = rng.standard_normal(16), drawn(rng, 12, 16)
    # Coded diffraction: Fourier amplitudes of a real image behind each of some masks.
    forward = lambda image: jnp.fft.fft(jnp.asarray(masks, complex) * image, norm="ortho")  # noqa: E731
    adjoint = lambda v: jnp.sum(jnp.conj(jnp.asarray(masks, complex)) * jnp.fft.ifft(v, norm="ortho"), 0)  # noqa: E731
    b = ruined(np.abs(np.fft.fft(masks * truth, norm="ortho")).ravel(), rng).reshape(12, 16)
    problem = gnp.composite(lambda x: x, gnp.Amplitude(b), sensing=gnp.LinearSensing((forward, adjoint)))
    res = gnp.minimize(problem, truth + 0.1 * rng.standard_normal(16))
    assert res.success
    assert apart(res.x, truth) < 1e-10
