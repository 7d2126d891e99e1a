"""docs/howto/scaling.md from its text and the committed rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any

from gnpolyak.bench.rows import Row, load
from gnpolyak.bench.scaling import model
from gnpolyak.bench.scaling.figures import Case, cases, host, network, smallest
from gnpolyak.bench.scaling.inside import CALL, ITERATION, READ
from gnpolyak.bench.scaling.measure import ALONE, CORES, GPU, TOGETHER

NETWORKS = {CORES: model.Network(30e-6, 25e9 / 8), GPU: model.Network(10e-6, 400e9 / 8)}
"""What lies between hosts, which is not measured: 25 Gbit/s between machines, 400 Gbit/s between GPUs."""
RANK, PAPER, SECOND = 5, 8, 1.0
_NAMES = {CORES: "A machine such as the one above, {}", GPU: "{}, each with its own network"}


def page(folder: Path) -> str:
    """The whole page, from scaling.md and scaling.json in the folder of figures."""
    content, rows = load(folder / "scaling.json")
    text = Template((folder / "scaling.md").read_text(encoding="utf-8"))
    return text.substitute(
        costs=_costs(rows),
        command=content["command"],
        where=_where(content["environment"]),
        alone="\n\n".join(_alone(rows, of) for of in (CORES, GPU) if host(rows, of)),
        weak=_weak(rows),
        sums=_sums(rows),
        hosts="\n\n".join(_hosts(rows, of, content["environment"]) for of in (CORES, GPU) if host(rows, of)),
        needed="\n".join(_needed(rows, of) for of in (CORES, GPU) if host(rows, of)),
    )


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))


def _costs(rows: Sequence[Row]) -> str:
    sizes = [case.size for case in cases(rows, ALONE, CORES)]
    head = ["a call", "", *(f"d={s.d:,}, r={s.r}, m={s.rows:,}" for s in sizes)]
    lines = [
        ["bytes of rows, read once (fused)", "2·m·d·8", *(_bytes(model.row_bytes(s.d, s.rows)) for s in sizes)],
        ["bytes of rows, read twice (XLA)", "4·m·d·8", *(_bytes(model.row_bytes(s.d, s.rows, 2)) for s in sizes)],
        ["operations", "8·m·d·r", *(f"{model.operations(s.d, s.r, s.rows) / 1e9:.3g}·10⁹" for s in sizes)],
        ["operations for each byte", "r/2", *(_intensity(s.d, s.r, s.rows) for s in sizes)],
        ["numbers on the wire", "d·r + 1", *(f"{model.numbers(s.d, s.r):,}" for s in sizes)],
        ["bytes on the wire", "8·(d·r + 1)", *(_bytes(model.ITEM * model.numbers(s.d, s.r)) for s in sizes)],
    ]
    return _table(head, lines)


def _intensity(d: int, r: int, m: int) -> str:
    return f"{model.operations(d, r, m) / model.row_bytes(d, m):.3g}"


def _where(environment: Mapping[str, Any]) -> str:
    devices = "".join(f", {name.removeprefix('gpu ')}" for name in environment["devices"] if name.startswith("gpu"))
    return f"{environment['machine']}, {environment['cores']} cores{devices}; JAX {environment['versions']['jax']}"


def _alone(rows: Sequence[Row], of: str) -> str:
    found = cases(rows, ALONE, of)
    speed = smallest(found).speed
    head = [f"one process, {of}", "rows", "one read", "oracle call", "of the floor", "iteration", "predicted", "error"]
    lines = [
        [
            _size(case),
            _bytes(case.bytes),
            f"{_time(case.seconds[READ])} ({_bytes(case.bytes / case.seconds[READ])}/s)",
            _time(case.seconds[CALL]),
            f"{case.share:.0%}",
            *_judged(case.seconds[ITERATION], case.bytes / speed),
        ]
        for case in found
    ]
    return _table(head, lines)


def _judged(measured: float, predicted: float) -> list[str]:
    return [_time(measured), _time(predicted), f"{predicted / measured - 1:+.0%}"]


def predicted(case: Case, alone: Case, between: model.Network | None) -> float:
    """An iteration of several processes on one machine.

    A process goes at the speed it has alone, unless the memory that they share gives it less: what it gave to as many
    that only read, in the same run.
    """
    speed = min(alone.speed, case.bytes / case.seconds[READ])
    meeting = 0.0 if between is None else between.seconds(model.numbers(case.size.d, case.size.r), case.processes)
    return case.bytes / speed + meeting


def _weak(rows: Sequence[Row]) -> str:
    found, between = cases(rows, TOGETHER), network(rows)
    alone = smallest(found)
    head = ["rows of each", "processes", "one read, all at once", "iteration", "predicted", "error", "of it the sum"]
    lines = [
        [
            _size(case),
            str(case.processes),
            f"{_time(case.seconds[READ])} ({_bytes(case.processes * case.bytes / case.seconds[READ])}/s in all)",
            *(_judged(case.seconds[ITERATION], predicted(case, alone, between))),
            f"{case.sum / case.seconds[ITERATION]:.2%}" if case.processes > 1 else "–",
        ]
        for case in found
    ]
    lines[found.index(alone)][4] = "taken from here"
    lines[found.index(alone)][5] = "–"
    return _table(head, lines)


def _sums(rows: Sequence[Row]) -> str:
    between = network(rows)
    if between is None:
        return ""
    head = ["numbers", "processes", "all-reduce", "predicted", "error"]
    lines = [
        [f"{count:,}", str(case.processes), *_judged(case.sum, between.seconds(count, case.processes))]
        for case in cases(rows, TOGETHER)
        if case.processes > 1
        for count in [model.numbers(case.size.d, case.size.r)]
    ]
    told = f"α = {_time(between.latency)} and β = {_bytes(between.bandwidth)}/s, from sums over two processes"
    return f"{_table(head, lines)}\n\nWith {told}, one short and one of 8 MB."


def _hosts(rows: Sequence[Row], of: str, environment: Mapping[str, Any]) -> str:
    """What fits into a second, for numbers of hosts."""
    one, between = host(rows, of), NETWORKS[of]
    if one is None:
        return ""
    head = ["hosts", "d", "m in all", "rows of each", "memory of each", "pass", "all-reduce", "iteration"]
    lines = []
    for hosts in (1, 8, 64, 512, 4096):
        d = model.largest_within(SECOND, RANK, PAPER, one, between, hosts)
        each = -(-PAPER * d * RANK // hosts)
        meeting = between.seconds(model.numbers(d, RANK), hosts)
        whole = model.iteration(d, RANK, each, one, between, hosts)
        sizes = [f"{number:,}" for number in (hosts, d, PAPER * d * RANK, each)]
        lines.append([*sizes, _bytes(model.row_bytes(d, each)), *map(_time, (whole - meeting, meeting, whole))])
    name = _NAMES[of].format(_device(environment, of))
    told = f"**{name}**: a pass at {_bytes(one.speed)}/s, {_bytes(one.memory)} for rows; "
    wire = (
        f"between them (assumed) {between.bandwidth * 8 / 1e9:.0f} Gbit/s and {between.latency * 1e6:.0f} µs a message."
    )
    return f"{told}{wire}\n\n{_table(head, lines)}"


def _device(environment: Mapping[str, Any], of: str) -> str:
    if of == CORES:
        return f"{environment['cores']} cores"
    return next(name.removeprefix("gpu ") for name in environment["devices"] if name.startswith("gpu"))


def _needed(rows: Sequence[Row], of: str) -> str:
    """In words: the hosts that some d need, and the rows with which the sum is a hundredth of a pass."""
    one, between = host(rows, of), NETWORKS[of]
    if one is None:
        return ""
    counts = []
    for d in (10_000, 100_000, 1_000_000):
        hosts = model.hosts_within(SECOND, d, RANK, PAPER * d * RANK, one, between)
        counts.append(f"d = {d:,}: {'no number of them' if hosts is None else f'{hosts:,}'}")
    rows_enough = 100 * RANK * one.speed / between.bandwidth
    told = f"with {rows_enough:,.0f} rows on each the sum is a hundredth of a pass, whatever d is"
    return f"- {of}, hosts for m = {PAPER}dr and at most a second: {'; '.join(counts)}. {told.capitalize()}."


def _size(case: Case) -> str:
    return f"d={case.size.d:,}, m={case.size.rows:,}"


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.0f} PB"


def _time(seconds: float) -> str:
    if seconds == 0:
        return "–"
    if seconds >= 0.9995:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 0.9995e-3 else f"{seconds * 1e6:.3g} µs"
