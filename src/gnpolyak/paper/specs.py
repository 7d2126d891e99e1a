"""What each of the paper's figures runs, frozen: two scales, and the paper's or its authors' settings.

Where the paper's text is silent the choice is ours and said here: the cap on calls of the figures on conditioning, and
that every run with a known optimum ends at 1e-13 of its first error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

SCALES = ("quick", "paper")
VARIANTS = ("paper", "authors")

# Just above what float64 resolves of the sums in the largest of these problems.
_TOL = 1e-13
_KAPPAS = (1.0, 2.0, 5.0, 10.0, 50.0, 100.0)


@dataclass(frozen=True)
class Contender:
    """A method with its rule for the optimal value, under the name the paper gives it."""

    label: str
    method: str
    """A name of `gnpolyak.methods.METHODS`, or "gnp-authors"."""
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
class Panel:
    """One setting with one of its arguments varied."""

    name: str
    title: str
    varies: str
    values: tuple[float, ...]
    base: Setting
    per_variable: int
    """Measurements for each of the d·r variables, to be multiplied by the order n where `with_order`."""
    with_order: bool
    contenders: tuple[Contender, ...]
    seeds: int
    max_calls: int
    max_seconds: float | None = None
    halved: bool = False
    """Whether only half of these measurements are taken, as the authors' code does."""
    absolute_radius: float | None = None
    """‖x0 − X⋆‖ itself, as the authors' code has it, instead of its ratio to ‖X⋆‖."""

    @property
    def symbol(self) -> str:
        """What varies, as the paper writes it."""
        return {"kappa": "κ", "p_fail": "p_fail"}.get(self.varies, self.varies)

    def setting(self, value: float) -> Setting:
        """The setting at one value of what varies."""
        varied = replace(self.base, **{self.varies: type(getattr(self.base, self.varies))(value)})
        m = self.per_variable * varied.d * varied.r * (varied.n if self.with_order else 1)
        radius = varied.radius
        if self.absolute_radius is not None:
            radius = float(f"{self.absolute_radius / _truth_norm(varied):.12g}")
        return replace(varied, m=m // 2 if self.halved else m, radius=radius)


@dataclass(frozen=True)
class Figure:
    """One figure of the paper."""

    name: str
    title: str
    place: str
    """Where the paper has it."""
    caption: str
    panels: tuple[Panel, ...]

    def curves(self, seeds: int | None = None) -> Iterator[Curve]:
        """Every solve the figure needs, those on the same instance next to each other."""
        for panel in self.panels:
            for value in panel.values:
                setting = panel.setting(value)
                for seed in range(panel.seeds if seeds is None else seeds):
                    for contender in panel.contenders:
                        yield Curve(
                            self.name,
                            panel.name,
                            contender,
                            panel.symbol,
                            value,
                            setting,
                            seed,
                            _limit(panel, contender),
                            panel.max_seconds,
                        )


def _limit(panel: Panel, contender: Contender) -> int:
    return contender.inner * contender.outer + 1 if contender.strategy == "restart" else panel.max_calls


def _truth_norm(setting: Setting) -> float:
    """‖X⋆‖_F, which follows from its singular values, 1 to 1/κ spaced linearly."""
    return float(np.linalg.norm(np.linspace(1.0, 1.0 / setting.kappa, setting.r)))


GNP = Contender("GNP", "gnp", typical=80)
SCALEDSM = Contender("ScaledSM", "scaledsm", typical=80)
POLYAK = Contender("Polyak", "polyak")
RGNP = Contender("RGNP", "gnp", "restart", inner=200, outer=50)
RPOLYAK = Contender("RPolyak", "polyak", "restart", inner=1000, outer=10)
LEVEL = Contender("Level (ours)", "auto", "level", tol=1e-11, typical=200)


def figures(scale: str = "paper", variant: str = "paper") -> tuple[Figure, ...]:
    """The five figures at a scale, in one of the two variants."""
    sizes = _Sizes(1000, 100, seeds=3, cap=10_000) if scale == "paper" else _Sizes(60, 30, seeds=1, cap=2_000)
    built = (_conditioning(sizes), _scaledsm(sizes), _order(sizes), _restarts(sizes), _rank(sizes))
    return built if variant == "paper" else tuple(_as_the_authors(figure) for figure in built)


@dataclass(frozen=True)
class _Sizes:
    """What a scale fixes."""

    large: int
    small: int
    seeds: int
    cap: int


def _conditioning(sizes: _Sizes) -> Figure:
    return Figure(
        "conditioning",
        "Conditioning: GNP against Polyak",
        "Figure 1, Section 5.2",
        "The condition number κ of the true factor grows; the optimal value is known.",
        (_varying_kappa(sizes, "conditioning", POLYAK),),
    )


def _scaledsm(sizes: _Sizes) -> Figure:
    return Figure(
        "scaledsm",
        "Conditioning: GNP against ScaledSM",
        "Figure 2, Section 5.2",
        "The same setting, against the method that preconditions by the inverse Gram matrix of the factor.",
        (_varying_kappa(sizes, "scaledsm", SCALEDSM),),
    )


def _varying_kappa(sizes: _Sizes, name: str, other: Contender) -> Panel:
    base, title = Setting(d=sizes.large), f"n = 2, r = 5, d = {sizes.large}, m = 8dr"
    return Panel(name, title, "kappa", _KAPPAS, base, 8, False, (GNP, other), sizes.seeds, max_calls=5_000)


def _order(sizes: _Sizes) -> Figure:
    return Figure(
        "order",
        "Order of the tensor",
        "Figure 3, Section 5.3",
        "The order n of the tensor grows, well conditioned above and with κ = 3 below.",
        (
            _varying_order(sizes, "top", Setting(d=sizes.large), 100.0),
            _varying_order(sizes, "bottom", Setting(d=sizes.small, kappa=3.0), None),
        ),
    )


def _varying_order(sizes: _Sizes, name: str, base: Setting, seconds: float | None) -> Panel:
    title = f"κ = {base.kappa:g}, d = {base.d}, r = 5, m = 8ndr"
    orders = (2.0, 3.0, 4.0, 5.0, 6.0)
    return Panel(name, title, "n", orders, base, 8, True, (GNP, POLYAK), sizes.seeds, sizes.cap, seconds)


def _restarts(sizes: _Sizes) -> Figure:
    base, title = Setting(d=sizes.small, kappa=5.0), f"κ = 5, n = 2, r = 5, d = {sizes.small}, m = 8dr"
    shares, methods = (0.0, 0.1, 0.2, 0.3, 0.4), (RGNP, RPOLYAK, LEVEL)
    return Figure(
        "restarts",
        "Unknown optimal value: restarts",
        "Figure 4, Section 5.4",
        "A share p_fail of the measurements is corrupted and only the bound h₀ = 0 is known. The level rule is this "
        "library's own.",
        (Panel("restarts", title, "p_fail", shares, base, 8, False, methods, sizes.seeds, max_calls=10_000),),
    )


def _rank(sizes: _Sizes) -> Figure:
    base, title = Setting(d=sizes.small, n=3, kappa=3.0), f"n = 3, κ = 3, d = {sizes.small}, m = 8ndr"
    ranks = (2.0, 5.0, 10.0, 20.0)
    return Figure(
        "rank",
        "Rank",
        "Figure 5, Section 5.5",
        "The rank r grows; the optimal value is known.",
        (Panel("rank", title, "r", ranks, base, 8, True, (GNP, POLYAK), sizes.seeds, sizes.cap),),
    )


def _as_the_authors(figure: Figure) -> Figure:
    """The figure with what their public code does differently from their text."""
    return replace(figure, panels=tuple(_authors_panel(figure.name, panel) for panel in figure.panels))


def _authors_panel(figure: str, panel: Panel) -> Panel:
    return replace(
        panel,
        title=f"{panel.title} halved",
        base=replace(panel.base, corruption=0.001),
        halved=True,
        absolute_radius=0.01 if figure == "order" else 0.1,
        contenders=tuple(_authors_contender(contender) for contender in panel.contenders),
        max_calls=panel.max_calls if figure == "restarts" else min(panel.max_calls, 1_000),
    )


def _authors_contender(contender: Contender) -> Contender:
    changed = {
        "GNP": {"method": "gnp-authors"},
        "RGNP": {"method": "gnp-authors", "fraction": 1.0},
        "RPolyak": {"fraction": 1.0, "inner": 1200, "outer": 13},
    }
    return replace(contender, **changed.get(contender.label, {}))  # type: ignore[arg-type]
