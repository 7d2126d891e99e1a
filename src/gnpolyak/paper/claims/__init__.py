"""The paper's empirical claims, each judged by a function of the rows."""

from __future__ import annotations

from gnpolyak.paper.claims import known_optimum, restarts, theorems
from gnpolyak.paper.claims.judgement import UNKNOWN, Judgement, Stated
from gnpolyak.paper.evidence import Evidence, MissingError
from gnpolyak.paper.verdicts import Claim

# In the order of the paper.
CLAIMS = (
    known_optimum.polyak_slows_down,
    known_optimum.gnp_does_not_notice,
    known_optimum.gnp_is_faster_than_polyak,
    theorems.why_the_system_is_easy,
    theorems.composition_is_not,
    theorems.penalty_is_well_conditioned,
    theorems.invariance,
    known_optimum.comparable_to_scaledsm,
    known_optimum.both_beat_polyak,
    known_optimum.order,
    known_optimum.order_and_conditioning,
    restarts.both_reach,
    restarts.gnp_restarts_better,
    restarts.inner_loops_suffice,
    known_optimum.rank,
    theorems.constant_rank_and_sharpness,
    theorems.theorem_one,
    theorems.theorem_two,
    theorems.rank_of_the_jacobian,
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
