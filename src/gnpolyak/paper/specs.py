"""What a figure is made of, frozen: sweeps of one argument, and in each a curve for every value, method and seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

SYMBOLS = {"d": "d", "r": "r", "n": "n", "p_fail": "p_fail", "kappa": "κ"}
"""The arguments of an instance as the paper writes them."""

# Just above what float64 resolves of the sums in the largest of these problems.
_TOL = 1e-13
# Measurements for each of the d·r variables. Not left to the instances' own default, which is this for matrices and n
# times this beyond: Section 5.3 takes n times as many at n = 2 too.
_PER_VARIABLE = 8


@dataclass(frozen=True)
class Contender:
    """A method with its rule for the optimal value, under the name the paper gives it."""

    label: str
    method: str
    """"gnp", "scaledsm", "polyak" or "auto", as `gnpolyak.minimize` calls them, or "gnp-authors"."""
    strategy: str | None = None
    """None where the optimal value is known."""
    inner: int = 200
    outer: int = 50
    fraction: float | None = None
    tol: float = _TOL
    typical: int | None = None
    """The calls it takes as a rule, for estimates of the time left; None if that depends on the conditioning."""


@dataclass(frozen=True)
class Setting:
    """The arguments of `instances.tensor_sensing`, its seed aside."""

    d: int
    r: int = 5
    n: int = 2
    kappa: float = 1.0
    p_fail: float = 0.0
    m: int = 0
    radius: float = 0.1
    corruption: float = 1.0


@dataclass(frozen=True)
class Curve:
    """One solve, and what identifies its rows."""

    figure: str
    panel: str
    """The name of the sweep, which the figure shows as one of its panels."""
    contender: Contender
    symbol: str
    value: float
    setting: Setting
    seed: int
    max_calls: int
    max_seconds: float | None

    @property
    def name(self) -> str:
        """How progress and errors call it."""
        return f"{self.figure} {self.symbol}={self.value:g} {self.contender.label} seed {self.seed}"

    @property
    def work(self) -> float:
        """About how many seconds it takes on two cores; only for estimates of the time left."""
        s = self.setting
        solving = self.likely_calls * (1.2e-10 * s.m * s.d * max(s.r, 4) + 1e-4)
        return 2.0 + 6e-8 * s.m * s.d + min(solving, self.max_seconds or np.inf)

    @property
    def likely_calls(self) -> float:
        """About how many calls it takes; only for estimates too."""
        s, contender = self.setting, self.contender
        slow = self.max_calls if contender.strategy else 30 * s.n * s.kappa ** (1.75 * (s.n - 1))
        return min(contender.typical or slow, self.max_calls)


@dataclass(frozen=True)
class Sweep:
    """One setting with one of its arguments varied: a panel of a figure."""

    name: str
    about: str
    """What stays the same."""
    varies: str
    values: tuple[float, ...]
    base: Setting
    with_order: bool
    """Whether the number of measurements is multiplied by the order n."""
    contenders: tuple[Contender, ...]
    seeds: int
    max_calls: int
    max_seconds: float | None = None
    halved: bool = False
    """Whether only half of the measurements are taken, as the authors' code does."""
    absolute_radius: float | None = None
    """‖x0 − X⋆‖ itself, as the authors' code has it, instead of its ratio to ‖X⋆‖."""

    @property
    def symbol(self) -> str:
        """What varies, as the paper writes it."""
        return SYMBOLS[self.varies]

    @property
    def title(self) -> str:
        """What stays the same, and the number of measurements."""
        return f"{self.about}, m = {_PER_VARIABLE}{'n' * self.with_order}dr{' halved' * self.halved}"

    def setting(self, value: float) -> Setting:
        """The setting at one value of what varies."""
        varied = replace(self.base, **{self.varies: type(getattr(self.base, self.varies))(value)})
        m = _PER_VARIABLE * varied.d * varied.r * (varied.n if self.with_order else 1)
        return replace(varied, m=m // 2 if self.halved else m, radius=self._radius(varied))

    def limit(self, contender: Contender) -> int:
        """The most calls; restarts have a number of their own."""
        return contender.inner * contender.outer + 1 if contender.strategy == "restart" else self.max_calls

    def _radius(self, setting: Setting) -> float:
        if self.absolute_radius is None:
            return setting.radius
        # ‖X⋆‖ follows from its singular values, 1 to 1/κ spaced linearly.
        size = float(np.linalg.norm(np.linspace(1.0, 1.0 / setting.kappa, setting.r)))
        return float(f"{self.absolute_radius / size:.12g}")


@dataclass(frozen=True)
class Figure:
    """One figure of the paper."""

    name: str
    title: str
    place: str
    """Where the paper has it."""
    caption: str
    sweeps: tuple[Sweep, ...]
    relative: bool = False
    """Whether errors are told as a share of the first one."""

    def curves(self, seeds: int | None = None) -> Iterator[Curve]:
        """Every solve the figure needs, those on the same instance next to each other."""
        for sweep in self.sweeps:
            for value in sweep.values:
                setting = sweep.setting(value)
                for seed in range(sweep.seeds if seeds is None else seeds):
                    for contender in sweep.contenders:
                        yield Curve(
                            figure=self.name,
                            panel=sweep.name,
                            contender=contender,
                            symbol=sweep.symbol,
                            value=value,
                            setting=setting,
                            seed=seed,
                            max_calls=sweep.limit(contender),
                            max_seconds=sweep.max_seconds,
                        )
