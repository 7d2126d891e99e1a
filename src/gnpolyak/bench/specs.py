"""What is measured: frozen descriptions, grouped into suites."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import gnpolyak as gnp


@dataclass(frozen=True)
class Size:
    """An instance of the paper's tensor sensing, with the paper's number of measurements unless m is given."""

    d: int
    r: int = 5
    n: int = 2
    m: int | None = None
    kappa: float = 3.0

    @property
    def label(self) -> str:
        """How tables call it."""
        return f"d={self.d} r={self.r} n={self.n} m={self.rows}"

    @property
    def rows(self) -> int:
        """The number of measurements."""
        return gnp.instances.default_measurements(self.d, self.r, self.n) if self.m is None else self.m


@dataclass(frozen=True, kw_only=True)
class Timed:
    """What is timed in rounds, in which every contestant has its turn."""

    rounds: int


@dataclass(frozen=True, kw_only=True)
class Looped(Timed):
    """What is so short that one timing is of several oracle calls."""

    calls: int


@dataclass(frozen=True)
class Iteration(Looped):
    """Time of one iteration against the peers and the one-read floor."""

    size: Size


@dataclass(frozen=True)
class Ranks(Looped):
    """The oracle against XLA's over ranks and orders, on data of one size."""

    d: int
    m: int
    ranks: tuple[int, ...]
    orders: tuple[int, ...]


@dataclass(frozen=True)
class Growth(Looped):
    """How the time of an iteration grows with one dimension of the problem."""

    dimension: str
    sizes: tuple[Size, ...]


@dataclass(frozen=True)
class Race(Timed):
    """Time to a relative gap, for the methods and the peers."""

    size: Size
    gap: float


@dataclass(frozen=True)
class Memory:
    """Peak memory of a solve in a process of its own, over the size of the measurements."""

    size: Size


@dataclass(frozen=True)
class Overhead(Timed):
    """A problem too small to matter: what the first `minimize` takes, a second one, and that beside its steps."""

    size: Size


@dataclass(frozen=True)
class Contest(Timed):
    """Time to the truth of an instance of a problem class, against what a user would take for it."""

    name: str
    settings: tuple[tuple[str, Any], ...] = ()
    most: float = 6.0
    """Seconds after which a peer is given up."""


@dataclass(frozen=True)
class Passes(Looped):
    """An oracle call and a product with the Jacobian on an instance, fused and by XLA."""

    name: str
    settings: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Observed(Looped):
    """How the time of an oracle call of completion grows with the entries that are seen."""

    shape: tuple[int, int]
    r: int
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Fits:
    """How far fits of a curve with noise and outliers end from the one that knows the good points."""

    curve: str
    seeds: int


@dataclass(frozen=True)
class Latency(Timed):
    """How soon a small model is answered, in a fresh process and in one that has answered before."""


@dataclass(frozen=True)
class Fresh(Timed):
    """The import, and the first answer of a fresh process for whole problem classes and models."""

    small: bool = False
    repeats: int = 5
    """Of the same problem in the same process."""


@dataclass(frozen=True)
class Lambdas:
    """How the memory of a process grows with the models that it has fitted."""

    count: int


@dataclass(frozen=True)
class Batch(Timed):
    """Many small problems as a batch, against a loop over some of them."""

    d: int
    r: int
    count: int
    alone: int


@dataclass(frozen=True)
class Batches:
    """How the memory of a process grows with the batches that it has solved."""

    d: int
    r: int
    count: int
    batches: int


@dataclass(frozen=True)
class Alone(Looped):
    """One read of the rows, an oracle call and an iteration at sizes beyond all caches, with all cores or on a GPU."""

    sizes: tuple[Size, ...]
    gpu_sizes: tuple[Size, ...] = ()
    seconds: float = 100.0
    """After which a process is ended."""


@dataclass(frozen=True)
class Together(Looped):
    """A read, an iteration and the sum in it, with processes that each have as many rows of their own."""

    sizes: tuple[Size, ...]
    processes: tuple[int, ...]
    seconds: float = 100.0
    """After which the processes of a case are ended."""


@dataclass(frozen=True)
class Streams(Timed):
    """Passes over rows in a file, or made from a seed, beside the reader alone; and a solve with them."""

    kind: str
    """``"file"`` or ``"seed"``."""
    gigabytes: float
    d: int = 1000
    r: int = 5
    solved: bool = False
    folder: str | None = None
    """Where the file is made; by default where temporary files are."""

    @property
    def rows(self) -> int:
        """How many rows p, and as many q, there are."""
        return int(self.gigabytes * 1e9 / (2 * 8 * self.d))

    @property
    def label(self) -> str:
        """How tables call it."""
        place = "in files" if self.kind == "file" else "from a seed"
        return f"{self.gigabytes:g} GB of rows {place}, d={self.d} r={self.r}"


