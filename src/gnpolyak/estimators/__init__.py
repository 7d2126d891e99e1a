"""Estimators in scikit-learn's shape: tables and linear models that are partly garbage, in pipelines.

They need the extra ``sklearn``; nothing else in the package imports scikit-learn.
"""

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as error:
    raise ImportError("gnpolyak.estimators needs scikit-learn: pip install 'gnpolyak[sklearn]'") from error

from gnpolyak.estimators.completion import RobustCompletion
from gnpolyak.estimators.pca import RobustPCA
from gnpolyak.estimators.regression import RobustRegressor

__all__ = ["RobustCompletion", "RobustPCA", "RobustRegressor"]
