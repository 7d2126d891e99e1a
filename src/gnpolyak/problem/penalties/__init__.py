"""Penalties h: a value and one explicitly chosen subgradient, written out rather than differentiated.

Autodiff through |·| and ‖·‖ gives 1 or NaN at a kink, and a sharp problem's solution is a kink. So each
penalty states which element of ∂h it returns.
"""

from gnpolyak.base.tables import Table
from gnpolyak.problem.penalties.amplitude import Amplitude
from gnpolyak.problem.penalties.base import Penalty, Rows
from gnpolyak.problem.penalties.custom import CustomPenalty
from gnpolyak.problem.penalties.groups import L21
from gnpolyak.problem.penalties.norms import L1, L2
from gnpolyak.problem.penalties.quantile import Pinball
from gnpolyak.problem.penalties.spread import Spread

PENALTIES: Table[type[Penalty]] = Table("penalties", L1, L2, L21, Pinball, Amplitude, CustomPenalty)

__all__ = ["L1", "L2", "L21", "PENALTIES", "Amplitude", "CustomPenalty", "Penalty", "Pinball", "Rows", "Spread"]
