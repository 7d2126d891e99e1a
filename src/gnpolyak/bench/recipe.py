"""The paper's recipe in PyTorch, written from its appendix: what a reader would program, and our yardstick.

A subgradient of f by automatic differentiation, then JᵀJ Z = g solved from zero with the paper's identity for the
action of JᵀJ, then Polyak's step. The text solves by conjugate gradients; its authors' public code by SciPy's LSMR,
which crosses between PyTorch and NumPy at every product. Both are here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import gnpolyak as gnp

# How exactly either solver solves: near rounding, as the library itself does.
_RTOL = 1e-12


class Data(NamedTuple):
    """The numbers of an instance of tensor sensing."""

    p: Any
    q: Any
    b: Any
    n: int

    @classmethod
    def of(cls, case: gnp.instances.Instance) -> Data:
        """Those of `case`."""
        problem: Any = case.problem
        return cls(problem.sensing.p, problem.sensing.q, problem.penalty.b, problem.map.n)


@dataclass
class Recipe:
    """One solve of an instance with the paper's recipe.

    Parameters
    ----------
    torch : module
        PyTorch, which is imported only where it is installed.
    """

    torch: Any
    p: Any
    q: Any
    b: Any
    x0: Any
    n: int
    target: float
    lsmr: Callable[..., Any] | None
    """SciPy's LSMR, or None for conjugate gradients."""

    @classmethod
    def of(cls, case: gnp.instances.Instance, torch: Any, device: str, lsmr: Any = None) -> Recipe:
        """The recipe on an instance, with its data on `device`."""

        def tensor(array: Any) -> Any:
            # Copied: JAX's buffers are read-only, and PyTorch shares them with a warning otherwise.
            return torch.tensor(np.asarray(array), device=device)

        data = Data.of(case)
        return cls(torch, tensor(data.p), tensor(data.q), tensor(data.b), tensor(case.x0), data.n, case.target, lsmr)

    def oracle(self, x: Any) -> tuple[Any, Any]:
        """f(x) and a subgradient, by automatic differentiation."""
        leaf = x.detach().requires_grad_(True)
        forms = ((self.p @ leaf) ** self.n).sum(1) - ((self.q @ leaf) ** self.n).sum(1)
        value = (forms - self.b).abs().sum()
        (g,) = self.torch.autograd.grad(value, leaf)
        return value.detach(), g

    def direction(self, x: Any, g: Any) -> Any:
        """The minimum-norm solution of JᵀJ s = g."""
        return self._by_cg(x, g) if self.lsmr is None else self._by_lsmr(self.lsmr, x, g)

    def _by_lsmr(self, lsmr: Callable[..., Any], x: Any, g: Any) -> Any:
        linalg = importlib.import_module("scipy.sparse.linalg")
        gram, size = x.T @ x, g.numel()

        def product(flat: np.ndarray) -> np.ndarray:
            z = self.torch.from_numpy(flat.reshape(g.shape))
            return self._gram_action(x, gram, z).numpy().ravel()

        operator = linalg.LinearOperator((size, size), matvec=product, rmatvec=product, dtype=np.float64)
        found = lsmr(operator, g.numpy().ravel(), atol=_RTOL, btol=_RTOL, conlim=0, maxiter=10 * size)
        return self.torch.from_numpy(found[0].reshape(g.shape))

    def _by_cg(self, x: Any, g: Any) -> Any:
        s = self.torch.zeros_like(g)
        residual, towards = g.clone(), g.clone()
        square = float((residual * residual).sum())
        stop = _RTOL**2 * square
        gram = x.T @ x
        for _ in range(10 * g.numel()):
            if square <= stop:
                break
            action = self._gram_action(x, gram, towards)
            length = square / float((towards * action).sum())
            s += length * towards
            residual -= length * action
            square, before = float((residual * residual).sum()), square
            towards = residual + square / before * towards
        return s

    def _gram_action(self, x: Any, gram: Any, z: Any) -> Any:
        n = self.n
        return n * (n - 1) * x @ (gram ** (n - 2) * (z.T @ x)) + n * z @ gram ** (n - 1)

    def step(self, x: Any, value: Any, g: Any) -> Any:
        """One Gauss–Newton–Polyak step from an evaluated point."""
        s = self.direction(x, g)
        return x - (value - self.target) / (g * s).sum() * s

    def run(self, calls: int, gap: float = 0.0) -> tuple[float, int]:
        """At most `calls` oracle calls, or until the relative gap; returns the relative gap and the calls made."""
        x = self.x0
        value, g = self.oracle(x)
        first = float(value) - self.target
        made = 1
        while made < calls and float(value) - self.target > gap * first:
            x = self.step(x, value, g)
            value, g = self.oracle(x)
            made += 1
        return (float(value) - self.target) / first, made
