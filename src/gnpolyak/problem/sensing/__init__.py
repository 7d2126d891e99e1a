"""Linear measurements A of an image, evaluated on the factors that make it up."""

from gnpolyak.base.tables import Table
from gnpolyak.problem.sensing.base import Sensing
from gnpolyak.problem.sensing.bilinear import BilinearSensing
from gnpolyak.problem.sensing.coded import CodedSensing, FourierSensing, HadamardSensing
from gnpolyak.problem.sensing.entries import Entries
from gnpolyak.problem.sensing.identity import Identity, Slab
from gnpolyak.problem.sensing.linear import LinearSensing
from gnpolyak.problem.sensing.parts import Parts
from gnpolyak.problem.sensing.pauli import PauliSensing
from gnpolyak.problem.sensing.power import PowerSensing, Whitened
from gnpolyak.problem.sensing.shards import Shards

SENSING: Table[type[Sensing]] = Table(
    "measurements",
    *(Identity, Entries, LinearSensing, BilinearSensing, Parts),
    *(PowerSensing, Whitened, PauliSensing, FourierSensing, HadamardSensing),
)

__all__ = [
    "SENSING",
    "BilinearSensing",
    "CodedSensing",
    "Entries",
    "FourierSensing",
    "HadamardSensing",
    "Identity",
    "LinearSensing",
    "Parts",
    "PauliSensing",
    "PowerSensing",
    "Sensing",
    "Shards",
    "Slab",
    "Whitened",
]
