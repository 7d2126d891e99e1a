"""Graduated Gauss–Newton: least squares in the metric of the map, with robust weights of a width that shrinks.

GNP's rate does not depend on c, but it does on how sharp h is. On robust PCA, completion, synchronisation, regression
and wherever there is noise h is not sharp enough. What solves these is the same metric used otherwise:

    wᵢ = ρ′_δ(rᵢ)/rᵢ,   r = b − A(c(x)),     z = argmin Σ wᵢ (rᵢ − (AJz)ᵢ)² + λ‖z‖²,     x ← x + z,     δ ← δ/2.

Nothing is proved about it here; what it does was measured. Every constant has its reason beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from gnpolyak.base import trees
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import GRAM_PINV, RESIDUALS
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.steps.linear import LARGEST_DENSE_JACOBIAN, LARGEST_DENSE_VARIABLE
from gnpolyak.steps.methods import Method, Outlook, Proposal
from gnpolyak.steps.status import Status
from gnpolyak.steps.weights import MAD, ROUNDING, TUKEY, Width, median, typical

# The first step is cut only in directions whose curvature is a tenth of what the residual meets.
_DAMPING = 0.1
# A level is near enough when a step moves the residuals by less than δ/4: the weights then still hold at δ/2.
_CLOSE = 0.25
# Converged: a step moves the residuals by a tenth of the fit's standard error, δ √(n/m), or explains 1% of their
# variance.
_TENTH = 0.1
# How many data a normal law of scale δ has between δ and 4.685 δ, against those within δ: .317/.683. With fewer, the
# good data are at least as concentrated as noise of that size would be, and can be told from the bad.
_GRAY = 0.46
# At the noise Tukey's width is held at 98% efficiency, 5.92: outliers are told apart by then, and precision is left.
_HOLD = 5.92 / TUKEY
# A level takes a few trials. This many without its end creep along a valley that has none.
_MOST_TRIALS = 100
# Products of one inner solve in the map's own metric, where 5 to 10 are usual, and without a closed form.
_MOST_PRODUCTS, _MOST_UNPRECONDITIONED = 30, 100


class Graduation(eqx.Module):
    """Where a solve stands: the residuals, the width of the weights, the damping, and what is known of good and bad."""

    r: Array
    """b − A(c(x)) at the point that was accepted last, flat."""
    width: Width
    damping: Array
    """μ, in units of JᵀJ, or of the columns' lengths where AJ is formed; negative before the first step."""
    noisy: Array
    """Whether δ is held at the noise."""
    apart: Array
    """Whether good and bad residuals have an empty gap between them."""
    size: Array
    """The weighted size of the residuals at the last level."""
    rounding: Array
    """The finest that a residual can be: some units of a typical datum's rounding."""
    stay: Array
    """Trials since the last level ended."""
    status: Array
    trial: Trial


class Trial(eqx.Module):
    """A step that is to be tried."""

    predicted: Array
    """By how much the weighted sum of squares, halved, would fall."""
    moved: Array
    """The weighted size of AJz."""
    bending: Array
    """The curvature along the step, in the units of the damping."""
    damping: Array


