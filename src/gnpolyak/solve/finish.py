"""After the loop: whether the point is certified, which measurements are corrupted, and how large the noise is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.halting import HaltedError
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import RESIDUALS, TILT
from gnpolyak.solve.certificate import Certificate, certify
from gnpolyak.solve.driver import Run
from gnpolyak.solve.escape import escape
from gnpolyak.solve.evaluation import Evaluation
from gnpolyak.solve.outliers import corrupted, places
from gnpolyak.solve.result import Result
from gnpolyak.solve.uncertainty import Uncertainty
from gnpolyak.solve.values import is_lower, no_worse
from gnpolyak.steps.graduated import Graduated
from gnpolyak.steps.least_absolute import LeastAbsolute
from gnpolyak.steps.status import CLAIMS, STOPPED, UNPROVEN, Status
from gnpolyak.steps.targets import Known, Target
from gnpolyak.steps.weights import MAD, TUKEY

# How often a solve goes on from a bound where a variable was stuck.
_MOST_ESCAPES = 20
# By how much of the value it must have fallen there.
_LOWER = 1e-8


Seen = tuple[Tree, np.ndarray, np.ndarray]
"""A point, its residuals and the data."""


def proves(evaluation: Evaluation, rule: Target, b: np.ndarray | None = None) -> Callable[[float, float], bool]:
    """Tell of a value, and of the first one, whether it is within tol of the lower bound: h* lies between.

    On the scale of a typical datum; of a penalty without data that are known, on that of the first gap. `b` are the
    data, where they are at hand.
    """
    bound, tol = float(rule.stated()), float(rule.tol)
    if not evaluation.problem.penalty.has(RESIDUALS):
        return lambda value, first: value - bound <= tol * (first - bound)
    b = evaluation.data if b is None else b
    allowed = tol * b.size * _typical(b)
    return lambda value, first: value - bound <= allowed


def certified(
    run: Run, rule: Target, res: Result, escapes: int = _MOST_ESCAPES, found: Certificate | None = None
) -> Result:
    """The result with its success proved, or taken back.

    A success that rests on the word of a rule for an unknown optimum is none before something certifies it: the lower
    bound, where the value has come to it, or else a dual vector. Where the optimum is known, only that counts. `found`
    is what the search for that vector said, where it was made already.
    """
    if not np.isfinite(res.value) or res.status not in CLAIMS:
        return res
    if rule.exact or run.proved(res.value):
        return _by_its_value(rule, res)
    taken_back = Status.UNCERTIFIED if res.status is Status.TARGET_REACHED else res.status
    certifiable = found is not None or _can_be_certified(run.evaluation)
    if not certifiable or not run.room:
        return replace(res, status=Status.CALL_LIMIT if certifiable else taken_back)
    budget = run.limits.calls - run.calls
    try:
        certificate = run.proof(lambda: certify(run.evaluation, res.state.best.x, float(rule.tol), budget, found))
    except HaltedError:
        return run.so_far(replace(res, status=run.halted_by()))
    status = Status.CERTIFIED if certificate.holds else taken_back
    bound = res.value if certificate.holds else res.bound
    told = run.so_far(replace(res, status=status, certificate=certificate, bound=bound))
    return _escaped(run, rule, told, escapes) if certificate.holds else told


def _by_its_value(rule: Target, res: Result) -> Result:
    """The result whose value alone tells what it is: beside a known optimum, or at the lower bound."""
    if not rule.exact:
        return replace(res, status=Status.TARGET_REACHED, bound=float(rule.stated()))
    # The end of the arithmetic above an optimum that is known.
    return replace(res, status=Status.STALLED) if res.status is Status.UNCERTIFIED else res


def _escaped(run: Run, rule: Target, res: Result, escapes: int) -> Result:
    """The result, or a better one from beside the bounds at which variables were stuck."""
    evaluation, x = run.evaluation, res.state.best.x
    dual = None if res.certificate is None else res.certificate.dual
    box = evaluation.problem.box
    try:
        beside = None if dual is None else escape(evaluation.runner, box, x, dual, res.value)
    except HaltedError:
        return res
    if beside is None:
        return res
    formed = evaluation.forms
    # The v of an l1 problem that was solved to its end is to be believed: what it says could be gained is no minimum.
    stands = replace(res, status=Status.UNCERTIFIED) if formed else res
    if not escapes or not run.room:
        return stands
    # To the least value of the linearised problems where that can be had: other steps may end above where they began.
    further = run.through(((LeastAbsolute() if formed else run.method or Graduated(), rule),), beside)
    lower = further.value < res.value * (1 - _LOWER)
    return certified(run, rule, further, escapes - 1) if lower else run.so_far(stands)


def _can_be_certified(evaluation: Evaluation) -> bool:
    penalty = evaluation.problem.penalty
    return penalty.has(RESIDUALS) or (penalty.has(TILT) and evaluation.small)


def least_value(run: Run, rule: Target, res: Result) -> Result:
    """The minimiser of the value itself, which graduated steps only come near; for Jacobians that are formed.

    Where it cannot be certified the first end stands, at whatever lower value was found.
    """
    if rule.exact or res.status not in {Status.NOISE, *UNPROVEN} or not run.room:
        return res
    if not (run.problem.penalty.has(RESIDUALS) and run.evaluation.forms):
        return res
    least = run.through(((LeastAbsolute(), rule),), res.state.best.x)
    found = certified(run, rule, no_worse(least, res))
    return found if found.success or found.status in STOPPED else replace(found, status=res.status)


def finish(run: Run, rule: Target, res: Result, polish: bool, seen: Seen | None = None) -> Result:
    """The result with everything that can be said about its residuals; `seen` are those, where they are at hand."""
    if not run.problem.penalty.has(RESIDUALS) or not np.isfinite(res.value):
        return res
    if polish and res.status not in STOPPED and run.room:
        res = _polished(run, rule, res)
    at_hand = seen is not None and seen[0] is res.x
    try:
        r, b = seen[1:] if seen is not None and at_hand else residuals_and_data(run, res)
    except HaltedError:
        return res
    res = replace(res, measurements=b.size)
    exact = corrupted(r, b)
    if res.status is not Status.NOISE and exact is not None:
        return replace(res, outliers=places(run.given, exact))
    if res.status not in (Status.NOISE, Status.CERTIFIED):
        return res
    sigma = noise_scale(r, trees.size(res.x))
    uncertainty = Uncertainty(run.given, res.x, sigma)
    outliers = places(run.given, np.flatnonzero(np.abs(r) > TUKEY * sigma))
    return replace(res, noise=sigma, uncertainty=uncertainty, outliers=outliers)


def residuals_and_data(run: Run, res: Result) -> tuple[np.ndarray, np.ndarray]:
    """b − A(c(x)) and b, flat."""
    point = res.state.point if res.efficient else res.state.best
    return run.evaluation.residuals(point.x), run.evaluation.data


def _polished(run: Run, rule: Target, res: Result) -> Result:
    """The result after graduated steps to their end; in noise that is the efficient estimate, whatever its value."""
    begun = run.calls
    if not isinstance(run.method, Graduated):
        # The optimum itself, with no tolerance: only the end of the arithmetic is to stop this.
        goal = Known(float(rule.stated()), tol=0.0)
        better = run.through(((Graduated(), goal),), res.state.best.x)
        better = certified(run, rule, better)
        kept = better if is_lower(better.value, res.value) or better.status is Status.NOISE else res
        status = res.status if res.success else better.status
        res = run.so_far(replace(kept, status=status, polish_calls=run.calls - begun))
    if res.status is Status.NOISE:
        # The point of the last width, not the one of the smallest value.
        point = res.state.point
        return replace(res, x=run.convert(point.x), value=float(point.value), efficient=True)
    return res


def noise_scale(r: np.ndarray, variables: int) -> float:
    """σ̂ of the residuals that are not outliers, by medians, allowing for the variables that were fitted to them."""
    size = np.abs(r.ravel())
    first = MAD * float(np.median(size))
    freedom = (1 - min(variables / max(size.size, 1), 0.5)) ** -0.5
    return freedom * MAD * float(np.median(size[size <= TUKEY * first]))


def typical_of_each(b: np.ndarray) -> np.ndarray:
    """The size of a typical datum of each row."""
    middle = np.median(np.abs(b), axis=1) if b.shape[1] else np.zeros(len(b))
    return np.array([size if size > 0 else _typical(row) for size, row in zip(middle, b, strict=True)])


def _typical(b: np.ndarray) -> float:
    size = np.abs(b)
    nonzero = size[size > 0]
    return float(np.median(size) or (np.median(nonzero) if nonzero.size else 1.0)) if size.size else 1.0
