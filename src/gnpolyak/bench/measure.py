"""run(spec) → rows: one function for each kind of spec."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

import gnpolyak as gnp
from gnpolyak.base.numbers import counted
from gnpolyak.bench import batches, curves, latency, peers, scaling, streams, zoo
from gnpolyak.bench.clock import Sample, interleaved, timed
from gnpolyak.bench.peers import SkipError
from gnpolyak.bench.rows import OURS, Row, timing
from gnpolyak.bench.specs import (
    Alone,
    Batch,
    Batches,
    Contest,
    Fits,
    Fresh,
    Growth,
    Iteration,
    Lambdas,
    Latency,
    Memory,
    Observed,
    Overhead,
    Passes,
    Race,
    Ranks,
    Size,
    Spec,
    Streams,
    Together,
)

ORACLE = "gnpolyak, oracle alone"
METHODS = ("gnp", "auto", "scaledsm", "polyak")
"""Those of the library that race."""
_MOST_CALLS = 20_000


@functools.singledispatch
def run(spec: Spec) -> list[Row]:
    """Measure what the spec describes."""
    raise TypeError(f"no measurement for {type(spec).__name__}")


run.register(Batch, batches.against_a_loop)
run.register(Batches, batches.memory)
run.register(Alone, scaling.alone)
run.register(Contest, zoo.contest)
run.register(Fits, curves.accuracy)
run.register(Fresh, latency.first)
run.register(Lambdas, latency.memory)
run.register(Latency, latency.answers)
run.register(Passes, zoo.passes)
run.register(Observed, zoo.observed)
run.register(Streams, streams.streamed)
run.register(Together, scaling.together)


def make(size: Size) -> gnp.instances.Instance:
    """The instance of a size, the same each time."""
    return gnp.instances.tensor_sensing(d=size.d, r=size.r, n=size.n, m=size.m, kappa=size.kappa, seed=0)


def _entrants(makers: Mapping[str, Callable[[], Any]]) -> tuple[dict[str, Any], dict[str, str]]:
    """Those that can take part, and the reasons of the others."""
    entered: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for name, maker in makers.items():
        try:
            entered[name] = maker()
        except SkipError as reason:
            reasons[name] = str(reason)
    return entered, reasons


def _skipped(measure: str, case: str, reasons: Mapping[str, str]) -> list[Row]:
    return [Row(measure, case, name, "ms", note=f"skipped: {reason}") for name, reason in reasons.items()]


@run.register
def _(spec: Iteration) -> list[Row]:
    case, calls = make(spec.size), spec.calls

    def per_call(call: Callable[[], Any]) -> Callable[[], float]:
        return lambda: timed(call)() / calls

    makers: dict[str, Callable[[], Callable[[], float]]] = {
        OURS: lambda: peers.iterations(case.problem, case, calls),
        "gnpolyak, method auto": lambda: peers.iterations(case.problem, case, calls, "auto"),
        "float32 storage": lambda: peers.iterations(peers.stored_as_float32(case), case, calls),
        "plain XLA": lambda: peers.iterations(peers.plain(case), case, calls),
        "PyTorch recipe, LSMR": lambda: per_call(functools.partial(peers.recipe(case, "lsmr").run, calls)),
        "PyTorch recipe, CG": lambda: per_call(functools.partial(peers.recipe(case).run, calls)),
        "PyTorch autograd alone": lambda: per_call(peers.torch_autograd(case, calls)),
        ORACLE: lambda: per_call(peers.oracle(case.problem, case, calls)),
        "one-read floor": lambda: per_call(peers.floor(case, calls)),
    }
    entered, reasons = _entrants(makers)
    samples = interleaved(entered, spec.rounds)
    base = {name: (ORACLE if name == "one-read floor" else OURS) for name in samples}
    label = spec.size.label
    rows = [timing("iteration", label, name, s, (base[name], samples[base[name]])) for name, s in samples.items()]
    return rows + _skipped("iteration", label, reasons)


@run.register
def _(spec: Ranks) -> list[Row]:
    rows = []
    for n in spec.orders:
        for r in spec.ranks:
            size = Size(d=spec.d, r=r, n=n, m=spec.m)
            case = make(size)
            contestants = {
                ORACLE: timed(peers.oracle(case.problem, case, spec.calls)),
                "plain XLA, oracle alone": timed(peers.oracle(peers.plain(case), case, spec.calls)),
            }
            samples = {k: Sample(s.seconds / spec.calls) for k, s in interleaved(contestants, spec.rounds).items()}
            note = f"{samples[ORACLE].median / (spec.m * spec.d * r) * 1e9:.4f} ns per m·d·r"
            rows += [
                timing("ranks", size.label, name, s, (ORACLE, samples[ORACLE]), note if name == ORACLE else "")
                for name, s in samples.items()
            ]
    return rows


@run.register
def _(spec: Growth) -> list[Row]:
    cases = [(size, make(size)) for size in spec.sizes]
    contestants = {size.label: peers.iterations(case.problem, case, spec.calls) for size, case in cases}
    samples = interleaved(contestants, spec.rounds)
    extent = np.log([getattr(size, "rows" if spec.dimension == "m" else spec.dimension) for size in spec.sizes])
    exponents = [np.polyfit(extent, np.log(times), 1)[0] for times in zip(*_rounds(samples), strict=True)]
    fitted = Sample(np.array(exponents))
    name = f"growth with {spec.dimension}"
    rows = [timing(name, label, OURS, sample, None) for label, sample in samples.items()]
    return [*rows, Row(name, "fitted exponent", OURS, "", fitted.median, *fitted.spread)]


def _rounds(samples: Mapping[str, Sample]) -> list[np.ndarray]:
    return [sample.seconds for sample in samples.values()]


@run.register
def _(spec: Race) -> list[Row]:
    case = make(spec.size)
    reached: dict[str, str] = {}
    makers: dict[str, Callable[[], Callable[[], float]]] = {
        method: functools.partial(_our_race, method, case, spec.gap, reached) for method in METHODS
    }
    for name, peer in rivals(case, spec.gap).items():
        makers[name] = functools.partial(_their_race, name, peer, spec.gap, reached)
    entered, reasons = _entrants(makers)
    samples = interleaved(entered, spec.rounds)
    measure = f"time to gap {spec.gap:g}"
    label = f"{spec.size.label} κ={spec.size.kappa:g}"
    rows = [timing(measure, label, name, s, ("gnp", samples["gnp"]), reached[name]) for name, s in samples.items()]
    return rows + _skipped(measure, label, reasons)


def rivals(case: gnp.instances.Instance, gap: float) -> dict[str, Callable[[], Callable[[], float]]]:
    """What is not ours: each returns the relative gap it reached."""
    return {
        "PyTorch recipe, LSMR": lambda: _first_of(peers.recipe(case, "lsmr"), gap),
        "PyTorch recipe, CG": lambda: _first_of(peers.recipe(case), gap),
        "optax.polyak_sgd": lambda: peers.optax_polyak(case, _MOST_CALLS, gap),
        "scipy soft_l1": lambda: peers.scipy_soft_l1(case, 60),
    }


def _first_of(recipe: Any, gap: float) -> Callable[[], float]:
    return lambda: recipe.run(1000, gap)[0]


def _our_race(method: str, case: gnp.instances.Instance, gap: float, reached: dict[str, str]) -> Callable[[], float]:
    """A contestant that solves with one of the library's methods, and notes how it ended."""

    def solve(calls: int) -> gnp.Result:
        return gnp.minimize(case.problem, case.x0, method, target=case.target, tol=gap, max_calls=calls)

    def measure() -> float:
        res = solve(_MOST_CALLS)
        reached[method] = counted(res.calls, "call") if res.success else f"not reached in {counted(res.calls, 'call')}"
        return res.seconds

    try:
        solve(1)
    except gnp.InputError as error:
        # Not every method is for every problem: ScaledSM is for matrices.
        raise SkipError(error.missing) from error
    return measure


