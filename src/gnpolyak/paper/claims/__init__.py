"""The paper's empirical claims, each judged by a function of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gnpolyak.paper.claims import restarts, runs, theorems
from gnpolyak.paper.claims.judgement import UNKNOWN, Judgement
from gnpolyak.paper.evidence import Evidence, MissingError
from gnpolyak.paper.pictures import Claim


@dataclass(frozen=True)
class Stated:
    """A claim in our words, where the paper makes it, and the function that judges it."""

    statement: str
    place: str
    judge: Callable[[Evidence], Judgement]


CLAIMS = (
    Stated("Polyak slows down as the condition number of X⋆ grows.", "Introduction, Figure 1", runs.polyak_slows_down),
    Stated(
        "GNP's performance does not depend on the conditioning of X⋆.",
        "Introduction, Figure 1",
        runs.gnp_does_not_notice,
    ),
    Stated("GNP outperforms Polyak in time too.", "Introduction, Figure 1", runs.gnp_is_faster_than_polyak),
    Stated(
        "The linear system of each step is easy because the Jacobian has rank 15 only.",
        "Introduction, after the main result",
        theorems.why_the_system_is_easy,
    ),
    Stated(
        "The condition number of h∘c grows like κ(X⋆)².",
        "Introduction, on low-rank matrix sensing",
        theorems.composition_is_not,
    ),
    Stated(
        "On the image, L_h/μ_h is a small constant that does not depend on κ.",
        "Introduction",
        theorems.penalty_is_well_conditioned,
    ),
    Stated("The number of oracle calls is invariant under reparameterisation of c.", "Abstract", theorems.invariance),
    Stated(
        "GNP compares with ScaledSM in oracle calls and in time.", "Section 5.2, Figure 2", runs.comparable_to_scaledsm
    ),
    Stated("GNP and ScaledSM both outperform Polyak dramatically when κ > 1.", "Section 5.2", runs.both_beat_polyak),
    Stated("GNP outperforms Polyak at every order n, with κ = 1 and with κ = 3.", "Section 5.3, Figure 3", runs.order),
    Stated("Its advantage is larger when κ > 1.", "Section 5.3, Figure 3", runs.order_and_conditioning),
    Stated("RGNP and RPolyak both reach an objective error of 1e-8.", "Section 5.4, Figure 4", restarts.both_reach),
    Stated("RGNP outperforms RPolyak.", "Section 5.4, Figure 4", restarts.gnp_restarts_better),
    Stated(
        "The inner loops are long enough for GNP and Polyak without restarts to perform well.",
        "Section 5.4",
        restarts.inner_loops_suffice,
    ),
    Stated("GNP outperforms Polyak at every rank, in calls and in time.", "Section 5.5, Figure 5", runs.rank),
    Stated(
        "Constant rank and sharpness hold for tensors too, with m of the order of dnr.",
        "Section 5, a conjecture",
        theorems.constant_rank_and_sharpness,
    ),
    Stated("A call of GNP leaves at most (1 + c₁)/2 of the error.", "Theorem 1 (Section 3)", theorems.theorem_one),
    Stated("With its T and K, RGNP ends within ε of the optimal value.", "Theorem 2 (Section 4)", theorems.theorem_two),
    Stated("The Jacobian of XXᵀ has rank r(r+1)/2.", "Appendix A, the rank lemma", theorems.rank_of_the_jacobian),
)


def judged(evidence: Evidence) -> list[Claim]:
    """Every claim with its verdict; one without rows says which command would bring them."""
    return [_judged(stated, evidence) for stated in CLAIMS]


def _judged(stated: Stated, evidence: Evidence) -> Claim:
    try:
        found = stated.judge(evidence)
    except MissingError as missing:
        found = Judgement("–", UNKNOWN, str(missing))
    return Claim(stated.statement, stated.place, found.measured, found.verdict, found.reason)
