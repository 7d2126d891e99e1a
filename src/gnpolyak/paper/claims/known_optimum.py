"""Claims about runs with a known optimal value: conditioning, order and rank."""

from __future__ import annotations

from gnpolyak.paper.claims.judgement import FAILS, HOLDS, Judgement, by_cases, listed, names, span, states
from gnpolyak.paper.evidence import Evidence, Runs, exponent


@states("Polyak slows down as the condition number of X⋆ grows.", "Introduction, Figure 1")
def polyak_slows_down(evidence: Evidence) -> Judgement:
    runs = evidence.runs("conditioning")
    power = exponent(runs.values, [runs.calls("Polyak", kappa) for kappa in runs.values])
    return Judgement(
        f"Polyak's calls to an error of 1e-8 at κ = {names(runs.values)}: {listed(runs, 'Polyak')}. Where they end, "
        f"they grow like κ^{power:.2f}.",
        HOLDS if power >= 1.5 else FAILS,
        "A rate of (L_f/μ_f)² with L_f/μ_f ~ κ predicts an exponent of 2 for large κ; small κ lie below it.",
    )


@states("GNP's performance does not depend on the conditioning of X⋆.", "Introduction, Figure 1")
def gnp_does_not_notice(evidence: Evidence) -> Judgement:
    runs = evidence.runs("conditioning")
    calls = [runs.calls("GNP", kappa) for kappa in runs.values]
    spread = max(calls) / min(calls) - 1
    return Judgement(
        f"GNP's calls to 1e-8 at κ = {names(runs.values)}: {listed(runs, 'GNP')}, which differ by {spread:.0%} at "
        "most.",
        HOLDS if spread < 0.15 else FAILS,
        "The metric JᵀJ undoes the conditioning of the map, and what is left depends on the penalty alone.",
    )


@states("GNP outperforms Polyak in time too.", "Introduction, Figure 1")
def gnp_is_faster_than_polyak(evidence: Evidence) -> Judgement:
    runs = evidence.runs("conditioning")
    gains = {kappa: runs.advantage("GNP", "Polyak", kappa, relative=False) for kappa in runs.values}
    text = ", ".join(f"{'> ' * open_}{seconds:,.3g}" for _, seconds, open_ in gains.values())
    return by_cases(
        f"Polyak's seconds to 1e-8 over GNP's at κ = {names(runs.values)}: {text}.",
        {f"κ = {kappa:g}": seconds > 1 for kappa, (_, seconds, _) in gains.items()},
        fails="Not at {}." + _hurried(runs),
        holds="A closed-form direction makes an iteration of GNP cost about what one of Polyak's does.",
    )


@states("GNP compares with ScaledSM in oracle calls and in time.", "Section 5.2, Figure 2")
def comparable_to_scaledsm(evidence: Evidence) -> Judgement:
    runs = evidence.runs("scaledsm")
    pace = {kappa: runs.pace("GNP", kappa) / runs.pace("ScaledSM", kappa) for kappa in runs.values}
    cases = {f"calls at κ = {k:g}": runs.calls("GNP", k) <= runs.calls("ScaledSM", k) for k in runs.values}
    return by_cases(
        f"Calls to 1e-8 at κ = {names(runs.values)}: GNP {listed(runs, 'GNP')}; ScaledSM "
        f"{listed(runs, 'ScaledSM')}. A call of GNP takes {span(list(pace.values()))} times as long.",
        cases | {f"time a call at κ = {kappa:g}": ratio <= 1.3 for kappa, ratio in pace.items()},
        fails="GNP is behind in {}." + _hurried(runs),
        holds="At every κ GNP needs no more calls than ScaledSM, and at most 1.3 times its time for one.",
    )


