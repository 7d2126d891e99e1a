"""Smooth maps c, each with the structure of its Jacobian that it can offer."""

from gnpolyak.base.tables import Table
from gnpolyak.problem.maps.autodiff import AutodiffMap
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.maps.cp import CP
from gnpolyak.problem.maps.hadamard import Hadamard
from gnpolyak.problem.maps.held import Held
from gnpolyak.problem.maps.hermitian import Hermitian
from gnpolyak.problem.maps.linear import Linear
from gnpolyak.problem.maps.low_rank import LowRank
from gnpolyak.problem.maps.numpy import NumpyMap
from gnpolyak.problem.maps.rotations import RelativeRotations
from gnpolyak.problem.maps.stack import Stack
from gnpolyak.problem.maps.symmetric_cp import SymmetricCP
from gnpolyak.problem.maps.tucker import Tucker

MAPS: Table[type[Map]] = Table(
    "maps",
    SymmetricCP,
    Hermitian,
    LowRank,
    CP,
    Tucker,
    Hadamard,
    RelativeRotations,
    Linear,
    Stack,
    AutodiffMap,
    NumpyMap,
)

__all__ = [
    "CP",
    "MAPS",
    "AutodiffMap",
    "Hadamard",
    "Held",
    "Hermitian",
    "Linear",
    "LowRank",
    "Map",
    "NumpyMap",
    "RelativeRotations",
    "Stack",
    "SymmetricCP",
    "Tucker",
]
