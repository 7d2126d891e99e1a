"""Targets: which value a step aims at when h* is known, and when only a lower bound is.

A target rule chooses the level of each Polyak step and its fraction θ, may send the iterate elsewhere, and says
when its job is done. It knows nothing of metrics or of the problem.
"""

from gnpolyak.base.tables import Table
from gnpolyak.steps.targets.base import Aim, Target
from gnpolyak.steps.targets.known import Known
from gnpolyak.steps.targets.level import Level
from gnpolyak.steps.targets.opening import Opening
from gnpolyak.steps.targets.restart import Restart

STRATEGIES: Table[type[Target]] = Table("strategies")
"""Rules for an unknown optimum by the names that ``minimize(strategy="...")`` takes."""
STRATEGIES.update({"level": Level, "restart": Restart})

__all__ = ["STRATEGIES", "Aim", "Known", "Level", "Opening", "Restart", "Target"]
