"""All singular values of J = ∇c, from J itself."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from gnpolyak.base.errors import InputError
from gnpolyak.base.trees import Tree
from gnpolyak.diagnostics import inputs
from gnpolyak.diagnostics.inputs import LARGEST_ARRAY, Model
from gnpolyak.problem.capabilities import IMAGE
from gnpolyak.problem.maps import Map

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Spectrum:
    """All singular values of J at one point."""

    singular_values: np.ndarray
    """In descending order, min(shape) of them."""
    shape: tuple[int, int]
    """Numbers in the image, and variables."""

    @property
    def cutoff(self) -> float:
        """max(shape)·eps·σ₁: a singular value below it is rounding."""
        return max(self.shape) * _EPS * float(self.singular_values[0])

    @property
    def rank(self) -> int:
        """The number of singular values above the cutoff."""
        return int(np.sum(self.singular_values > self.cutoff))

    @property
    def condition(self) -> float:
        """σ₁/σ_rank; 1 for J = 0."""
        return float(self.singular_values[0] / self.singular_values[self.rank - 1]) if self.rank else 1.0

    def distinct(self, rtol: float = 1e-6) -> int:
        """How many different nonzero singular values there are, neighbours closer than rtol counted once.

        Conjugate gradients on JᵀJ need as many steps as this, not as many as the rank. For c(X) = XXᵀ, with σᵢ those
        of X, the nonzero eigenvalues of JᵀJ are 2σᵢ² (d − r times each) and 2(σᵢ² + σⱼ²) for i ≤ j: at most
        r + r(r + 1)/2 different ones, 20 for r = 5, at a rank of dr − r(r − 1)/2.
        """
        kept = self.singular_values[: self.rank]
        return int(self.rank > 0) + int(np.sum(kept[1:] < (1 - rtol) * kept[:-1]))


def spectrum(model: Model, x: Tree) -> Spectrum:
    """All singular values of J = ∇c(x), from J itself.

    Parameters
    ----------
    model : Composite, Map or callable
        The problem, or its map c.
    x : array_like or pytree
        The point.

    Returns
    -------
    Spectrum

    Raises
    ------
    InputError
        If J would have more than 2²³ entries; `jacobian_rank` forms nothing.

    Examples
    --------
    The paper's appendix gives the rank of ∇(XXᵀ) as r(r + 1)/2, 6 here. It is dr − r(r − 1)/2:

    >>> import numpy as np, gnpolyak as gnp
    >>> x = np.random.default_rng(0).standard_normal((5, 3))
    >>> gnp.diagnostics.spectrum(gnp.SymmetricCP(2), x).rank
    12
    """
    with inputs.on_the_map(model, x) as (c, point):
        c.require(IMAGE, "a spectrum of its Jacobian", "use gnpolyak.diagnostics.jacobian_rank, which forms nothing")
        shape = (int(np.prod(jax.eval_shape(c, point).shape)), inputs.size(point))
        if shape[0] * shape[1] > LARGEST_ARRAY:
            raise InputError(
                given=f"a Jacobian of {shape[0]:,} × {shape[1]:,} entries for {c.label}",
                needed=f"at most {LARGEST_ARRAY:,} entries to form it",
                missing="memory for a dense check",
                advice="use gnpolyak.diagnostics.jacobian_rank, which forms nothing, or a smaller instance",
            )
        return Spectrum(np.asarray(_singular_values(c, point)), shape)


@jax.jit
def _singular_values(c: Map, x: Tree) -> Array:
    flat, unravel = ravel_pytree(x)
    jacobian = jax.jacfwd(lambda u: c(unravel(u)).ravel())(flat)
    return jnp.linalg.svd(jacobian, compute_uv=False)
