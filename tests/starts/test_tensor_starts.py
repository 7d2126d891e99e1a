"""Tensors from the data alone, against the truth the data were made from."""

import numpy as np
import pytest

import gnpolyak as gnp
from gnpolyak.starts.tensor import cp as rows
from gnpolyak.starts.tensor import terms

SHAPE = (14, 12, 10)


def image(x):
    return np.einsum("az,bz,cz->abc", *x)


def ruined(case, kind):
    """The instance's problem with a fifth of its entries replaced."""
    rng = np.random.default_rng(7)
    b = np.array(case.problem.penalty.b)
    bad = rng.random(b.shape) < 0.2
    size = np.median(np.abs(b))
    b[bad] = {"huge": 1e9 * rng.standard_normal(bad.sum()), "one-signed": np.full(bad.sum(), 20.0)}[kind] * size
    return gnp.composite(case.problem.map, gnp.L1(b))


@pytest.mark.parametrize("kind", ["huge", "one-signed"])
@pytest.mark.parametrize("kappa", [1.0, 100.0])
def test_cp_start_is_near_the_truth_whatever_the_outliers(kind, kappa):
    case = gnp.instances.tensor_decomposition(shape=SHAPE, r=3, kappa=kappa, p_fail=0.0, seed=2)
    x = gnp.starts.cp(ruined(case, kind), rank=3)
    assert [a.shape for a in x] == [(d, 3) for d in SHAPE]
    assert case.recovery_error(x) < 1e-2 / kappa
    # Sizes are shared evenly.
    assert np.allclose(np.linalg.norm(x[0], axis=0), np.linalg.norm(x[1], axis=0))


@pytest.mark.parametrize("kind", ["huge", "one-signed"])
@pytest.mark.parametrize("kappa", [1.0, 10.0])
def test_tucker_start_is_near_the_truth_whatever_the_outliers(kind, kappa):
    case = gnp.instances.tucker(shape=SHAPE, ranks=(2, 3, 2), kappa=kappa, p_fail=0.0, seed=2)
    core, factors = gnp.starts.tucker(ruined(case, kind), rank=(2, 3, 2))
    assert core.shape == (2, 3, 2)
    assert case.recovery_error((core, factors)) < 1e-2 / kappa
    assert all(np.allclose(a.T @ a, np.eye(a.shape[1])) for a in factors)


def completion(case, share, seed=7):
    """The instance's problem with a share of its entries seen, a tenth of them ruined."""
    rng = np.random.default_rng(seed)
    clean = np.asarray(case.problem.penalty.b)
    places = np.unravel_index(rng.permutation(clean.size)[: int(share * clean.size)], clean.shape)
    b = gnp.instances.base.corrupted(clean[places], 0.1, rng)
    return gnp.composite(case.problem.map, gnp.L1(b), sensing=gnp.Entries(*places, shape=clean.shape))


@pytest.mark.parametrize("kappa", [1.0, 100.0])
def test_tensors_of_which_some_entries_were_seen_start_near_the_truth(kappa):
    case = gnp.instances.tensor_decomposition(shape=SHAPE, r=2, kappa=kappa, p_fail=0.0, seed=2)
    problem = completion(case, 0.5)
    assert case.recovery_error(gnp.starts.cp(problem, rank=2)) < 0.01
    assert kappa > 1 or gnp.starts.cp(problem)[0].shape == (14, 2)
    case = gnp.instances.tucker(shape=SHAPE, ranks=(2, 2, 2), kappa=kappa, p_fail=0.0, seed=2)
    problem = completion(case, 0.5)
    assert case.recovery_error(gnp.starts.tucker(problem, rank=2)) < 0.01
    assert kappa > 1 or gnp.starts.tucker(problem)[0].shape == (2, 2, 2)


@pytest.mark.slow
def test_a_tensor_is_completed_from_the_data_alone():
    case = gnp.instances.tensor_decomposition(shape=SHAPE, r=2, kappa=10.0, p_fail=0.0, seed=6)
    res = gnp.minimize(completion(case, 0.5), method="graduated")
    assert res.success
    assert case.recovery_error(res.x) < 1e-10


def test_data_of_weight_zero_are_not_seen_by_a_start():
    case = gnp.instances.tensor_decomposition(shape=SHAPE, r=2, p_fail=0.0, seed=6)
    b, ignored = np.array(case.problem.penalty.b), np.random.default_rng(1).random(SHAPE) < 0.6
    b[ignored] = 1e3
    problem = gnp.composite(gnp.CP(), gnp.L1(b, weights=1.0 - ignored))
    assert case.recovery_error(gnp.starts.cp(problem, rank=2)) < 0.1


