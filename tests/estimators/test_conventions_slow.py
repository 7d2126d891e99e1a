"""scikit-learn's own checks, all of them: they fit tables of many shapes, and each shape compiles."""

import pytest

pytest.importorskip("sklearn")

from sklearn.utils.estimator_checks import parametrize_with_checks

from gnpolyak.estimators import RobustCompletion, RobustPCA, RobustRegressor

pytestmark = [
    pytest.mark.slow,
    # Random tables are not of low rank, and tables of two columns have every rank: the estimators say so.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:Robust:UserWarning"),
]


@parametrize_with_checks([RobustRegressor("l1"), RobustPCA(), RobustPCA(2), RobustCompletion()])
def test_scikit_learn_takes_them_for_estimators(estimator, check):
    check(estimator)
