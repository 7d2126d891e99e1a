"""The paper's five figures at two scales, with the settings of its text or of its authors' code.

Where the paper's text is silent the choice is ours and said here: the cap on calls of the figures on conditioning, and
that every run with a known optimum ends at 1e-13 of its first error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gnpolyak.paper.specs import Contender, Figure, Setting, Sweep

VARIANTS = ("paper", "authors")


@dataclass(frozen=True)
class Sizes:
    """What a scale fixes."""

    large: int
    """The dimension of the figures on conditioning, and of the first row of the one on order."""
    small: int
    """The dimension of all others."""
    largest_rank: int
    """The largest dimension at which the rank of the Jacobian is measured."""
    seeds: int
    cap: int
    """The most calls of the figures on order and rank."""


SIZES = {
    "quick": Sizes(large=60, small=30, largest_rank=200, seeds=1, cap=2_000),
    "paper": Sizes(large=1000, small=100, largest_rank=1000, seeds=3, cap=10_000),
}
SCALES = tuple(SIZES)

GNP = Contender("GNP", "gnp", typical=80)
SCALEDSM = Contender("ScaledSM", "scaledsm", typical=80)
POLYAK = Contender("Polyak", "polyak")
RGNP = Contender("RGNP", "gnp", "restart", inner=200, outer=50)
RPOLYAK = Contender("RPolyak", "polyak", "restart", inner=1000, outer=10)
LEVEL = Contender("Level (ours)", "auto", "level", tol=1e-11, typical=200)

_KAPPAS = (1.0, 2.0, 5.0, 10.0, 50.0, 100.0)


def figures(scale: str = "paper", variant: str = "paper") -> tuple[Figure, ...]:
    """The five figures at a scale, in one of the two variants."""
    sizes = SIZES[scale]
    built = (_conditioning(sizes), _scaledsm(sizes), _order(sizes), _restarts(sizes), _rank(sizes))
    return built if variant == "paper" else tuple(_as_the_authors(figure) for figure in built)


def figure(name: str, scale: str = "paper", variant: str = "paper") -> Figure:
    """One of them."""
    return next(each for each in figures(scale, variant) if each.name == name)


def _conditioning(sizes: Sizes) -> Figure:
    return Figure(
        "conditioning",
        "Conditioning: GNP against Polyak",
        "Figure 1, Section 5.2",
        "The condition number κ of the true factor grows; the optimal value is known.",
        (_varying_kappa(sizes, "conditioning", POLYAK),),
    )


def _scaledsm(sizes: Sizes) -> Figure:
    return Figure(
        "scaledsm",
        "Conditioning: GNP against ScaledSM",
        "Figure 2, Section 5.2",
        "The same setting, against the method that preconditions by the inverse Gram matrix of the factor.",
        (_varying_kappa(sizes, "scaledsm", SCALEDSM),),
    )


def _varying_kappa(sizes: Sizes, name: str, other: Contender) -> Sweep:
    base, about = Setting(d=sizes.large), f"n = 2, r = 5, d = {sizes.large}"
    return Sweep(name, about, "kappa", _KAPPAS, base, False, (GNP, other), sizes.seeds, max_calls=5_000)


def _order(sizes: Sizes) -> Figure:
    return Figure(
        "order",
        "Order of the tensor",
        "Figure 3, Section 5.3",
        "The order n of the tensor grows, well conditioned above and with κ = 3 below.",
        (
            _varying_order(sizes, "top", Setting(d=sizes.large), 100.0),
            _varying_order(sizes, "bottom", Setting(d=sizes.small, kappa=3.0), None),
        ),
        relative=True,
    )


def _varying_order(sizes: Sizes, name: str, base: Setting, seconds: float | None) -> Sweep:
    about, orders = f"κ = {base.kappa:g}, d = {base.d}, r = 5", (2.0, 3.0, 4.0, 5.0, 6.0)
    return Sweep(name, about, "n", orders, base, True, (GNP, POLYAK), sizes.seeds, sizes.cap, seconds)


def _restarts(sizes: Sizes) -> Figure:
    base, about = Setting(d=sizes.small, kappa=5.0), f"κ = 5, n = 2, r = 5, d = {sizes.small}"
    shares, methods = (0.0, 0.1, 0.2, 0.3, 0.4), (RGNP, RPOLYAK, LEVEL)
    return Figure(
        "restarts",
        "Unknown optimal value: restarts",
        "Figure 4, Section 5.4",
        "A share p_fail of the measurements is corrupted and only the bound h₀ = 0 is known. The level rule is this "
        "library's own.",
        (Sweep("restarts", about, "p_fail", shares, base, False, methods, sizes.seeds, max_calls=10_000),),
    )


def _rank(sizes: Sizes) -> Figure:
    base, about = Setting(d=sizes.small, n=3, kappa=3.0), f"n = 3, κ = 3, d = {sizes.small}"
    ranks = (2.0, 5.0, 10.0, 20.0)
    return Figure(
        "rank",
        "Rank",
        "Figure 5, Section 5.5",
        "The rank r grows; the optimal value is known.",
        (Sweep("rank", about, "r", ranks, base, True, (GNP, POLYAK), sizes.seeds, sizes.cap),),
        relative=True,
    )


def _as_the_authors(figure: Figure) -> Figure:
    """The figure with what their public code does differently from their text."""
    return replace(figure, sweeps=tuple(_authors_sweep(figure.name, sweep) for sweep in figure.sweeps))


def _authors_sweep(figure: str, sweep: Sweep) -> Sweep:
    return replace(
        sweep,
        base=replace(sweep.base, corruption=0.001),
        halved=True,
        absolute_radius=0.01 if figure == "order" else 0.1,
        contenders=tuple(_authors_contender(contender) for contender in sweep.contenders),
        max_calls=sweep.max_calls if figure == "restarts" else min(sweep.max_calls, 1_000),
    )


def _authors_contender(contender: Contender) -> Contender:
    changed = {
        "GNP": {"method": "gnp-authors"},
        "RGNP": {"method": "gnp-authors", "fraction": 1.0},
        "RPolyak": {"fraction": 1.0, "inner": 1200, "outer": 13},
    }
    return replace(contender, **changed.get(contender.label, {}))  # type: ignore[arg-type]
