"""Conjugate gradients for singular, consistent systems, as the paper uses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jax import Array

from gnpolyak.base import trees
from gnpolyak.base.namespace import while_loop
from gnpolyak.base.trees import Tree


class KrylovSolution(NamedTuple):
    """The solution of an inner linear system and what it took."""

    solution: Tree
    iterations: Array


class _CG(NamedTuple):
    z: Tree
    residual: Tree
    direction: Tree
    rho: Array
    iterations: Array
    broken: Array


def conjugate_gradient(
    xp: Any,
    action: Callable[[Tree], Tree],
    g: Tree,
    *,
    max_steps: int,
    rtol: float | None = None,
    precondition: Callable[[Tree], Tree] = lambda r: r,
) -> KrylovSolution:
    """Solve action(z) = g for a positive semidefinite action and g in its range, starting at zero.

    Started at zero, every iterate lies in the range of the action, so the limit is the minimum-norm solution.
    Other implementations differ where it matters here: a warm start would leave the range, and so would a
    preconditioner that does not keep it; lineax's asks for a nonsingular operator. A direction without curvature,
    which a singular operator meets once only rounding is left to solve for, ends the iteration instead of dividing by
    zero.

    Parameters
    ----------
    xp : module
        NumPy or jax.numpy.
    action : callable
        z ↦ Gz.
    g : array or pytree
        The right-hand side.
    max_steps : int
        The most iterations.
    rtol : float, optional
        Stop when the residual is below rtol·‖g‖, in the norm of the preconditioner; 100 rounding units by default.
    precondition : callable, optional
        r ↦ Mr for a positive semidefinite M with the range of G.
    """
    first = precondition(g)
    rho = trees.dot(g, first)
    eps = float(xp.finfo(rho.dtype).eps)
    threshold = (100 * eps if rtol is None else rtol) ** 2 * rho
    zero = trees.add_scaled(g, -1.0, g)
    start = _CG(zero, g, first, rho, xp.zeros((), xp.int32), xp.asarray(False))

    def unfinished(state: _CG) -> Array:
        return (state.rho > threshold) & (state.iterations < max_steps) & ~state.broken

    def iterate(state: _CG) -> _CG:
        image = action(state.direction)
        curvature = trees.dot(state.direction, image)
        usable = curvature > 0
        alpha = xp.where(usable, state.rho / xp.where(usable, curvature, 1.0), 0.0)
        residual = trees.add_scaled(state.residual, -alpha, image)
        y = precondition(residual)
        rho = trees.dot(residual, y)
        return _CG(
            z=trees.add_scaled(state.z, alpha, state.direction),
            residual=residual,
            direction=trees.add_scaled(y, rho / state.rho, state.direction),
            rho=rho,
            iterations=state.iterations + 1,
            broken=~usable,
        )

    final = while_loop(xp, unfinished, iterate, start)
    return KrylovSolution(final.z, final.iterations)
