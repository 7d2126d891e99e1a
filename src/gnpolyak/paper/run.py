"""run(curve) → rows: one solve by the library's only driver, timed after another has warmed up what it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

import gnpolyak as gnp
from gnpolyak.paper.authors import WarmStartedGNP
from gnpolyak.paper.provenance import machine
from gnpolyak.paper.rows import IDENTITY, Trace, identity, recorded
from gnpolyak.paper.specs import Contender, Curve, Setting

_WARM_UP = 3


class LevelMethod(gnp.Auto):
    """The opening of the default method, followed to its end: the curve of the level rule."""

    over_xp: ClassVar[bool] = True

    def stages(self, problem: gnp.Composite, target: gnp.Target, forms: bool) -> Any:
        return ((self, target),)

    def fallback(self, problem: gnp.Composite, target: gnp.Target, forms: bool, status: gnp.Status) -> Any:
        return ()


_METHODS: dict[str, Any] = {
    "gnp": gnp.GNP,
    "gnp-authors": WarmStartedGNP,
    "scaledsm": gnp.ScaledSM,
    "polyak": gnp.Polyak,
    "auto": LevelMethod,
}
_latest: dict[tuple[Setting, int], gnp.instances.Instance] = {}


def run(curve: Curve, jobs: int = 1, watch: Callable[[gnp.Result], Any] | None = None) -> Trace:
    """Solve and record; Ctrl-C raises KeyboardInterrupt, so that half a curve is never taken for a whole one.

    Parameters
    ----------
    curve : Curve
    jobs : int
        How many such runs share the machine; recorded, as their times then depend on each other.
    watch : callable, optional
        Called with the result so far, some ten times a second; what it takes is part of the time.
    """
    case = _instance(curve.setting, curve.seed)
    # Not timed: it compiles what is compiled, and brings the data into the caches.
    _solve(replace(curve, max_calls=_WARM_UP), case, None)
    res = _solve(curve, case, watch)
    gap, best = res.history.gap(case.target), res.history.best - case.target
    kept = recorded(gap, best)
    facts = dict(zip(IDENTITY, identity(curve), strict=True)) | _provenance(case, res, jobs)
    return Trace(facts, kept + 1, res.history.seconds[kept], gap[kept], best[kept])


def solved(*arguments: Any, **options: Any) -> gnp.Result:
    """`gnpolyak.minimize`, in which Ctrl-C raises: half a measurement must not be taken for a whole one."""
    res = gnp.minimize(*arguments, **options)
    if res.status is gnp.Status.INTERRUPTED:
        raise KeyboardInterrupt
    return res


def _instance(setting: Setting, seed: int) -> gnp.instances.Instance:
    """The instance, kept for the next curve on it; the one before it is dropped first: it may fill gigabytes."""
    if (setting, seed) not in _latest:
        _latest.clear()
        _latest[setting, seed] = gnp.instances.tensor_sensing(**vars(setting), seed=seed)
    return _latest[setting, seed]


def _solve(curve: Curve, case: gnp.instances.Instance, watch: Callable[[gnp.Result], Any] | None) -> gnp.Result:
    contender = curve.contender
    return solved(
        case.problem,
        case.x0,
        _METHODS[contender.method](fraction=contender.fraction),
        **_rule(contender, case.target),
        tol=contender.tol,
        max_calls=curve.max_calls,
        max_seconds=curve.max_seconds,
        callback=watch,
    )


def _rule(contender: Contender, target: float) -> dict[str, Any]:
    if contender.strategy is None:
        return {"target": target}
    rule = {"lower_bound": 0.0, "strategy": contender.strategy}
    return rule | ({"inner": contender.inner, "outer": contender.outer} if contender.strategy == "restart" else {})


def _provenance(case: gnp.instances.Instance, res: gnp.Result, jobs: int) -> dict[str, str]:
    return {
        "target": f"{case.target:.17g}",
        "status": res.status.name.lower(),
        "dtype": str(np.asarray(case.x0).dtype),
        **machine(),
        "jobs": str(jobs),
    }
