"""Holes in a table filled from what was seen, of which some is grossly wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gnpolyak.base.errors import InputError
from gnpolyak.base.numbers import counted
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


class RobustCompletion(OneToOneFeatureMixin, TransformerMixin, Reporting, BaseEstimator):  # type: ignore[misc]
    """Missing entries (NaN) of a table of low rank, from the others, of which some are wrong.

    Minimises Σ |(UVᵀ)ᵢⱼ − xᵢⱼ| over the entries that were seen. Where enough of them are right, spread over all rows
    and columns, the missing ones are recovered exactly.

    Parameters
    ----------
    n_components : int or "auto"
        The rank. ``"auto"`` adds factors as long as each explains more than noise would have it.
    keep_observed : bool
        Whether `transform` leaves what was seen as it is, as imputers do; else it returns the fitted table everywhere,
        with wrong entries corrected and noise smoothed.
    max_calls : int, optional
        Most oracle calls of the solve; `gnpolyak.minimize` has the default.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal rows that span those of the table.
    n_components_ : int
    low_rank_ : ndarray of shape (n_samples, n_features)
        The training table: holes filled, garbage and noise removed.
    outliers_ : ndarray of bool of shape (n_samples, n_features), or None
        Which of the seen entries are wrong; None where good and bad were not told apart.
    noise_ : float or None
        The scale of the noise in the good entries, where the solve ended in it.
    status_, success_, n_calls_ : str, bool, int
        How the solve ended: see `gnpolyak.Status`. Of measured data that is ``"NOISE"``: a robust fit, and no proof of
        a minimum. Any other end without a success is a ConvergenceWarning.

    Notes
    -----
    New rows are fitted by least absolute deviations in the rows' span that training found. A row with fewer seen
    entries than components does not determine what is missing: `transform` warns, and takes the shortest row.

    **When not to use it.** On tables that are not of low rank: features that have little to do with each other are not
    predicted by each other, and `sklearn.impute.SimpleImputer` promises less. Where what is missing depends on what it
    would have been, no imputation from the rest is right. On features of very different units scale them first (with
    `sklearn.preprocessing.RobustScaler`, which leaves NaN alone): the sum of deviations weighs them all alike.
    For categories.

    Examples
    --------
    >>> import numpy as np
    >>> from gnpolyak.estimators import RobustCompletion
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 40))
    >>> table = np.where(rng.random(clean.shape) < 0.05, 9.0, clean)
    >>> table[rng.random(clean.shape) < 0.3] = np.nan
    >>> filled = RobustCompletion(keep_observed=False).fit_transform(table)
    >>> bool(np.allclose(filled, clean))
    True
    """

    def __init__(
        self, n_components: int | str = "auto", *, keep_observed: bool = True, max_calls: int | None = None
    ) -> None:
        self.n_components = n_components
        self.keep_observed = keep_observed
        self.max_calls = max_calls

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None) -> RobustCompletion:  # noqa: N803
        """Find the low-rank table behind what was seen.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            The table, NaN (or a pandas NA) where nothing was seen.
        y : None
            Ignored.

        Returns
        -------
        RobustCompletion
        """
        x = validated(self, X, ensure_all_finite="allow-nan", ensure_min_samples=2)
        checked_flag("keep_observed", self.keep_observed)
        wanted = checked_components(self.n_components, min(x.shape))
        seen = ~np.isnan(x)
        self._require_seen(seen)
        found = split(x, seen, wanted, self.max_calls)
        self.low_rank_ = found.left @ found.right.T
        _, values, right = np.linalg.svd(self.low_rank_, full_matrices=False)
        self.components_ = right[: found.right.shape[1]]
        self.n_components_ = len(self.components_)
        self.outliers_ = found.outliers(seen)
        self._report(found.result)
        self._require_signal(values[0], noise_edge(self.noise_, seen))
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """The table with its holes filled.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Rows of the training table or others, NaN where nothing was seen.

        Returns
        -------
        array of shape (n_samples, n_features)
            A torch tensor for one.
        """
        check_is_fitted(self)
        x = validated(self, X, reset=False, ensure_all_finite="allow-nan")
        seen = ~np.isnan(x)
        short = int(np.sum(np.sum(seen, axis=1) < self.n_components_))
        if short:
            self._unjudged(
                f"{counted(short, 'row')} with fewer seen entries than the {self.n_components_} components: what is "
                "missing there is not determined, and the shortest row is taken"
            )
        fitted = project(x, self.components_, seen) @ self.components_
        return returned(X, np.where(seen, x, fitted) if self.keep_observed else fitted)

    def _require_seen(self, seen: np.ndarray) -> None:
        blank = np.flatnonzero(~seen.any(axis=0))
        if blank.size:
            names = getattr(self, "feature_names_in_", np.arange(seen.shape[1]))[blank[:5]]
            raise InputError(
                given=f"a table with {counted(blank.size, 'column')} without any entry: {', '.join(map(repr, names))}",
                needed="something seen in each column",
                missing="data that the column could be filled from",
                advice="drop those columns",
            )
