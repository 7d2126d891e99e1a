"""Seeded problem instances that carry their truth, one generator a problem class."""

from gnpolyak.instances.base import INSTANCES, Instance
from gnpolyak.instances.bilinear import bilinear_sensing, blind_deconvolution
from gnpolyak.instances.low_rank import matrix_completion, robust_pca
from gnpolyak.instances.tensor_sensing import DEFAULT_MEASUREMENTS, default_measurements, tensor_sensing

__all__ = [
    "DEFAULT_MEASUREMENTS",
    "INSTANCES",
    "Instance",
    "bilinear_sensing",
    "blind_deconvolution",
    "default_measurements",
    "matrix_completion",
    "robust_pca",
    "tensor_sensing",
]
