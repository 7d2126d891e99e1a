"""Rows for a problem class: the library from the data alone, and the peers of the class."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import gnpolyak as gnp
from gnpolyak.bench.clock import interleaved
from gnpolyak.bench.peers import SkipError
from gnpolyak.bench.rows import OURS, Row, timing
from gnpolyak.bench.specs import Contest
from gnpolyak.bench.zoo.contests import CONTESTS, NEAR, OTHERS, TOLD, Peer
from gnpolyak.bench.zoo.sensing import spectral
from gnpolyak.bench.zoo.watch import REACHED, Watch, watched

MEASURE = f"time to a recovery error of {REACHED:g}"
OURS_TOLD = f"{OURS}, told h*"
_SIGNS = {"kappa": "κ", "p_fail": "p_fail"}
_HIDDEN = {"seed", "radius", "corruption", "dtype"}


def contest(spec: Contest) -> list[Row]:
    """Time to the truth, for the library and for the peers of a class."""
    case = gnp.instances.INSTANCES[spec.name](**dict(spec.settings))
    ends: dict[str, Watch] = {}
    reasons: dict[str, str] = {}
    peers = CONTESTS.get(spec.name, OTHERS)
    entered = _ours(case, ends, told=not TOLD.isdisjoint(peers))
    # Each runs once before the rounds: who does not reach the truth has nothing to be timed, and is not run again.
    for name, measure in list(entered.items()):
        measure()
        if not ends[name].reached:
            del entered[name]
    for name, peer in peers.items():
        try:
            theirs = _theirs(name, peer, case, spec.most, ends)
        except SkipError as reason:
            reasons[name] = str(reason)
        else:
            entered |= {name: theirs} if ends[name].reached else {}
    return _rows(case, spec, ends, reasons, entered)


def _rows(
    case: gnp.instances.Instance,
    spec: Contest,
    ends: Mapping[str, Watch],
    reasons: Mapping[str, str],
    entered: Mapping[str, Callable[[], float]],
) -> list[Row]:
    samples = interleaved(entered, spec.rounds)
    measure, label = f"{spec.name}: {MEASURE}", described(case)
    base = (OURS, samples[OURS]) if OURS in samples else None
    rows = []
    for name, end in ends.items():
        row = Row(measure, label, name, "ms")
        if name in samples:
            row = timing(measure, label, name, samples[name], base)
        rows.append(replace(row, error=_least(end), note=_note(end, name in NEAR or (name == OURS and _begun(case)))))
    skipped = [Row(measure, label, name, "ms", note=f"skipped: {reason}") for name, reason in reasons.items()]
    return rows + skipped


def described(case: gnp.instances.Instance) -> str:
    """The settings of an instance, in few words."""
    shown = {key: value for key, value in case.settings.items() if key not in _HIDDEN}
    return " ".join(f"{_SIGNS.get(key, key)}={_plain(value)}" for key, value in shown.items())


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return "×".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _least(end: Watch) -> float | None:
    return end.errors[-1] if end.errors and end.errors[-1] < float("inf") else None


def _note(end: Watch, near: bool) -> str:
    least = _least(end)
    found = "nothing finite" if least is None else f"error {least:.1e}"
    origin = "; from a start near the truth" if near else ""
    return f"{found}{origin}" if end.reached else f"never: {found} after {end.seconds:.1f} s{origin}"


def _ours(case: gnp.instances.Instance, ends: dict[str, Watch], *, told: bool) -> dict[str, Callable[[], float]]:
    """The library from the data alone; and told h*, from the start that its peers have, where they are told it too."""
    keywords: dict[str, Any] = {"x0": case.x0} if _begun(case) else {"rank": _rank(case)}
    calls = {OURS: lambda: gnp.minimize(case.problem, **keywords)}
    if told:
        calls[OURS_TOLD] = lambda: gnp.minimize(case.problem, spectral(case), target=case.target)
    return {name: _whole(name, call, case, ends) for name, call in calls.items()}


def _whole(
    name: str, call: Callable[[], gnp.Result], case: gnp.instances.Instance, ends: dict[str, Watch]
) -> Callable[[], float]:
    """A contestant that makes a whole call of `minimize`, with all that it does before and after its steps."""

    def measure() -> float:
        began = time.perf_counter()
        res = call()
        seconds = time.perf_counter() - began
        ends[name] = Watch(case.recovery_error, seconds=seconds, errors=[case.recovery_error(res.x)])
        return seconds

    return measure


def _begun(case: gnp.instances.Instance) -> bool:
    """Whether the problem is of a kind that has no start from the data: a model of the user's own."""
    return isinstance(case.problem.map, gnp.AutodiffMap)


def _rank(case: gnp.instances.Instance) -> Any:
    """The rank that the class says, or that the shape of its truth does."""
    if not isinstance(case.problem.map, (gnp.LowRank, gnp.SymmetricCP, gnp.CP, gnp.Tucker)):
        return case.settings.get("r", "auto")
    return case.settings.get("ranks", case.settings.get("r", 1))


def _theirs(
    name: str, peer: Peer, case: gnp.instances.Instance, most: float, ends: dict[str, Watch]
) -> Callable[[], float]:
    """A contestant that runs a peer with BLAS on one thread or on all, whichever is faster in a first run."""
    ends[name] = first = watched(peer, case, most)
    if first.reached:
        # Given up as soon as it is the slower one.
        one_thread = not watched(peer, case, first.seconds, one_thread=False).reached

    def measure() -> float:
        ends[name] = watched(peer, case, most, one_thread=one_thread)
        return ends[name].seconds

    return measure
