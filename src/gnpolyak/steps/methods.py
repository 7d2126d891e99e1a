"""Methods: a metric and a step fraction, under the name the literature uses."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import numpy as np

from gnpolyak.base.errors import InputError
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.steps.metrics import Euclidean, GaussNewton, Metric, RightGram

MOST_CUTS = 10


class Method(eqx.Module):
    """x ← x − θ (f − target)/⟨g, s⟩ s with s = G(x)†g, for the metric G that a subclass names.

    Parameters
    ----------
    fraction : float, optional
        θ in [½, 1]; by default what the target rule prescribes (1 for a known optimum, ½ for restarts).
    cuts : int
        How many of the last points' cuts a step has to satisfy, 1 to 10. One is the method of the literature.
    """

    name: ClassVar[str]
    fraction: float | None = eqx.field(default=None, kw_only=True)
    cuts: int = eqx.field(static=True, default=1, kw_only=True)

    @property
    @abc.abstractmethod
    def metric(self) -> Metric:
        """G."""

    def suited(self, problem: Composite, x: Tree) -> Method:
        """Return the method with what it leaves open chosen for the problem."""
        return self

    def check(self, problem: Composite, x: Tree) -> None:
        """Raise InputError when this method cannot run on the problem at x."""
        real = isinstance(self.fraction, (int, float, np.number))
        if self.fraction is not None and not (real and 0.5 <= self.fraction <= 1.0):
            raise InputError(
                given=f"fraction={self.fraction!r}",
                needed="a step fraction between 1/2 and 1",
                missing="a step the convergence theorem covers",
                advice="leave it at None for the target rule's own choice",
            )
        if not isinstance(self.cuts, int) or isinstance(self.cuts, bool) or not 1 <= self.cuts <= MOST_CUTS:
            raise InputError(
                given=f"cuts={self.cuts!r}",
                needed=f"a whole number of cuts from 1 to {MOST_CUTS}",
                missing="a valid number",
                advice="use cuts=5, or cuts=1 for the method as the literature has it",
            )
        self.metric.check(problem, x)


class Polyak(Method):
    """The subgradient method with Polyak's step, G = I. Its rate depends on the conditioning of c."""

    name: ClassVar[str] = "polyak"

    @property
    def metric(self) -> Metric:
        return Euclidean()


class ScaledSM(Method):
    """The scaled subgradient method, s = G (XᵀX)⁻¹, for maps with a right Gram.

    Parameters
    ----------
    damped : bool
        Use G (XᵀX + λI)⁻¹ with λ the distance to go in the image, for ranks that are too large.
    """

    name: ClassVar[str] = "scaledsm"
    damped: bool = eqx.field(static=True, default=False)

    @property
    def metric(self) -> Metric:
        return RightGram(self.damped)


class GNP(Method):
    """Gauss–Newton–Polyak, s = J†v (the paper's Algorithm 1). Its rate depends only on h along the image of c.

    Parameters
    ----------
    solver, rtol, max_inner
        As for `gnpolyak.metrics.GaussNewton`.
    fraction, cuts
        As for `Method`.
    """

    name: ClassVar[str] = "gnp"
    solver: str = eqx.field(static=True, default="auto")
    rtol: float | None = eqx.field(static=True, default=None)
    max_inner: int | None = eqx.field(static=True, default=None)

    damping: ClassVar[str] = "never"

    @property
    def metric(self) -> Metric:
        return GaussNewton(self.solver, self.rtol, self.max_inner, self.damping)


class LMM(GNP):
    """Damped Gauss–Newton–Polyak, s = (JᵀJ + λI)⁻¹Jᵀv, with λ tied to the gap: for ranks that are too large.

    See `gnpolyak.metrics.GaussNewton` for λ, which has no constant to tune.
    """

    name: ClassVar[str] = "lmm"
    damping: ClassVar[str] = "always"


class Auto(GNP):
    """GNP that damps itself where rank is being lost, with five cuts: what to use unless you compare methods."""

    name: ClassVar[str] = "auto"
    damping: ClassVar[str] = "auto"
    cuts: int = eqx.field(static=True, default=5, kw_only=True)

    def suited(self, problem: Composite, x: Tree) -> Method:
        # Each older cut costs two more inner solves: where those are iterative, that is more than it saves.
        iterative = GaussNewton(self.solver).is_iterative(problem, x)
        return dataclasses.replace(self, cuts=1) if iterative else self


METHODS: dict[str, type[Method]] = {method.name: method for method in (Auto, GNP, LMM, ScaledSM, Polyak)}
"""The registry behind ``minimize(method="...")``: adding a method is one class and its place in this row."""


def as_method(method: Any, cuts: Any = None) -> Method:
    """Return a configured method from a registered name or a method itself, with its number of cuts if one is given."""
    if isinstance(method, str) and method.lower() in METHODS:
        method = METHODS[method.lower()]()
    if not isinstance(method, Method):
        raise InputError(
            given=f"method={method!r}",
            needed=f"one of {', '.join(repr(name) for name in METHODS)}, or a configured method",
            missing="a known method",
            advice="leave it out for 'auto', or pass an object such as gnpolyak.GNP(solver='cg')",
        )
    if cuts is None:
        return method
    return dataclasses.replace(method, cuts=int(cuts) if isinstance(cuts, np.integer) else cuts)
