"""Sharp, nonsmooth, ill-conditioned composite optimisation: minimise h(c(x))."""

from gnpolyak import diagnostics, instances, starts
from gnpolyak.base.errors import InputError
from gnpolyak.base.version import __version__
from gnpolyak.problem.composite import Composite, Point, composite
from gnpolyak.problem.maps import AutodiffMap, Map, SymmetricCP
from gnpolyak.problem.oracles import native
from gnpolyak.problem.penalties import L1, L2, CustomPenalty, Penalty
from gnpolyak.problem.sensing import Identity, PowerSensing, Sensing
from gnpolyak.solve.minimize import minimize
from gnpolyak.solve.result import History, Result, Status
from gnpolyak.steps.iteration import Info, State, init, step
from gnpolyak.steps.methods import GNP, LMM, Auto, Method, Polyak, ScaledSM
from gnpolyak.steps.targets import Known, Level, Restart, Target

__all__ = [
    "GNP",
    "L1",
    "L2",
    "LMM",
    "Auto",
    "AutodiffMap",
    "Composite",
    "CustomPenalty",
    "History",
    "Identity",
    "Info",
    "InputError",
    "Known",
    "Level",
    "Map",
    "Method",
    "Penalty",
    "Point",
    "Polyak",
    "PowerSensing",
    "Restart",
    "Result",
    "ScaledSM",
    "Sensing",
    "State",
    "Status",
    "SymmetricCP",
    "Target",
    "__version__",
    "composite",
    "diagnostics",
    "init",
    "instances",
    "minimize",
    "native",
    "starts",
    "step",
]
