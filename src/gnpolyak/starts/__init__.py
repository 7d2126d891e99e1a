"""Starting points: near a known truth, or from the data alone."""

from gnpolyak.starts.data import WeakStartWarning, estimate_rank, spectral
from gnpolyak.starts.truth import near

__all__ = ["WeakStartWarning", "estimate_rank", "near", "spectral"]
