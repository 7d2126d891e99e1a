"""What a caller may mean by `bounds`, as a `Box`; checked before anything is compiled."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.base.numbers import counted
from gnpolyak.base.trees import Tree
from gnpolyak.problem.box import Box
from gnpolyak.problem.composite import Composite


def bounded(problem: Composite, x: Tree, bounds: Any, grows: bool = False) -> tuple[Composite, Tree]:
    """The problem in its box and the start inside it; as they are where there are no bounds.

    With `grows` the variable may get more columns, and bounds must be one number for a whole leaf.
    """
    box = as_box(bounds, x)
    if box is None:
        return problem, x
    box = (_for_every_rank(box) if grows else box).cast(arrays.working_dtype(x))
    with arrays.precise(True):
        return problem.within(box), box.project(np, x)


def as_box(bounds: Any, x: Tree) -> Box | None:
    """The box that `bounds` describes for a variable like x, None where nothing is bounded.

    Parameters
    ----------
    bounds : None, (lo, hi), scipy.optimize.Bounds or sequence of pairs
        lo and hi are numbers, arrays that broadcast to the variable, or pytrees like it; None is no bound. A sequence
        of pairs, one for each number, is for a variable that is one flat array.
    x : pytree
        The variable.
    """
    if bounds is None:
        return None
    _require_real(x)
    lo, hi = _sides(bounds, x)
    with arrays.precise(True):
        box = Box(_side(lo, x, "lower", -np.inf), _side(hi, x, "upper", np.inf))
    _require_ordered(box)
    low, high = box.flat()
    return None if np.all(low == -np.inf) and np.all(high == np.inf) else box


def _require_real(x: Tree) -> None:
    if any(jnp.iscomplexobj(leaf) for leaf in jax.tree.leaves(x)):
        raise InputError(
            given="bounds for a complex variable",
            needed="a real variable: complex numbers have no order",
            missing="a real representation",
            advice="write the model in the real and imaginary parts, as two real arrays, and bound those",
        )


def _sides(bounds: Any, x: Tree) -> tuple[Any, Any]:
    """lo and hi, from whichever way they were written."""
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        return bounds.lb, bounds.ub
    flat = _length_of_flat(x)
    if not isinstance(bounds, (tuple, list, np.ndarray)):
        raise _unreadable(f"bounds of type {type(bounds).__name__}")
    pairs = flat is not None and len(bounds) == flat and all(_is_pair(each) for each in bounds)
    if pairs and flat == 2:
        pairs = _are_pairs_of_two(bounds)
    if pairs:
        return [low for low, _ in bounds], [high for _, high in bounds]
    if len(bounds) != 2:
        raise _unreadable(f"bounds with {counted(len(bounds), 'part')}")
    return bounds[0], bounds[1]


def _length_of_flat(x: Tree) -> int | None:
    """How many numbers a variable has that is one flat array, None for any other."""
    leaves = jax.tree.leaves(x)
    return int(leaves[0].size) if len(leaves) == 1 and leaves[0].ndim == 1 else None


def _is_pair(value: Any) -> bool:
    return (
        isinstance(value, (tuple, list, np.ndarray))
        and len(value) == 2
        and all(v is None or _is_number(v) for v in value)
    )


def _are_pairs_of_two(bounds: Any) -> bool:
    """Whether two pairs are a pair for each of two numbers, and not lo and hi; refused where both may be meant."""
    inner = tuple if all(isinstance(each, tuple) for each in bounds) else list
    if isinstance(bounds, list) and inner is tuple:
        return True
    if isinstance(bounds, tuple) and inner is list:
        return False
    raise InputError(
        given=f"bounds={bounds!r} for a variable of two numbers",
        needed="bounds that can be read in one way only",
        missing="whether these are (lo, hi) or a pair for each number",
        advice="write (lo, hi) as a tuple of two arrays or lists, or a list of tuples (low, high), one for each number",
    )


def _unreadable(given: str) -> InputError:
    return InputError(
        given=given,
        needed="(lo, hi), a scipy.optimize.Bounds, or a list of (low, high), one for each number of a flat x",
        missing="a lower and an upper bound",
        advice="pass bounds=(lo, hi) with numbers, arrays or pytrees like x; None or an infinite number is no bound",
    )


def _side(given: Any, x: Tree, name: str, none: float) -> Tree:
    """One side as a tree like x; `none` stands where nothing is said."""
    structure: Any
    leaves, structure = jax.tree.flatten(x)
    whole = given is None or _is_number(given)
    if whole or (len(leaves) == 1 and structure == jax.tree.structure(0)):
        parts = [given] * len(leaves)
    else:
        try:
            parts = structure.flatten_up_to(given)
        except ValueError as error:
            needed = f"one number, or the structure {structure}"
            raise _shaped_otherwise(f"{name} bounds of the structure {jax.tree.structure(given)}", needed) from error
    sides = [_leaf(part, leaf, name, none) for part, leaf in zip(parts, leaves, strict=True)]
    return jax.tree.unflatten(structure, sides)


def _is_number(value: Any) -> bool:
    """Whether this is one number, of whatever type; containers are not asked, since NumPy would take them apart."""
    plain = not isinstance(value, (tuple, list, dict, set, str, bytes))
    return plain and np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iufb"


def _leaf(given: Any, leaf: Any, name: str, none: float) -> np.ndarray:
    try:
        numbers = np.asarray(_filled(given, none), dtype=float)
    except (TypeError, ValueError) as error:
        raise _unreadable(f"{name} bounds that are not numbers") from error
    if np.any(np.isnan(numbers)):
        raise InputError(
            given=f"{name} bounds with {counted(int(np.sum(np.isnan(numbers))), 'entry', 'entries')} NaN",
            needed="numbers",
            missing="a number, or an infinite one where there is no bound",
            advice="pass None or numpy.inf where there is no bound",
        )
    try:
        return np.array(np.broadcast_to(numbers, leaf.shape))
    except ValueError as error:
        needed = f"one number, or what broadcasts to the shape {leaf.shape}"
        raise _shaped_otherwise(f"{name} bounds of shape {numbers.shape}", needed) from error


def _filled(given: Any, none: float) -> Any:
    """The numbers with the entries that are None filled in."""
    if given is None:
        return none
    if isinstance(given, (list, tuple)):
        return [_filled(each, none) for each in given]
    if isinstance(given, (str, bytes, complex)) or np.iscomplexobj(given):
        raise TypeError
    return given


def _shaped_otherwise(given: str, needed: str) -> InputError:
    return InputError(
        given=given,
        needed=needed,
        missing="a bound for each number of the variable",
        advice="pass a number for all of it, or arrays (or a pytree of them) shaped like x0",
    )


def _require_ordered(box: Box) -> None:
    lo, hi = box.flat()
    wrong = np.flatnonzero((lo > hi) | (lo == np.inf) | (hi == -np.inf))
    if wrong.size:
        first = wrong[0]
        raise InputError(
            given=f"bounds with nothing between them at {counted(int(wrong.size), 'number')}, the first of them number "
            f"{first}: {lo[first]:g} to {hi[first]:g}",
            needed="lower bounds that are at most the upper ones",
            missing="a box with a point in it",
            advice="exchange the two, or make them equal to hold a number fixed",
        )


def _for_every_rank(box: Box) -> Box:
    """The box with one number for each leaf."""
    for leaf in jax.tree.leaves((box.lo, box.hi)):
        if leaf.size and np.any(leaf != leaf.flat[0]):
            raise InputError(
                given="bounds that differ from number to number, with a rank that is to be found",
                needed="one bound for a whole leaf, which holds for as many columns as there will be",
                missing="the number of columns",
                advice="pass x0, or rank=, or bounds of one number for each leaf",
            )
    return Box(*(jax.tree.map(lambda leaf: leaf.flat[0], side) for side in (box.lo, box.hi)))
