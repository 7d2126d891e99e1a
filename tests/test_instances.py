import jax
import numpy as np
import pytest
import scipy.linalg

import gnpolyak as gnp


def test_the_instance_is_what_the_paper_describes():
    case = gnp.instances.tensor_sensing(d=12, r=3, n=3, kappa=4.0, p_fail=0.25, seed=5)
    p, q, b = (np.asarray(a) for a in (case.problem.sensing.p, case.problem.sensing.q, case.problem.penalty.b))
    assert p.shape == q.shape == (8 * 3 * 12 * 3, 12)
    assert np.allclose(np.linalg.svd(case.truth)[1], np.linspace(1, 0.25, 3))
    residual = b - ((p @ case.truth) ** 3).sum(1) + ((q @ case.truth) ** 3).sum(1)
    corrupted = np.abs(residual) > 1e-9
    assert 0.2 < corrupted.mean() < 0.3
    assert 0.8 < residual[corrupted].std() < 1.2
    assert case.target == pytest.approx(np.abs(residual).sum(), rel=1e-9)
    assert np.linalg.norm(case.x0 - case.truth) == pytest.approx(0.1 * np.linalg.norm(case.truth))
    assert abs(p.mean()) < 0.02
    assert p.std() == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(("n", "expected"), [(2, 112), (4, 448)])
def test_default_number_of_measurements(n, expected):
    assert gnp.instances.default_measurements(d=7, r=2, n=n) == expected
    assert gnp.instances.tensor_sensing(d=7, r=2, n=n).settings["m"] == expected


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ({"d": True}, "d=True"),
        ({"r": 2.0}, "r=2.0"),
        ({"kappa": np.inf}, "kappa=inf"),
        ({"p_fail": "0.1"}, "p_fail='0.1'"),
        ({"seed": -1}, "seed=-1"),
        ({"radius": -0.1}, "radius=-0.1"),
        ({"centred": 1}, "centred=1"),
    ],
)
def test_a_bad_setting_is_named(setting, expected):
    with pytest.raises(gnp.InputError, match="help") as error:
        gnp.instances.tensor_sensing(**({"d": 9} | setting))
    assert expected in str(error.value)


def test_numpy_integers_are_numbers():
    case = gnp.instances.tensor_sensing(d=np.int64(6), r=np.int32(2), seed=np.uint8(1))
    assert np.array_equal(case.x0, gnp.instances.tensor_sensing(d=6, r=2, seed=1).x0)


def test_settings_make_the_instance_again():
    case = gnp.instances.tensor_sensing(d=9, r=2, n=3, kappa=3.0, p_fail=0.1, seed=3)
    again = gnp.instances.tensor_sensing(**case.settings)
    assert np.array_equal(case.x0, again.x0)
    assert np.array_equal(case.problem.penalty.b, again.problem.penalty.b)


def test_the_same_instance_in_every_dtype_mode():
    plain = gnp.instances.tensor_sensing(d=9, r=2)
    with jax.enable_x64(True):
        wide = gnp.instances.tensor_sensing(d=9, r=2)
    narrow = gnp.instances.tensor_sensing(d=9, r=2, dtype=np.float32)
    assert np.array_equal(plain.problem.sensing.p, wide.problem.sensing.p)
    assert narrow.problem.sensing.p.dtype == np.float32
    assert np.array_equal(np.asarray(plain.problem.sensing.p).astype(np.float32), narrow.problem.sensing.p)
    assert np.array_equal(plain.truth, narrow.truth)


def test_streams_are_independent():
    """Corruption and conditioning change neither the measurement vectors nor the direction of the start."""
    clean = gnp.instances.tensor_sensing(d=9, r=2, p_fail=0.0)
    dirty = gnp.instances.tensor_sensing(d=9, r=2, p_fail=0.3)
    worse = gnp.instances.tensor_sensing(d=9, r=2, kappa=50.0)
    assert np.array_equal(clean.problem.sensing.p, dirty.problem.sensing.p)
    assert np.array_equal(clean.x0, dirty.x0)
    assert np.array_equal(clean.problem.sensing.p, worse.problem.sensing.p)
    away = [case.x0 - case.truth for case in (clean, worse)]
    assert np.allclose(*(step / np.linalg.norm(step) for step in away))
    other = gnp.instances.tensor_sensing(d=9, r=2, seed=1)
    assert not np.array_equal(clean.problem.sensing.p, other.problem.sensing.p)


