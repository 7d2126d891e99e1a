"""Theory beside practice: whether the paper's assumptions hold on a problem, and what its theorems promise there.

Everything is computed in float64, whatever the data's dtype.
"""

from gnpolyak.diagnostics.assessment import Assessment, Verdict, assess
from gnpolyak.diagnostics.certificate import certify
from gnpolyak.diagnostics.derivatives import Check, check_adjoint
from gnpolyak.diagnostics.rank import ConstantRank, RankEstimate, constant_rank, jacobian_rank
from gnpolyak.diagnostics.rate import Rate, contraction
from gnpolyak.diagnostics.sharpness import Regularity, Sharpness, regularity, sharpness
from gnpolyak.diagnostics.spectrum import Spectrum, spectrum
from gnpolyak.diagnostics.taylor import check_taylor

__all__ = [
    "Assessment",
    "Check",
    "ConstantRank",
    "RankEstimate",
    "Rate",
    "Regularity",
    "Sharpness",
    "Spectrum",
    "Verdict",
    "assess",
    "certify",
    "check_adjoint",
    "check_taylor",
    "constant_rank",
    "contraction",
    "jacobian_rank",
    "regularity",
    "sharpness",
    "spectrum",
]