class Graduated(Method):
    """Graduated Gauss–Newton steps, for penalties that are sums over residuals (L1).

    Each trial solves one weighted least-squares problem, by conjugate gradients preconditioned with the map's closed
    form (JᵀJ + λI)† where there is one, or by QR of AJ up to 300 variables. One product with AJ and its adjoint counts
    as one oracle call, and so does a Jacobian that is formed.

    The weights are Huber's far away and Tukey's once good and bad data have settled. The scale comes from medians, so
    the size of outliers is immaterial. It needs no optimal value, level or bound.
    """

    name: ClassVar[str] = "graduated"
    least_calls: ClassVar[int] = 2
    leads: ClassVar[bool] = True

    def check(self, problem: Composite, x: Tree) -> None:
        problem.penalty.require(RESIDUALS, "the method 'graduated'", "use method='gnp', which takes any penalty")

    def evaluate(self, problem: Composite, x: Tree) -> tuple[Point, Array]:
        return residuals_at(problem, x)

    def init(self, problem: Composite, start: Point, seen: Array) -> Graduation:
        rounding = _rounding(problem, start.x)
        size = jnp.abs(seen)
        middle = median(size)
        # With more than half of the data fitted already, the scale is that of the others.
        scale = MAD * jnp.where(middle > rounding, middle, median(size, (size > rounding) & jnp.isfinite(size)))
        no, unknown = jnp.asarray(False), jnp.asarray(-1.0, seen.dtype)
        status = jnp.where(scale > 0, Status.RUNNING, Status.UNCERTIFIED)
        blank = Trial(*(jnp.zeros((), seen.dtype) for _ in range(4)))
        width = Width(jnp.maximum(scale, rounding), no)
        size, none = jnp.asarray(jnp.inf, seen.dtype), jnp.zeros((), jnp.int32)
        return Graduation(seen, width, unknown, no, no, size, rounding, none, jnp.asarray(status, jnp.int32), blank)

    def propose(self, problem: Composite, point: Point, memory: Graduation, outlook: Outlook) -> Proposal:
        if forms_jacobian(problem, point.x):
            z, trial, products = _dense(problem, point.x, memory)
        else:
            z, trial, products = _conjugate_gradient(problem, point.x, memory, outlook.budget - 1)
        return Proposal(
            x=trees.add_scaled(point.x, 1.0, z),
            memory=eqx.tree_at(lambda m: m.trial, memory, trial),
            step=jnp.ones((), memory.r.dtype),
            inner_iterations=products,
            residual=jnp.zeros((), memory.r.dtype),
            solved=jnp.asarray(True),
            products=products,
        )

    def follow(
        self, problem: Composite, memory: Graduation, before: Point, point: Point, seen: Array
    ) -> tuple[Graduation, Point]:
        judged, accepted = _judged(memory, seen, trees.size(point.x))
        return judged, trees.select(accepted, point, before)

    def verdict(self, memory: Graduation) -> Array:
        return memory.status


def residuals_at(problem: Composite, x: Tree) -> tuple[Point, Array]:
    """A point without a subgradient, and its residuals b − A(c(x)), flat."""
    z, _ = problem.sensing.measure(problem.map, x)
    return Point(x, problem.penalty.value(z), None), problem.penalty.residuals(z).ravel()


def forms_jacobian(problem: Composite, x: Tree) -> bool:
    """Whether AJ is formed: where the map has no closed form, and few variables."""
    size = trees.size(x)
    rows = jax.eval_shape(lambda: problem.sensing.measure(problem.map, x)[0]).size
    small = size <= LARGEST_DENSE_VARIABLE and size * rows <= LARGEST_DENSE_JACOBIAN
    return small and not problem.map.has(GRAM_PINV)


def linearised(problem: Composite, x: Tree) -> tuple[Callable[[Tree], Array], Callable[[Array], Tree]]:
    """The actions z ↦ AJz, flat, and its adjoint."""
    z, push = jax.linearize(lambda y: problem.sensing.measure(problem.map, y)[0], x)
    pull = trees.adjoint(lambda v: jax.linear_transpose(push, x)(v)[0])
    return lambda u: push(u).ravel(), lambda v: pull(v.reshape(z.shape))


def metric(problem: Composite, x: Tree) -> Callable[[Tree, Array | float], Tree]:
    """The action (g, μ) ↦ (JᵀJ + μI)†g in closed form, or with I for JᵀJ where there is none."""
    if problem.map.has(GRAM_PINV):
        return lambda g, damping: problem.map.gram_pinv(x, g, damping)
    return lambda g, damping: trees.scale(1.0 / (1.0 + damping), g)


def jacobian(problem: Composite, x: Tree) -> tuple[Array, Callable[[Array], Tree]]:
    """AJ as a matrix, and the way back from flat variables."""
    flat, unravel = trees.ravel(x)
    return jax.jacfwd(lambda u: problem.sensing.measure(problem.map, unravel(u))[0].ravel())(flat), unravel


def ratio(a: Array, b: Array) -> Array:
    """The quotient a/b for positive b, else 0."""
    return jnp.where(b > 0, a / jnp.where(b > 0, b, 1.0), 0.0)


def data(problem: Composite, x: Tree) -> Array:
    """The data b, which are the residuals of measurements that are all zero."""
    z = jax.eval_shape(lambda: problem.sensing.measure(problem.map, x)[0])
    return problem.penalty.residuals(jnp.zeros(z.shape, z.dtype)).ravel()


def _rounding(problem: Composite, x: Tree) -> Array:
    """The finest that a residual can be: some units of a typical datum's rounding."""
    b = data(problem, x)
    return 8 * jnp.finfo(b.dtype).eps * typical(b)


class _CG(eqx.Module):
    z: Tree
    image: Array
    """AJz."""
    residual: Tree
    direction: Tree
    rho: Array
    gain: Array
    """α."""
    products: Array
    going: Array


