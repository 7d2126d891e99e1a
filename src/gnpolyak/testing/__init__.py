"""Conformance: whether a part of a problem, ours or yours, does what the rest of the library relies on.

Each check returns the relative errors that it found, by name, or raises an AssertionError that says which are too big.
The references are independent of what they check: a dense Jacobian and its singular values, differences, inequalities.
Random vectors are drawn from `seed`.
"""

from gnpolyak.testing.kernels import check_kernel
from gnpolyak.testing.maps import check_map
from gnpolyak.testing.oracles import check_oracle
from gnpolyak.testing.penalties import check_penalty
from gnpolyak.testing.sensing import check_sensing

__all__ = ["check_kernel", "check_map", "check_oracle", "check_penalty", "check_sensing"]
