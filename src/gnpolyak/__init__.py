"""Sharp, nonsmooth, ill-conditioned composite optimisation: minimise h(c(x))."""

import gc as _gc
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

# What an import makes is kept. To look for garbage in it, and in all of JAX each time, took a sixth of the import.
try:
    _collects = _gc.isenabled()
    _gc.disable()
    from gnpolyak.fit.named import Parameter, fit  # which stands on nearly everything that follows
finally:
    if _collects:
        _gc.enable()

from gnpolyak import oracles, starts
from gnpolyak.base.errors import InputError
from gnpolyak.base.hosts import local_rows
from gnpolyak.base.streams.generated import GeneratedRows
from gnpolyak.base.version import __version__
from gnpolyak.fit.curve_fit import curve_fit
from gnpolyak.fit.result import Fit, FitWarning
from gnpolyak.problem import capabilities
from gnpolyak.problem.capabilities import Capability
from gnpolyak.problem.composite import Composite, Point, composite
from gnpolyak.problem.maps import (
    CP,
    AutodiffMap,
    Hadamard,
    Hermitian,
    Linear,
    LowRank,
    Map,
    NumpyMap,
    RelativeRotations,
    Stack,
    SymmetricCP,
    Tucker,
)
from gnpolyak.problem.oracles import Kernel, Products, native
from gnpolyak.problem.penalties import L1, L2, L21, Amplitude, CustomPenalty, Penalty, Pinball
from gnpolyak.problem.sensing import (
    BilinearSensing,
    Entries,
    FourierSensing,
    HadamardSensing,
    Identity,
    LinearSensing,
    Parts,
    PauliSensing,
    PowerSensing,
    Sensing,
)
from gnpolyak.problem.sharding import shard, shard_from_local
from gnpolyak.solve import tables
from gnpolyak.solve.batch.front import minimize_batch
from gnpolyak.solve.minimize import minimize
from gnpolyak.solve.result import History, Result
from gnpolyak.steps.graduated import Graduated
from gnpolyak.steps.iteration import Info, State, init, step
from gnpolyak.steps.linear import LinearSolver
from gnpolyak.steps.methods import GNP, LMM, Method, MetricMethod, Outlook, Polyak, Proposal, ScaledSM
from gnpolyak.steps.metrics import Direction, Metric
from gnpolyak.steps.named import Auto
from gnpolyak.steps.status import Status
from gnpolyak.steps.targets import Known, Level, Restart, Target

__all__ = [
    "CP",
    "GNP",
    "L1",
    "L2",
    "L21",
    "LMM",
    "Amplitude",
    "Auto",
    "AutodiffMap",
    "BilinearSensing",
    "Capability",
    "Composite",
    "CustomPenalty",
    "Direction",
    "Entries",
    "Fit",
    "FitWarning",
    "FourierSensing",
    "GeneratedRows",
    "Graduated",
    "Hadamard",
    "HadamardSensing",
    "Hermitian",
    "History",
    "Identity",
    "Info",
    "InputError",
    "Kernel",
    "Known",
    "Level",
    "Linear",
    "LinearSensing",
    "LinearSolver",
    "LowRank",
    "Map",
    "Method",
    "Metric",
    "MetricMethod",
    "NumpyMap",
    "Outlook",
    "Parameter",
    "Parts",
    "PauliSensing",
    "Penalty",
    "Pinball",
    "Point",
    "Polyak",
    "PowerSensing",
    "Products",
    "Proposal",
    "RelativeRotations",
    "Restart",
    "Result",
    "ScaledSM",
    "Sensing",
    "Stack",
    "State",
    "Status",
    "SymmetricCP",
    "Target",
    "Tucker",
    "__version__",
    "capabilities",
    "composite",
    "curve_fit",
    "diagnostics",
    "fit",
    "init",
    "instances",
    "local_rows",
    "minimize",
    "minimize_batch",
    "native",
    "oracles",
    "shard",
    "shard_from_local",
    "starts",
    "step",
    "tables",
    "testing",
]

# Loaded when they are asked for: a solve needs none of them, and the last stands on scikit-learn, which is an extra.
if _TYPE_CHECKING:
    from gnpolyak import diagnostics, instances, testing
_LATER = ("diagnostics", "instances", "testing", "estimators")


def __getattr__(name: str) -> _ModuleType:
    if name in _LATER:
        return _import_module(f"gnpolyak.{name}")
    raise AttributeError(f"module 'gnpolyak' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
