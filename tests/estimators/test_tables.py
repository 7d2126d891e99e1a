"""RobustPCA and RobustCompletion on tables with a truth, against PCA of the clean table."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

import gnpolyak as gnp
from gnpolyak.estimators import RobustCompletion, RobustPCA

SHAPE = (60, 40)


def make(seed=0, wrong=0.1, noise=0.0):
    """A clean table of two components and a mean, the same with garbage, and where that is."""
    rng = np.random.default_rng(seed)
    clean = 5 + rng.standard_normal(40) + rng.standard_normal((60, 2)) * [3, 1] @ rng.standard_normal((2, 40))
    mask = rng.random(SHAPE) < wrong
    return clean, np.where(mask, 50.0, clean) + noise * rng.standard_normal(SHAPE), mask


@pytest.fixture(scope="module")
def fitted():
    return RobustPCA().fit(make()[1])


def test_it_is_pca_of_the_table_without_its_wrong_entries(fitted):
    clean, _, mask = make()
    pca = PCA(2).fit(clean)
    assert fitted.success_
    assert fitted.n_components_ == 2
    assert np.array_equal(fitted.outliers_, mask)
    assert np.allclose(fitted.low_rank_, clean, atol=1e-8)
    assert np.allclose(fitted.mean_, pca.mean_)
    assert np.allclose(fitted.components_.T @ fitted.components_, pca.components_.T @ pca.components_, atol=1e-8)
    assert np.allclose(fitted.explained_variance_, pca.explained_variance_)
    assert np.allclose(fitted.explained_variance_ratio_, pca.explained_variance_ratio_)
    assert np.allclose(fitted.singular_values_, pca.singular_values_)


def test_new_rows_may_be_ruined_too(fitted):
    rng = np.random.default_rng(7)
    rows = fitted.mean_ + rng.standard_normal((5, 2)) @ fitted.components_
    ruined = np.where(rng.random(rows.shape) < 0.2, -100.0, rows)
    assert np.allclose(fitted.inverse_transform(fitted.transform(ruined)), rows)
    squares = (ruined - fitted.mean_) @ fitted.components_.T @ fitted.components_ + fitted.mean_
    assert not np.allclose(squares, rows, atol=1.0)


def test_it_survives_a_pickle(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(make()[1]), fitted.transform(make()[1]))


def test_in_noise_the_mean_is_no_component():
    clean, ruined, mask = make(noise=0.05)
    pca = RobustPCA().fit(ruined)
    assert (pca.status_, pca.success_, pca.n_components_) == ("NOISE", False, 2)
    assert pca.noise_ == pytest.approx(0.05, rel=0.2)
    assert np.all(pca.outliers_[mask])
    assert np.sqrt(np.mean((pca.low_rank_ - clean) ** 2)) < 0.03
    told = RobustPCA(2).fit(ruined)
    assert np.sqrt(np.mean((told.low_rank_ - clean) ** 2)) < 0.03


def test_noise_alone_is_no_success_and_no_exception():
    table = np.random.default_rng(0).standard_normal(SHAPE)
    with pytest.warns(UserWarning, match="nothing stands out of the noise"):
        pca = RobustPCA().fit(table)
    assert (pca.status_, pca.success_) == ("NOISE", False)
    with pytest.warns(ConvergenceWarning, match="Call limit"):
        assert RobustPCA(max_calls=3).fit(table).status_ == "CALL_LIMIT"
    with pytest.warns(UserWarning, match="nothing stands out of the noise"):
        assert not RobustCompletion().fit(table).success_


def test_where_every_table_fits_it_says_so():
    table = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.warns(UserWarning, match="no entry can be told"):
        pca = RobustPCA(2).fit(table)
    assert np.allclose(np.abs(pca.components_), np.abs(PCA(2).fit(table).components_))
    assert pca.outliers_ is None


@pytest.mark.parametrize("estimator", [RobustPCA(), RobustCompletion()])
def test_a_table_of_zeros_is_no_signal(estimator):
    with pytest.raises(gnp.InputError, match="of which 90% of the entries are exactly zero"):
        estimator.fit(np.diag(np.arange(1.0, 11)))


@pytest.mark.parametrize("value", [0, 41, 2.0, "all", True])
def test_a_number_of_components_that_is_none(value):
    with pytest.raises(gnp.InputError, match="n_components"):
        RobustPCA(value).fit(make()[1])


@pytest.fixture(scope="module")
def holes():
    """A table with holes and garbage, and RobustCompletion fitted to it."""
    clean, ruined, mask = make(wrong=0.05)
    gone = np.random.default_rng(1).random(SHAPE) < 0.3
    table = np.where(gone, np.nan, ruined)
    return clean, table, mask & ~gone, RobustCompletion(3).fit(table)


def test_holes_are_filled_exactly(holes):
    clean, table, wrong, completion = holes
    assert completion.success_
    assert np.array_equal(completion.outliers_, wrong)
    assert np.allclose(completion.low_rank_, clean)
    filled = completion.transform(table)
    assert np.allclose(filled[np.isnan(table)], clean[np.isnan(table)])
    assert np.array_equal(filled[~np.isnan(table)], table[~np.isnan(table)])
    assert np.allclose(completion.set_params(keep_observed=False).transform(table), clean)
    completion.set_params(keep_observed=True)


def test_new_rows_are_filled_from_what_was_seen_of_them(holes):
    clean, _, _, completion = holes
    rows = clean[:4] + clean[4:8]
    torn = rows.copy()
    torn[:, ::3] = np.nan
    torn[0, 1] = 1e4
    assert np.allclose(completion.transform(torn)[:, ::3], rows[:, ::3])


def test_what_cannot_be_filled_is_said(holes):
    torn = np.full((2, 40), np.nan)
    torn[:, :2] = 1.0
    with pytest.warns(UserWarning, match="2 rows with fewer seen entries than the 3 components"):
        holes[3].transform(torn)
    table = holes[1].copy()
    table[:, 7] = np.nan
    with pytest.raises(gnp.InputError, match=r"1 column without any entry: .*7"):
        RobustCompletion().fit(table)


def test_labels_are_kept(fitted, holes):
    pd = pytest.importorskip("pandas")
    names = [f"feature {i}" for i in range(40)]
    table = pd.DataFrame(make()[1], columns=names, index=np.arange(60) + 100)
    pca = RobustPCA().set_output(transform="pandas").fit(table)
    scores = pca.transform(table)
    assert list(scores.columns) == ["robustpca0", "robustpca1"]
    assert scores.index.equals(table.index)
    assert list(pca.feature_names_in_) == names
    torn = pd.DataFrame(holes[1], columns=names).astype("Float64")
    assert torn.isna().to_numpy().any()
    filled = RobustCompletion(3).set_output(transform="pandas").fit_transform(torn)
    assert list(filled.columns) == names
    assert np.allclose(filled, holes[3].transform(holes[1]))


def test_tensors_give_tensors(fitted):
    torch = pytest.importorskip("torch", reason="tensors are torch's")
    table = torch.tensor(make()[1])
    scores = RobustPCA().fit(table).transform(table)
    assert np.allclose(scores.numpy(), fitted.transform(make()[1]))
    assert torch.is_tensor(fitted.inverse_transform(scores))
    with pytest.raises(gnp.InputError, match="detach"):
        RobustPCA().fit(table.requires_grad_())