def test_a_tensor_too_large_to_form_is_named():
    far = gnp.Entries([0, 4000], [0, 4000], [0, 4000])
    with pytest.raises(gnp.InputError, match="a tensor that can be formed"):
        gnp.minimize(gnp.composite(gnp.CP(), gnp.L1(np.ones(2)), sensing=far), rank=1)


@pytest.mark.parametrize("kappa", [1.0, 100.0])
def test_the_rank_is_found(kappa):
    case = gnp.instances.tensor_decomposition(shape=SHAPE, r=3, kappa=kappa, p_fail=0.2, seed=1)
    assert gnp.starts.cp(case.problem)[0].shape == (14, 3)
    case = gnp.instances.tucker(shape=(16, 14, 12), ranks=(2, 3, 4), kappa=kappa, p_fail=0.1, seed=2)
    assert gnp.starts.tucker(case.problem)[0].shape == (2, 3, 4)


def test_the_rank_is_found_in_noise():
    case = gnp.instances.tensor_decomposition(shape=SHAPE, r=3, p_fail=0.1, seed=1)
    b = np.array(case.problem.penalty.b)
    b += 0.1 * np.median(np.abs(b)) * np.random.default_rng(0).standard_normal(b.shape)
    assert gnp.starts.cp(gnp.composite(gnp.CP(), gnp.L1(b)))[0].shape == (14, 3)


def test_the_data_do_not_depend_on_their_unit():
    case = gnp.instances.tensor_decomposition(shape=SHAPE, r=2, seed=3)
    b = np.asarray(case.problem.penalty.b)
    small, large = (gnp.starts.cp(gnp.composite(gnp.CP(), gnp.L1(unit * b)), rank=2) for unit in (2.0**-60, 2.0**60))
    assert np.allclose(image(small) * 2.0**60, image(large) * 2.0**-60)


def test_one_term_more_is_what_the_others_leave():
    case = gnp.instances.tensor_decomposition(shape=SHAPE, r=3, p_fail=0.1, seed=4)
    two = tuple(a[:, :2] for a in case.truth)
    three = rows.larger(case.problem, two)
    # A start: the direction of the third term, not its size.
    new, third = (image([a[:, 2:] for a in x]) for x in (three, case.truth))
    assert np.sum(new * third) > 0.7 * np.linalg.norm(new) * np.linalg.norm(third)
    assert rows.larger(case.problem, case.truth) is None


@pytest.mark.parametrize(("shape", "rank"), [((3, 5, 3), 3), ((3, 4, 2, 4), 4), ((6, 5), 3), ((3, 3, 3), 4)])
def test_terms_of_a_clean_tensor(shape, rank):
    """By diagonalisation, also along other axes than the first; term by term for matrices and for many terms."""
    rng = np.random.default_rng(5)
    truth = tuple(rng.standard_normal((d, rank)) for d in shape)
    tensor = terms.composed(truth)
    square = len(shape) > 2 and sum(d == rank for d in shape) >= 2
    found = terms.diagonalised(tensor, rank, rng) if square else terms.greedy(tensor, rank, rng)
    error = np.linalg.norm(terms.composed(found) - tensor) / np.linalg.norm(tensor)
    assert error < (1e-8 if square else 0.2)


@pytest.mark.parametrize(("c", "rank"), [(gnp.CP(), 0), (gnp.CP(), 2.5), (gnp.Tucker(), (2, 2)), (gnp.Tucker(), 9)])
def test_a_rank_that_cannot_be_is_named(c, rank):
    with pytest.raises(gnp.InputError, match="rank="):
        gnp.minimize(gnp.composite(c, gnp.L1(np.ones((4, 4, 4)))), rank=rank)


def test_data_without_a_signal_are_named():
    with pytest.raises(gnp.InputError, match="a signal"):
        gnp.minimize(gnp.composite(gnp.CP(), gnp.L1(np.zeros((4, 4, 4)))), rank=1)


def test_a_difference_of_squares_starts_at_its_data():
    b = np.array([3.0, 0.0, -2.0])
    u, v = gnp.starts.hadamard(gnp.composite(gnp.Hadamard(), gnp.L1(b)))
    assert np.allclose(u**2 - v**2, b)
    assert np.min(np.hypot(u, v)) > 0.5


def test_a_tensor_is_solved_from_the_data_alone():
    case = gnp.instances.tensor_decomposition(shape=SHAPE, r=2, kappa=10.0, p_fail=0.2, seed=6)
    res = gnp.minimize(case.problem, method="graduated")
    assert res.success
    assert res.x[0].shape == (14, 2)
    assert case.recovery_error(res.x) < 1e-10
