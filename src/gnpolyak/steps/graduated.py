"""Graduated Gauss–Newton: least squares in the metric of the map, with robust weights of a width that shrinks.

GNP's rate does not depend on c, but it does on how sharp h is. On robust PCA, completion, synchronisation, regression
and wherever there is noise h is not sharp enough. What solves these is the same metric used otherwise:

    wᵢ = ρ′_δ(rᵢ)/rᵢ,   r = b − A(c(x)),     z = argmin Σ wᵢ (rᵢ − (AJz)ᵢ)² + λ‖z‖²,     x ← x + z,     δ ← δ/2.

Nothing is proved about it here; what it does was measured. Every constant has its reason beside it.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import jax.numpy as jnp

from gnpolyak.base import trees
from gnpolyak.base.namespace import Array, cond, eps_of
from gnpolyak.base.trees import Tree
from gnpolyak.oracles.base import Oracle
from gnpolyak.oracles.reductions import Reductions
from gnpolyak.problem.capabilities import RESIDUALS
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.steps import boxed
from gnpolyak.steps.methods import Method, Outlook, Proposal
from gnpolyak.steps.status import Status
from gnpolyak.steps.weighted import (
    Seen,
    Trial,
    Weighted,
    conjugate_gradient,
    dense,
    ratio,
    residuals_at,
)
from gnpolyak.steps.weights import MAD, ROUNDING, TUKEY, Width

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


class Graduation(NamedTuple):
    """Where a solve stands: the residuals, the width of the weights, the damping, and what is known of good and bad."""

    seen: Seen
    """The residuals b − A(c(x)) at the point that was accepted last, and what its products can use."""
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


class Graduated(Method):
    """Graduated Gauss–Newton steps, for penalties that are sums over residuals (L1).

    Each trial solves one weighted least-squares problem, by conjugate gradients preconditioned with the map's closed
    form (JᵀJ + λI)† where there is one, or by QR of AJ up to 1,000 variables. One product with AJ and its adjoint
    counts as one oracle call, and so does a Jacobian that is formed.

    The weights are Huber's far away and Tukey's once good and bad data have settled. The scale comes from medians, so
    the size of outliers is immaterial. It needs no optimal value, level or bound.
    """

    over_xp: ClassVar[bool] = True
    name: ClassVar[str] = "graduated"
    least_calls: ClassVar[int] = 2
    leads: ClassVar[bool] = True
    assisted: ClassVar[bool] = True

    def check(self, problem: Composite, x: Tree) -> None:
        problem.penalty.require(RESIDUALS, "the method 'graduated'", "use method='gnp', which takes any penalty")

    def evaluate(self, oracle: Oracle, x: Tree) -> tuple[Point, Seen]:
        return residuals_at(oracle, x)

    def init(self, oracle: Oracle, start: Point, seen: Seen) -> Graduation:
        xp, reduce = oracle.xp, oracle.reduce
        # The finest that a residual can be: some units of a typical datum's rounding.
        rounding = 8 * eps_of(seen.r.dtype) * reduce.typical(oracle.data)
        size, dtype = abs(seen.r), seen.r.dtype
        # With more than half of the data fitted already, the scale is that of the others.
        scale = MAD * reduce.median_above(xp.where(xp.isfinite(size), size, 0.0), rounding)
        no, unknown = xp.asarray(False), xp.asarray(-1.0, dtype)
        status = xp.where(scale > 0, Status.RUNNING, Status.UNCERTIFIED)
        blank = Trial(*(xp.zeros((), dtype) for _ in range(4)))
        width = Width(xp.maximum(scale, rounding), no)
        size, none = xp.asarray(xp.inf, dtype), xp.zeros((), jnp.int32)
        return Graduation(seen, width, unknown, no, no, size, rounding, none, xp.asarray(status, jnp.int32), blank)

    def propose(self, oracle: Oracle, point: Point, memory: Graduation, outlook: Outlook) -> Proposal:
        xp = oracle.xp
        w = memory.width.weights(oracle.reduce, memory.seen.r)
        system = Weighted(memory.seen.r, memory.seen.kept, w, memory.damping, memory.apart)
        z, trial, products = _solved(oracle, point.x, system, outlook.budget - 1)
        return Proposal(
            x=trees.add_scaled(point.x, 1.0, z),
            memory=memory._replace(trial=trial),
            step=xp.ones((), memory.seen.r.dtype),
            inner_iterations=products,
            residual=xp.zeros((), memory.seen.r.dtype),
            solved=xp.asarray(True),
            products=products,
        )

    def follow(
        self, oracle: Oracle, memory: Graduation, before: Point, point: Point, seen: Seen
    ) -> tuple[Graduation, Point]:
        judged, accepted = _judged(oracle.reduce, memory, seen, trees.size(point.x))
        return judged, trees.select(accepted, point, before)

    def verdict(self, memory: Graduation) -> Array:
        return memory.status


def _solved(oracle: Oracle, x: Tree, system: Weighted, budget: Array) -> tuple[Tree, Trial, Array]:
    """The step of a weighted system, what it promises, and the products it took."""
    box = oracle.box
    if box is not None:
        return boxed.dense(oracle, box, x, system) if oracle.forms else boxed.iterative(oracle, box, x, system, budget)
    return dense(oracle, x, system) if oracle.forms else conjugate_gradient(oracle, x, system, budget)


def _judged(reduce: Reductions, memory: Graduation, seen: Seen, variables: int) -> tuple[Graduation, Array]:
    """The memory after a trial, and whether the trial was accepted."""
    trial, eps, xp = memory.trial, eps_of(seen.r.dtype), reduce.xp
    actual, before = memory.width.fall(reduce, memory.seen.r, seen.r)
    finite = trees.all_finite(seen.r) & xp.isfinite(trial.predicted)
    accepted = finite & (actual > 0)
    # The model itself promises no more than rounding.
    spent = finite & (trial.predicted <= 8 * eps * before)
    gain = ratio(xp, actual, trial.predicted)
    eased = trial.damping * xp.maximum(0.1, 1 - (2 * xp.minimum(gain, 1.0) - 1) ** 3)
    # A refused step is halved along itself.
    raised = xp.maximum(4 * trial.damping, trial.bending)
    delta = memory.width.delta
    share = min(1.0, (variables / reduce.count(seen.r)) ** 0.5)
    # A step that is short because it was damped or refused proves nothing.
    free = accepted & (trial.damping <= _TENTH * trial.bending)
    tight = finite & ((free & (trial.moved <= _TENTH * share * delta)) | (trial.moved <= eps**0.5 * delta) | spent)
    close = (accepted & (trial.moved <= _CLOSE * delta) & (gain > 0.25)) | tight
    # Refused with residuals at rounding: there is no more to be had.
    exhausted = memory.width.redescending & ~accepted & (memory.size <= ROUNDING / 8 * memory.rounding)
    creeping = memory.stay + 1 >= _MOST_TRIALS
    ended = xp.where(exhausted, Status.UNCERTIFIED, xp.where(creeping, Status.STALLED, memory.status))
    moved = memory._replace(
        seen=trees.select(accepted, seen, memory.seen),
        damping=xp.where(accepted, eased, raised),
        stay=memory.stay + 1,
        status=xp.asarray(ended, jnp.int32),
    )
    held = ~accepted & (trial.damping > trial.bending) & ~spent
    explained = xp.where(free, trial.moved, xp.inf)
    judged = cond(
        xp,
        close & ~exhausted,
        lambda: _levelled(reduce, moved, variables, tight=tight, held=held, explained=explained),
        lambda: moved,
    )
    return judged, accepted


def _levelled(
    reduce: Reductions, memory: Graduation, variables: int, *, tight: Array, held: Array, explained: Array
) -> Graduation:
    """The memory at the end of a level: the next width, or the end of the solve."""
    xp = reduce.xp
    a, width, rounding = abs(memory.seen.r), memory.width, memory.rounding
    delta = width.delta
    w = width.weights(reduce, memory.seen.r)
    here, count = reduce.counted(), reduce.count(a)
    squares, weight = reduce.sums(w * a * a, w)
    size = xp.sqrt(ratio(xp, squares, weight))
    inside = here & (a <= TUKEY * delta)
    core, good = reduce.sums(here & (a <= delta), inside)
    top = (a * inside).max()
    scale = MAD * reduce.median(a)
    bulk = scale <= delta
    # Nothing between δ/2 and 4.685 δ: good and bad are apart, and δ may follow the good.
    gap = (top <= delta / 2) & (2 * good > count)
    settled = bulk & (good - core <= _GRAY * core)
    small = (size <= rounding) | ((size <= ROUNDING / 8 * rounding) & (size > memory.size / 2))
    exact = width.redescending & ~memory.noisy & bulk & small
    # Half of the data outside δ and nothing to be explained: their scale is noise, unless it falls all the same.
    noise = (tight | (explained <= _TENTH * scale)) & ~bulk & ~gap & ~memory.noisy
    # No more data than variables leave nothing to tell noise by.
    noise = noise & (count > variables)
    # Residuals of a fit of n variables are smaller than the noise by this factor.
    freedom = (1 - min(variables / count, 0.5)) ** -0.5
    recovered = memory.noisy & tight & (scale <= delta / (2 * _HOLD * freedom))
    finished = memory.noisy & tight & ~recovered
    # On the host a second median is taken only where it is needed; in a program a branch would cost more.
    sigma = _HOLD * freedom * MAD * reduce.median(a, a <= TUKEY * scale) if xp is jnp or noise else delta
    graduated = xp.where(gap, top, xp.where(bulk, delta / 2, xp.where(noise, sigma, delta)))
    held_at = xp.where(recovered, delta / 2, delta)
    ended = xp.where(held, Status.STALLED, Status.NOISE)
    status = xp.where(exact, Status.UNCERTIFIED, xp.where(finished, ended, Status.RUNNING))
    return Graduation(
        seen=memory.seen,
        width=Width(
            xp.maximum(xp.where(memory.noisy, held_at, graduated), rounding),
            width.redescending | gap | noise | settled,
        ),
        damping=memory.damping,
        noisy=(memory.noisy & ~recovered) | noise,
        apart=gap,
        size=size,
        rounding=rounding,
        stay=xp.zeros((), jnp.int32),
        status=xp.asarray(status, jnp.int32),
        trial=memory.trial,
    )
