"""The fast Walsh–Hadamard transform."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

# The most bits that one pass transforms, by products with a Hadamard matrix of order 2⁴: a pass over the numbers costs
# more than 16 multiplications of each, and a butterfly is a pass for every bit.
_BITS = 4


def walsh_hadamard(z: Array) -> Array:
    """Σₐ (−1)^(a·b) z[..., a] for all b, over the last axis, whose length is a power of two; its own adjoint."""
    if jnp.iscomplexobj(z):
        return lax.complex(walsh_hadamard(z.real), walsh_hadamard(z.imag))
    shape, bits = z.shape, z.shape[-1].bit_length() - 1
    while bits > 0:
        some = min(bits, _BITS)
        bits -= some
        # Some bits, between those that were transformed and the 2^bits numbers of those that are still to be.
        z = jnp.einsum("ba,iaj->ibj", hadamard_matrix(some, z.dtype), z.reshape(-1, 2**some, 2**bits))
    return z.reshape(shape)


def hadamard_matrix(bits: int, dtype: np.dtype) -> Array:
    """The matrix (−1)^(a·b) of order 2^bits."""
    every = np.arange(2**bits)
    return jnp.asarray(1 - 2 * (np.bitwise_count(every & every[:, None]) % 2).astype(np.int8), dtype)