def _conjugate_gradient(problem: Composite, x: Tree, memory: Graduation, budget: Array) -> tuple[Tree, Trial, Array]:
    """CG on JᵀAᵀWAJ + αμ, preconditioned with (JᵀJ + μ)†.

    α, the gain of W^½A along the first direction, brings μ from the units of JᵀJ to those of the system.
    """
    push, pull = linearised(problem, x)
    precondition = metric(problem, x)
    most = jnp.minimum(_MOST_PRODUCTS if problem.map.has(GRAM_PINV) else _MOST_UNPRECONDITIONED, budget)
    w = memory.width.weights(memory.r)
    g = pull(w * memory.r)
    known = jnp.maximum(memory.damping, 0.0)
    first = precondition(g, known)
    rho = trees.dot(g, first)
    # At first ⟨g, g⟩/⟨g, (JᵀJ)†g⟩ is the curvature of c that the residual meets.
    damping = jnp.where(memory.damping < 0, _DAMPING * ratio(trees.dot(g, g), rho), known)
    # Loose while the weights still change; tighter once good and bad are apart and Gauss–Newton is quadratic.
    least = jnp.where(memory.apart, 1e-2, 1e-1) ** 2 * rho

    def iterate(s: _CG) -> _CG:
        pushed = push(s.direction)
        energy, length = jnp.sum(w * pushed * pushed), trees.dot(s.direction, s.direction)
        gain = jnp.where(s.products == 0, ratio(energy, s.rho - known * length), s.gain)
        t = ratio(s.rho, energy + gain * damping * length)
        fall = trees.add_scaled(pull(w * pushed), gain * damping, s.direction)
        residual = trees.add_scaled(s.residual, -t, fall)
        y = precondition(residual, known)
        new = trees.dot(residual, y)
        return _CG(
            z=trees.add_scaled(s.z, t, s.direction),
            image=s.image + t * pushed,
            residual=residual,
            direction=trees.add_scaled(y, ratio(new, s.rho), s.direction),
            rho=new,
            gain=gain,
            products=s.products + 1,
            going=(t > 0) & (new > least) & (s.products + 1 < most),
        )

    none = jnp.zeros((), jnp.int32)
    start = _CG(trees.scale(0.0, first), jnp.zeros_like(memory.r), g, first, rho, jnp.zeros_like(rho), none, rho > 0)
    end = lax.while_loop(lambda s: s.going, iterate, start)
    energy = jnp.sum(w * end.image * end.image)
    bending = ratio(ratio(energy, end.gain), trees.dot(end.z, end.z))
    return end.z, _trial(memory, w, end.image, bending, damping), end.products


def _dense(problem: Composite, x: Tree, memory: Graduation) -> tuple[Tree, Trial, Array]:
    """QR of [√W AJ D⁻¹; √μ I] with columns of length 1: Marquardt's damping."""
    matrix, unravel = jacobian(problem, x)
    n = matrix.shape[1]
    w = memory.width.weights(memory.r)
    weighted = jnp.sqrt(w)[:, None] * matrix
    column = jnp.linalg.norm(weighted, axis=0)
    column = jnp.where(column > 0, column, 1.0)
    damping = jnp.where(memory.damping < 0, _DAMPING, memory.damping)
    # Directions that the data do not see stay where they are.
    damping = jnp.maximum(damping, n * jnp.finfo(matrix.dtype).eps)
    # The right-hand side is one more column, so that Q is never formed.
    top = jnp.concatenate([weighted / column, (jnp.sqrt(w) * memory.r)[:, None]], axis=1)
    below = jnp.sqrt(damping) * jnp.eye(n, n + 1, dtype=matrix.dtype)
    triangle = jnp.linalg.qr(jnp.concatenate([top, below]), mode="r")
    y = jax.scipy.linalg.solve_triangular(triangle[:n, :n], triangle[:n, n])
    image = matrix @ (y / column)
    bending = ratio(jnp.sum(w * image * image), jnp.sum(y * y))
    return unravel(y / column), _trial(memory, w, image, bending, damping), jnp.ones((), jnp.int32)


def _trial(memory: Graduation, w: Array, image: Array, bending: Array, damping: Array) -> Trial:
    energy = jnp.sum(w * image * image)
    predicted = jnp.sum(w * image * (memory.r - image / 2))
    return Trial(predicted, jnp.sqrt(ratio(energy, jnp.sum(w))), bending, damping)


