"""Which peers are taken for which problem class."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import gnpolyak as gnp
from gnpolyak.bench.zoo import matrices, residuals, sensing, states, tensors
from gnpolyak.bench.zoo.watch import Watch

Peer = Callable[[gnp.instances.Instance, Watch], None]
"""Solves an instance from its data, and shows every iterate to a watch."""

_REWEIGHTED = "reweighted ALS, NumPy"
_ALM = "inexact ALM, NumPy"
_SCALED, _POLYAK, _ADAM = "ScaledSM, told h*", "Polyak, told h*", "optax adam"
_SOFT = "SciPy soft_l1"

_FOR_ROWS: dict[str, Peer] = {
    _SCALED: sensing.scaled_subgradient,
    _POLYAK: sensing.polyak,
    _ADAM: sensing.adam,
}
_FOR_LINEAR: dict[str, Peer] = {
    "HiGHS linear program": residuals.linear_program,
    "reweighted least squares, NumPy": residuals.reweighted_least_squares,
}

CONTESTS: Mapping[str, Mapping[str, Peer]] = {
    "robust_pca": {
        _REWEIGHTED: matrices.reweighted_als,
        _ALM: matrices.inexact_alm,
        "ScaledGD, told the share": matrices.scaled_gd,
    },
    "matrix_completion": {
        _REWEIGHTED: matrices.reweighted_als,
        _ALM: matrices.inexact_alm,
        _SCALED: sensing.scaled_subgradient,
    },
    "bilinear_sensing": _FOR_ROWS,
    "blind_deconvolution": _FOR_ROWS,
    "tensor_sensing": _FOR_ROWS,
    "phase_retrieval": {
        "alternating projections, NumPy": sensing.alternating_projections,
        "median amplitude flow, NumPy": sensing.median_amplitude_flow,
        _ADAM: sensing.adam,
    },
    "tensor_decomposition": {"ALS, NumPy": tensors.cp_als, _REWEIGHTED: tensors.cp_reweighted_als},
    "tucker": {"ALS (HOOI), NumPy": tensors.hooi, _REWEIGHTED: tensors.tucker_reweighted_als},
    "synchronisation": {"reweighted averaging, NumPy": residuals.rotation_averaging, _SOFT: residuals.soft_l1},
    "bundle_adjustment": {_SOFT: residuals.soft_l1},
    "regression": {**_FOR_LINEAR, _SOFT: residuals.soft_l1},
    "sparse_recovery": _FOR_LINEAR,
    "quantum_tomography": {
        "projected least squares, NumPy": states.projected_least_squares,
        "thresholded projections, NumPy": states.thresholded_projections,
    },
}
"""Peers by class and name."""

OTHERS: Mapping[str, Peer] = {_POLYAK: sensing.polyak, _ADAM: sensing.adam}
"""For a class without a line above, from the instance's start."""

TOLD = frozenset({_SCALED, _POLYAK})
"""Peers that are told h*: where they race, so does the library from the same start and told the same."""

NEAR = frozenset({_SOFT})
"""Peers that are given the instance's start, a tenth off the truth, as they have none of their own."""
