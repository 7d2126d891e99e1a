"""The fast Walsh–Hadamard transform."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

# Bits that one pass transforms, by a product with a Hadamard matrix of that order: a pass over the numbers costs more
# than the 2⁵ multiplications of each, and a butterfly is a pass for every bit.
_BITS = 5


def walsh_hadamard(z: Array) -> Array:
    """Σₐ (−1)^(a·b) z[..., a] for all b, over the last axis, whose length is a power of two; its own adjoint."""
    if jnp.iscomplexobj(z):
        return lax.complex(walsh_hadamard(z.real), walsh_hadamard(z.imag))
    bits, shape = z.shape[-1].bit_length() - 1, z.shape
    while bits > 0:
        some = min(bits, _BITS)
        # The last bits are transformed and become the first, so that after all passes each is back in its place.
        rows = z.reshape(*shape[:-1], -1, 2**some)
        z = jnp.einsum("...ab,bc->...ca", rows, hadamard_matrix(some, z.dtype)).reshape(shape)
        bits -= some
    return z


def hadamard_matrix(bits: int, dtype: np.dtype) -> Array:
    """The matrix (−1)^(a·b) of order 2^bits."""
    every = np.arange(2**bits)
    return jnp.asarray(1 - 2 * (np.bitwise_count(every & every[:, None]) % 2).astype(np.int8), dtype)
