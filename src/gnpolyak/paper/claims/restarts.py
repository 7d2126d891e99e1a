"""Claims about runs that know only a lower bound on the optimal value."""

from __future__ import annotations

import numpy as np

from gnpolyak.diagnostics import Rate
from gnpolyak.paper.claims.judgement import Judgement, by_cases, count, names, span
from gnpolyak.paper.evidence import Evidence, Panel

_METHODS = ("RGNP", "RPolyak")


def both_reach(evidence: Evidence) -> Judgement:
    panel = evidence.panel("restarts")
    unknown = _unknown(panel)
    arrived = {method: [panel.arrived(method, value) for value in unknown] for method in _METHODS}
    cases = {
        f"{method} at {value:g}": there == of
        for method, found in arrived.items()
        for value, (there, of) in zip(unknown, found, strict=True)
    }
    told = {method: ", ".join(f"{there} of {of}" for there, of in found) for method, found in arrived.items()}
    ends = ", ".join(f"{panel.end('RPolyak', value):.0e}" for value in unknown)
    needed = span([Rate.restarts(panel.target(value), 1e-8) for value in unknown])
    outer = panel.loops("RPolyak")[1]
    # A sentence about both methods is true or false as a whole.
    verdict, _ = by_cases({"both": all(cases.values())})
    return Judgement(
        f"Seeds that reach 1e-8 at p_fail = {names(unknown)}: RGNP {told['RGNP']}, RPolyak {told['RPolyak']}, which "
        f"ends at {ends}.",
        verdict,
        "A restart at least halves the distance of the estimate from h*, and no more is certain: here Theorem 2 asks "
        f"for K = {needed} restarts for 1e-8, and RPolyak has {outer}. Where RGNP misses, T was too short "
        "for a restart, the estimate overtook h*, and no later one can go below it.",
    )


def gnp_restarts_better(evidence: Evidence) -> Judgement:
    panel = evidence.panel("restarts")
    pairs = {value: (panel.end("RGNP", value), panel.end("RPolyak", value)) for value in _unknown(panel)}
    verdict, worse = by_cases({f"p_fail = {value:g}": ours < theirs for value, (ours, theirs) in pairs.items()})
    text = ", ".join(f"{ours:.0e} and {theirs:.0e} at {value:g}" for value, (ours, theirs) in pairs.items())
    return Judgement(
        f"Errors at the end of RGNP and of RPolyak, by p_fail: {text}.",
        verdict,
        f"Not at {worse}." if worse else "At every p_fail > 0, by orders of magnitude.",
    )


def inner_loops_suffice(evidence: Evidence) -> Judgement:
    panel = evidence.panel("restarts")
    steps = {method: panel.loops(f"R{method}")[0] for method in ("GNP", "Polyak")}
    calls = {
        method: {
            value: evidence.finding("calls to 1e-8 with h* known", f"{method} p_fail={value:g}")
            for value in panel.values
        }
        for method in steps
    }
    verdict, short = by_cases(
        {f"{m} at p_fail = {value:g}": found <= steps[m] for m in steps for value, found in calls[m].items()}
    )
    told = "; ".join(f"{m} {', '.join(count(c) for c in calls[m].values())} (T = {steps[m]:,})" for m in steps)
    return Judgement(
        f"Calls to 1e-8 with h* known, at p_fail = {names(panel.values)}: {told}.",
        verdict,
        f"Too short for {short}." if short else "Within T at every p_fail.",
    )


def _unknown(panel: Panel) -> list[float]:
    """Where h₀ = 0 is not the optimal value itself."""
    return [value for value in panel.values if value > 0 and np.isfinite(value)]
