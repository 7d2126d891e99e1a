"""Any function in plain NumPy, SciPy or Python as a map: values by calling it, derivatives by differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from gnpolyak.base import arrays, trees
from gnpolyak.base.errors import InputError
from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.maps.host import HOSTS, Host

# The second difference of values that are right to eps^(4/5) or so.
_SECOND = float(np.finfo(np.float64).eps) ** 0.25


class NumpyMap(Map):
    """The map x ↦ ``function(x, *args)`` of a function in plain NumPy, SciPy or Python.

    Its derivatives are differences, extrapolated and with steps that are judged, right to about ten digits; each costs
    four calls a variable. Where a function can be written with jax.numpy, derivatives are exact and cheaper. Raising
    ArithmeticError or ValueError says that a point is outside the function's domain, as NaN does.

    Parameters
    ----------
    function : callable
        From a NumPy array, or a pytree of them, to one array of real numbers.
    args : tuple
        Further arguments, any objects, handed on as they are.
    jacobian : callable, optional
        The derivative, called like the function: a row for each number of the image, a column for each variable.
    lower, upper : array_like, optional
        Bounds on the variable, flat, outside of which the function is never called.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> t = np.linspace(0.0, 2.0, 20)
    >>> y = 3.0 * np.exp(-0.5 * t)
    >>> y[::4] += 10.0
    >>> model = gnp.NumpyMap(lambda p: p[0] * np.exp(-p[1] * t))
    >>> gnp.minimize(gnp.composite(model, gnp.L1(y)), np.ones(2)).x.round(9).tolist()
    [3.0, 0.5]
    """

    key: Array
    """By which compiled code finds the function."""
    host: Host = field(static=True)

    def __init__(
        self,
        function: Callable[..., Any] | Host,
        args: tuple[Any, ...] = (),
        *,
        jacobian: Callable[..., Any] | None = None,
        lower: Any = None,
        upper: Any = None,
    ) -> None:
        if not isinstance(function, Host):
            _check_callable("model", function)
            _check_callable("jacobian", jacobian or function)
            function = Host(function, tuple(args), jacobian)
            function.lower, function.upper = (
                None if each is None else np.ravel(np.asarray(each, float)) for each in (lower, upper)
            )
        self.host = function
        self.key = jnp.asarray(function.key, jnp.int32)

    @property
    def label(self) -> str:
        return f"NumpyMap({getattr(self.host.function, '__name__', type(self.host.function).__name__)})"

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Map, Tree]]:
        t = rng.uniform(0.0, 2.0, 12)
        yield cls(lambda x, t: x[0] * np.exp(-x[1] * t), (t,)), rng.uniform(0.5, 2.0, 2)
        yield (
            cls(lambda x: np.outer(x["a"], np.sinh(x["b"]))),
            {"a": rng.uniform(1.0, 2.0, ()), "b": rng.standard_normal(3)},
        )

    def __call__(self, x: Tree) -> Array:
        # One that is not settled yet knows its image only where it was called before, in `check` for instance.
        host, key = (self.host, self.key) if self.host.form is not None else self._called_before(x)
        assert host.form is not None
        flat, _ = trees.ravel(x)
        return _values(host.form.size, key, flat).reshape(host.form.image)

    def _called_before(self, x: Tree) -> tuple[Host, Array]:
        if arrays.is_traced(x) and not self.host.knows(x):
            raise InputError(
                given=f"{self.label} inside a jit, vmap or grad",
                needed="a map that was called before, which is how the shape of its image is known",
                missing="a call",
                advice="settle it first: c = c.settled(x), with numbers for x",
            )
        host = self.host.settled(x)
        return host, jnp.asarray(host.key, jnp.int32)

    def settled(self, at: Tree) -> Self:
        if self.host.form is not None:
            return self
        try:
            return type(self)(self.host.settled(at))
        except Exception:
            # For `check` to say.
            return self

    def bounded(self, lower: np.ndarray, upper: np.ndarray) -> Self:
        return type(self)(self.host.bounded(lower, upper))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.host,)

    def on_host(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """c(x) as a flat vector and its Jacobian, for the flat variable of a map that is settled, without JAX."""
        return self.host.linearised(np.asarray(x, np.float64))

    def check(self, x: Tree) -> None:
        if any(jnp.iscomplexobj(leaf) for leaf in jax.tree.leaves(x)):
            raise InputError(
                given=f"{self.label} at a complex variable",
                needed="real variables, along which differences are taken",
                missing="a real representation",
                advice="pass real and imaginary parts as two arrays, or write the function with jax.numpy",
            )
        if self.host.form is None:
            self._try(x)

    def _try(self, x: Tree) -> None:
        try:
            self.host.settled(x)
        except Exception as error:
            raise InputError(
                given=f"{self.label} at a variable of shape {jax.tree.map(np.shape, x)}",
                needed="a function that returns one array of real numbers there",
                missing=f"one: {type(error).__name__}: {(str(error).splitlines() or ['no message'])[0]}",
                advice="call the function on x0 yourself and look at what it says",
            ) from error


def _check_callable(name: str, given: Any) -> None:
    if not callable(given):
        raise InputError(
            given=f"a {name} of type {type(given).__name__}",
            needed="a function of x",
            missing="something to call",
            advice="pass the function itself, such as lambda x: A @ x",
        )


# The size of the image is all that these know of a function; which one it is, its key says when they run.


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _values(size: int, key: Array, flat: Array) -> Array:
    return _called(_values_on_host, ((size,),), key, flat)[0]


@_values.defjvp
def _values_moved(size: int, primals: Any, tangents: Any) -> tuple[Array, Array]:
    image, matrix = _linearised(size, *primals)
    return image, matrix @ tangents[1]


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _linearised(size: int, key: Array, flat: Array) -> tuple[Array, Array]:
    image, matrix = _called(_linearised_on_host, ((size,), (size, flat.size)), key, flat)
    return image, matrix


@_linearised.defjvp
def _linearised_moved(size: int, primals: Any, tangents: Any) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Second derivatives are differences of Jacobians, for methods that ask for a curvature."""
    (key, flat), along = primals, tangents[1]
    image, matrix = _linearised(size, key, flat)
    length = jnp.maximum(jnp.linalg.norm(along), jnp.finfo(flat.dtype).tiny)
    step = _SECOND * jnp.maximum(jnp.linalg.norm(flat), _SECOND) / length
    ends = [_linearised(size, key, flat + sign * step * along)[1] for sign in (1.0, -1.0)]
    return (image, matrix), (matrix @ along, (ends[0] - ends[1]) / (2 * step))


