"""The arguments of `init`, which is called where values may be traces: types, shapes and dtypes alone are looked at."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.trees import Tree
from gnpolyak.oracles import Oracle
from gnpolyak.problem.composite import Composite
from gnpolyak.steps.methods import Method
from gnpolyak.steps.targets import Target

_WANTED = (
    (Composite, "problem", "make one with gnpolyak.composite(model, gnpolyak.L1(b))"),
    (Method, "method", "pass a configured method such as gnpolyak.GNP(): names are for minimize"),
    (Target, "target", "pass a rule such as gnpolyak.Known(0.0) or gnpolyak.Level(0.0)"),
)


def check_parts(problem: Any, method: Any, target: Any) -> None:
    """Raise InputError unless these are a problem, a method and a rule."""
    for given, (kind, name, advice) in zip((problem, method, target), _WANTED, strict=True):
        if not isinstance(given, kind) and not isinstance(given, Oracle):
            raise InputError(
                given=f"{name} of type {type(given).__name__}: {shown(given)}",
                needed=f"a {kind.__name__}",
                missing=f"the {name}",
                advice=advice,
            )


def check_variable(problem: Composite | Oracle, x: Tree) -> None:
    """Raise InputError unless x is made of arrays, of a precision that JAX is set to here."""
    if isinstance(problem, Oracle):
        return
    leaves = jax.tree.leaves(x)
    if not leaves or not all(isinstance(leaf, (jax.Array, np.ndarray)) and _is_numeric(leaf) for leaf in leaves):
        raise InputError(
            given=f"x0 of type {type(x).__name__}",
            needed="an array of floats, or a pytree of such",
            missing="arrays: nothing is converted inside a transformation",
            advice="pass x0 through jax.numpy.asarray first",
        )
    wide = [
        leaf for leaf in jax.tree.leaves((x, problem)) if getattr(leaf, "dtype", None) in (np.float64, np.complex128)
    ]
    if wide and jnp.result_type(float) != np.float64:
        raise InputError(
            given="float64 data or x0 where JAX computes in float32",
            needed="one precision for all",
            missing="64-bit types, which are off in JAX unless switched on",
            advice="call init and step inside `with jax.enable_x64(True):`, or pass all arrays as float32",
        )


def _is_numeric(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jnp.inexact)
