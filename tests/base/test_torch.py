"""Torch tensors in, torch tensors out: by DLPack, and only where somebody has imported torch."""

import numpy as np
import pytest

import gnpolyak as gnp

torch = pytest.importorskip("torch", reason="tensors are torch's")

ROWS = np.random.default_rng(0).standard_normal((12, 2))
TRUTH = np.array([2.0, -1.0])
DATA = ROWS @ TRUTH
DATA[:3] += 7.0


def tensor(array, dtype=torch.float64):
    return torch.tensor(array, dtype=dtype)


def problem(dtype=torch.float64):
    return gnp.composite(gnp.Linear(tensor(ROWS, dtype)), gnp.L1(tensor(DATA, dtype)))


def test_a_start_that_is_a_tensor_gives_one_back():
    seen = []
    res = gnp.minimize(problem(), torch.zeros(2, dtype=torch.float64), callback=lambda res: seen.append(res.x))
    assert torch.is_tensor(res.x)
    assert res.x.dtype == torch.float64
    assert torch.allclose(res.x, tensor(TRUTH), atol=1e-9)
    assert seen
    assert all(map(torch.is_tensor, seen))
    assert isinstance(gnp.minimize(problem(), np.zeros(2)).x, np.ndarray)


def test_single_precision_stays_single():
    res = gnp.minimize(problem(torch.float32), torch.zeros(2), tol=1e-5)
    assert res.x.dtype == torch.float32
    assert torch.allclose(res.x, tensor(TRUTH, torch.float32), atol=1e-4)


def test_a_tree_of_tensors_and_arguments_of_a_model():
    model = gnp.composite(lambda x, a: a @ x["slope"] + x["shift"][0], gnp.L1(tensor(DATA + 3)), args=(tensor(ROWS),))
    res = gnp.minimize(model, {"slope": torch.ones(2, dtype=torch.float64), "shift": np.zeros(1)})
    assert torch.allclose(res.x["slope"], tensor(TRUTH), atol=1e-8)
    assert isinstance(res.x["shift"], np.ndarray)
    assert res.x["shift"] == pytest.approx(3.0)


def test_indices_and_masks_may_be_tensors_and_views():
    table = np.outer(np.arange(1.0, 7), [1.0, 2, 3, 4, 5])
    mask = np.ones(table.shape, bool)
    mask[0, 0] = False
    views = torch.from_numpy(table).T.contiguous().T  # strides of the transpose
    assert not views.is_contiguous()
    stated = gnp.composite(
        gnp.LowRank(), gnp.L1(views[torch.from_numpy(mask)]), sensing=gnp.Entries(tensor(mask, torch.bool))
    )
    u, v = gnp.minimize(stated, (torch.ones(6, 1).double(), torch.ones(5, 1).double())).x
    assert torch.allclose(u @ v.T, torch.from_numpy(table))


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (torch.ones(2, dtype=torch.bfloat16), "torch.bfloat16"),
        (torch.ones(2, dtype=torch.float16), "torch.float16"),
        (torch.ones(2, requires_grad=True), r"x0\.detach\(\)"),
        (torch.ones(2).to_sparse(), "to_dense"),
        (torch.tensor([1.0, float("nan")]), "NaN or infinite"),
        (torch.ones(2, device="meta"), "device meta"),
    ],
)
def test_tensors_that_are_no_numbers_are_refused_with_advice(value, says):
    with pytest.raises(gnp.InputError, match=says):
        gnp.minimize(problem(), value)


def test_conjugated_tensors_are_what_they_stand_for():
    a = torch.tensor([[1 + 2j], [3 - 1j]]).conj()
    assert np.array_equal(np.asarray(gnp.Linear(a).a), [[1 - 2j], [3 + 1j]])


def test_standard_errors_are_tensors_too():
    noisy = DATA + 1e-2 * np.random.default_rng(1).standard_normal(12)
    stated = gnp.composite(gnp.Linear(ROWS), gnp.L1(noisy))
    res = gnp.minimize(stated, torch.zeros(2, dtype=torch.float64), polish=True)
    assert torch.is_tensor(res.standard_errors())
