"""Several starts for one problem, and the best of what they lead to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from gnpolyak.base import arrays, trees
from gnpolyak.base.errors import InputError
from gnpolyak.base.halting import go_on, hurried_by
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.solve.arguments import checked_rank, checked_seconds
from gnpolyak.solve.batch.front import minimize_batch
from gnpolyak.solve.batch.given import require_here
from gnpolyak.solve.clock import Clock
from gnpolyak.solve.result import Result
from gnpolyak.solve.resuming import Asked
from gnpolyak.solve.starting import goes_by_factors, start
from gnpolyak.steps.named import as_method

# What a batch is asked as one solve is.
_SAME = ("bounds", "target", "lower_bound", "strategy", "inner", "outer", "tol", "polish")
# What is left of a limit that the start has used up: each start is evaluated.
_LEAST_SECONDS = 1e-3


def best_of(
    problem: Composite, asked: Asked, count: int, callback: Callable[[Result], Any] | None, clock: Clock, **most: Any
) -> Result:
    """The best result of a batch of starts: x0, or the start from the data, and others around it, always the same."""
    require_here(problem, f"starts={count}")
    x0, rank, method = asked.x0, checked_rank(asked.rank), as_method(asked.method, asked.cuts)
    if x0 is None and goes_by_factors(problem):
        raise InputError(
            given=f"starts={count} without x0 for {problem.label}",
            needed="a start that others can be drawn around",
            missing="one: from the data this problem is solved from rank to rank",
            advice="pass x0, or leave out starts",
        )
    limit = checked_seconds(most["max_seconds"])
    with hurried_by(lambda: clock.seconds >= limit):
        first = start(problem, rank) if x0 is None else x0
    if most["max_seconds"] is not None:
        most["max_seconds"] = max(limit - clock.seconds, _LEAST_SECONDS)
    go_on()
    told = None if callback is None else lambda i, res: callback(res)
    same = {name: getattr(asked, name) for name in _SAME}
    found = best(minimize_batch(problem, around(first, count), method, callback=told, **same, **most))
    return replace(found, seconds=clock.seconds)


def require_none_kept(count: int, checkpoint: Any, resume: Any) -> None:
    """Raise unless several starts are asked for without a record: that is of one solve."""
    for name, value in (("checkpoint", checkpoint), ("resume", resume)):
        if value is not None:
            raise InputError(
                given=f"starts={count} with {name}",
                needed=f"one solve: a {name} is the record of one",
                missing="a single start",
                advice=f"leave out {name} or starts",
            )


def around(x0: Tree, count: int) -> list[Tree]:
    """x0 and `count` − 1 points at growing distances from it, the last as far as the origin is."""
    x = jax.tree.map(np.asarray, arrays.as_variable(x0))
    rng = np.random.default_rng(0)
    size = float(np.sqrt(sum(np.sum(np.abs(leaf) ** 2) for leaf in jax.tree.leaves(x)))) or trees.size(x) ** 0.5
    return [x0, *(_moved(x, size * i / (count - 1), rng) for i in range(1, count))]


def _moved(x: Tree, distance: float, rng: np.random.Generator) -> Tree:
    drawn = jax.tree.map(lambda leaf: _normal(leaf, rng), x)
    length = float(np.sqrt(sum(np.sum(np.abs(leaf) ** 2) for leaf in jax.tree.leaves(drawn))))
    return jax.tree.map(lambda a, b: (a + distance / length * b).astype(a.dtype), x, drawn)


def _normal(leaf: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    real = rng.standard_normal(leaf.shape)
    return real + 1j * rng.standard_normal(leaf.shape) if np.iscomplexobj(leaf) else real


def best(results: Sequence[Result]) -> Result:
    """The one of the lowest value among the successes; where there is none, among all whose values are numbers."""
    ranked = [res for res in results if res.success] or [res for res in results if np.isfinite(res.value)]
    return min(ranked or results, key=lambda res: res.value)
