"""The fused CPU oracle: one pass over the measurement rows in C++, called from compiled JAX through `jax.ffi`.

It is optional: without it XLA computes the same numbers. `status` says whether it is in use and, if not, why;
`describe` says so in words.
"""

from gnpolyak.problem.oracles.native.oracle import (
    Availability,
    describe,
    power_l1,
    read_once,
    set_num_threads,
    status,
    supports,
)

__all__ = ["Availability", "describe", "power_l1", "read_once", "set_num_threads", "status", "supports"]
