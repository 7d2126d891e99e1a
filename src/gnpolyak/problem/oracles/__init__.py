"""Faster ways to a value and a subgradient than one part of the problem after the other."""

from gnpolyak.problem.oracles import native, whitened
from gnpolyak.problem.oracles.table import KERNELS, Kernel

__all__ = ["KERNELS", "Kernel", "native", "whitened"]
