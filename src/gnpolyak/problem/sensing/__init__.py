"""Linear measurements A of an image, evaluated on the factors that make it up."""

from gnpolyak.problem.sensing.base import Sensing
from gnpolyak.problem.sensing.identity import Identity
from gnpolyak.problem.sensing.power import PowerSensing

__all__ = ["Identity", "PowerSensing", "Sensing"]
