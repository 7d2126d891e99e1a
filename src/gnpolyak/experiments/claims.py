"""The paper's empirical claims, each judged by a function of the rows. No number here is typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gnpolyak.diagnostics import Rate
from gnpolyak.experiments.evidence import Evidence, MissingError, Panel, exponent
from gnpolyak.experiments.pictures import VERDICTS, Claim

HOLDS, CONDITION, FAILS, UNKNOWN = VERDICTS
_ERROR = 1e-8


@dataclass(frozen=True)
class Judgement:
    """What was measured, what follows, and why."""

    measured: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class Stated:
    """A claim in our words, and the function that judges it."""

    statement: str
    place: str
    judge: Callable[[Evidence], Judgement]


def judged(evidence: Evidence) -> list[Claim]:
    """Every claim with its verdict; one without rows says which command would bring them."""
    return [_judged(stated, evidence) for stated in CLAIMS]


def _judged(stated: Stated, evidence: Evidence) -> Claim:
    try:
        found = stated.judge(evidence)
    except MissingError as missing:
        found = Judgement("–", UNKNOWN, str(missing))
    return Claim(stated.statement, stated.place, found.measured, found.verdict, found.reason)


def _count(calls: float) -> str:
    return f"{calls:,.0f}" if np.isfinite(calls) else "never"


def _listed(panel: Panel, method: str, relative: bool = False) -> str:
    return ", ".join(_count(panel.calls(method, value, relative=relative)) for value in panel.values)


def _names(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _span(numbers: Sequence[float]) -> str:
    low, high = (f"{number:,.3g}" if number < 10 else f"{number:,.0f}" for number in (min(numbers), max(numbers)))
    return low if low == high else f"{low} to {high}"


# --- conditioning -----------------------------------------------------------------------------------------------------


def _polyak_slows_down(evidence: Evidence) -> Judgement:
    panel = evidence.panel("conditioning")
    kappas = panel.values
    calls = [panel.calls("Polyak", kappa) for kappa in kappas]
    power = exponent(kappas, calls)
    return Judgement(
        f"Polyak's calls to an error of 1e-8 at κ = {_names(kappas)}: {_listed(panel, 'Polyak')}. Where they end, they "
        f"grow like κ^{power:.2f}.",
        HOLDS if power >= 1.5 else FAILS,
        "A rate of (L_f/μ_f)² with L_f/μ_f ~ κ predicts an exponent of 2 for large κ; small κ lie below it.",
    )


def _gnp_does_not_notice(evidence: Evidence) -> Judgement:
    panel = evidence.panel("conditioning")
    calls = [panel.calls("GNP", kappa) for kappa in panel.values]
    spread = max(calls) / min(calls) - 1
    return Judgement(
        f"GNP's calls to 1e-8 at κ = {_names(panel.values)}: {_listed(panel, 'GNP')}, which differ by {spread:.0%} at "
        "most.",
        HOLDS if spread < 0.15 else FAILS,
        "The metric JᵀJ undoes the conditioning of the map, and what is left depends on the penalty alone.",
    )


def _gnp_is_faster_than_polyak(evidence: Evidence) -> Judgement:
    panel = evidence.panel("conditioning")
    gains = {kappa: panel.advantage("GNP", "Polyak", kappa, relative=False) for kappa in panel.values}
    text = ", ".join(f"{'> ' * open_}{seconds:,.3g}" for _, seconds, open_ in gains.values())
    slower = [kappa for kappa, (_, seconds, _) in gains.items() if seconds <= 1]
    return Judgement(
        f"Polyak's seconds to 1e-8 over GNP's at κ = {_names(panel.values)}: {text}.",
        HOLDS if not slower else CONDITION,
        "A closed-form direction makes an iteration of GNP cost about what one of Polyak's does."
        if not slower
        else f"Not at κ = {_names(slower)}, where both need about as many calls.",
    )


def _comparable_to_scaledsm(evidence: Evidence) -> Judgement:
    panel = evidence.panel("scaledsm")
    fewer = all(panel.calls("GNP", kappa) <= panel.calls("ScaledSM", kappa) for kappa in panel.values)
    pace = [panel.pace("GNP", kappa) / panel.pace("ScaledSM", kappa) for kappa in panel.values]
    return Judgement(
        f"Calls to 1e-8 at κ = {_names(panel.values)}: GNP {_listed(panel, 'GNP')}; ScaledSM "
        f"{_listed(panel, 'ScaledSM')}. A call of GNP takes {_span(pace)} times as long.",
        HOLDS if fewer and max(pace) <= 1.3 else CONDITION,
        ("GNP needs no more calls at any κ." if fewer else "ScaledSM needs fewer calls at some κ.")
        + ("" if max(pace) <= 1.3 else " Where an oracle call is very cheap, GNP's larger direction shows."),
    )


def _both_beat_polyak(evidence: Evidence) -> Judgement:
    slow, scaled = evidence.panel("conditioning"), evidence.panel("scaledsm")
    factors = {}
    for kappa in slow.values:
        theirs = slow.calls("Polyak", kappa)
        theirs = theirs if np.isfinite(theirs) else slow.spent("Polyak", kappa)[0]
        factors[kappa] = theirs / max(slow.calls("GNP", kappa), scaled.calls("ScaledSM", kappa))
    beyond = {kappa: factor for kappa, factor in factors.items() if kappa > 1}
    text = ", ".join(f"{factor:,.3g} at κ = {kappa:g}" for kappa, factor in beyond.items())
    return Judgement(
        f"Polyak's calls to 1e-8 over those of the slower of the two, at least: {text}.",
        HOLDS if min(beyond.values()) > 2 else CONDITION,
        f"At κ = 1 the factor is {factors[min(factors)]:.3g}: nothing to gain there, as the paper says.",
    )


# --- order and rank ---------------------------------------------------------------------------------------------------


def _beats_polyak(panel: Panel, symbol: str) -> tuple[str, str]:
    """By how much GNP is ahead, and where it is not."""
    gains = {value: panel.advantage("GNP", "Polyak", value, relative=True) for value in panel.values}
    calls = ", ".join(f"{'> ' * open_}{calls:,.3g}" for calls, _, open_ in gains.values())
    seconds = ", ".join(f"{'> ' * open_}{seconds:,.3g}" for _, seconds, open_ in gains.values())
    behind = [f"in calls at {symbol} = {value:g}" for value, (ratio, _, _) in gains.items() if ratio <= 1]
    behind += [f"in seconds at {symbol} = {value:g}" for value, (_, ratio, _) in gains.items() if ratio <= 1]
    return f"{calls} times the calls and {seconds} times the seconds", ", ".join(behind)


def _order(evidence: Evidence) -> Judgement:
    top, bottom = evidence.panel("order", "top"), evidence.panel("order", "bottom")
    (above, behind_above), (below, behind_below) = _beats_polyak(top, "n"), _beats_polyak(bottom, "n")
    behind = [f"{text} with κ = {kappa}" for text, kappa in ((behind_above, 1), (behind_below, 3)) if text]
    return Judgement(
        f"To 1e-8 of the first error Polyak needs, at n = {_names(top.values)}: with κ = 1 {above}; with κ = 3 "
        f"{below}.",
        CONDITION if behind else HOLDS,
        f"Not {'; '.join(behind)}, where an oracle call is so cheap that the direction's own cost shows."
        if behind
        else "In every case, calls and seconds.",
    )


def _order_and_conditioning(evidence: Evidence) -> Judgement:
    top, bottom = evidence.panel("order", "top"), evidence.panel("order", "bottom")
    gains = {n: [panel.advantage("GNP", "Polyak", n, True)[0] for panel in (top, bottom)] for n in top.values}
    text = ", ".join(f"{well:.3g} and {ill:,.3g} at n = {n:g}" for n, (well, ill) in gains.items())
    return Judgement(
        f"Polyak's calls over GNP's with κ = 1 and with κ = 3: {text} (lower bounds where Polyak was stopped).",
        HOLDS if all(ill > well for well, ill in gains.values()) else CONDITION,
        "The two rows also differ in d, which matters little to either method's number of calls.",
    )


def _rank(evidence: Evidence) -> Judgement:
    panel = evidence.panel("rank")
    text, behind = _beats_polyak(panel, "r")
    return Judgement(
        f"To 1e-8 of the first error Polyak needs, at r = {_names(panel.values)}: {text}. GNP's own calls: "
        f"{_listed(panel, 'GNP', relative=True)}.",
        CONDITION if behind else HOLDS,
        (f"Not {behind}. " if behind else "")
        + "GNP's calls grow with the rank, slowly; the paper does not speak of that.",
    )


# --- restarts ---------------------------------------------------------------------------------------------------------


def _both_reach(evidence: Evidence) -> Judgement:
    panel = evidence.panel("restarts")
    unknown = [value for value in panel.values if value > 0]
    ends = ", ".join(f"{panel.end('RPolyak', value):.0e}" for value in unknown)
    arrived = {method: [panel.arrived(method, value) for value in unknown] for method in ("RGNP", "RPolyak")}
    told = {method: ", ".join(f"{there} of {all_}" for there, all_ in found) for method, found in arrived.items()}
    calls = ", ".join(_count(panel.calls("RGNP", value)) for value in unknown)
    needed = [Rate.restarts(panel.target(value), _ERROR) for value in unknown]
    return Judgement(
        f"Seeds that reach 1e-8 at p_fail = {_names(unknown)}: RGNP {told['RGNP']}, after {calls} calls; RPolyak "
        f"{told['RPolyak']}, which ends at {ends}.",
        HOLDS if all(there == all_ for found in arrived.values() for there, all_ in found) else FAILS,
        "A restart at least halves the distance of the estimate from h*, and no more is certain: with these "
        f"corruptions Theorem 2 asks for K = {_span(needed)} restarts for 1e-8. RPolyak has 10.",
    )


def _gnp_restarts_better(evidence: Evidence) -> Judgement:
    panel = evidence.panel("restarts")
    pairs = {value: (panel.end("RGNP", value), panel.end("RPolyak", value)) for value in panel.values if value > 0}
    text = ", ".join(f"{ours:.0e} and {theirs:.0e} at {value:g}" for value, (ours, theirs) in pairs.items())
    return Judgement(
        f"Errors at the end of RGNP and of RPolyak, by p_fail: {text}.",
        HOLDS if all(ours < theirs for ours, theirs in pairs.values()) else CONDITION,
        "With p_fail = 0 the bound h₀ = 0 is the optimal value itself and neither restarts.",
    )


def _inner_loops_suffice(evidence: Evidence) -> Judgement:
    panel = evidence.panel("restarts")
    ours, theirs = (panel.calls(method, 0.0) for method in ("RGNP", "RPolyak"))
    return Judgement(
        f"With p_fail = 0, where the first restart has the right target, RGNP reaches 1e-8 after {_count(ours)} calls "
        f"(T = 200) and RPolyak after {_count(theirs)} (T = 1,000).",
        HOLDS if ours <= 200 and theirs <= 1000 else CONDITION,
        "Both within their T."
        if ours <= 200 and theirs <= 1000
        else "RPolyak's T is too small: with the factor ½ of Algorithm 2 it needs more steps than Polyak with the "
        "full one.",
    )


# --- theory -----------------------------------------------------------------------------------------------------------


def _rank_of_the_jacobian(evidence: Evidence) -> Judgement:
    found = evidence.about("rank of the Jacobian, n = 2")
    text = "; ".join(f"{value:,.0f} at {setting}" for setting, value in found.items())
    printed = all(value == _printed_rank(setting) for setting, value in found.items())
    return Judgement(
        f"Rank of ∇c: {text}.",
        HOLDS if printed else FAILS,
        "The kernel of Y ↦ XYᵀ + YXᵀ is {XΩ : Ω skew}, of dimension r(r−1)/2, so the rank is dr − r(r−1)/2. The proof "
        "takes QYᵀ + YQᵀ = 0 (a d×d equation) for the tangent space of the Stiefel manifold, which is QᵀY + YᵀQ = 0 "
        "(r×r). The rank is constant all the same, and that is all the theorem needs.",
    )


def _printed_rank(setting: str) -> int:
    """r(r+1)/2 for a setting such as "d=5 r=3"."""
    r = int(setting.split("r=")[1].split(maxsplit=1)[0])
    return r * (r + 1) // 2


def _why_the_system_is_easy(evidence: Evidence) -> Judgement:
    ranks = evidence.about("rank of the Jacobian, n = 2")
    steps = evidence.about("conjugate gradient steps per call")
    distinct = evidence.about("distinct nonzero singular values")
    largest = list(ranks)[-1]
    text = ", ".join(f"{value:.3g} at {setting.split()[-1]}" for setting, value in steps.items())
    counts = ", ".join(f"{value:.0f} at {setting.split()[-1]}" for setting, value in distinct.items())
    return Judgement(
        f"The rank is {ranks[largest]:,.0f} at {largest}. Conjugate gradients need {text} steps a call; ∇c at X⋆ has "
        f"{counts} distinct nonzero singular values.",
        HOLDS if ranks[largest] == _printed_rank(largest) else FAILS,
        "The system is easy, but not for that reason. JᵀJ has the eigenvalues 2σᵢ² and 2(σᵢ² + σⱼ²), so at most "
        "r + r(r+1)/2 = 20 distinct nonzero ones for r = 5, and conjugate gradients end after about that many steps "
        "whatever d is.",
    )


def _penalty_is_well_conditioned(evidence: Evidence) -> Judgement:
    ratios = {setting: value for setting, value in evidence.about("L_h/μ_h").items() if " n=2 " in setting}
    spread = max(ratios.values()) / min(ratios.values()) - 1
    text = ", ".join(f"{value:.3g} at {setting.split()[-1]}" for setting, value in ratios.items())
    return Judgement(
        f"L_h/μ_h from samples of the image near the solution: {text}.",
        HOLDS if spread < 0.5 else CONDITION,
        f"It differs by {spread:.0%} over these κ. A minimum over samples bounds μ_h from above only.",
    )


def _composition_is_not(evidence: Evidence) -> Judgement:
    ratios = evidence.about("L_f/μ_f, n = 2")
    kappas = [float(setting.split("κ=")[1]) for setting in ratios]
    power = exponent(kappas, list(ratios.values()))
    text = ", ".join(f"{value:.3g} at κ={kappa:g}" for kappa, value in zip(kappas, ratios.values(), strict=True))
    return Judgement(
        f"L_f/μ_f along the singular directions of X⋆: {text}; it grows like κ^{power:.2f}.",
        HOLDS if power > 1.5 else FAILS,
        "Near X⋆ the map stretches directions by between σ_r and σ_1, so L_f/μ_f ~ κ(X⋆), and it is the number of "
        "steps, (L_f/μ_f)², that grows like κ². (The text also has μ_h where it means μ_f.)",
    )


def _constant_rank_and_sharpness(evidence: Evidence) -> Judgement:
    ranks = evidence.about("rank of the Jacobian over dr, n > 2")
    mu = evidence.about("L_h/μ_h, n > 2")
    text = ", ".join(f"{value:.3g} at {setting}" for setting, value in mu.items())
    full = all(value == 1 for value in ranks.values())
    return Judgement(
        f"For n > 2 the Jacobian had {'full rank dr' if full else 'a smaller rank'} at and around X⋆ in every "
        f"instance, and L_h/μ_h was {text}.",
        HOLDS if full and all(np.isfinite(value) for value in mu.values()) else CONDITION,
        "A conjecture in the paper; samples can support but not prove it.",
    )


def _theorem_one(evidence: Evidence) -> Judgement:
    seen, bound = evidence.about("observed contraction per call"), evidence.about("bound on the contraction per call")
    calls, most = evidence.about("calls to 1e-8"), evidence.about("T of Theorem 1 for 1e-8")
    held = all(seen[key] <= bound[key] and calls[key] <= most[key] for key in seen)
    text = "; ".join(
        f"{seen[key]:.3f} (bound {bound[key]:.4f}), {calls[key]:.0f} calls (T = {most[key]:,.0f}) at {key}"
        for key in seen
    )
    return Judgement(
        f"Each call leaves of the error: {text}.",
        HOLDS if held else FAILS,
        "With the estimates of μ_h and L_h in place of the constants. The bound is far from tight.",
    )


def _theorem_two(evidence: Evidence) -> Judgement:
    errors, wanted = evidence.about("error of RGNP with Theorem 2's T and K"), evidence.about("ε asked of RGNP")
    inner, outer = evidence.about("T of Theorem 2"), evidence.about("K of Theorem 2")
    text = "; ".join(
        f"{errors[key]:.0e} for ε = {wanted[key]:.0e} with T = {inner[key]:,.0f} and K = {outer[key]:.0f} at {key}"
        for key in errors
    )
    return Judgement(
        f"RGNP with the theorem's T and K ends at {text}.",
        HOLDS if all(errors[key] <= wanted[key] for key in errors) else FAILS,
        "The best of all restarts is returned, as the proof assumes; Algorithm 2 as printed returns the last one's.",
    )


def _invariance(evidence: Evidence) -> Judgement:
    calls = evidence.about("calls to 1e-8 under a rescaling of the variable")
    text = "; ".join(f"{_count(value)} for {setting}" for setting, value in calls.items())
    ours = [value for setting, value in calls.items() if setting.startswith("GNP")]
    return Judgement(
        f"Calls to 1e-8 of the first error: {text}.",
        HOLDS if max(ours) - min(ours) <= 2 else CONDITION,
        "The rows of X are written in units from 1 to 1,000. Iterates agree to first order in the step, and so do "
        "the calls.",
    )


CLAIMS = (
    Stated("Polyak slows down as the condition number of X⋆ grows.", "Introduction, Figure 1", _polyak_slows_down),
    Stated(
        "GNP's performance does not depend on the conditioning of X⋆.", "Introduction, Figure 1", _gnp_does_not_notice
    ),
    Stated("GNP outperforms Polyak in time too.", "Introduction, Figure 1", _gnp_is_faster_than_polyak),
    Stated(
        "The linear system of each step is easy because the Jacobian has rank 15 only.",
        "Introduction, after the main result",
        _why_the_system_is_easy,
    ),
    Stated(
        "The condition number of h∘c grows like κ(X⋆)².",
        "Introduction, on low-rank matrix sensing",
        _composition_is_not,
    ),
    Stated(
        "On the image, L_h/μ_h is a small constant that does not depend on κ.",
        "Introduction",
        _penalty_is_well_conditioned,
    ),
    Stated("The number of oracle calls is invariant under reparameterisation of c.", "Abstract", _invariance),
    Stated("GNP compares with ScaledSM in oracle calls and in time.", "Section 5.2, Figure 2", _comparable_to_scaledsm),
    Stated("GNP and ScaledSM both outperform Polyak dramatically when κ > 1.", "Section 5.2", _both_beat_polyak),
    Stated("GNP outperforms Polyak at every order n, with κ = 1 and with κ = 3.", "Section 5.3, Figure 3", _order),
    Stated("Its advantage is larger when κ > 1.", "Section 5.3, Figure 3", _order_and_conditioning),
    Stated("RGNP and RPolyak both reach an objective error of 1e-8.", "Section 5.4, Figure 4", _both_reach),
    Stated("RGNP outperforms RPolyak.", "Section 5.4, Figure 4", _gnp_restarts_better),
    Stated(
        "The inner loops, T = 200 and T = 1,000, are long enough for the methods without restarts.",
        "Section 5.4",
        _inner_loops_suffice,
    ),
    Stated("GNP outperforms Polyak at every rank, in calls and in time.", "Section 5.5, Figure 5", _rank),
    Stated(
        "Constant rank and sharpness hold for tensors too, with m of the order of dnr.",
        "Section 5, a conjecture",
        _constant_rank_and_sharpness,
    ),
    Stated("GNP's error shrinks by (1 + c₁)/2 a call or faster.", "Theorem 1 (Section 3)", _theorem_one),
    Stated("With its T and K, RGNP ends within ε of the optimal value.", "Theorem 2 (Section 4)", _theorem_two),
    Stated("The Jacobian of XXᵀ has rank r(r+1)/2.", "Appendix A, the rank lemma", _rank_of_the_jacobian),
)
