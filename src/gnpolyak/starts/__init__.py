"""Starting points: near a known truth, or from the data alone."""

from gnpolyak.starts.near import near
from gnpolyak.starts.power.larger import larger
from gnpolyak.starts.power.spectral import WeakStartWarning, estimate_rank, spectral
from gnpolyak.starts.table import LARGER, STARTS, row_for

__all__ = ["LARGER", "STARTS", "WeakStartWarning", "estimate_rank", "larger", "near", "row_for", "spectral"]
