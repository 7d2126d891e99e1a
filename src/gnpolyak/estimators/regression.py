"""Linear regression on data of which some are grossly wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

import gnpolyak as gnp
from gnpolyak.base.errors import InputError
from gnpolyak.estimators.solving import Reporting, checked_flag, returned, validated


class RobustRegressor(RegressorMixin, Reporting, BaseEstimator):  # type: ignore[misc]
    """A linear model y ≈ Xβ + β₀ that wrong responses do not bend.

    Parameters
    ----------
    loss : {"efficient", "l1"}
        ``"l1"`` minimises Σ |yᵢ − xᵢᵀβ − β₀|, whose minimiser is certified by a dual vector: exact where the good data
        are exact. ``"efficient"`` goes on from there with Tukey's weights at the scale of the noise, and has nearly the
        variance of least squares on the good data, with standard errors; on exact data the two agree.
    fit_intercept : bool
        Whether there is a β₀.
    max_calls : int, optional
        Most oracle calls of the solve; `gnpolyak.minimize` has the default.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
        0 without an intercept.
    outliers_ : ndarray of bool of shape (n_samples,), or None
        Which responses are wrong; None where good and bad were not told apart.
    scale_ : float or None
        The standard deviation of the noise in the good responses; None where they are fitted exactly, or not told from
        the bad.
    covariance_, stderr_ : ndarray of shape (d, d) and (d,), or None
        Of the coefficients, and the intercept last where there is one. Only for ``loss="efficient"`` in noise: that is
        the estimate they belong to.
    status_, success_, n_calls_ : str, bool, int
        How the solve ended: see `gnpolyak.Status`. The efficient estimate in noise ends as ``"NOISE"``; any other end
        without a success is a ConvergenceWarning.

    Notes
    -----
    There are no sample weights: for scikit-learn a weight of two is the same as the datum twice, which is not what
    weights mean to an estimate of the noise. Data of unequal noise are stated by ``fit(X, y, sigma=...)``.

    **When not to use it.** On data with noise and no gross errors: `sklearn.linear_model.LinearRegression` is as good
    and has closed forms. Where rows of X are wrong, and not responses: a far row pulls any estimate of this kind
    towards it (`sklearn.linear_model.RANSACRegressor` and `TheilSenRegressor` are for those). With more features than
    good data every response can be fitted, and none told to be wrong: take a penalised model (`Lasso`, `Ridge`). For
    responses that are counts or classes.

    Examples
    --------
    >>> import numpy as np
    >>> from gnpolyak.estimators import RobustRegressor
    >>> x = np.arange(8.0)[:, None]
    >>> y = 2 * x[:, 0] + 1
    >>> y[3] = 99.0
    >>> model = RobustRegressor().fit(x, y)
    >>> float(model.coef_[0].round(6)), round(float(model.intercept_), 6), np.flatnonzero(model.outliers_).tolist()
    (2.0, 1.0, [3])
    """

    def __init__(self, loss: str = "efficient", *, fit_intercept: bool = True, max_calls: int | None = None) -> None:
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.max_calls = max_calls

    def fit(self, X: Any, y: Any, sigma: Any = None) -> RobustRegressor:  # noqa: N803
        """Fit the model.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
        y : array_like of shape (n_samples,)
        sigma : array_like of shape (n_samples,), optional
            How large the noise of each datum is beside the others'; `scale_` is then in units of it.

        Returns
        -------
        RobustRegressor
        """
        x, b = validated(self, X, y, y_numeric=True)
        efficient, intercept = self._is_efficient(), checked_flag("fit_intercept", self.fit_intercept)
        a = np.column_stack([x, np.ones(len(x))]) if intercept else x
        problem = gnp.composite(gnp.Linear(a), gnp.L1(b.astype(np.float64), _weights(sigma, b.shape)))
        res = gnp.minimize(problem, polish=efficient, max_calls=self.max_calls)
        self.coef_, self.intercept_ = (res.x[:-1], float(res.x[-1])) if intercept else (res.x, 0.0)
        self.outliers_ = None if res.outliers is None else np.isin(np.arange(len(b)), res.outliers)
        self._report(res)
        self.scale_ = res.noise
        self.covariance_ = res.covariance() if efficient and res.uncertainty is not None else None
        self.stderr_ = None if self.covariance_ is None else np.sqrt(np.maximum(np.diag(self.covariance_), 0.0))
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """The responses that the model expects.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
            A torch tensor for one.
        """
        check_is_fitted(self)
        return returned(X, validated(self, X, reset=False) @ self.coef_ + self.intercept_)

    def _is_efficient(self) -> bool:
        if not isinstance(self.loss, str) or self.loss not in ("efficient", "l1"):
            raise InputError(
                given=f"loss={self.loss!r}",
                needed="'efficient' or 'l1'",
                missing="a known loss",
                advice="leave loss out for the efficient estimate",
            )
        return self.loss == "efficient"


def _weights(sigma: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    if sigma is None:
        return None
    sizes = np.asarray(sigma, np.float64)
    if sizes.shape != shape or not np.all(sizes > 0):
        raise InputError(
            given=f"sigma of shape {sizes.shape}"
            + ("" if np.all(sizes > 0) else " with entries that are not positive"),
            needed=f"a positive number for each of the {shape[0]} data",
            missing="the size of each datum's noise",
            advice="leave sigma out where all data are alike",
        )
    return 1.0 / sizes
