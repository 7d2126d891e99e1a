"""Sharp, nonsmooth, ill-conditioned composite optimisation: minimise h(c(x))."""

from gnpolyak import diagnostics, instances, native, starts
from gnpolyak._version import __version__
from gnpolyak.errors import InputError
from gnpolyak.iteration import Info, State, init, step
from gnpolyak.maps import AutodiffMap, Map, SymmetricCP
from gnpolyak.methods import GNP, LMM, Auto, Method, Polyak, ScaledSM
from gnpolyak.penalties import L1, L2, CustomPenalty, Penalty
from gnpolyak.problem import Composite, Point, composite
from gnpolyak.result import History, Result, Status
from gnpolyak.sensing import Identity, PowerSensing, Sensing
from gnpolyak.solve import minimize
from gnpolyak.targets import Known, Level, Restart, Target

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
