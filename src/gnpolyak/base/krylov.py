"""Krylov methods for singular systems: conjugate gradients, as the paper uses them, and LSMR for least squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gnpolyak.base import trees
from gnpolyak.base.namespace import Array, while_loop
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


class _LSMR(NamedTuple):
    """The state of the bidiagonalisation, in the letters of Fong and Saunders (2011)."""

    x: Array
    u: Array
    v: Array
    h: Array
    hbar: Array
    alpha: Array
    alphabar: Array
    zeta: Array
    zetabar: Array
    rho: Array
    rhobar: Array
    cbar: Array
    sbar: Array
    # For the estimate of the residual.
    betadd: Array
    betad: Array
    rhod: Array
    tautilde: Array
    thetatilde: Array
    # For the estimate of ‖A‖.
    size: Array
    iterations: Array
    done: Array


def lsmr(
    xp: Any,
    push: Callable[[Array], Array],
    pull: Callable[[Array], Array],
    b: Array,
    *,
    max_steps: int,
    rtol: float,
) -> KrylovSolution:
    """The x of minimum norm among those with the least ‖Ax − b‖, by LSMR, started at zero.

    A is known by its products alone, and its condition number is not squared. A singular A is met as any other: there
    is no limit on the condition number.

    Parameters
    ----------
    xp : module
        NumPy or jax.numpy.
    push, pull : callable
        z ↦ Az and v ↦ Aᵀv, on real vectors.
    b : array
    max_steps : int
        The most iterations, of one product of each kind.
    rtol : float
        Stop when ‖Aᵀr‖ is below rtol·‖A‖‖r‖, or ‖r‖ below rtol·(‖A‖‖x‖ + ‖b‖).
    """
    beta = _length(xp, b)
    u = _over(xp, b, beta)
    v = pull(u)
    alpha = _length(xp, v)
    v = _over(xp, v, alpha)
    zero, one = xp.zeros_like(alpha), xp.ones_like(alpha)
    start = _LSMR(
        x=xp.zeros_like(v),
        u=u,
        v=v,
        h=v,
        hbar=xp.zeros_like(v),
        alpha=alpha,
        alphabar=alpha,
        zeta=zero,
        zetabar=alpha * beta,
        rho=one,
        rhobar=one,
        cbar=one,
        sbar=zero,
        betadd=beta,
        betad=zero,
        rhod=one,
        tautilde=zero,
        thetatilde=zero,
        size=alpha**2,
        iterations=xp.zeros((), xp.int32),
        done=~(alpha * beta > 0),
    )

    def unfinished(s: _LSMR) -> Array:
        return ~s.done & (s.iterations < max_steps)

    def iterate(s: _LSMR) -> _LSMR:
        u = push(s.v) - s.alpha * s.u
        ahead = _length(xp, u)
        u = _over(xp, u, ahead)
        v = pull(u) - ahead * s.v
        alpha = _length(xp, v)
        v = _over(xp, v, alpha)
        # A rotation turns the bidiagonal B into R, and another one Rᵀ into a bidiagonal again.
        c, sine, rho = _rotation(xp, abs(s.alphabar), ahead)
        thetanew = sine * alpha
        thetabar = s.sbar * rho
        cbar, sbar, rhobar = _rotation(xp, s.cbar * rho, thetanew)
        zeta, zetabar = cbar * s.zetabar, -sbar * s.zetabar
        hbar = s.h - thetabar * rho / (s.rho * s.rhobar) * s.hbar
        x = s.x + zeta / (rho * rhobar) * hbar
        # What is left of b, as the same rotations have it.
        facing = xp.sign(s.alphabar) * s.betadd
        ctilde, stilde, rhotilde = _rotation(xp, s.rhod, thetabar)
        thetatilde, rhod = stilde * rhobar, ctilde * rhobar
        betad, betadd = ctilde * c * facing - stilde * s.betad, -sine * facing
        tautilde = (s.zeta - s.thetatilde * s.tautilde) / rhotilde
        left = xp.hypot(betad - (zeta - thetatilde * tautilde) / rhod, betadd)
        size = s.size + ahead**2
        norm = xp.sqrt(size)
        solved = (abs(zetabar) < rtol * norm * left) | (left < rtol * (norm * _length(xp, x) + beta))
        return _LSMR(
            x=x,
            u=u,
            v=v,
            h=v - thetanew / rho * s.h,
            hbar=hbar,
            alpha=alpha,
            alphabar=c * alpha,
            zeta=zeta,
            zetabar=zetabar,
            rho=rho,
            rhobar=rhobar,
            cbar=cbar,
            sbar=sbar,
            betadd=betadd,
            betad=betad,
            rhod=rhod,
            tautilde=tautilde,
            thetatilde=thetatilde,
            size=size + alpha**2,
            iterations=s.iterations + 1,
            # No further direction, or numbers that left the range of the arithmetic.
            done=solved | ~(ahead > 0) | ~(alpha > 0),
        )

    final = while_loop(xp, unfinished, iterate, start)
    return KrylovSolution(final.x, final.iterations)


def _length(xp: Any, a: Array) -> Array:
    return xp.sqrt(xp.vdot(a, a))


def _over(xp: Any, a: Array, length: Array) -> Array:
    """The vector divided by its length, where that is not zero."""
    return a / xp.where(length > 0, length, 1.0)


def _rotation(xp: Any, a: Array, b: Array) -> tuple[Array, Array, Array]:
    """c, s and r with c·a + s·b = r and s·a − c·b = 0."""
    r = xp.hypot(a, b)
    safe = xp.where(r > 0, r, 1.0)
    return a / safe, b / safe, r
