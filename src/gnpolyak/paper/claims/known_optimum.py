"""Claims about runs with a known optimal value: conditioning, order and rank."""

from __future__ import annotations

from gnpolyak.paper.claims.judgement import FAILS, HOLDS, Judgement, by_cases, listed, names, span
from gnpolyak.paper.evidence import Evidence, Panel, exponent


def polyak_slows_down(evidence: Evidence) -> Judgement:
    panel = evidence.panel("conditioning")
    power = exponent(panel.values, [panel.calls("Polyak", kappa) for kappa in panel.values])
    return Judgement(
        f"Polyak's calls to an error of 1e-8 at κ = {names(panel.values)}: {listed(panel, 'Polyak')}. Where they end, "
        f"they grow like κ^{power:.2f}.",
        HOLDS if power >= 1.5 else FAILS,
        "A rate of (L_f/μ_f)² with L_f/μ_f ~ κ predicts an exponent of 2 for large κ; small κ lie below it.",
    )


def gnp_does_not_notice(evidence: Evidence) -> Judgement:
    panel = evidence.panel("conditioning")
    calls = [panel.calls("GNP", kappa) for kappa in panel.values]
    spread = max(calls) / min(calls) - 1
    return Judgement(
        f"GNP's calls to 1e-8 at κ = {names(panel.values)}: {listed(panel, 'GNP')}, which differ by {spread:.0%} at "
        "most.",
        HOLDS if spread < 0.15 else FAILS,
        "The metric JᵀJ undoes the conditioning of the map, and what is left depends on the penalty alone.",
    )


def gnp_is_faster_than_polyak(evidence: Evidence) -> Judgement:
    panel = evidence.panel("conditioning")
    gains = {kappa: panel.advantage("GNP", "Polyak", kappa, relative=False) for kappa in panel.values}
    text = ", ".join(f"{'> ' * open_}{seconds:,.3g}" for _, seconds, open_ in gains.values())
    verdict, slower = by_cases({f"κ = {kappa:g}": seconds > 1 for kappa, (_, seconds, _) in gains.items()})
    return Judgement(
        f"Polyak's seconds to 1e-8 over GNP's at κ = {names(panel.values)}: {text}.",
        verdict,
        f"Not at {slower}.{_hurried(panel)}"
        if slower
        else "A closed-form direction makes an iteration of GNP cost about what one of Polyak's does.",
    )


def comparable_to_scaledsm(evidence: Evidence) -> Judgement:
    panel = evidence.panel("scaledsm")
    pace = {kappa: panel.pace("GNP", kappa) / panel.pace("ScaledSM", kappa) for kappa in panel.values}
    cases = {f"calls at κ = {k:g}": panel.calls("GNP", k) <= panel.calls("ScaledSM", k) for k in panel.values}
    cases |= {f"time a call at κ = {kappa:g}": ratio <= 1.3 for kappa, ratio in pace.items()}
    verdict, worse = by_cases(cases)
    return Judgement(
        f"Calls to 1e-8 at κ = {names(panel.values)}: GNP {listed(panel, 'GNP')}; ScaledSM "
        f"{listed(panel, 'ScaledSM')}. A call of GNP takes {span(list(pace.values()))} times as long.",
        verdict,
        f"GNP is behind in {worse}.{_hurried(panel)}"
        if worse
        else "At every κ GNP needs no more calls than ScaledSM, and at most 1.3 times its time for one.",
    )


def both_beat_polyak(evidence: Evidence) -> Judgement:
    slow, scaled = evidence.panel("conditioning"), evidence.panel("scaledsm")
    factors = {}
    for kappa in slow.values:
        theirs = min(slow.calls("Polyak", kappa), slow.spent("Polyak", kappa)[0])
        factors[kappa] = theirs / max(slow.calls("GNP", kappa), scaled.calls("ScaledSM", kappa))
    beyond = {kappa: factor for kappa, factor in factors.items() if kappa > 1}
    verdict, little = by_cases({f"κ = {kappa:g}": factor > 2 for kappa, factor in beyond.items()})
    return Judgement(
        "Polyak's calls to 1e-8 (or when it was stopped) over those of the slower of the two: "
        + ", ".join(f"{factor:,.3g} at κ = {kappa:g}" for kappa, factor in factors.items())
        + ".",
        verdict,
        f"Less than twice at {little}." if little else "At least twice as many at every κ > 1, and ever more.",
    )


def order(evidence: Evidence) -> Judgement:
    top, bottom = evidence.panel("order", "top"), evidence.panel("order", "bottom")
    verdict, behind = by_cases(_ahead(top, "n", " with κ = 1") | _ahead(bottom, "n", " with κ = 3"))
    return Judgement(
        f"To 1e-8 of the first error Polyak needs, at n = {names(top.values)}: {_gains(top)} with κ = 1; "
        f"{_gains(bottom)} with κ = 3.",
        verdict,
        f"GNP is not ahead in {behind}.{_hurried(top)}" if behind else "In every case, calls and seconds.",
    )


def order_and_conditioning(evidence: Evidence) -> Judgement:
    top, bottom = evidence.panel("order", "top"), evidence.panel("order", "bottom")
    gains = {n: [panel.advantage("GNP", "Polyak", n, True)[0] for panel in (top, bottom)] for n in top.values}
    text = ", ".join(f"{well:.3g} and {ill:,.3g} at n = {n:g}" for n, (well, ill) in gains.items())
    verdict, smaller = by_cases({f"n = {n:g}": ill > well for n, (well, ill) in gains.items()})
    return Judgement(
        f"Polyak's calls over GNP's with κ = 1 and with κ = 3: {text} (lower bounds where Polyak was stopped).",
        verdict,
        f"Not at {smaller}." if smaller else "At every order. The two settings differ in d as well as in κ.",
    )


def rank(evidence: Evidence) -> Judgement:
    panel = evidence.panel("rank")
    verdict, behind = by_cases(_ahead(panel, "r"))
    own = listed(panel, "GNP", relative=True)
    return Judgement(
        f"To 1e-8 of the first error Polyak needs, at r = {names(panel.values)}: {_gains(panel)}.",
        verdict,
        (f"GNP is not ahead in {behind}.{_hurried(panel)} " if behind else "")
        + f"GNP's own calls grow with the rank: {own}.",
    )


def _hurried(panel: Panel) -> str:
    """A warning where the fastest run took so little time that its measurement means little."""
    shortest = min(panel.spent("GNP", value)[1] for value in panel.values)
    return f" (Runs as short as {shortest:.2g} s say little about time.)" if shortest < 0.1 else ""


def _gains(panel: Panel) -> str:
    gains = [panel.advantage("GNP", "Polyak", value, relative=True) for value in panel.values]
    calls = ", ".join(f"{'> ' * open_}{calls:,.3g}" for calls, _, open_ in gains)
    seconds = ", ".join(f"{'> ' * open_}{seconds:,.3g}" for _, seconds, open_ in gains)
    return f"{calls} times the calls and {seconds} times the seconds"


def _ahead(panel: Panel, symbol: str, where: str = "") -> dict[str, bool]:
    """Whether GNP is ahead of Polyak, in calls and in seconds at each value."""
    cases: dict[str, bool] = {}
    for value in panel.values:
        calls, seconds, _ = panel.advantage("GNP", "Polyak", value, relative=True)
        cases |= {f"calls at {symbol} = {value:g}{where}": calls > 1}
        cases |= {f"seconds at {symbol} = {value:g}{where}": seconds > 1}
    return cases
