"""scikit-learn's own checks: all for the regressor, a handful for tables; test_conventions_slow.py has the others."""

import importlib
import sys

import pytest

pytest.importorskip("sklearn")

from sklearn.utils.estimator_checks import estimator_checks_generator

import gnpolyak as gnp
from gnpolyak.estimators import RobustCompletion, RobustPCA, RobustRegressor

# Those that fit nothing: each table of another shape compiles. Regressions are solved on the host.
CHECKS = {
    "check_no_attributes_set_in_init",
    "check_get_params_invariance",
    "check_set_params",
    "check_estimators_unfitted",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_sparse_array",
    "check_complex_data",
    "check_estimators_empty_data_messages",
    "check_fit1d",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_mixin_order",
}
ESTIMATORS = [RobustRegressor(), RobustPCA(), RobustCompletion()]
PAIRS = [
    pytest.param(estimator, check, id=f"{type(estimator).__name__}-{check.func.__name__}")
    for each in ESTIMATORS
    for estimator, check in estimator_checks_generator(each)
    if isinstance(each, RobustRegressor) or check.func.__name__ in CHECKS
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:Robust:UserWarning")
@pytest.mark.parametrize(("estimator", "check"), PAIRS)
def test_scikit_learn_takes_them_for_estimators(estimator, check):
    check(estimator)


def test_they_are_found_where_one_looks():
    assert gnp.estimators.RobustPCA is RobustPCA
    with pytest.raises(AttributeError, match="no attribute 'estimator'"):
        _ = gnp.estimator


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.delitem(sys.modules, "gnpolyak.estimators")
    with pytest.raises(ImportError, match=r"pip install 'gnpolyak\[sklearn\]'"):
        importlib.import_module("gnpolyak.estimators")
