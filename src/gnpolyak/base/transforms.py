"""The fast Walsh–Hadamard transform, and complex arrays from their parts."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from gnpolyak.base.namespace import Array

# The most bits that one pass transforms, by products with a Hadamard matrix of order 2⁴: a pass over the numbers costs
# more than 16 multiplications of each, and a butterfly is a pass for every bit. On NumPy it takes four times as long.
_BITS = 4


def walsh_hadamard(xp: Any, z: Array) -> Array:
    """Σₐ (−1)^(a·b) z[..., a] for all b, over the last axis, whose length is a power of two; its own adjoint."""
    if xp.iscomplexobj(z):
        return joined(xp, walsh_hadamard(xp, z.real), walsh_hadamard(xp, z.imag))
    shape, bits = z.shape, z.shape[-1].bit_length() - 1
    while bits > 0:
        some = min(bits, _BITS)
        bits -= some
        matrix = hadamard_matrix(xp, some, z.dtype)
        # Some bits, between those that were transformed and the 2^bits numbers of those that are still to be. The last
        # ones are transformed by one product: many with a vector each would take longer.
        z = matrix @ z.reshape(-1, 2**some, 2**bits) if bits else z.reshape(-1, 2**some) @ matrix
    return z.reshape(shape)


def hadamard_matrix(xp: Any, bits: int, dtype: np.dtype) -> Array:
    """The matrix (−1)^(a·b) of order 2^bits."""
    return xp.asarray(_signs(bits), dtype)


@cache
def _signs(bits: int) -> np.ndarray:
    every = np.arange(2**bits)
    return 1 - 2 * (np.bitwise_count(every & every[:, None]) % 2).astype(np.int8)


def joined(xp: Any, real: Array, imag: Array) -> Array:
    """The complex array with these parts."""
    if xp is jnp:
        return lax.complex(real, imag)
    whole: Any = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
    whole.real, whole.imag = real, imag
    return whole
