"""run(curve) → rows: one solve, timed without compilation, by the library's only loop."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import jax
import numpy as np

import gnpolyak as gnp
from gnpolyak.base.environment import commit, processor, versions
from gnpolyak.paper.authors import remembering
from gnpolyak.paper.rows import IDENTITY, Trace, identity, recorded
from gnpolyak.paper.specs import Contender, Curve, Setting

_WARM_UP = 3
_latest: dict[tuple[Setting, int], gnp.instances.Instance] = {}


def run(curve: Curve, jobs: int = 1, watch: Callable[[gnp.Result], Any] | None = None) -> Trace:
    """Solve and record; Ctrl-C raises KeyboardInterrupt, so that half a curve is never taken for a whole one.

    Parameters
    ----------
    curve : Curve
    jobs : int
        How many such runs share the machine; recorded, as their times then depend on each other.
    watch : callable, optional
        Called with the result so far, between compiled chunks; the clock stands still meanwhile.
    """
    case = _instance(curve.setting, curve.seed)
    # Untimed: the first calls on new data and new code pay for more than themselves.
    _solve(replace(curve, max_calls=_WARM_UP), case, None)
    res = _solve(curve, case, watch)
    gap, best = res.history.gap(case.target), res.history.best - case.target
    kept = recorded(gap, best)
    facts = dict(zip(IDENTITY, identity(curve), strict=True)) | _provenance(case, res, jobs)
    return Trace(facts, kept + 1, res.history.seconds[kept], gap[kept], best[kept])


def _instance(setting: Setting, seed: int) -> gnp.instances.Instance:
    """The instance, kept for the next curve on it; the one before it is dropped first: it may fill gigabytes."""
    if (setting, seed) not in _latest:
        _latest.clear()
        _latest[setting, seed] = gnp.instances.tensor_sensing(**vars(setting), seed=seed)
    return _latest[setting, seed]


def _solve(curve: Curve, case: gnp.instances.Instance, watch: Callable[[gnp.Result], Any] | None) -> gnp.Result:
    contender = curve.contender
    problem, x0, method = case.problem, case.x0, _method(contender)
    if contender.method == "gnp-authors":
        problem, x0, method = remembering(problem, x0, contender.fraction)
    return uninterrupted(
        gnp.minimize(
            problem,
            x0,
            method,
            **_rule(contender, case.target),
            tol=contender.tol,
            max_calls=curve.max_calls,
            max_seconds=curve.max_seconds,
            callback=watch,
        )
    )


def uninterrupted(res: gnp.Result) -> gnp.Result:
    """The result, unless Ctrl-C ended it: half a measurement must not be taken for a whole one."""
    if res.status is gnp.Status.INTERRUPTED:
        raise KeyboardInterrupt
    return res


def _method(contender: Contender) -> Any:
    named = {"gnp": gnp.GNP, "gnp-authors": gnp.GNP, "scaledsm": gnp.ScaledSM, "polyak": gnp.Polyak, "auto": gnp.Auto}
    return named[contender.method](fraction=contender.fraction)


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


def machine() -> dict[str, str]:
    """Where and with what a solve runs, now."""
    return {
        "device": ", ".join(sorted({device.device_kind for device in jax.devices()})),
        "processor": processor(),
        "cores": str(os.cpu_count()),
        "oracle": gnp.native.describe()["oracle"],
        "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        "commit": commit() or "unknown",
        "date": datetime.now(UTC).date().isoformat(),
    }