Others = Fits | Latency | Fresh | Lambdas | Streams | Batch | Batches | Alone | Together
Spec = Iteration | Ranks | Growth | Race | Memory | Overhead | Contest | Passes | Observed | Others

LARGE = Size(d=1000)
MEDIUM = Size(d=100)
SMALL = Size(d=30, r=3, kappa=10.0)

_RANKS = (1, 3, 5, 8, 16, 32)


def _contests(rounds: int) -> tuple[Contest, ...]:
    """Every class at its own defaults, with a tenth of the data ruined unless it says otherwise; κ = 1 and 10."""
    rows = []
    for name, make in gnp.instances.INSTANCES.items():
        known = inspect.signature(make).parameters
        share = () if known["p_fail"].default else (("p_fail", 0.1),)
        kappas = (1.0, 10.0) if "kappa" in known else (None,)
        rows += [Contest(name, share + (() if k is None else (("kappa", k),)), rounds=rounds) for k in kappas]
        if name == "robust_pca":
            # Where the small singular values are lost among the outliers.
            rows.append(Contest(name, (("p_fail", 0.2), ("kappa", 100.0)), rounds=rounds))
    return tuple(rows)


_LARGER = (("d1", 2000), ("d2", 1500), ("observed", 0.1))

_CURVES = (
    "exponential decay",
    "Gaussian peak on a line",
    "logistic",
    "Michaelis–Menten",
    "damped oscillation",
    "power law",
)

# 0.5 and 1.9 GB of rows: more than the largest caches hold.
_BEYOND = (Size(d=500, m=60_000), Size(d=1000, m=120_000))

SUITES: dict[str, tuple[Spec, ...]] = {
    "quick": (
        Iteration(MEDIUM, calls=100, rounds=5),
        Race(SMALL, gap=1e-8, rounds=3),
        Overhead(Size(d=10, r=2), rounds=15),
    ),
    "full": (
        Iteration(MEDIUM, calls=200, rounds=7),
        Iteration(LARGE, calls=12, rounds=7),
        Ranks(d=200, m=8000, ranks=_RANKS, orders=(2, 3, 4, 6), calls=5, rounds=7),
        Growth("d", tuple(Size(d=d, m=8000) for d in (125, 250, 500, 1000)), calls=10, rounds=5),
        Growth("m", tuple(Size(d=500, m=m) for m in (5000, 10000, 20000, 40000)), calls=10, rounds=5),
        Growth("r", tuple(Size(d=500, r=r, m=10000) for r in _RANKS), calls=10, rounds=5),
        Growth("n", tuple(Size(d=500, n=n, m=10000) for n in (2, 3, 4, 6)), calls=10, rounds=5),
        Race(SMALL, gap=1e-8, rounds=5),
        Race(Size(d=100, kappa=10.0), gap=1e-8, rounds=5),
        Race(Size(d=1000, kappa=1.0), gap=1e-8, rounds=2),
        Memory(LARGE),
        Overhead(Size(d=10, r=2), rounds=31),
    ),
    "gpu": (
        Iteration(MEDIUM, calls=200, rounds=9),
        Iteration(LARGE, calls=200, rounds=9),
        Race(Size(d=100, kappa=10.0), gap=1e-8, rounds=3),
        Overhead(Size(d=10, r=2), rounds=15),
    ),
    "zoo": (
        *_contests(rounds=3),
        Passes("matrix_completion", calls=100, rounds=9),
        Passes("matrix_completion", (*_LARGER, ("r", 5)), calls=20, rounds=9),
        Passes("matrix_completion", (*_LARGER, ("r", 10)), calls=20, rounds=9),
        Passes("bilinear_sensing", calls=50, rounds=9),
        Passes("tensor_sensing", (("centred", False),), calls=50, rounds=9),
        Observed((2000, 1500), r=5, shares=(0.02, 0.08, 0.32), calls=20, rounds=7),
    ),
    "fit": tuple(Fits(curve, seeds=100) for curve in _CURVES),
    "latency": (Latency(rounds=7), Fresh(rounds=5), Lambdas(count=1000)),
    "batch": (Batch(d=20, r=2, count=1000, alone=50, rounds=9), Batches(d=20, r=2, count=64, batches=100)),
    "stream": (Streams("seed", 2.0, rounds=5), Streams("file", 16.0, solved=True, rounds=1)),
    "scaling": (
        Alone(_BEYOND, gpu_sizes=(Size(d=1000, m=40_000), Size(d=3000, m=120_000)), calls=5, rounds=7),
        Together(_BEYOND, processes=(1, 2, 4, 8), calls=3, rounds=5),
    ),
}
