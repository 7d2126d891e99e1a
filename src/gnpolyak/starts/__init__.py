"""Starting points: near a known truth, or from the data alone."""

from gnpolyak.starts.near import near
from gnpolyak.starts.power.spectral import WeakStartWarning, estimate_rank, spectral
from gnpolyak.starts.table import STARTS

__all__ = ["STARTS", "WeakStartWarning", "estimate_rank", "near", "spectral"]
