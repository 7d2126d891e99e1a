"""Conformance: whether a part of a problem, ours or yours, does what the rest of the library relies on.

Each check raises AssertionError that names what is wrong and by how much, and returns its figures if nothing is. The
references are independent of what they check: a dense Jacobian and its singular values, differences, inequalities.
"""

from gnpolyak.testing.kernels import check_kernel
from gnpolyak.testing.maps import check_map
from gnpolyak.testing.penalties import check_penalty
from gnpolyak.testing.sensing import check_sensing

__all__ = ["check_kernel", "check_map", "check_penalty", "check_sensing"]
