"""Seeded problem instances that carry their truth, one generator a problem class."""

from gnpolyak.instances.base import INSTANCES, Instance
from gnpolyak.instances.bilinear import bilinear_sensing, blind_deconvolution
from gnpolyak.instances.bundle_adjustment import bundle_adjustment
from gnpolyak.instances.low_rank import matrix_completion, robust_pca
from gnpolyak.instances.phase_retrieval import phase_retrieval
from gnpolyak.instances.quantum_tomography import quantum_tomography
from gnpolyak.instances.regression import regression
from gnpolyak.instances.sparse_recovery import sparse_recovery
from gnpolyak.instances.synchronisation import synchronisation
from gnpolyak.instances.tensor_sensing import DEFAULT_MEASUREMENTS, default_measurements, tensor_sensing
from gnpolyak.instances.tensors import tensor_decomposition, tucker

__all__ = [
    "DEFAULT_MEASUREMENTS",
    "INSTANCES",
    "Instance",
    "bilinear_sensing",
    "blind_deconvolution",
    "bundle_adjustment",
    "default_measurements",
    "matrix_completion",
    "phase_retrieval",
    "quantum_tomography",
    "regression",
    "robust_pca",
    "sparse_recovery",
    "synchronisation",
    "tensor_decomposition",
    "tensor_sensing",
    "tucker",
]
