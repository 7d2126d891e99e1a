"""Claims about the constants and theorems, judged by the findings of the probes."""

from __future__ import annotations

import numpy as np

from gnpolyak.paper.claims.judgement import CONDITION, FAILS, HOLDS, Judgement, by_cases, count
from gnpolyak.paper.evidence import Evidence, exponent


def rank_of_the_jacobian(evidence: Evidence) -> Judgement:
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


def why_the_system_is_easy(evidence: Evidence) -> Judgement:
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


def penalty_is_well_conditioned(evidence: Evidence) -> Judgement:
    ratios = {setting: value for setting, value in evidence.about("L_h/μ_h").items() if " n=2 " in setting}
    spread = max(ratios.values()) / min(ratios.values()) - 1
    text = ", ".join(f"{value:.3g} at {setting.split()[-1]}" for setting, value in ratios.items())
    return Judgement(
        f"L_h/μ_h from samples of the image near the solution: {text}.",
        HOLDS if spread < 0.5 else FAILS,
        "These instances share the column space of X⋆, and with it the tangent space of the image, on which the ratio "
        "depends; κ has no way in. A minimum over samples bounds μ_h from above only.",
    )


def composition_is_not(evidence: Evidence) -> Judgement:
    ratios = evidence.about("L_f/μ_f, n = 2")
    kappas = [float(setting.split("κ=")[1]) for setting in ratios]
    power = exponent(kappas, list(ratios.values()))
    text = ", ".join(f"{value:.3g} at κ={kappa:g}" for kappa, value in zip(kappas, ratios.values(), strict=True))
    return Judgement(
        f"L_f/μ_f along the singular directions of X⋆: {text}; it grows like κ^{power:.2f}.",
        HOLDS if power > 1.5 else FAILS,
        "Near X⋆ the map stretches directions by between √2σ_r and 2σ_1, so L_f/μ_f ~ κ(X⋆), and it is the number of "
        "steps, (L_f/μ_f)², that grows like κ². (The text also has μ_h where it means μ_f.)",
    )


def constant_rank_and_sharpness(evidence: Evidence) -> Judgement:
    ranks = evidence.about("rank of the Jacobian over dr, n > 2")
    ratios = evidence.about("L_h/μ_h, n > 2")
    verdict, failing = by_cases({key: ranks[key] == 1 and bool(np.isfinite(ratios[key])) for key in ranks})
    text = ", ".join(f"rank {ranks[key]:.3g}·dr and L_h/μ_h = {ratios[key]:.3g} at {key}" for key in ranks)
    return Judgement(
        f"At X⋆ and around it: {text}.",
        verdict,
        (f"Not at {failing}. " if failing else "") + "A conjecture in the paper; samples can support but not prove it.",
    )


def theorem_one(evidence: Evidence) -> Judgement:
    seen, bound = evidence.about("observed contraction per call"), evidence.about("bound on the contraction per call")
    calls, most = evidence.about("calls to 1e-8"), evidence.about("T of Theorem 1 for 1e-8")
    verdict, failing = by_cases({key: seen[key] <= bound[key] and calls[key] <= most[key] for key in seen})
    text = "; ".join(
        f"{seen[key]:.3f} (bound {bound[key]:.4f}), {calls[key]:.0f} calls to 1e-8 (T = {most[key]:,.0f}) at {key}"
        for key in seen
    )
    return Judgement(
        f"On average a call leaves of the error f − h*: {text}.",
        verdict,
        (f"Not at {failing}. " if failing else "")
        + "With estimates in place of μ_h and L_h. The theorem speaks of the distance in the image at every step, and "
        "of starts within a δ that was not checked; its bound is far from tight.",
    )


def theorem_two(evidence: Evidence) -> Judgement:
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


def invariance(evidence: Evidence) -> Judgement:
    calls = evidence.about("calls to 1e-8 under a rescaling of the variable")
    text = "; ".join(f"{count(value)} for {setting}" for setting, value in calls.items())
    ours = [value for setting, value in calls.items() if setting.startswith("GNP")]
    apart = max(ours) - min(ours)
    return Judgement(
        f"Calls to 1e-8 of the first error: {text}.",
        HOLDS if apart <= 2 else CONDITION if apart <= min(ours) / 2 else FAILS,
        "The rows of X are written in units from 1 to 1,000. Iterates agree to first order in the step only, so the "
        "counts may differ a little.",
    )
