"""The fused CPU oracle: passes over the measurement rows in C++, called from compiled JAX through `jax.ffi`.

It is optional: without it XLA computes the same numbers. `status` says whether it is in use and, if not, why;
`describe` says so in words.
"""

from gnpolyak.problem.oracles.native import bilinear, direct, entries, oracle
from gnpolyak.problem.oracles.native.calls import power_forms, power_l1, power_product, read_once, supports
from gnpolyak.problem.oracles.native.library import Availability, describe, set_num_threads, status
from gnpolyak.problem.oracles.native.medians import finds_medians, medians

__all__ = [
    "Availability",
    "bilinear",
    "describe",
    "direct",
    "entries",
    "finds_medians",
    "medians",
    "oracle",
    "power_forms",
    "power_l1",
    "power_product",
    "read_once",
    "set_num_threads",
    "status",
    "supports",
]
