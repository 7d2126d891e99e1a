"""Where the paper's text, or its authors' code, needs care. Measured numbers come from the rows."""

from __future__ import annotations

from collections.abc import Callable

from gnpolyak.paper.evidence import Evidence, MissingError, kappa, told

_Text = str | Callable[[Evidence], str]


def errata(evidence: Evidence) -> list[tuple[str, str]]:
    """Pairs of a short title and a text; one whose numbers have not been measured says so."""
    return [(title, text if isinstance(text, str) else _filled(text, evidence)) for title, text in _ERRATA]


def _filled(text: Callable[[Evidence], str], evidence: Evidence) -> str:
    try:
        return text(evidence)
    except MissingError as missing:
        return f"Not measured yet: {missing}."


def _rank(evidence: Evidence) -> str:
    found = ", ".join(told(evidence.about("rank of the Jacobian, n = 2"), "{:,.0f}"))
    return (
        "The Jacobian of c(X) = XXᵀ at a full-rank X has rank dr − r(r−1)/2, not r(r+1)/2 (they agree only if d = r): "
        f"measured, {found}. The kernel is {{XΩ : Ω skew-symmetric}}. The proof confuses QYᵀ + YQᵀ = 0 with the "
        "tangent space QᵀY + YᵀQ = 0 of the Stiefel manifold, takes T_Q = ker ∇c(X)·R⁻¹ where XYᵀ + YXᵀ = QWᵀ + WQᵀ "
        "needs W = YRᵀ, and writes n for d. The rank is constant near X⋆, so the theorem applies; the introduction's "
        "explanation, that the linear system is easy because the Jacobian has rank 15, does not."
    )


def _composition(evidence: Evidence) -> str:
    found = ", ".join(told(evidence.about("L_f/μ_f, n = 2"), "{:.3g}", kappa))
    return (
        "The introduction says that the condition number of h∘c is proportional to κ(X⋆)² and writes L_f/μ_h for it. "
        f"It is L_f/μ_f, and it is proportional to κ(X⋆): {found}. Its square enters the number of Polyak's steps."
    )


def _restarted_polyak(evidence: Evidence) -> str:
    runs = evidence.runs("restarts")
    ends = ", ".join(f"{runs.end('RPolyak', value):.0e} at p_fail = {value:g}" for value in runs.values if value > 0)
    return (
        "Section 5.4 says that both restarted methods reach 1e-8. Ten restarts of RPolyak guarantee an error of "
        f"(h* − h₀)/2⁹ and no less; with N(0, 1) corruptions it ends at {ends}. The authors' code has smaller "
        "corruptions and more restarts, which helps: docs/reproduction.md has that run too."
    )


_ERRATA: tuple[tuple[str, _Text], ...] = (
    ("The rank lemma", _rank),
    ("The condition number of the composition", _composition),
    (
        "Best of all restarts",
        "Algorithm 2 returns the best point of the last restart, y_K. The last step of its proof, h(c(y_K)) ≤ "
        "h(c(y_k)) for an earlier k, is true only of the best point of all restarts, which is what this library "
        "keeps. Nothing else changes.",
    ),
    ("RPolyak with ten restarts", _restarted_polyak),
    (
        "Indices in the proof of the restart theorem",
        "The first display has h(c(y_k)) where the algorithm's h_{k+1} = (h_k + h(c(y_{k+1})))/2 needs y_{k+1}, and "
        "the second h(c(y_{K−1})) where 2h_K − h_{K−1} is h(c(y_K)). In the second case the average of "
        "h(c(x_{k−1,t*})) and h_{k−1} is at least h_k, not equal to it, and k may be K as well: otherwise nothing "
        "covers an h_K that is the first above h*. With these the argument is sound.",
    ),
    (
        "How many measurements",
        "Sections 5.2 and 5.4 take m = 8dr for matrices, Section 5.3 takes m = 8ndr, which is 16dr at n = 2: the "
        "curves for n = 2 in the two figures are of different problems. Each figure here follows its own section.",
    ),
    (
        "Limits the text does not give",
        "Section 5.2 does not say when Polyak was stopped; here after 5,000 calls (the authors' code: 1,000). Runs "
        "with a known optimum end at 1e-13 of their first error.",
    ),
    (
        "A lower bound that is not below",
        "Algorithm 2 asks for h₀ < h*. Section 5.4 starts from h₀ = 0, which at p_fail = 0 is h* itself: the first "
        "restart converges, and there is nothing to restart for.",
    ),
    (
        "What κ means",
        "κ is the condition number of the factor X⋆. The papers on scaled gradient methods quote that of M⋆ = X⋆X⋆ᵀ, "
        "its square.",
    ),
    (
        "Misprints",
        "In the lemma that collects the constants, v ∈ ∂h(x) should be v ∈ ∂h(c(x)). In the paragraph on the step "
        "size, ∇c(X_t)†X_t should be ∇c(X_t)†V_t. “Rank 3 tensor” in the introduction means order 3.",
    ),
    (
        "The authors' code",
        "It differs from the text: half as many measurements, corruptions of standard deviation 0.001, a start at "
        "the absolute distance 0.1 from X⋆ (0.01 for the orders), LSMR on JᵀJ warm-started from the last direction, "
        "no factor ½ in restarts, T = 1,200 and K = 13 for RPolyak, and a limit of 1,000 calls. A warm start keeps "
        "what the last direction has in the null space of JᵀJ, so in general it does not give the minimum-norm "
        "solution; for XXᵀ it does, since a step along Z leaves Z orthogonal to the null space. "
        "`gnpolyak reproduce --variant authors` runs it that way, with LSMR to a tighter tolerance.",
    ),
)