def test_recovery_error_against_formed_images():
    case = gnp.instances.tensor_sensing(d=6, r=2, n=2)
    image, truth = case.x0 @ case.x0.T, case.truth @ case.truth.T
    expected = np.linalg.norm(image - truth) / np.linalg.norm(truth)
    assert case.recovery_error(case.x0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "m"),
    [
        (lambda **more: gnp.instances.bilinear_sensing(d1=9, d2=12, r=3, kappa=4.0, **more), 8 * 3 * 21),
        (lambda **more: gnp.instances.blind_deconvolution(d=9, **more), 16 * 9),
    ],
    ids=["bilinear_sensing", "blind_deconvolution"],
)
def test_bilinear_instances(make, m):
    case, clean = make(p_fail=0.25, seed=5), make(p_fail=0.0, seed=5)
    p, q, b = (np.asarray(a) for a in (case.problem.sensing.p, case.problem.sensing.q, case.problem.penalty.b))
    assert p.shape[0] == q.shape[0] == case.settings["m"] == m
    matrix = case.truth[0] @ case.truth[1].T
    r = case.truth[0].shape[1]
    assert np.allclose(np.linalg.svd(matrix)[1][:r], np.linspace(1, 0.25, 3)[:r])
    bad = np.abs(b - np.einsum("ij,jk,ik->i", p, matrix, q)) > 1e-9
    assert 0.15 < bad.mean() < 0.35
    assert case.target == pytest.approx(np.sum(np.abs(b - np.einsum("ij,jk,ik->i", p, matrix, q))), rel=1e-9)
    for x0, truth in zip(case.x0, case.truth, strict=True):
        assert np.linalg.norm(x0 - truth) == pytest.approx(0.1 * np.linalg.norm(truth))
    assert np.array_equal(p, clean.problem.sensing.p)
    assert np.array_equal(b[~bad], np.asarray(clean.problem.penalty.b)[~bad])
    assert np.array_equal(make(p_fail=0.25, seed=5).problem.penalty.b, b)
    with pytest.raises(gnp.InputError, match="m=0"):
        make(m=0)


def test_a_tensor_of_terms_is_what_it_says():
    case = gnp.instances.tensor_decomposition(shape=(7, 6, 5), r=3, kappa=10.0, p_fail=0.25, seed=1)
    assert np.allclose(np.prod([np.linalg.norm(a, axis=0) for a in case.truth], axis=0), np.linspace(1.0, 0.1, 3))
    clean = np.einsum("az,bz,cz->abc", *case.truth)
    residual = np.asarray(case.problem.penalty.b) - clean
    assert 0.15 < np.mean(np.abs(residual) > 1e-9) < 0.35
    assert case.target == pytest.approx(np.abs(residual).sum(), rel=1e-9)
    assert case.recovery_error(case.truth) < 1e-15
    assert all(
        np.isclose(np.linalg.norm(a - b), 0.1 * np.linalg.norm(b)) for a, b in zip(case.x0, case.truth, strict=True)
    )


def test_a_tucker_tensor_is_what_it_says():
    case = gnp.instances.tucker(shape=(7, 6, 5), ranks=(2, 3, 2), p_fail=0.0, seed=1)
    core, factors = case.truth
    assert core.shape == (2, 3, 2)
    assert all(np.allclose(a.T @ a, np.eye(a.shape[1])) for a in factors)
    assert np.allclose(case.problem.penalty.b, np.einsum("uvw,au,bv,cw->abc", core, *factors))
    assert case.target == 0.0
    assert case.recovery_error(case.x0) > 1e-2


