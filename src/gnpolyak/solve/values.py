"""Which of two values is the better one, and the rule that it was found with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from gnpolyak.solve.result import Result
from gnpolyak.steps.methods import Method
from gnpolyak.steps.targets import Target

# Values that differ by less, in units of rounding, are equal: each of some hundred steps may have added a few units.
_ROUNDING = 1e4


def is_lower(value: float, than: float) -> bool:
    """Tell whether a value is the better one; only a number can be: −inf and NaN are no values."""
    return bool(np.isfinite(value) and not value >= than)


def is_lost(value: Any, before: Any, dtype: Any) -> Any:
    """Tell of a value, or of each of several, whether it is worse than the one before by more than rounding."""
    rounding = _ROUNDING * np.finfo(dtype).eps * np.abs(before)
    return ~(np.isfinite(value) & ~(value > before + rounding))


def no_worse(res: Result, before: Result) -> Result:
    """The result, at the point that was the best before it where it has lost that: a start may evaluate otherwise.

    Values that are equal to rounding are no loss: see `gnpolyak.steps.iteration`.
    """
    if not is_lost(res.value, before.value, jax.tree.leaves(res.x)[0].dtype):
        return res
    state = res.state._replace(best=before.state.best)
    return replace(res, x=before.x, value=before.value, state=state)


def rule_of(method: Method, target: Target) -> str:
    """The name of the rule that a result was found with, where its method needs one."""
    return "" if method.leads and not target.exact else target.name
