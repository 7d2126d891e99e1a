"""Claims about runs that know only a lower bound on the optimal value."""

from __future__ import annotations

import gnpolyak as gnp
from gnpolyak.paper.claims.judgement import FAILS, HOLDS, Judgement, by_cases, count, names, span, states
from gnpolyak.paper.evidence import Evidence, Runs
from gnpolyak.paper.findings import At
from gnpolyak.paper.rows import ERROR


@states("RGNP and RPolyak both reach an objective error of 1e-8.", "Section 5.4, Figure 4")
def both_reach(evidence: Evidence) -> Judgement:
    runs = evidence.runs("restarts")
    unknown = _unknown(runs)
    arrived = {method: [runs.arrived(method, value) for value in unknown] for method in ("RGNP", "RPolyak")}
    told = {method: ", ".join(f"{there} of {of}" for there, of in found) for method, found in arrived.items()}
    ends = ", ".join(f"{runs.end('RPolyak', value):.0e}" for value in unknown)
    needed = span([gnp.diagnostics.Rate.restarts(runs.target(value), ERROR) for value in unknown])
    outer = runs.loops("RPolyak")[1]
    # A sentence about both methods is true or false as a whole.
    both = all(there == of for found in arrived.values() for there, of in found)
    return Judgement(
        f"Seeds that reach 1e-8 at p_fail = {names(unknown)}: RGNP {told['RGNP']}, RPolyak {told['RPolyak']}, which "
        f"ends at {ends}.",
        HOLDS if both else FAILS,
        "A restart at least halves the distance of the estimate from h*, and no more is certain: here Theorem 2 asks "
        f"for K = {needed} restarts for 1e-8, and RPolyak has {outer}. Where RGNP misses, T was too short "
        "for a restart, the estimate overtook h*, and no later one can go below it.",
    )


@states("RGNP outperforms RPolyak.", "Section 5.4, Figure 4")
def gnp_restarts_better(evidence: Evidence) -> Judgement:
    runs = evidence.runs("restarts")
    pairs = {value: (runs.end("RGNP", value), runs.end("RPolyak", value)) for value in _unknown(runs)}
    text = ", ".join(f"{ours:.0e} and {theirs:.0e} at {value:g}" for value, (ours, theirs) in pairs.items())
    return by_cases(
        f"Errors at the end of RGNP and of RPolyak, by p_fail: {text}.",
        {f"p_fail = {value:g}": ours < theirs for value, (ours, theirs) in pairs.items()},
        holds="At every p_fail > 0, by orders of magnitude.",
    )


@states("The inner loops are long enough for GNP and Polyak without restarts to perform well.", "Section 5.4")
def inner_loops_suffice(evidence: Evidence) -> Judgement:
    runs = evidence.runs("restarts")
    steps = {method: runs.loops(f"R{method}")[0] for method in ("GNP", "Polyak")}
    calls = {method: _calls_without_restarts(evidence, method, runs.values) for method in steps}
    told = "; ".join(f"{m} {', '.join(count(c) for c in calls[m].values())} (T = {steps[m]:,})" for m in steps)
    return by_cases(
        f"Calls to 1e-8 with h* known, at p_fail = {names(runs.values)}: {told}.",
        {f"{m} at p_fail = {value:g}": found <= steps[m] for m in steps for value, found in calls[m].items()},
        fails="Too short for {}.",
        holds="Within T at every p_fail.",
    )


def _calls_without_restarts(evidence: Evidence, method: str, values: list[float]) -> dict[float, float]:
    return {value: evidence.finding("calls to 1e-8 with h* known", At(method, p_fail=value)) for value in values}


def _unknown(runs: Runs) -> list[float]:
    """Where h₀ = 0 is not the optimal value itself."""
    return [value for value in runs.values if value > 0]
