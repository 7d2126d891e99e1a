"""Principal components of a table of which some entries are grossly wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from gnpolyak.base import foreign
from gnpolyak.estimators.projection import project
from gnpolyak.estimators.solving import (
    Reporting,
    checked_components,
    checked_flag,
    noise_edge,
    returned,
    split,
    validated,
)

# Singular values below this share of the table's largest are rounding: exact data are recovered to about twelve digits.
_ROUNDING = 1e-9


class RobustPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Reporting, BaseEstimator):  # type: ignore[misc]
    """Principal components of the table without its wrong entries.

    The table is split as X = L + S, with L of low rank and S zero in most entries, by minimising Σ |Lᵢⱼ − Xᵢⱼ| over the
    matrices L = UVᵀ. The principal components are those of L. Its mean is a mean that no wrong entry has touched, so no
    robust location is estimated beforehand: a mean is one more factor of L.

    Parameters
    ----------
    n_components : int or "auto"
        How many components to find. ``"auto"`` adds factors as long as each explains more than noise would have it.
    centered : bool
        Whether the components are directions from the mean, as in PCA; else from zero, as in a truncated singular
        value decomposition.
    max_calls : int, optional
        Most oracle calls of the solve; `gnpolyak.minimize` has the default.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows, by falling variance; the largest entry of each is positive.
    n_components_ : int
    mean_ : ndarray of shape (n_features,)
        Of the low-rank part; zero where not centered.
    singular_values_, explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components_,)
        As in PCA, of the low-rank part.
    low_rank_ : ndarray of shape (n_samples, n_features)
        The training table without garbage and noise.
    outliers_ : ndarray of bool of shape (n_samples, n_features), or None
        Which entries are wrong; None where good and bad were not told apart.
    noise_ : float or None
        The scale of the noise in the good entries, where the solve ended in it.
    status_, success_, n_calls_ : str, bool, int
        How the solve ended: see `gnpolyak.Status`. Of measured data that is ``"NOISE"``: a robust fit, and no proof of
        a minimum. Any other end without a success is a ConvergenceWarning.

    Notes
    -----
    `transform` finds the coordinates of each row by least absolute deviations, since rows that come later may be ruined
    in some entries too. Where its right entries outweigh the wrong ones, they are those of the clean row.

    **When not to use it.** On tables without gross errors: `sklearn.decomposition.PCA` is quicker and more efficient.
    Where whole rows are wrong: this splits entries, not rows; a robust covariance (`sklearn.covariance.MinCovDet`) is
    for rows. With few features beside the components: where ``n_components`` (and one more for the mean) is as large as
    the smaller side, every table has that rank, and nothing can be wrong. Wrong entries of a row are told by the right
    ones, of which there must be well more than components. On tables that are not of low rank up to noise, such as
    those with most entries zero.

    Examples
    --------
    >>> import numpy as np
    >>> from gnpolyak.estimators import RobustPCA
    >>> rng = np.random.default_rng(0)
    >>> clean = 5 + rng.standard_normal((60, 2)) @ rng.standard_normal((2, 40))
    >>> ruined = np.where(rng.random(clean.shape) < 0.1, 50.0, clean)
    >>> pca = RobustPCA().fit(ruined)
    >>> pca.n_components_, bool(np.allclose(pca.low_rank_, clean))
    (2, True)
    """

    def __init__(
        self, n_components: int | str = "auto", *, centered: bool = True, max_calls: int | None = None
    ) -> None:
        self.n_components = n_components
        self.centered = centered
        self.max_calls = max_calls

    def fit(self, X: Any, y: Any = None) -> RobustPCA:  # noqa: N803
        """Split the table and find the components of its low-rank part.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            The table: an array, a DataFrame, a torch tensor.
        y : None
            Ignored.

        Returns
        -------
        RobustPCA
        """
        x = validated(self, X, ensure_min_samples=2)
        centered = checked_flag("centered", self.centered)
        wanted = checked_components(self.n_components, min(x.shape))
        rank = wanted if isinstance(wanted, str) else min(wanted + centered, *x.shape)
        found = split(x, np.ones(x.shape, bool), rank, self.max_calls)
        self.outliers_ = found.outliers(np.ones(x.shape, bool))
        self._report(found.result)
        self._set_components(found.left @ found.right.T, wanted, centered)
        if found.result is None:
            self._unjudged(
                f"any table of shape {x.shape} has rank {min(x.shape)}, so that no entry can be told to be wrong: this "
                "is PCA. Take fewer components, or more features"
            )
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """The coordinates of each row, by least absolute deviations.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_components_)
            A torch tensor for one.
        """
        check_is_fitted(self)
        return returned(X, project(validated(self, X, reset=False) - self.mean_, self.components_))

    def inverse_transform(self, X: Any) -> Any:  # noqa: N803
        """The rows that have these coordinates: of transformed rows, the rows without garbage.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_components_)

        Returns
        -------
        array of shape (n_samples, n_features)
            A torch tensor for one.
        """
        check_is_fitted(self)
        coordinates = check_array(foreign.plain(X, "X") if foreign.is_torch(X) else X, dtype=np.float64)
        return returned(X, coordinates @ self.components_ + self.mean_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _set_components(self, table: np.ndarray, wanted: int | str, centered: bool) -> None:
        """Everything that is said of the low-rank part."""
        n, p = table.shape
        self.mean_ = table.mean(axis=0) if centered else np.zeros(p)
        left, values, right = np.linalg.svd(table - self.mean_, full_matrices=False)
        edge = noise_edge(self.noise_, np.ones(table.shape, bool))
        self._require_signal(values[0], edge)
        told = int(np.sum(values > max(_ROUNDING * np.linalg.norm(table, 2), edge)))
        count = wanted if isinstance(wanted, int) else max(told, 1)
        signs = np.sign(right[np.arange(len(right)), np.argmax(np.abs(right), axis=1)])[:count]
        self.n_components_ = count
        self.components_ = right[:count] * signs[:, None]
        self.singular_values_ = values[:count]
        variance = values**2 / max(n - 1, 1)
        self.explained_variance_ = variance[:count]
        self.explained_variance_ratio_ = variance[:count] / (np.sum(variance) or 1.0)
        self.low_rank_ = self.mean_ + (left[:, :count] * values[:count]) @ right[:count]
