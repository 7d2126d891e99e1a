"""Smooth maps c, each with the structure of its Jacobian that it can offer."""

from gnpolyak.problem.maps.autodiff import AutodiffMap
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.maps.symmetric_cp import SymmetricCP

__all__ = ["AutodiffMap", "Map", "SymmetricCP"]
