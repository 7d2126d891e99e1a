"""Rows for the oracles of the zoo: fused passes against XLA, and growth with the entries that are seen."""

from __future__ import annotations

import numpy as np

import gnpolyak as gnp
from gnpolyak.bench import peers
from gnpolyak.bench.clock import Sample, interleaved, timed
from gnpolyak.bench.rows import Row, timing
from gnpolyak.bench.specs import Observed, Passes
from gnpolyak.bench.zoo.race import described

FUSED, XLA = "fused C++", "plain XLA"
_MEASURES = {"value and subgradient": peers.oracle, "product with the Jacobian and its adjoint": peers.products}


def passes(spec: Passes) -> list[Row]:
    """Time of an oracle call and of a product, fused and by XLA."""
    case = gnp.instances.INSTANCES[spec.name](**dict(spec.settings))
    label = f"{spec.name} {described(case)}"
    try:
        peers.require_native()
    except peers.SkipError as reason:
        return [Row(measure, label, FUSED, "ms", note=f"skipped: {reason}") for measure in _MEASURES]
    problems = {FUSED: case.problem, XLA: peers.unfused(case.problem)}
    rows = []
    for measure, loop in _MEASURES.items():
        contestants = {name: timed(loop(problem, case, spec.calls)) for name, problem in problems.items()}
        samples = _per_call(interleaved(contestants, spec.rounds), spec.calls)
        rows += [timing(measure, label, name, sample, (FUSED, samples[FUSED])) for name, sample in samples.items()]
    return rows


def observed(spec: Observed) -> list[Row]:
    """Time of an oracle call over the number of entries, and the exponent of its growth."""
    d1, d2 = spec.shape
    cases = [gnp.instances.matrix_completion(d1=d1, d2=d2, r=spec.r, observed=share) for share in spec.shares]
    labels = [f"{case.problem.sensing.indices[0].size:,} entries" for case in cases]  # type: ignore[attr-defined]
    contestants = {
        label: timed(peers.oracle(case.problem, case, spec.calls)) for label, case in zip(labels, cases, strict=True)
    }
    samples = _per_call(interleaved(contestants, spec.rounds), spec.calls)
    times = np.log([sample.seconds for sample in samples.values()])
    fitted = Sample(np.polyfit(np.log(spec.shares), times, 1)[0])
    measure = f"growth of an oracle call with the entries seen, {d1}×{d2} r={spec.r}"
    rows = [timing(measure, label, _oracle_in_use(), sample, None) for label, sample in samples.items()]
    return [*rows, Row(measure, "fitted exponent", _oracle_in_use(), "", fitted.median, *fitted.spread)]


def _oracle_in_use() -> str:
    """What computes an oracle call here."""
    return FUSED if gnp.native.status().available and not peers.on_gpu() else XLA


def _per_call(samples: dict[str, Sample], calls: int) -> dict[str, Sample]:
    return {name: Sample(sample.seconds / calls) for name, sample in samples.items()}
