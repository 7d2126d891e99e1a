"""Which oracle serves a problem, and whether its Jacobian is formed."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from gnpolyak.base import trees
from gnpolyak.base.trees import Tree
from gnpolyak.oracles.base import Oracle
from gnpolyak.oracles.model import ModelOracle, PlainModelOracle
from gnpolyak.oracles.parts import PartsOracle
from gnpolyak.oracles.streamed import StreamedOracle
from gnpolyak.problem.capabilities import GRAM_PINV
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import NumpyMap
from gnpolyak.problem.penalties import L1
from gnpolyak.problem.sensing import Identity

# Up to this many variables, and numbers in it (64 MB), the Jacobian of an autodiff map is formed and factorised: exact,
# and no slower than the many products that LSMR takes on what is badly conditioned.
LARGEST_DENSE_VARIABLE, LARGEST_DENSE_JACOBIAN = 1000, 2**23
# Multiplications of a factorisation that takes some ten milliseconds.
_QUICK = 2**26


def oracle_for(problem: Composite, x: Tree) -> Oracle:
    """The oracle of a problem inside a compiled program, or wherever else JAX computes."""
    return PartsOracle(problem, jnp, x, forms_jacobian(problem, x))


def host_oracle(problem: Composite, x: Tree) -> Oracle:
    """The oracle of a problem on the host: NumPy arrays, and nothing compiled but a user's own JAX functions.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> problem = gnp.composite(gnp.Linear(np.eye(2)), gnp.L1(np.array([1.0, 3.0])))
    >>> point = gnp.oracles.host_oracle(problem, np.zeros(2)).evaluate(np.zeros(2))
    >>> float(point.value), point.subgradient.tolist()
    (4.0, [-1.0, -1.0])
    """
    if problem.streamed:
        return StreamedOracle(problem, x)
    forms = forms_jacobian(problem, x)
    if problem.runs_on_numpy and not problem.only_by_jax(x):
        return PartsOracle(problem.using(np), np, x, forms)
    return (PlainModelOracle if forms and _is_plain(problem) else ModelOracle)(problem, x, forms)


def _is_plain(problem: Any) -> bool:
    """Whether there is nothing to compile: the image of a model in plain NumPy, compared with data as it is."""
    plain = isinstance(problem.map, NumpyMap) and isinstance(problem.sensing, Identity)
    return plain and type(problem.penalty) is L1 and problem.penalty.b.dtype == np.float64


def forms_jacobian(problem: Composite, x: Tree) -> bool:
    """Whether AJ is formed: where the map has no closed form, and AJ is small.

    In a box a closed form, which is that of all columns, is only a preconditioner. There AJ is formed also where a
    factorisation of it takes no longer than a few products.
    """
    if not problem.map.has(GRAM_PINV):
        return is_small(problem, x)
    quick = problem.box is not None and trees.size(x) ** 2 * problem.count(x) <= _QUICK
    return quick and _at_hand(problem)


def is_small(problem: Composite, x: Tree) -> bool:
    """Whether AJ is small enough to be formed and factorised, and its rows are in memory and on one device."""
    size = trees.size(x)
    if not _at_hand(problem):
        return False
    return size <= LARGEST_DENSE_VARIABLE and size * problem.count(x) <= LARGEST_DENSE_JACOBIAN


def _at_hand(problem: Composite) -> bool:
    return problem.sensing.spread is None and not problem.streamed
