"""Sharpness and regularity of h on the image of c: Assumptions 2 and 3 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnpolyak.base.trees import Tree
from gnpolyak.diagnostics.rate import Rate
from gnpolyak.diagnostics.samples import RADII, observe
from gnpolyak.problem.composite import Composite

# A ratio μ_h/L_h below the first is that of a point as good as x⋆ elsewhere; below the second, of very slow progress.
NO_RATIO, _LITTLE = 1e-6, 1e-3


@dataclass(frozen=True)
class Sharpness:
    """Estimates of μ_h and L_h about one solution."""

    mu: float
    """The smallest (h(z) − h*)/‖z − c(x⋆)‖ seen: an upper estimate of μ_h."""
    lipschitz: float
    """The largest of these ratios and of ‖Pv‖: a lower estimate of L_h."""
    radii: tuple[float, ...]
    """Distances of the samples in x, relative to ‖x⋆‖, in descending order."""
    mu_at: tuple[float, ...]
    """The smallest ratio seen at each radius."""
    points: int
    """How many points were looked at."""

    @property
    def holds(self) -> bool | None:
        """Whether h looks sharp: the ratios neither fall with the radius, nor come near zero; None in between."""
        if not self.mu > NO_RATIO * self.lipschitz or self._fades:
            return False
        return None if self.mu < _LITTLE * self.lipschitz else True

    @property
    def _fades(self) -> bool:
        """Quadratic growth shows as a ratio proportional to the radius."""
        return len(self.radii) > 1 and self.mu_at[-1] < (self.radii[-1] / self.radii[0]) ** 0.5 * self.mu_at[0]

    def rate(self) -> Rate:
        """The rate that Theorem 1 gives for these estimates.

        Raises
        ------
        InputError
            If μ_h is not positive.
        """
        return Rate(self.mu, self.lipschitz)


def sharpness(
    problem: Composite,
    solution: Tree,
    target: float | None = None,
    *,
    radii: Sequence[float] = RADII,
    samples: int = 64,
    seed: int = 0,
    points: Sequence[Tree] = (),
) -> Sharpness:
    """Estimate μ_h and L_h on the image of c near a solution, by sampling.

    Assumption 2 and Lemma 2 (items 1, 2 and 4) of the paper ask for constants with

        μ_h dist(z, Z⋆) ≤ h(z) − h* ≤ L_h dist(z, Z⋆)   and   ‖v‖ ≤ L_h

    for z = c(x) near c(x⋆) and v ∈ ∂h(z). Here the distance is the one to c(x⋆), so a solution that is not isolated in
    the image does not look sharp. The constant c₁ of Theorem 1 needs ‖v‖ ≤ L_h only for the part Pv of v in the range
    of J, so that is what is measured; the part normal to it enters the radius δ alone. (The paper's own L_h is twice a
    local Lipschitz constant: this one is sharper.)

    A minimum over samples is an upper estimate of μ_h, and a maximum a lower estimate of L_h: the true rate bound is
    no better than the one estimated. The proof needs these inequalities at the iterates alone, though: pass a run's
    iterates as `points`, and the bound holds for that run up to the terms of second order.

    Parameters
    ----------
    problem : Composite
    solution : array_like or pytree
        x⋆, such as an instance's truth or the answer of `minimize`.
    target : float, optional
        h*; by default the value at the solution.
    radii : sequence of float
        Distances of the samples from x⋆, relative to its norm.
    samples : int
        Points at each radius: half in directions uniform in x, half in directions uniform in the image, without which
        a badly conditioned c would hide all but a few directions. Four more lie along the directions that the
        measurements see least and most.
    seed : int
        Seed of the samples.
    points : sequence of array_like or pytree
        Further points to look at, such as iterates.

    Returns
    -------
    Sharpness
    """
    seen = observe(problem, solution, target, radii=radii, samples=samples, seed=seed, points=points)
    around = seen.by_radius()
    return Sharpness(
        mu=float(np.min(seen.slopes)),
        lipschitz=float(max(np.max(seen.slopes), np.max(seen.projected))),
        radii=tuple(around),
        mu_at=tuple(float(np.min(here.slopes)) for here in around.values()),
        points=len(seen.slopes),
    )


@dataclass(frozen=True)
class Regularity:
    """How far subgradients overshoot towards the solution, by radius."""

    radii: tuple[float, ...]
    """Distances of the samples in x, relative to ‖x⋆‖, in descending order."""
    ratios: tuple[float, ...]
    """The largest (h(z) + ⟨v, ẑ − z⟩ − h*)/‖z − ẑ‖ at each radius: at most 0 for a convex h."""
    allowed: float
    """μ_h/8, what Lemma 2 (item 3) allows."""

    @property
    def holds(self) -> bool:
        """Whether the ratio at the smallest radius is within what the lemma allows."""
        return self.ratios[-1] <= self.allowed


def regularity(
    problem: Composite,
    solution: Tree,
    target: float | None = None,
    *,
    radii: Sequence[float] = RADII,
    samples: int = 64,
    seed: int = 0,
) -> Regularity:
    """Assumption 3, (b≤)-regularity: h(z) + ⟨v, ẑ − z⟩ − h* ≤ o(‖z − ẑ‖) for z = c(x) near ẑ = c(x⋆), v ∈ ∂h(z).

    It holds for every convex or weakly convex h, with at most rounding above 0 where h is convex. ⟨v, ẑ − z⟩ is taken
    on the measurements, so that no array of the image's size is formed.

    Parameters
    ----------
    problem, solution, target, radii, samples, seed
        As for `sharpness`.

    Returns
    -------
    Regularity
    """
    seen = observe(problem, solution, target, radii=radii, samples=samples, seed=seed)
    around = seen.by_radius()
    return Regularity(
        radii=tuple(around),
        ratios=tuple(float(np.max(here.excess / here.distance)) for here in around.values()),
        allowed=float(np.min(seen.slopes)) / 8,
    )
