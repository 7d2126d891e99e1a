"""The fused CPU oracle: one pass over the measurement rows in C++, called from compiled JAX through `jax.ffi`.

It is optional. `status` says whether it is in use and, if not, why; without it XLA computes the same numbers.
"""

from gnpolyak.problem.oracles.native.library import Status, set_num_threads, status
from gnpolyak.problem.oracles.native.oracle import power_l1, read_once, supports

__all__ = ["Status", "power_l1", "read_once", "set_num_threads", "status", "supports"]
