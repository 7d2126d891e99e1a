"""Faster ways to values, subgradients and products than one part of the problem after the other."""

from gnpolyak.problem.oracles import native, shards, whitened
from gnpolyak.problem.oracles.products import Products, linearised
from gnpolyak.problem.oracles.table import KERNELS, Kernel

__all__ = ["KERNELS", "Kernel", "Products", "linearised", "native", "shards", "whitened"]
