"""What dense algebra says of a problem at a point: JAX's derivatives, and nothing that an oracle computes with."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import IMAGE, RESIDUALS, TILT
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.penalties import Penalty
from gnpolyak.testing.figures import dense, vector


class Known(NamedTuple):
    """What dense algebra says at a point; of several numbers each, all in one real vector."""

    problem: Composite
    value: float
    g: np.ndarray
    z: np.ndarray
    measuring: np.ndarray
    """The derivative of the measurements."""
    reading: np.ndarray
    """The derivative of what the penalty reads of them."""
    r: np.ndarray | None
    rows: np.ndarray | None
    """The derivative of the residuals, with the other sign: AJ, or its weighted rows."""
    data: np.ndarray | None
    """The residuals where all measurements are zero."""
    image: np.ndarray | None
    """J."""

    @classmethod
    def of(cls, problem: Composite, x: Tree) -> Known:
        z = problem.sensing.measure(problem.map, x)[0]
        residuals = has_residuals(problem.penalty)
        return cls(
            problem,
            float(problem.penalty.value(z)),
            dense(_value, problem, x)[0],
            vector(z),
            dense(_measurements, problem, x),
            dense(_reading, problem, x),
            vector(problem.penalty.residuals(z)) if residuals else None,
            -dense(_residuals, problem, x) if residuals else None,
            vector(problem.penalty.residuals(jnp.zeros_like(z))) if residuals else None,
            dense(_image, problem, x) if problem.map.has(IMAGE) else None,
        )


def has_residuals(penalty: Penalty) -> bool:
    """Tell whether a penalty is a sum over residuals, tilted or not."""
    return penalty.has(RESIDUALS) or penalty.has(TILT)


def _measurements(problem: Composite, x: Tree) -> Array:
    return problem.sensing.measure(problem.map, x)[0]


def _reading(problem: Composite, x: Tree) -> Array:
    return problem.penalty.reading(_measurements(problem, x))


def _value(problem: Composite, x: Tree) -> Array:
    return problem.penalty.value(_measurements(problem, x))


def _residuals(problem: Composite, x: Tree) -> Array:
    return problem.penalty.residuals(_measurements(problem, x))


def _image(problem: Composite, x: Tree) -> Array:
    return problem.map(x)
