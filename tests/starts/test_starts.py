"""Starts from the data alone, against the truth the data were made from."""

import warnings

import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.starts import leading
from gnpolyak.starts.power import measured, spectral
from gnpolyak.starts.power import rank as ranks
from starts.cases import SENSING, corrupted, sensing_case, with_data

# --- the start against the truth


@pytest.mark.parametrize("kind", ["clean", "normal", "huge", "one-signed", "one-signed huge"])
@pytest.mark.parametrize("sensing", SENSING)
def test_matrix_start_is_near_the_truth_whatever_the_outliers(sensing, kind):
    case = sensing_case(centred=SENSING[sensing])
    start = gnp.starts.spectral(corrupted(case, kind), rank=3)
    assert start.shape == (40, 3)
    assert start.dtype == np.float64
    assert case.recovery_error(start) < 0.2


@pytest.mark.parametrize("kind", ["clean", "normal", "huge", "one-signed"])
@pytest.mark.parametrize(("n", "centred"), [(3, True), (3, False), (4, True), (4, False)])
def test_tensor_start_is_near_the_truth_whatever_the_outliers(n, centred, kind):
    case = sensing_case(n=n, d=20, centred=centred)
    start = gnp.starts.spectral(corrupted(case, kind), rank=3)
    assert case.recovery_error(start) < 0.1


@pytest.mark.parametrize("kappa", [pytest.param(1.0, marks=pytest.mark.slow), 100.0])
@pytest.mark.parametrize("sensing", SENSING)
def test_gnp_recovers_the_truth_from_the_start(sensing, kappa):
    case = sensing_case(kappa=kappa, p_fail=0.2, centred=SENSING[sensing])
    start = gnp.starts.spectral(case.problem, rank=3)
    assert np.min(np.linalg.norm(start, axis=0)) > 0
    result = gnp.minimize(case.problem, start, max_calls=400)
    assert case.recovery_error(result.x) < 1e-7


