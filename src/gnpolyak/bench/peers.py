"""The contestants: each is a function that does its work once, or a reason why it cannot take part."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

import gnpolyak as gnp
from gnpolyak.base import arrays
from gnpolyak.bench.recipe import Data, Recipe

F64 = np.dtype(np.float64)
LARGEST_JACOBIAN = 500_000


class SkipError(Exception):
    """Why a contestant does not take part."""


class PlainSensing(gnp.PowerSensing):
    """The same measurements by XLA alone: the kernel serves `PowerSensing` itself, not its subclasses."""

    def __init__(self, p: Array, q: Array) -> None:
        super().__init__(p, q)


class PlainL1(gnp.L1):
    """The same penalty by XLA alone, whatever the measurements are: no kernel serves a subclass."""

    def __init__(self, b: Array) -> None:
        super().__init__(b)


def unfused(problem: Any) -> gnp.Composite:
    """A problem of the L1 penalty with XLA's oracle."""
    return gnp.Composite(problem.map, PlainL1(problem.penalty.b), problem.sensing)


def require(package: str) -> Any:
    """The package, or a SkipError that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise SkipError(f"{package} is not installed: pip install 'gnpolyak[bench]'") from error


def on_gpu() -> bool:
    """Tell whether JAX computes on a GPU here."""
    return jax.default_backend() == "gpu"


def plain(case: gnp.instances.Instance) -> gnp.Composite:
    """The instance's problem with XLA's oracle."""
    data = Data.of(case)
    return gnp.Composite(case.problem.map, case.problem.penalty, PlainSensing(data.p, data.q))


def stored_as_float32(case: gnp.instances.Instance) -> gnp.Composite:
    """The instance's problem with rows kept in float32."""
    data = Data.of(case)
    rows = gnp.PowerSensing(data.p, data.q, storage=np.float32)
    problem = gnp.Composite(case.problem.map, case.problem.penalty, rows)
    if not on_gpu():
        require_native()
    elif problem.kernel(case.x0) is None:
        raise SkipError("XLA serves here, which widens all rows at once")
    return problem


def require_native() -> None:
    """SkipError unless the fused oracle in C++ is in use, which is for CPUs: a GPU has kernels of its own."""
    state = gnp.native.status()
    if on_gpu() or not state.available:
        raise SkipError("the fused oracle in C++ is for CPUs" if on_gpu() else f"no fused oracle: {state.reason}")


def iterations(
    problem: gnp.Composite, case: gnp.instances.Instance, calls: int, method: str = "gnp"
) -> Callable[[], float]:
    """Seconds per oracle call of the steps of a solve, without what is done once before and after them.

    The target lies out of reach, so that the loop runs for as many calls as it is asked to, or until its method has
    found what the arithmetic can tell apart.
    """
    first = gnp.minimize(problem, case.x0, method, target=case.target, max_calls=1).value

    def measure() -> float:
        res = gnp.minimize(problem, case.x0, method, target=case.target - first / 10, max_calls=calls)
        return res.timings["steps"] / res.calls

    return measure


@jax.jit
def _oracle_loop(problem: gnp.Composite, x: Any, calls: Array) -> tuple[Any, Array]:
    def again(_: Array, carry: tuple[Any, Array]) -> tuple[Any, Array]:
        x, _ = carry
        point = problem.evaluate(x)
        # The next call depends on this one, by an amount too small to matter: otherwise XLA would hoist it.
        return jax.tree.map(lambda a, g: a - 1e-14 * g, x, point.subgradient), point.value

    return lax.fori_loop(0, calls, again, (x, jnp.zeros((), jax.tree.leaves(x)[0].dtype)))


@jax.jit
def _product_loop(problem: gnp.Composite, x: Any, calls: Array) -> Any:
    oracle = gnp.oracles.oracle_for(problem, x)
    measured, kept = oracle.measure(x)
    product, w = oracle.linearise(x, kept).product, jnp.ones(measured.size, measured.dtype)

    def again(_: Array, carry: tuple[Any, Array]) -> tuple[Any, Array]:
        pushed, pulled = product(carry[0], w)
        return jax.tree.map(lambda a, g: a - 1e-14 * g, carry[0], pulled), pushed

    return lax.fori_loop(0, calls, again, (x, w))


def oracle(problem: gnp.Composite, case: gnp.instances.Instance, calls: int) -> Callable[[], Any]:
    """`calls` oracle calls in one compiled loop, as a solve makes them."""
    return _looped(_oracle_loop, problem, case, calls)


def products(problem: gnp.Composite, case: gnp.instances.Instance, calls: int) -> Callable[[], Any]:
    """`calls` products with the Jacobian and its adjoint in one compiled loop, as a graduated step makes them."""
    return _looped(_product_loop, problem, case, calls)


