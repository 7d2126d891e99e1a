"""Methods: a metric and a step fraction, under the name the literature uses."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import equinox as eqx

from gnpolyak.errors import InputError
from gnpolyak.metrics import Euclidean, GaussNewton, Metric, RightGram
from gnpolyak.problem import Composite
from gnpolyak.trees import Tree


class Method(eqx.Module):
    """x ← x − θ (f − target)/⟨g, s⟩ s with s = G(x)†g, for the metric G that a subclass names.

    Parameters
    ----------
    fraction : float, optional
        θ in [½, 1]; by default what the target rule prescribes (1 for a known optimum, ½ for restarts).
    """

    name: ClassVar[str]
    fraction: float | None = eqx.field(default=None, kw_only=True)
    cuts: int = eqx.field(static=True, default=1, kw_only=True)

    @property
    @abc.abstractmethod
    def metric(self) -> Metric:
        """G."""

    def check(self, problem: Composite, x: Tree) -> None:
        """Raise InputError when this method cannot run on the problem at x."""
        if self.fraction is not None and not 0.5 <= self.fraction <= 1.0:
            raise InputError(
                given=f"fraction={self.fraction!r}",
                needed="a step fraction between 1/2 and 1",
                missing="a step the convergence theorem covers",
                advice="leave it at None for the target rule's own choice",
            )
        self.metric.check(problem, x)


class Polyak(Method):
    """The subgradient method with Polyak's step, G = I. Its rate depends on the conditioning of c."""

    name: ClassVar[str] = "polyak"

    @property
    def metric(self) -> Metric:
        return Euclidean()


class ScaledSM(Method):
    """The scaled subgradient method, s = G (XᵀX)⁻¹, for maps with a right Gram."""

    name: ClassVar[str] = "scaledsm"

    @property
    def metric(self) -> Metric:
        return RightGram()


class GNP(Method):
    """Gauss–Newton–Polyak, s = J†v (the paper's Algorithm 1). Its rate depends only on h along the image of c.

    Parameters
    ----------
    solver, rtol, max_inner
        As for `gnpolyak.metrics.GaussNewton`.
    fraction
        As for `Method`.
    """

    name: ClassVar[str] = "gnp"
    solver: str = eqx.field(static=True, default="auto")
    rtol: float | None = eqx.field(static=True, default=None)
    max_inner: int | None = eqx.field(static=True, default=None)

    @property
    def metric(self) -> Metric:
        return GaussNewton(self.solver, self.rtol, self.max_inner)


METHODS: dict[str, type[Method]] = {method.name: method for method in (Polyak, ScaledSM, GNP)}
"""The registry behind ``minimize(method="...")``: adding a method is one class and its place in this row."""


def as_method(method: Any) -> Method:
    """Return a configured method from a registered name or a method itself."""
    if isinstance(method, Method):
        return method
    if isinstance(method, str) and method.lower() in METHODS:
        return METHODS[method.lower()]()
    raise InputError(
        given=f"method={method!r}",
        needed=f"one of {', '.join(repr(name) for name in METHODS)}, or a configured method",
        missing="a known method",
        advice="use method='gnp', or pass an object such as gnpolyak.GNP(solver='cg')",
    )