@pytest.mark.parametrize("n", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_gnp_recovers_a_tensor_from_the_start(n):
    case = sensing_case(n=n, d=20, p_fail=0.2)
    result = gnp.minimize(case.problem, gnp.starts.spectral(case.problem, rank=3), max_calls=400)
    # The distance of permuted factors is known to the square root of the rounding unit only.
    assert case.recovery_error(result.x) < 1e-7


def test_the_space_is_renewed_to_find_what_the_spectrum_hides(monkeypatch):
    case = sensing_case(d=60, r=5, kappa=10.0)
    error = case.recovery_error(gnp.starts.spectral(case.problem, rank=5))
    monkeypatch.setattr(spectral, "_ROUNDS", 0)
    first = case.recovery_error(gnp.starts.spectral(case.problem, rank=5))
    assert error < first / 3
    assert first < 0.6


def test_scale_of_data_and_rows_is_immaterial():
    case = sensing_case()
    p, q, b = (np.asarray(a) for a in (case.problem.sensing.p, case.problem.sensing.q, case.problem.penalty.b))
    scaled = gnp.composite(gnp.SymmetricCP(2), gnp.L1(1e6 * b), sensing=gnp.PowerSensing(10 * p, 10 * q))
    assert case.recovery_error(gnp.starts.spectral(scaled, rank=3) / 1e2) < 0.2


def test_seed_decides_and_l2_has_the_same_start():
    case = sensing_case(n=3, d=12)
    first, again = (gnp.starts.spectral(case.problem, 3, seed=4) for _ in range(2))
    assert np.array_equal(first, again)
    l2 = with_data(case, np.array(case.problem.penalty.b), gnp.L2)
    assert np.array_equal(first, gnp.starts.spectral(l2, 3, seed=4))


def test_single_precision_stays_single():
    case = sensing_case(dtype=np.float32)
    start = gnp.starts.spectral(case.problem, rank=3)
    assert start.dtype == np.float32
    assert case.recovery_error(start) < 0.2


def test_rank_larger_than_the_truth_gives_small_columns_not_zero_ones():
    case = sensing_case()
    start = gnp.starts.spectral(case.problem, rank=6)
    sizes = np.linalg.norm(start, axis=0)
    assert 0 < sizes.min() < 0.5 * sizes.max()
    truth = case.truth @ case.truth.T
    assert np.linalg.norm(start @ start.T - truth) < 0.2 * np.linalg.norm(truth)


# --- without a d×d matrix


@pytest.mark.parametrize("n", [2, 3])
def test_matrix_free_path_agrees_with_the_dense_one(monkeypatch, n):
    case = sensing_case(n=n, d=150, r=2, kappa=2.0)
    dense = gnp.starts.spectral(case.problem, rank=2)
    monkeypatch.setattr(leading, "_LARGEST_DENSE", 10)
    widths = []
    product = measured._weighted
    monkeypatch.setattr(measured, "_weighted", lambda rows, w, z: widths.append(z.shape[1]) or product(rows, w, z))
    free = gnp.starts.spectral(case.problem, rank=2)
    assert max(widths) < 20
    assert abs(case.recovery_error(free) - case.recovery_error(dense)) < 0.02


def test_block_krylov_finds_the_eigenpairs_of_a_known_matrix():
    rng = np.random.default_rng(0)
    vectors, _ = np.linalg.qr(rng.standard_normal((300, 300)))
    values = np.concatenate([[5.0, 4.0, 3.0], rng.uniform(-1, 1, 297)])
    matrix = vectors * values @ vectors.T
    found, basis = leading.leading(lambda z: matrix @ z, 300, 3, rng)
    assert np.allclose(found, values[:3], rtol=1e-10)
    assert np.allclose(np.abs(np.sum(basis * vectors[:, :3], axis=0)), 1.0)


def test_rank_too_large_for_the_small_fit_keeps_the_eigenpairs_and_their_scale(monkeypatch):
    case = sensing_case(p_fail=0.2)
    monkeypatch.setattr(measured, "LARGEST_CORE", 5)
    start = gnp.starts.spectral(case.problem, rank=3)
    assert case.recovery_error(start) < 0.7
    top = np.linalg.norm(start @ start.T, 2) / np.linalg.norm(case.truth @ case.truth.T, 2)
    assert 0.6 < top < 1.4


# --- rank from the data


@pytest.mark.parametrize("p_fail", [0.0, 0.2])
@pytest.mark.parametrize(("n", "r", "kappa"), [(2, 1, 1.0), (2, 3, 1.0), (2, 5, 5.0), (3, 3, 2.0), (4, 2, 1.0)])
def test_rank_is_found_where_the_gap_is_clear(n, r, kappa, p_fail):
    case = sensing_case(n=n, d=40 if n == 2 else 20, r=r, kappa=kappa, p_fail=p_fail)
    assert gnp.starts.estimate_rank(case.problem) == r


def test_auto_rank_is_the_estimate():
    case = sensing_case()
    assert gnp.starts.spectral(case.problem, "auto").shape == (40, 3)
    assert gnp.starts.estimate_rank(corrupted(case, "huge")) == 3


@pytest.mark.parametrize(
    ("spectrum", "rank"),
    [([3.0], 1), ([3.0, 2.0, 0.1, 0.09], 2), ([1.0, 1e-6, 1e-9], 1), ([4.0, 3.9, 0.2, 0.01, -0.1], 2)],
)
def test_steepest_fall(spectrum, rank):
    assert ranks.steepest(np.array(spectrum)) == rank


# --- data without a signal, and what cannot be started


@pytest.mark.parametrize(("n", "d"), [(2, 30), (3, 20)])
def test_pure_noise_is_called_by_its_name(n, d):
    case = sensing_case(n=n, d=d)
    noise = np.random.default_rng(5).standard_normal(case.settings["m"])
    with pytest.warns(gnp.starts.WeakStartWarning, match="no clear signal"):
        start = gnp.starts.spectral(with_data(case, noise), rank=3)
    assert np.isfinite(start).all()
    with pytest.warns(gnp.starts.WeakStartWarning):
        gnp.starts.estimate_rank(with_data(case, noise))


def test_no_false_alarm_on_few_clean_data():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(5):
            case = gnp.instances.tensor_sensing(d=40, r=1, kappa=1.0, seed=seed)
            assert case.recovery_error(gnp.starts.spectral(case.problem, rank=1)) < 0.5


CASE = sensing_case(d=6, r=2, m=40)
OTHER = gnp.composite(lambda x: x, gnp.L1([1.0]))
BAD = {
    "b zero": (lambda: gnp.starts.spectral(with_data(CASE, np.zeros(40)), 2), "100% are exactly zero"),
    "b mostly zero": (lambda: gnp.starts.spectral(with_data(CASE, np.arange(40) // 30), 2), "75% are exactly zero"),
    "another map": (lambda: gnp.starts.spectral(OTHER, 2), "PowerSensing of SymmetricCP"),
    "another penalty": (
        lambda: gnp.starts.spectral(
            gnp.composite(gnp.SymmetricCP(2), gnp.CustomPenalty(np.sum, np.sign), sensing=CASE.problem.sensing), 2
        ),
        "CustomPenalty of PowerSensing",
    ),
    "order 5": (lambda: gnp.starts.spectral(sensing_case(n=5, d=4, r=1, m=50).problem, 1), r"\(2, 3, 4\)"),
    "no problem": (lambda: gnp.starts.estimate_rank(np.ones(3)), "type ndarray"),
    "b of another length": (lambda: gnp.starts.spectral(with_data(CASE, np.ones(39)), 2), r"shape \(39,\)"),
    "rank 0": (lambda: gnp.starts.spectral(CASE.problem, 0), "rank=0"),
    "rank > d": (lambda: gnp.starts.spectral(CASE.problem, 7), "from 1 to 6"),
    "rank not whole": (lambda: gnp.starts.spectral(CASE.problem, 2.5), "rank=2.5"),
    "rank a word": (lambda: gnp.starts.spectral(CASE.problem, "full"), "rank='full'"),
    "rank True": (lambda: gnp.starts.spectral(CASE.problem, True), "rank=True"),
    "tensor rank beyond the data": (
        lambda: gnp.starts.spectral(sensing_case(n=3, d=10, m=200).problem, 9),
        "200 measurements of order 3",
    ),
    "seed < 0": (lambda: gnp.starts.spectral(CASE.problem, 2, seed=-1), "seed=-1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name, compilations):
    call, expected = BAD[name]
    with compilations() as counted, pytest.raises(gnp.InputError, match=expected) as caught:
        call()
    assert all(part in str(caught.value) for part in ("Given: ", "Needed: ", "Missing: ", "Do: "))
    assert counted.count == 0
