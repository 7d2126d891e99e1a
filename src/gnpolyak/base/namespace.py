"""NumPy or jax.numpy: code that is written once over `xp`, the namespace of the arrays that it works on.

Steps, maps, measurements and penalties run inside compiled programs, and as well on the host, on NumPy arrays and
without compiling anything: most problems take less time to solve there than their program takes to compile. Which of
the two it is to be is decided once, when a solve is planned. `Portable.using` binds a module to it; below that nothing
looks at the type of an array.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gnpolyak.base.halting import go_on
from gnpolyak.base.modules import Module, field

Array = Any
"""An array of NumPy or of JAX: what is written over `xp` takes both, and returns the kind that it was given."""
_T = TypeVar("_T")
_NAMESPACES: dict[str, Any] = {"jax": jnp, "numpy": np}


class Portable(Module):
    """A module whose methods may be written over `xp`.

    A class that writes all of them so says it with ``over_xp = True`` in its own body: a class that derives from it
    may override a method with one that is not.
    """

    over_xp: ClassVar[bool] = False
    # By name, since a module cannot be pickled.
    _namespace: str = field(static=True, init=False, default="jax", repr=False)

    @property
    def xp(self) -> Any:
        """The namespace of its arrays, jax.numpy unless it was bound to NumPy."""
        return _NAMESPACES[self._namespace]

    @property
    def runs_on_numpy(self) -> bool:
        """Whether it can be bound to NumPy: it, and every module in it, is written over `xp`."""
        return vars(type(self)).get("over_xp", False) and all(each.runs_on_numpy for each in self._children())

    def using(self, xp: Any) -> Self:
        """The same module, and those in it, bound to a namespace; its arrays are views where NumPy can have them."""
        convert = _on_host if xp is np else jnp.asarray
        leaves, structure = jax.tree.flatten(self, is_leaf=lambda node: isinstance(node, Portable) and node is not self)
        bound = [each.using(xp) if isinstance(each, Portable) else convert(each) for each in leaves]
        made: Self = jax.tree.unflatten(structure, bound)
        made.__dict__["_namespace"] = "numpy" if xp is np else "jax"
        return made

    def _children(self) -> list[Portable]:
        nodes = jax.tree.leaves(self, is_leaf=lambda node: isinstance(node, Portable) and node is not self)
        return [node for node in nodes if isinstance(node, Portable)]


@functools.cache
def eps_of(dtype: Any) -> float:
    """The rounding unit of a floating type; remembered, since JAX takes ten microseconds to tell."""
    return float(jnp.finfo(dtype).eps)


def _on_host(leaf: Any) -> Any:
    return np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf


def cond(xp: Any, condition: Any, then: Callable[[], _T], otherwise: Callable[[], _T]) -> _T:
    """One of two results, of which on the host only that one is computed."""
    if xp is jnp:
        return lax.cond(condition, then, otherwise)
    return then() if condition else otherwise()


def while_loop(xp: Any, going: Callable[[_T], Any], body: Callable[[_T], _T], state: _T) -> _T:
    """The state after as many turns as `going` allows; on the host work that is to be given up is, between two."""
    if xp is jnp:
        return lax.while_loop(going, body, state)
    while going(state):
        go_on()
        state = body(state)
    return state


def each(xp: Any, function: Callable[..., Any], *stacked: Any) -> Any:
    """What a function gives of the members of stacked trees, stacked."""
    if xp is jnp:
        return jax.vmap(function)(*stacked)
    count = len(jax.tree.leaves(stacked)[0])
    results = [function(*jax.tree.map(lambda leaf: leaf[i], stacked)) for i in range(count)]  # noqa: B023
    return jax.tree.map(lambda *leaves: np.stack(leaves), *results)


def sums(xp: Any, numbers: Any, places: Any, count: int) -> Any:
    """The sum of the numbers at each of `count` places; `places` says where each number belongs, and both are flat."""
    if xp is jnp:
        return jax.ops.segment_sum(numbers, places, count)
    if np.iscomplexobj(numbers):
        return sums(xp, numbers.real, places, count) + 1j * sums(xp, numbers.imag, places, count)
    return np.bincount(places, numbers, count).astype(numbers.dtype, copy=False)


def svd(xp: Any, matrix: Any) -> tuple[Any, Any, Any]:
    """The thin singular value decomposition, full of NaN where there is none."""
    try:
        left, values, right = xp.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        k, (m, n) = min(matrix.shape), matrix.shape
        left, values, right = (np.full(shape, np.nan, matrix.dtype) for shape in ((m, k), (k,), (k, n)))
    return left, values, right


def eigh(xp: Any, matrix: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of a symmetric or Hermitian matrix, NaN where there are none."""
    try:
        values, vectors = xp.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        values, vectors = np.full(len(matrix), np.nan, matrix.real.dtype), np.full_like(matrix, np.nan)
    return values, vectors


def cholesky(xp: Any, matrix: Any) -> Any:
    """The lower triangular factor of a positive definite matrix, NaN where it is none."""
    try:
        return xp.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)


def solve(xp: Any, matrix: Any, b: Any) -> Any:
    """The solution of a square system, NaN where there is none."""
    try:
        return xp.linalg.solve(matrix, b)
    except np.linalg.LinAlgError:
        return np.full_like(b, np.nan)


def solve_triangular(xp: Any, triangle: Any, b: Any, *, lower: bool = False, transposed: bool = False) -> Any:
    """The solution of a triangular system, or of its transpose; infinite or NaN where there is none."""
    if xp is jnp:
        return jax.scipy.linalg.solve_triangular(triangle, b, lower=lower, trans=int(transposed))
    (trtrs,) = _lapack(("trtrs",), triangle, b)
    found, info = trtrs(triangle, b, lower=lower, trans=int(transposed))
    return found if info == 0 else np.full_like(b, np.nan)


def cho_solver(xp: Any, matrix: Any) -> Callable[[Any], Any]:
    """The map b ↦ matrix⁻¹b of a positive definite matrix, NaN where it is none."""
    if xp is jnp:
        factor = jax.scipy.linalg.cho_factor(matrix)
        return lambda b: jax.scipy.linalg.cho_solve(factor, b)
    potrf, potrs = _lapack(("potrf", "potrs"), matrix)
    triangle, info = potrf(matrix, lower=True, clean=False)
    if info:
        return lambda b: np.full_like(b, np.nan)
    return lambda b: potrs(triangle, b, lower=True)[0]


def _lapack(names: tuple[str, ...], *arrays: Any) -> Any:
    # SciPy's linear algebra takes a tenth of a second to import, and many problems do without it.
    from scipy.linalg import get_lapack_funcs  # noqa: PLC0415

    return get_lapack_funcs(names, arrays)
