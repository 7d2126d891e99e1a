"""Why a solve stopped, and what to do about it."""

from __future__ import annotations

import enum


class Status(enum.IntEnum):
    """Why a solve stopped. Each member carries the sentence a person needs next, in `advice`."""

    RUNNING = 0
    """The solve has not ended: what a callback sees."""
    TARGET_REACHED = 1
    """The gap to a known optimum, or to the lower bound itself, is within `tol`."""
    CALL_LIMIT = 2
    """The limit on oracle calls came first."""
    TIME_LIMIT = 3
    """The limit on seconds came first."""
    STALLED = 4
    """The arithmetic cannot resolve a smaller gap."""
    CRITICAL_POINT = 5
    """A zero subgradient above the target."""
    NON_FINITE = 6
    """The model left its domain: a value or a subgradient is no number."""
    DIVERGED = 7
    """The values ran away."""
    LINEAR_SOLVE_FAILED = 8
    """The inner system has no usable solution."""
    BELOW_TARGET = 9
    """The target or bound that was given is refuted by a smaller value."""
    INTERRUPTED = 10
    """Ctrl-C ended the solve, or SIGTERM one that has a checkpoint."""
    STOPPED_BY_CALLBACK = 11
    """The callback ended the solve."""
    NOT_SHARP = 12
    """Under the level rule alone: the value levels off, by noise or a rank too small."""
    CERTIFIED = 13
    """A dual vector shows that nothing can be gained to first order."""
    UNCERTIFIED = 14
    """The end was reached, and nothing certifies it."""
    NOISE = 15
    """The good residuals stopped falling together: what is left of them is noise."""
    HANDED_ON = 16
    """One method has ended and another goes on: what a callback may see."""
    PEER_LOST = 17
    """Another process of the solve died or left it."""

    @property
    def success(self) -> bool:
        """Whether what was asked for was reached."""
        return self in (Status.TARGET_REACHED, Status.CERTIFIED)

    @property
    def advice(self) -> str:
        """What happened and what to do about it."""
        return _ADVICE[self]


_ADVICE = {
    Status.RUNNING: "Still running.",
    Status.TARGET_REACHED: "The gap is within the tolerance asked for.",
    Status.CERTIFIED: (
        "A minimum to first order: no small step lowers the value, says the certificate, whose figures are in "
        "res.certificate."
    ),
    Status.UNCERTIFIED: (
        "The solve came to its end, but nothing certifies the point as a minimum: res.certificate says what is "
        "missing. Start elsewhere, or take more measurements; if you know the optimal value, pass it as target."
    ),
    Status.NOISE: (
        "The residuals of the good data stopped falling together: what is left is noise. The point is a robust fit; "
        "polish=True gives the efficient estimate, res.noise its scale."
    ),
    Status.HANDED_ON: "The opening is over, and another method goes on from here.",
    Status.CALL_LIMIT: (
        "The call limit came first. If the gap was still falling, raise max_calls (or inner and outer); if it had "
        "levelled off, the target may lie below the true optimum: pass it as lower_bound instead."
    ),
    Status.TIME_LIMIT: "The time limit came first. Raise max_seconds, or go on with resume=res.",
    Status.STALLED: (
        "The arithmetic cannot resolve a smaller gap, or no step finds one. Loosen tol, or use float64 data if these "
        "are float32."
    ),
    Status.CRITICAL_POINT: (
        "The subgradient is zero above the target, so no step leaves this point. Start elsewhere; if the problem is "
        "convex in x, this is its minimum and the target was too low."
    ),
    Status.NON_FINITE: (
        "The value or subgradient became NaN or infinite; the best point before that is returned. Start closer, or "
        "keep the model inside its domain."
    ),
    Status.DIVERGED: (
        "The values grew beyond all bounds. The start is too far from a solution for these steps: start closer, use "
        "method=GNP(fraction=0.5), or check that the target is not far too low."
    ),
    Status.LINEAR_SOLVE_FAILED: (
        "The inner linear system was not solved to a usable residual. GNP ends here at once, where method='auto' damps "
        "the system first; if that failed too, raise max_inner. For ScaledSM the factor X has lost rank."
    ),
    Status.BELOW_TARGET: (
        "A value below the stated target or lower bound was found, so that number is not the optimum or a bound on "
        "it. Give a smaller one."
    ),
    Status.NOT_SHARP: (
        "The value has levelled off without coming to a sharp minimum, as it does when all data carry noise and not "
        "only some of them, or when the rank is too small to fit them. The point is a robust fit all the same; its "
        "value can fall by a small fraction at most."
    ),
    Status.INTERRUPTED: "Interrupted by Ctrl-C or SIGTERM; the best point so far is returned. Go on with resume=res.",
    Status.PEER_LOST: (
        "Another process that holds a part of the problem is gone, and no step can be made without it; the best point "
        "so far is returned. Save it and leave; then start all processes again: with checkpoint= the solve goes on."
    ),
    Status.STOPPED_BY_CALLBACK: "The callback raised StopIteration; the best point so far is returned.",
}

# Sets of ends that several modules ask for.
STOPPED = frozenset(
    {
        Status.INTERRUPTED,
        Status.TIME_LIMIT,
        Status.STOPPED_BY_CALLBACK,
        Status.CALL_LIMIT,
        Status.PEER_LOST,
    }
)
"""Ends that came from outside the method: no more work is wanted."""
PAUSED = STOPPED - {Status.PEER_LOST} | {Status.RUNNING}
"""Ends after which the stage itself could go on."""
FINAL = STOPPED - {Status.PEER_LOST} | {Status.TARGET_REACHED, Status.BELOW_TARGET}
"""Ends after which no other method is to go on."""
CLAIMS = frozenset({Status.TARGET_REACHED, Status.UNCERTIFIED, Status.STALLED, Status.NOT_SHARP})
"""Ends that a certificate can turn into a success."""
UNPROVEN = frozenset({Status.UNCERTIFIED, Status.STALLED})
"""Ends of a method that came to rest without a proof."""
