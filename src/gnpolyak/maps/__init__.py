"""Smooth maps c, each with the structure of its Jacobian that it can offer."""

from gnpolyak.maps.autodiff import AutodiffMap
from gnpolyak.maps.base import Map
from gnpolyak.maps.symmetric_cp import SymmetricCP

__all__ = ["AutodiffMap", "Map", "SymmetricCP"]
