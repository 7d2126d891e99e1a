"""The oracle of a user's model on the host: steps on NumPy arrays, around small compiled programs of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.oracles.base import Oracle
from gnpolyak.oracles.parts import PartsOracle
from gnpolyak.oracles.programs import program
from gnpolyak.problem.composite import Composite, Point
from gnpolyak.problem.maps import Held, Map
from gnpolyak.problem.oracles import Products


class ModelOracle(Oracle):
    """Evaluates a problem with JAX, one small program for each kind of question, and hands on NumPy arrays.

    Parameters
    ----------
    problem : Composite
        Its arrays are JAX's.
    x : pytree
        A point like those that it will be asked at.
    forms : bool
        Whether steps use AJ as a matrix.
    """

    def __init__(self, problem: Composite, x: Tree, forms: bool) -> None:
        super().__init__(on_host(problem), np)
        self.forms = forms  # type: ignore[misc]
        self._jax, self._x = problem, x
        self._programs: dict[Any, Callable[..., Any]] = {}
        self._kernel = problem.kernel(x)

    def _run(self, function: Callable[..., Any], *args: Any) -> Any:
        # The shapes are those of x throughout, so that the function alone tells the programs apart.
        found = self._programs.get(function)
        if found is None:
            with self.compiling():
                found = self._programs[function] = program(function, self._jax, *args, by=self._kernel)
        return jax.tree.map(np.asarray, found(self._jax, *args))

    def evaluate(self, x: Tree) -> Point:
        value, g, v = self._run(_evaluate, x)
        return Point(x, value, g, v)

    def residuals(self, x: Tree) -> tuple[Array, Array, Any]:
        value, r = self._run(_residuals, x)
        return value, r, None

    def measure(self, x: Tree) -> tuple[Array, Any]:
        return self._run(_measure, x), None

    def actions(self, x: Tree, kept: Any = None) -> Products:
        return Products(
            push=lambda z: self._run(_push, x, z),
            pull=lambda v: self._run(_pull, x, v),
            product=lambda z, w: self._run(_product, x, z, w),
        )

    def matrix(self, x: Tree) -> Array:
        return self._run(_matrix, x)

    def jacobian(self, x: Tree) -> Array:
        return self._run(_jacobian, x)

    def gram(self, x: Tree) -> Callable[[Tree], Tree]:
        return lambda z: self._run(_gram, x, z)

    def metric(self, x: Tree, damping: Array | float = 0.0) -> Callable[[Tree], Tree]:
        if type(self.map).preconditioner is Map.preconditioner and not self.preconditioned:
            # That of a map which states none: nothing to compile for.
            return lambda g: trees.scale(1.0 / (1.0 + damping), g)
        return lambda g: self._run(_metric, x, g, np.asarray(damping, self._dtype))

    def metrics(self, x: Tree, damping: Array | float = 0.0) -> Callable[[Tree], Tree]:
        return lambda many: self._run(_metrics, x, many, np.asarray(damping, self._dtype))

    @property
    def _dtype(self) -> Any:
        return np.finfo(jax.tree.leaves(self._x)[0].dtype).dtype

    def slopes(self, x: Tree) -> tuple[Callable[[Tree], Array], Callable[[Array], Tree]]:
        return lambda z: self._run(_image_push, x, z), lambda v: self._run(_image_pull, x, v)

    def image_subgradient(self, point: Point) -> Array | None:
        if point.v is None or not self.sensing.on_images:
            return None
        return self._run(_image_subgradient, point.x, point.v)

    def curvature(self, x: Tree, s: Tree) -> Array:
        return self._run(_curvature, x, s)

    def holding(self, free: Tree) -> Oracle:
        c = Held(self._jax.map, free)
        return ModelOracle(Composite(c, self._jax.penalty, self._jax.sensing, self._jax.box), self._x, self.forms)


class PlainModelOracle(ModelOracle):
    """That of a model in plain NumPy whose image is compared with the data: nothing is compiled."""

    def residuals(self, x: Tree) -> tuple[Array, Array, Any]:
        z = self._host.values(_flat(x)).reshape(np.shape(self.penalty.b))  # type: ignore[attr-defined]
        return self.penalty.value(z), np.ravel(self.penalty.residuals(z)), None

    def matrix(self, x: Tree) -> Array:
        matrix, rows = self._host.linearised(_flat(x))[1], self.penalty.rows
        return matrix if rows is None else np.stack([rows(column) for column in matrix.T], axis=1)

    @property
    def _host(self) -> Any:
        settled: Any = self._jax.map.settled(self._x)
        return settled.host


def on_host(problem: Composite) -> Composite:
    """The problem as steps on the host see it: its penalty and its box on NumPy arrays."""
    penalty = problem.penalty.using(np) if problem.penalty.runs_on_numpy else problem.penalty
    return Composite(problem.map, penalty, problem.sensing, trees.on_host(problem.box))


def _flat(x: Tree) -> np.ndarray:
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(x)])


def _parts(problem: Composite, x: Tree) -> PartsOracle:
    return PartsOracle(problem, jax.numpy, x)


def _evaluate(problem: Composite, x: Tree) -> Any:
    point = _parts(problem, x).evaluate(x)
    return point.value, point.subgradient, point.v


def _residuals(problem: Composite, x: Tree) -> Any:
    return _parts(problem, x).residuals(x)[:2]


def _measure(problem: Composite, x: Tree) -> Array:
    return _parts(problem, x).measure(x)[0]


def _push(problem: Composite, x: Tree, z: Tree) -> Array:
    return _parts(problem, x).actions(x).push(z)


def _pull(problem: Composite, x: Tree, v: Array) -> Tree:
    return _parts(problem, x).actions(x).pull(v)


def _product(problem: Composite, x: Tree, z: Tree, w: Array) -> tuple[Array, Tree]:
    return _parts(problem, x).actions(x).product(z, w)


def _matrix(problem: Composite, x: Tree) -> Array:
    return _parts(problem, x).matrix(x)


def _jacobian(problem: Composite, x: Tree) -> Array:
    return _parts(problem, x).jacobian(x)


def _gram(problem: Composite, x: Tree, z: Tree) -> Tree:
    return problem.map.gram(x)(z)


def _metric(problem: Composite, x: Tree, g: Tree, damping: Array) -> Tree:
    return problem.map.preconditioner(x, damping)(g)


def _metrics(problem: Composite, x: Tree, many: Tree, damping: Array) -> Tree:
    return _parts(problem, x).metrics(x, damping)(many)


def _image_push(problem: Composite, x: Tree, z: Tree) -> Array:
    return problem.map.linearize(x)[0](z)


def _image_pull(problem: Composite, x: Tree, v: Array) -> Tree:
    return problem.map.linearize(x)[1](v)


def _image_subgradient(problem: Composite, x: Tree, v: Array) -> Array:
    return problem.sensing.adjoint(problem.map(x), v)


def _curvature(problem: Composite, x: Tree, s: Tree) -> Array:
    return problem.map.curvature(x, s)
