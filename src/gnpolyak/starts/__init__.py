"""Starting points: near a known truth, or from the data alone."""

from gnpolyak.starts.near import near
from gnpolyak.starts.power.spectral import WeakStartWarning, estimate_rank, spectral

__all__ = ["WeakStartWarning", "estimate_rank", "near", "spectral"]