def _their_race(
    name: str, peer: Callable[[], Callable[[], float]], gap: float, reached: dict[str, str]
) -> Callable[[], float]:
    """A contestant that runs a peer, and notes how far it came."""
    call = peer()

    def measure() -> float:
        began = time.perf_counter()
        left = call()
        reached[name] = "" if left <= gap else f"stopped at a gap of {left:.1e}"
        return time.perf_counter() - began

    return measure


@run.register
def _(spec: Memory) -> list[Row]:
    rows = []
    for name, native in ((OURS, "1"), ("plain XLA", "0")):
        command = [
            sys.executable,
            "-m",
            "gnpolyak.bench.memory",
            str(spec.size.d),
            str(spec.size.r),
            str(spec.size.rows),
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, "GNPOLYAK_NATIVE": native}
        )
        found = json.loads(done.stdout)
        note = f"{found['grown'] / 2**20:.0f} MiB above an idle process, for {found['data'] / 2**20:.0f} MiB of rows"
        rows.append(Row("peak memory over data", spec.size.label, name, "×", found["grown"] / found["data"], note=note))
    return rows


@run.register
def _(spec: Overhead) -> list[Row]:
    case = make(spec.size)

    def solve() -> gnp.Result:
        return gnp.minimize(case.problem, case.x0, target=case.target)

    jax.clear_caches()
    first, others = solve(), [solve() for _ in range(spec.rounds)]
    beside = [res.seconds - res.timings["steps"] for res in others]
    compiling = first.timings["compiling"]
    note = f"{compiling * 1e3:.3g} ms of it to compile" if compiling else "nothing compiled"
    return [
        timing("first minimize", spec.size.label, OURS, Sample(np.array([first.seconds])), None, note),
        timing("second minimize", spec.size.label, OURS, Sample(np.array([res.seconds for res in others])), None),
        timing("second minimize, beside its steps", spec.size.label, OURS, Sample(np.array(beside)), None),
    ]
