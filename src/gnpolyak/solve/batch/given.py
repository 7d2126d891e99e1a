"""What a batch is given: problems, starts and data, checked before anything is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.base.hosts import peers_of
from gnpolyak.base.numbers import counted
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.solve.arguments import check_problem, checked_start
from gnpolyak.solve.batch.members import part, stack
from gnpolyak.steps.methods import Method


@dataclass(frozen=True)
class Given:
    """The members of a batch, as they were given."""

    problems: list[Composite]
    """One for each member, cast and settled; the same object for members that share it."""
    x: Tree
    """The starts, stacked, on the host."""
    x0s: Any
    """The starts as the user gave them."""
    dtype: np.dtype

    @classmethod
    def read(cls, problem: Any, x0s: Any, b: Any, method: Method, bounds: Any) -> Given:
        """The members of these arguments."""
        problems = _listed(problem)
        require_here(problems[0], "a batch")
        starts = _starts(x0s)
        count = _count(starts, problems, b)
        # What depends on shapes is the same for all, and checked for the first.
        first, _, dtype = checked_start(problems[0], method, part(starts, 0), bounds, False)
        if len(problems) > 1:
            same = _settles_to_itself(problems[0], first)
            others = problems[1:] if same else [_settled(each, method, starts, bounds) for each in problems[1:]]
            members = [first, *others]
            _require_one_structure(members)
        else:
            members = [first] * count if b is None else _with_data(first, b, count, dtype)
        starts = arrays.cast(starts, dtype)
        if first.box is not None:
            with arrays.precise(True):
                starts = first.box.project(jax.numpy, starts)
        return cls(members, jax.tree.map(np.asarray, starts), x0s, dtype)

    @property
    def count(self) -> int:
        """How many members there are."""
        return len(self.problems)

    def like(self, i: int) -> Tree:
        """A member's start as the user gave it."""
        return self.x0s[i] if isinstance(self.x0s, list) else part(self.x0s, i)


def require_here(problem: Composite, what: str) -> None:
    """Raise unless all of a problem is in this process: the members of a batch are solved by one."""
    peers = peers_of(problem)
    if peers.count > 1:
        raise InputError(
            given=f"{what} of a problem that {peers.count} processes have the parts of",
            needed="a problem that one process has all of",
            missing="a batch that several processes solve together",
            advice="call minimize for each start, one after the other, in all processes",
        )


def _listed(problem: Any) -> list[Composite]:
    """The problems: one for all members, or one for each."""
    problems = list(problem) if isinstance(problem, (list, tuple)) else [problem]
    if not problems:
        raise _empty("an empty list of problems")
    for each in problems:
        check_problem(each)
    return problems


def _starts(x0s: Any) -> Tree:
    """The starts, checked and stacked."""
    if x0s is None or (isinstance(x0s, (list, tuple)) and not x0s):
        raise _empty("no starts x0s" if x0s is None else "an empty list of starts x0s")
    arrays.require_no_iterator(x0s, "x0s")
    if not isinstance(x0s, list):
        return arrays.as_variable(x0s)
    points = [jax.tree.map(np.asarray, arrays.as_variable(each)) for each in x0s]
    forms = [(jax.tree.structure(each), [leaf.shape for leaf in jax.tree.leaves(each)]) for each in points]
    other = next((i for i, form in enumerate(forms) if form != forms[0]), None)
    if other is not None:
        raise InputError(
            given=f"starts x0s of which number {other} has shapes {forms[other][1]} and the first {forms[0][1]}",
            needed="starts of one shape",
            missing="a batch: one program is compiled for all members",
            advice="solve problems of other shapes in a batch of their own, or with minimize",
        )
    return stack(points)


def _count(starts: Tree, problems: list[Composite], b: Any) -> int:
    """How many members there are, by everything that tells."""
    leaves = jax.tree.leaves(starts)
    sizes = [int(leaf.shape[0]) if leaf.ndim else None for leaf in leaves]
    told = {f"leaf {i} of x0s" if len(leaves) > 1 else "x0s": size for i, size in enumerate(sizes)}
    if len(problems) > 1:
        told["the list of problems"] = len(problems)
    if b is not None:
        told["b"] = len(np.shape(b)) and int(np.shape(b)[0])
    if None in told.values() or len(set(told.values())) > 1:
        raise InputError(
            given=", ".join(f"{name} with {_members(size)}" for name, size in told.items()),
            needed="an axis for the members in front of each, of one length",
            missing="the same number of members everywhere",
            advice="stack the starts with numpy.stack; for one start and one problem use minimize",
        )
    if b is not None and len(problems) > 1:
        raise InputError(
            given="data b together with a list of problems",
            needed="either data for one problem, or problems with their own data",
            missing="one decision",
            advice="leave out b, or pass one problem",
        )
    if not sizes[0]:
        raise _empty("x0s with no members")
    return int(sizes[0])


def _members(size: int | None) -> str:
    return "no axis" if size is None else counted(size, "member")


def _empty(given: str) -> InputError:
    return InputError(
        given=given,
        needed="at least one member",
        missing="something to solve",
        advice="pass starts with an axis for the members in front, such as numpy.stack([x0, x1])",
    )


def _settles_to_itself(problem: Composite, settled: Composite) -> bool:
    """Whether nothing of a problem had to be cast, settled or bounded: then so it is with others like it."""
    return _form(problem) == _form(settled)


def _settled(problem: Composite, method: Method, starts: Tree, bounds: Any) -> Composite:
    return checked_start(problem, method, part(starts, 0), bounds, False)[0]


def _require_one_structure(members: list[Composite]) -> None:
    form, shapes = _form(members[0]), _shapes(members[0])
    for i, each in enumerate(members):
        if _form(each) != form:
            raise InputError(
                given=f"problems of which number {i} is {each.label} with arrays {_shapes(each)}, and the first "
                f"{members[0].label} with {shapes}",
                needed="problems of one structure, with arrays of the same shapes and types",
                missing="a batch: one program is compiled for all members",
                advice="solve the others in a batch of their own; data of a function go into args, not into a closure",
            )


def _form(problem: Composite) -> Any:
    """What a program depends on: the structure of a problem, and its arrays' shapes and types."""
    leaves, structure = jax.tree.flatten(problem)
    return structure, [(np.shape(leaf), getattr(leaf, "dtype", None)) for leaf in leaves]


def _shapes(problem: Composite) -> list[str]:
    return [f"{getattr(leaf, 'dtype', '')}{list(np.shape(leaf))}" for leaf in jax.tree.leaves(problem)]


def _with_data(problem: Composite, b: Any, count: int, dtype: np.dtype) -> list[Composite]:
    """The problem with each member's data in place of its own."""
    data = np.asarray(arrays.cast(arrays.as_real_array(b, "b"), dtype))
    own = getattr(problem.penalty, "b", None)
    if own is None or data.shape[1:] != own.shape:
        raise InputError(
            given=f"data b of shape {data.shape} for {problem.penalty.label}"
            + ("" if own is None else f" of data of shape {own.shape}"),
            needed="a penalty with data b, and an array of that shape for each member",
            missing="data to put in another's place" if own is None else f"the shape {(count, *own.shape)}",
            advice="pass a list of problems" if own is None else "reshape b; nothing is broadcast",
        )
    leaves, structure = jax.tree.flatten(problem)
    place = jax.tree.unflatten(structure, range(len(leaves))).penalty.b
    return [jax.tree.unflatten(structure, [*leaves[:place], row, *leaves[place + 1 :]]) for row in data]
