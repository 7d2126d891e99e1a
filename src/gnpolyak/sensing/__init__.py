"""Linear measurements A of an image, evaluated on the factors that make it up."""

from gnpolyak.sensing.base import Sensing
from gnpolyak.sensing.identity import Identity
from gnpolyak.sensing.power import PowerSensing

__all__ = ["Identity", "PowerSensing", "Sensing"]