def _looped(
    loop: Callable[..., Any], problem: gnp.Composite, case: gnp.instances.Instance, calls: int
) -> Callable[[], Any]:
    with arrays.computing_in(F64):
        x = arrays.as_variable(case.x0)

    def call() -> Any:
        with arrays.computing_in(F64):
            return jax.block_until_ready(loop(problem, x, calls))

    return call


@jax.jit
def _sum_of(p: Array, q: Array) -> Array:
    return jnp.sum(p) + jnp.sum(q)


def floor(case: gnp.instances.Instance, calls: int) -> Callable[[], Any]:
    """`calls` reads of P and Q: by the library's own reader on a CPU, by XLA's reduction on a GPU."""
    if not on_gpu():
        require_native()
    read = _sum_of if on_gpu() else jax.jit(gnp.native.read_once)
    data = Data.of(case)

    def call() -> None:
        with arrays.computing_in(F64):
            jax.block_until_ready([read(data.p, data.q) for _ in range(calls)])

    return call


def recipe(case: gnp.instances.Instance, inner: str = "cg") -> Recipe:
    """The paper's recipe, on the device that JAX computes on."""
    if inner == "lsmr" and on_gpu():
        raise SkipError("SciPy's LSMR runs on the CPU")
    lsmr = require("scipy.sparse.linalg").lsmr if inner == "lsmr" else None
    torch = require("torch")
    if on_gpu() and not torch.cuda.is_available():
        raise SkipError("this PyTorch has no GPU")
    return Recipe.of(case, torch, "cuda" if on_gpu() else "cpu", lsmr)


def torch_autograd(case: gnp.instances.Instance, calls: int) -> Callable[[], Any]:
    """`calls` oracle calls by PyTorch's autograd."""
    solver = recipe(case)

    def call() -> float:
        values = [solver.oracle(solver.x0)[0] for _ in range(calls)]
        return float(values[-1])

    return call


def optax_polyak(case: gnp.instances.Instance, calls: int, gap: float) -> Callable[[], float]:
    """`optax.polyak_sgd` on f, in a compiled loop with the same stopping rule; returns the relative gap."""
    optax = require("optax")
    problem, target = plain(case), case.target
    method = optax.polyak_sgd(max_learning_rate=np.inf, f_min=target)

    @jax.jit
    def solve(problem: gnp.Composite, x: Array) -> Array:
        def value(x: Array) -> Array:
            return problem.penalty.value(problem.sensing.measure(problem.map, x)[0])

        first = value(x) - target

        def going(carry: Any) -> Array:
            return (carry[2] - target > gap * first) & (carry[3] < calls)

        def step(carry: Any) -> Any:
            x, state, _, count = carry
            f, g = jax.value_and_grad(value)(x)
            update, state = method.update(g, state, x, value=f)
            return optax.apply_updates(x, update), state, f, count + 1

        final = lax.while_loop(going, step, (x, method.init(x), value(x), 0))
        return (final[2] - target) / first

    def call() -> float:
        with arrays.computing_in(F64):
            return float(solve(problem, jnp.asarray(case.x0)))

    return call


def scipy_soft_l1(case: gnp.instances.Instance, evaluations: int) -> Callable[[], float]:
    """SciPy's robust least squares on the residuals; returns the relative gap in the l1 value."""
    optimize = require("scipy.optimize")
    numbers = case.settings["m"] * case.x0.size
    if numbers > LARGEST_JACOBIAN:
        raise SkipError(f"its dense Jacobian has {numbers:,} entries, and is factorised at every step")
    data = Data.of(case)
    p, q, b, n = np.asarray(data.p), np.asarray(data.q), np.asarray(data.b), data.n
    shape, tolerances = case.x0.shape, dict.fromkeys(("xtol", "ftol", "gtol"), 1e-15)

    def residual(flat: np.ndarray) -> np.ndarray:
        x = flat.reshape(shape)
        return ((p @ x) ** n).sum(1) - ((q @ x) ** n).sum(1) - b

    def jacobian(flat: np.ndarray) -> np.ndarray:
        x = flat.reshape(shape)
        plus, minus = (p @ x) ** (n - 1), (q @ x) ** (n - 1)
        return n * (p[:, :, None] * plus[:, None, :] - q[:, :, None] * minus[:, None, :]).reshape(len(b), -1)

    def call() -> float:
        found = optimize.least_squares(
            residual, case.x0.ravel(), jacobian, loss="soft_l1", max_nfev=evaluations, **tolerances
        )
        value, first = np.abs(residual(found.x)).sum(), np.abs(residual(case.x0.ravel())).sum()
        return float((value - case.target) / (first - case.target))

    return call
