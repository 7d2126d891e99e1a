"""Claims about the constants and theorems, judged by the findings of the probes."""

from __future__ import annotations

import numpy as np

from gnpolyak.paper.claims.judgement import CONDITION, FAILS, HOLDS, Judgement, by_cases, count, states
from gnpolyak.paper.evidence import Evidence, exponent, kappa, told
from gnpolyak.paper.findings import At


@states("The Jacobian of XXᵀ has rank r(r+1)/2.", "Appendix A, the rank lemma")
def rank_of_the_jacobian(evidence: Evidence) -> Judgement:
    found = evidence.about("rank of the Jacobian, n = 2")
    printed = all(value == _printed_rank(at) for at, value in found.items())
    return Judgement(
        f"Rank of ∇c: {'; '.join(told(found, '{:,.0f}'))}.",
        HOLDS if printed else FAILS,
        "The kernel of Y ↦ XYᵀ + YXᵀ is {XΩ : Ω skew}, of dimension r(r−1)/2, so the rank is dr − r(r−1)/2. The proof "
        "takes QYᵀ + YQᵀ = 0 (a d×d equation) for the tangent space of the Stiefel manifold, which is QᵀY + YᵀQ = 0 "
        "(r×r). The rank is constant all the same, and that is all the theorem needs.",
    )


def _printed_rank(at: At) -> float:
    return np.nan if at.r is None else at.r * (at.r + 1) / 2


@states(
    "The linear system of each step is easy because the Jacobian has rank 15 only.",
    "Introduction, after the main result",
)
def why_the_system_is_easy(evidence: Evidence) -> Judgement:
    ranks = evidence.about("rank of the Jacobian, n = 2")
    steps = told(evidence.about("conjugate gradient steps per call"), "{:.3g}", kappa)
    distinct = told(evidence.about("distinct nonzero singular values"), "{:.0f}", kappa)
    largest = list(ranks)[-1]
    return Judgement(
        f"The rank is {ranks[largest]:,.0f} at {largest}. Conjugate gradients need {', '.join(steps)} steps a "
        f"call; ∇c at X⋆ has {', '.join(distinct)} distinct nonzero singular values.",
        HOLDS if ranks[largest] == _printed_rank(largest) else FAILS,
        "The system is easy, but not for that reason. JᵀJ has the eigenvalues 2σᵢ² and 2(σᵢ² + σⱼ²), so at most "
        "r + r(r+1)/2 = 20 distinct nonzero ones for r = 5, and conjugate gradients end after about that many steps "
        "whatever d is.",
    )


@states("On the image, L_h/μ_h is a small constant that does not depend on κ.", "Introduction")
def penalty_is_well_conditioned(evidence: Evidence) -> Judgement:
    ratios = {at: value for at, value in evidence.about("L_h/μ_h").items() if at.n == 2}
    spread = max(ratios.values()) / min(ratios.values()) - 1
    return Judgement(
        f"L_h/μ_h from samples of the image near the solution: {', '.join(told(ratios, '{:.3g}', kappa))}.",
        HOLDS if spread < 0.5 else FAILS,
        "These instances share the column space of X⋆, and with it the tangent space of the image, on which the ratio "
        "depends; κ has no way in. A minimum over samples bounds μ_h from above only.",
    )


@states("The condition number of h∘c grows like κ(X⋆)².", "Introduction, on low-rank matrix sensing")
def composition_is_not(evidence: Evidence) -> Judgement:
    ratios = evidence.about("L_f/μ_f, n = 2")
    power = exponent([at.kappa or np.nan for at in ratios], list(ratios.values()))
    text = ", ".join(told(ratios, "{:.3g}", kappa))
    return Judgement(
        f"L_f/μ_f along the singular directions of X⋆: {text}; it grows like κ^{power:.2f}.",
        HOLDS if power > 1.5 else FAILS,
        "Near X⋆ the map stretches directions by between √2σ_r and 2σ_1, so L_f/μ_f ~ κ(X⋆), and it is the number of "
        "steps, (L_f/μ_f)², that grows like κ². (The text also has μ_h where it means μ_f.)",
    )


@states("Constant rank and sharpness hold for tensors too, with m of the order of dnr.", "Section 5, a conjecture")
def constant_rank_and_sharpness(evidence: Evidence) -> Judgement:
    found = evidence.beside("rank of the Jacobian over dr, n > 2", "L_h/μ_h, n > 2")
    return by_cases(
        f"At X⋆ and around it: {', '.join(told(found, 'rank {:.3g}·dr and L_h/μ_h = {:.3g}'))}.",
        {str(at): rank == 1 and bool(np.isfinite(ratio)) for at, (rank, ratio) in found.items()},
        always="A conjecture in the paper; samples can support but not prove it.",
    )


@states("A call of GNP leaves at most (1 + c₁)/2 of the error.", "Theorem 1 (Section 3)")
def theorem_one(evidence: Evidence) -> Judgement:
    found = evidence.beside(
        "observed contraction per call", "bound on the contraction per call", "calls to 1e-8", "T of Theorem 1 for 1e-8"
    )
    text = "; ".join(told(found, "{:.3f} (bound {:.4f}), {:.0f} calls to 1e-8 (T = {:,.0f})"))
    return by_cases(
        f"On average a call leaves of the error f − h*: {text}.",
        {str(at): seen <= bound and calls <= most for at, (seen, bound, calls, most) in found.items()},
        always="With estimates in place of μ_h and L_h. The theorem speaks of the distance in the image at every step, "
        "and of starts within a δ that was not checked; its bound is far from tight.",
    )


@states("With its T and K, RGNP ends within ε of the optimal value.", "Theorem 2 (Section 4)")
def theorem_two(evidence: Evidence) -> Judgement:
    found = evidence.beside(
        "error of RGNP with Theorem 2's T and K", "ε asked of RGNP", "T of Theorem 2", "K of Theorem 2"
    )
    text = told(found, "{:.0e} for ε = {:.0e} with T = {:,.0f} and K = {:.0f}")
    return Judgement(
        f"RGNP with the theorem's T and K ends at {'; '.join(text)}.",
        HOLDS if all(error <= wanted for error, wanted, *_ in found.values()) else FAILS,
        "The best of all restarts is returned, as the proof assumes; Algorithm 2 as printed returns the last one's.",
    )


@states("The number of oracle calls is invariant under reparameterisation of c.", "Abstract")
def invariance(evidence: Evidence) -> Judgement:
    calls = evidence.about("calls to 1e-8 under a rescaling of the variable")
    text = "; ".join(f"{count(value)} for {at}" for at, value in calls.items())
    ours = [value for at, value in calls.items() if at.method == "GNP"]
    apart = max(ours) - min(ours)
    return Judgement(
        f"Calls to 1e-8 of the first error: {text}.",
        HOLDS if apart <= 2 else CONDITION if apart <= min(ours) / 2 else FAILS,
        "The rows of X are written in units from 1 to 1,000. Iterates agree to first order in the step only, so the "
        "counts may differ a little.",
    )