@pytest.mark.parametrize(
    ("generator", "setting", "expected"),
    [
        ("tensor_decomposition", {"shape": (4,)}, "shape="),
        ("tensor_decomposition", {"shape": [4, 4]}, "shape="),
        ("tensor_decomposition", {"r": 0}, "r=0"),
        ("tucker", {"ranks": (3, 3)}, "ranks="),
        ("tucker", {"shape": (4, 4, 4), "ranks": (1, 1, 2)}, "ranks=2"),
        ("tucker", {"kappa": 0.5}, "kappa=0.5"),
    ],
)
def test_a_bad_setting_of_a_tensor_is_named(generator, setting, expected):
    with pytest.raises(gnp.InputError, match="help") as error:
        getattr(gnp.instances, generator)(**setting)
    assert expected in str(error.value)


@pytest.mark.parametrize("is_complex", [False, True])
def test_phase_retrieval_measures_squares(is_complex):
    case = gnp.instances.phase_retrieval(d=15, complex=is_complex, p_fail=0.2, seed=3)
    rows, b = np.asarray(case.problem.sensing.p), np.asarray(case.problem.penalty.b)
    assert rows.shape == (15 * (16 if is_complex else 8), 15)
    assert np.mean(np.abs(rows) ** 2) == pytest.approx(1.0, abs=0.1)
    residual = b - np.abs(rows @ case.truth)[:, 0] ** 2
    assert 0.1 < np.mean(np.abs(residual) > 1e-9) < 0.3
    assert case.target == pytest.approx(np.abs(residual).sum())
    assert np.iscomplexobj(case.x0) == is_complex
    assert np.linalg.norm(case.x0 - case.truth) == pytest.approx(0.1)
    assert case.recovery_error(-case.truth) < 1e-14


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(("transform", "matrix"), [("fourier", scipy.linalg.dft), ("hadamard", scipy.linalg.hadamard)])
def test_phase_retrieval_measures_coded_patterns(transform, matrix, is_complex):
    settings = {"transform": transform, "shape": (2, 4), "patterns": 50, "complex": is_complex}
    case = gnp.instances.phase_retrieval(**settings, p_fail=0.2, seed=3)
    assert {key: case.settings[key] for key in settings} == settings
    codes, b = [np.asarray(part, float) for part in case.problem.sensing.codes], np.asarray(case.problem.penalty.b)
    code = codes[0] if len(codes) == 1 else codes[0] + 1j * codes[1]
    turned = code.reshape(50, 8) * case.truth[:, 0] @ np.kron(matrix(2), matrix(4)).T
    residual = b.reshape(50, 8) - np.abs(turned) ** 2
    assert 0.1 < np.mean(np.abs(residual) > 1e-6) < 0.3
    assert case.target == pytest.approx(np.abs(residual).sum())
    assert case.truth.shape == case.x0.shape == (8, 1)
    assert np.iscomplexobj(case.truth) == is_complex
    assert gnp.instances.phase_retrieval(d=16, transform=transform).problem.sensing.shape == (16,)
    for wrong in ({"transform": "radon"}, {"shape": (0,)}, {"patterns": 0}, {"m": 9}):
        with pytest.raises(gnp.InputError, match="help"):
            gnp.instances.phase_retrieval(**{"transform": transform, **wrong})


def test_quantum_tomography_measures_a_state():
    case = gnp.instances.quantum_tomography(qubits=3, r=2, kappa=5.0, p_fail=0.0, m=40, seed=4)
    state = case.truth @ case.truth.conj().T
    assert np.trace(state).real == pytest.approx(1.0)
    assert np.linalg.cond(case.truth) == pytest.approx(5.0)
    assert case.target == 0.0
    b, x, z = (np.asarray(a) for a in (case.problem.penalty.b, case.problem.sensing.x, case.problem.sensing.z))
    assert len(b) == len(set(zip(x.tolist(), z.tolist(), strict=True))) == 40
    # tr(Pρ)² summed over all strings is d tr ρ².
    every = gnp.instances.quantum_tomography(qubits=3, r=2, kappa=5.0, p_fail=0.0, m=64, seed=4)
    assert np.sum(np.asarray(every.problem.penalty.b) ** 2) == pytest.approx(8 * np.trace(state @ state).real)
    assert gnp.instances.quantum_tomography(qubits=2).settings["m"] == 16
    for wrong in ({"qubits": 0}, {"qubits": 2, "r": 5}, {"qubits": 2, "m": 17}):
        with pytest.raises(gnp.InputError, match="help"):
            gnp.instances.quantum_tomography(**wrong)