@states("GNP and ScaledSM both outperform Polyak dramatically when κ > 1.", "Section 5.2")
def both_beat_polyak(evidence: Evidence) -> Judgement:
    slow, scaled = evidence.runs("conditioning"), evidence.runs("scaledsm")
    factors = {}
    for kappa in slow.values:
        theirs = min(slow.calls("Polyak", kappa), slow.spent("Polyak", kappa)[0])
        factors[kappa] = theirs / max(slow.calls("GNP", kappa), scaled.calls("ScaledSM", kappa))
    text = ", ".join(f"{factor:,.3g} at κ = {kappa:g}" for kappa, factor in factors.items())
    return by_cases(
        f"Polyak's calls to 1e-8 (or when it was stopped) over those of the slower of the two: {text}.",
        {f"κ = {kappa:g}": factor > 2 for kappa, factor in factors.items() if kappa > 1},
        fails="Less than twice at {}.",
        holds="At least twice as many at every κ > 1, and ever more.",
    )


@states("GNP outperforms Polyak at every order n, with κ = 1 and with κ = 3.", "Section 5.3, Figure 3")
def order(evidence: Evidence) -> Judgement:
    top, bottom = evidence.runs("order", "top"), evidence.runs("order", "bottom")
    return by_cases(
        f"To 1e-8 of the first error Polyak needs, at n = {names(top.values)}: {_gains(top)} with κ = 1; "
        f"{_gains(bottom)} with κ = 3.",
        _ahead(top, "n", " with κ = 1") | _ahead(bottom, "n", " with κ = 3"),
        fails="GNP is not ahead in {}." + _hurried(top),
        holds="In every case, calls and seconds.",
    )


@states("Its advantage is larger when κ > 1.", "Section 5.3, Figure 3")
def order_and_conditioning(evidence: Evidence) -> Judgement:
    both = evidence.runs("order", "top"), evidence.runs("order", "bottom")
    gains = {n: [runs.advantage("GNP", "Polyak", n, True)[0] for runs in both] for n in both[0].values}
    text = ", ".join(f"{well:.3g} and {ill:,.3g} at n = {n:g}" for n, (well, ill) in gains.items())
    return by_cases(
        f"Polyak's calls over GNP's with κ = 1 and with κ = 3: {text} (lower bounds where Polyak was stopped).",
        {f"n = {n:g}": ill > well for n, (well, ill) in gains.items()},
        holds="At every order. The two settings differ in d as well as in κ.",
    )


@states("GNP outperforms Polyak at every rank, in calls and in time.", "Section 5.5, Figure 5")
def rank(evidence: Evidence) -> Judgement:
    runs = evidence.runs("rank")
    return by_cases(
        f"To 1e-8 of the first error Polyak needs, at r = {names(runs.values)}: {_gains(runs)}.",
        _ahead(runs, "r"),
        fails="GNP is not ahead in {}." + _hurried(runs),
        always=f"GNP's own calls grow with the rank: {listed(runs, 'GNP', relative=True)}.",
    )


def _hurried(runs: Runs) -> str:
    """A warning where the fastest run took so little time that its measurement means little."""
    shortest = min(runs.spent("GNP", value)[1] for value in runs.values)
    return f" (Runs as short as {shortest:.2g} s say little about time.)" if shortest < 0.1 else ""


def _gains(runs: Runs) -> str:
    gains = [runs.advantage("GNP", "Polyak", value, relative=True) for value in runs.values]
    calls = ", ".join(f"{'> ' * open_}{calls:,.3g}" for calls, _, open_ in gains)
    seconds = ", ".join(f"{'> ' * open_}{seconds:,.3g}" for _, seconds, open_ in gains)
    return f"{calls} times the calls and {seconds} times the seconds"


def _ahead(runs: Runs, symbol: str, where: str = "") -> dict[str, bool]:
    """Whether GNP is ahead of Polyak, in calls and in seconds at each value."""
    cases: dict[str, bool] = {}
    for value in runs.values:
        calls, seconds, _ = runs.advantage("GNP", "Polyak", value, relative=True)
        cases |= {f"calls at {symbol} = {value:g}{where}": calls > 1}
        cases |= {f"seconds at {symbol} = {value:g}{where}": seconds > 1}
    return cases
