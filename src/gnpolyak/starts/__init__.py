"""Starting points: near a known truth, or from the data alone."""

from gnpolyak.starts import bilinear, low_rank
from gnpolyak.starts.amplitudes import from_amplitudes
from gnpolyak.starts.coded import coded
from gnpolyak.starts.hadamard import hadamard
from gnpolyak.starts.linear import linear_model, origin
from gnpolyak.starts.near import near
from gnpolyak.starts.pauli import tomography
from gnpolyak.starts.power.larger import larger
from gnpolyak.starts.power.spectral import WeakStartWarning, estimate_rank, spectral
from gnpolyak.starts.rotations import synchronised
from gnpolyak.starts.table import LARGER, STARTS, row_for
from gnpolyak.starts.tensor.cp import cp
from gnpolyak.starts.tensor.tucker import tucker

__all__ = [
    "LARGER",
    "STARTS",
    "WeakStartWarning",
    "bilinear",
    "coded",
    "cp",
    "estimate_rank",
    "from_amplitudes",
    "hadamard",
    "larger",
    "linear_model",
    "low_rank",
    "near",
    "origin",
    "row_for",
    "spectral",
    "synchronised",
    "tomography",
    "tucker",
]