def _judged(memory: Graduation, seen: Array, variables: int) -> tuple[Graduation, Array]:
    """The memory after a trial, and whether the trial was accepted."""
    trial, eps = memory.trial, jnp.finfo(seen.dtype).eps
    actual, before = memory.width.fall(memory.r, seen)
    finite = jnp.all(jnp.isfinite(seen)) & jnp.isfinite(trial.predicted)
    accepted = finite & (actual > 0)
    # The model itself promises no more than rounding.
    spent = finite & (trial.predicted <= 8 * eps * before)
    gain = ratio(actual, trial.predicted)
    eased = trial.damping * jnp.maximum(0.1, 1 - (2 * jnp.minimum(gain, 1.0) - 1) ** 3)
    # A refused step is halved along itself.
    raised = jnp.maximum(4 * trial.damping, trial.bending)
    delta = memory.width.delta
    share = min(1.0, (variables / seen.size) ** 0.5)
    # A step that is short because it was damped or refused proves nothing.
    free = accepted & (trial.damping <= _TENTH * trial.bending)
    tight = finite & ((free & (trial.moved <= _TENTH * share * delta)) | (trial.moved <= jnp.sqrt(eps) * delta) | spent)
    close = (accepted & (trial.moved <= _CLOSE * delta) & (gain > 0.25)) | tight
    # Refused with residuals at rounding: there is no more to be had.
    exhausted = memory.width.redescending & ~accepted & (memory.size <= ROUNDING / 8 * memory.rounding)
    creeping = memory.stay + 1 >= _MOST_TRIALS
    ended = jnp.where(exhausted, Status.UNCERTIFIED, jnp.where(creeping, Status.STALLED, memory.status))
    moved = eqx.tree_at(
        lambda m: (m.r, m.damping, m.stay, m.status),
        memory,
        (
            jnp.where(accepted, seen, memory.r),
            jnp.where(accepted, eased, raised),
            memory.stay + 1,
            ended.astype(jnp.int32),
        ),
    )
    held = ~accepted & (trial.damping > trial.bending) & ~spent
    explained = jnp.where(free, trial.moved, jnp.inf)
    judged = lax.cond(
        close & ~exhausted,
        lambda: _levelled(moved, variables, tight=tight, held=held, explained=explained),
        lambda: moved,
    )
    return judged, accepted


def _levelled(memory: Graduation, variables: int, *, tight: Array, held: Array, explained: Array) -> Graduation:
    """The memory at the end of a level: the next width, or the end of the solve."""
    a, width, rounding = jnp.abs(memory.r), memory.width, memory.rounding
    delta = width.delta
    w = width.weights(memory.r)
    size = jnp.sqrt(ratio(jnp.sum(w * jnp.where(w > 0, a, 0.0) ** 2), jnp.sum(w)))
    inside = a <= TUKEY * delta
    core, good = jnp.sum(a <= delta), jnp.sum(inside)
    top = jnp.max(jnp.where(inside, a, 0.0))
    scale = MAD * median(a)
    bulk = scale <= delta
    # Nothing between δ/2 and 4.685 δ: good and bad are apart, and δ may follow the good.
    gap = (top <= delta / 2) & (2 * good > a.size)
    settled = bulk & (good - core <= _GRAY * core)
    small = (size <= rounding) | ((size <= ROUNDING / 8 * rounding) & (size > memory.size / 2))
    exact = width.redescending & ~memory.noisy & bulk & small
    # Half of the data outside δ and nothing to be explained: their scale is noise, unless it falls all the same.
    noise = (tight | (explained <= _TENTH * scale)) & ~bulk & ~gap & ~memory.noisy
    # Residuals of a fit of n variables are smaller than the noise by this factor.
    freedom = (1 - min(variables / a.size, 0.5)) ** -0.5
    recovered = memory.noisy & tight & (scale <= delta / (2 * _HOLD * freedom))
    finished = memory.noisy & tight & ~recovered
    sigma = _HOLD * freedom * MAD * median(a, a <= TUKEY * scale)
    graduated = jnp.where(gap, top, jnp.where(bulk, delta / 2, jnp.where(noise, sigma, delta)))
    held_at = jnp.where(recovered, delta / 2, delta)
    ended = jnp.where(held, Status.STALLED, Status.NOISE)
    status = jnp.where(exact, Status.UNCERTIFIED, jnp.where(finished, ended, Status.RUNNING))
    return Graduation(
        r=memory.r,
        width=Width(
            jnp.maximum(jnp.where(memory.noisy, held_at, graduated), rounding),
            width.redescending | gap | noise | settled,
        ),
        damping=memory.damping,
        noisy=(memory.noisy & ~recovered) | noise,
        apart=gap,
        size=size,
        rounding=rounding,
        stay=jnp.zeros((), jnp.int32),
        status=status.astype(jnp.int32),
        trial=memory.trial,
    )