def _called(function: Callable[..., Any], shapes: tuple[tuple[int, ...], ...], key: Array, flat: Array) -> Any:
    """The function's arrays, of these shapes.

    They cross the border as bits: in the thread of a callback JAX may know of no numbers longer than 32.
    """
    wide = (2,) if flat.dtype == jnp.float64 else ()
    bits = tuple(jax.ShapeDtypeStruct(shape + wide, jnp.int32) for shape in shapes)
    given = lax.bitcast_convert_type(flat, jnp.int32)
    found = jax.pure_callback(function, bits, key, given, vmap_method="sequential")
    return tuple(lax.bitcast_convert_type(each, flat.dtype) for each in found)


def _values_on_host(key: Any, bits: Any) -> tuple[np.ndarray, ...]:
    flat, dtype = _numbers(bits)
    return (_bits(HOSTS[int(key)].values(flat), dtype),)


def _linearised_on_host(key: Any, bits: Any) -> tuple[np.ndarray, ...]:
    flat, dtype = _numbers(bits)
    return tuple(_bits(each, dtype) for each in HOSTS[int(key)].linearised(flat))


def _numbers(bits: Any) -> tuple[np.ndarray, Any]:
    bits = np.ascontiguousarray(bits)
    dtype = np.float64 if bits.ndim == 2 else np.float32
    return bits.view(dtype).ravel().astype(np.float64), dtype


def _bits(array: np.ndarray, dtype: Any) -> np.ndarray:
    wide = (2,) if dtype == np.float64 else ()
    return np.ascontiguousarray(array, dtype).view(np.int32).reshape(array.shape + wide)
