"""The composite problem f = h ∘ A ∘ c, as a method sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import failures
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.namespace import Array, Portable
from gnpolyak.base.shapes import checked_once, shapes_of
from gnpolyak.base.streams.rows import is_streamed, outlined
from gnpolyak.base.trees import Tree
from gnpolyak.problem import streams
from gnpolyak.problem.box import Box
from gnpolyak.problem.capabilities import IMAGE
from gnpolyak.problem.maps import AutodiffMap, Map
from gnpolyak.problem.oracles import KERNELS, Kernel
from gnpolyak.problem.penalties import Penalty
from gnpolyak.problem.sensing import Identity, Sensing


class Point(NamedTuple):
    """A point and what one oracle call says about it."""

    x: Tree
    value: Array
    subgradient: Tree
    """g = Jᵀ(Aᵀv)."""
    v: Array | None = None
    """The element of ∂h at the measurements that g was made of; None where a fused oracle never formed it."""


class Composite(Portable):
    """Minimise f(x) = h(A(c(x))) over x.

    The metric of a method uses J = ∇c alone, never the Jacobian of A∘c.

    Parameters
    ----------
    map : Map
        c, the smooth map.
    penalty : Penalty
        h, the sharp penalty.
    sensing : Sensing
        A, the linear measurements of the image.
    box : Box, optional
        What x may not leave: the ``bounds`` of `minimize`.
    """

    over_xp: ClassVar[bool] = True
    map: Map
    penalty: Penalty
    sensing: Sensing
    box: Box | None = None

    def evaluate(self, x: Tree) -> Point:
        """One oracle call: f(x) and g = Jᵀ(Aᵀv) for one v ∈ ∂h(A(c(x)))."""
        if self.streamed:
            raise streams.refused(self)
        kernel = self.kernel(x)
        if kernel is not None:
            return Point(x, *kernel.evaluate(self.map, self.sensing, self.penalty, x))
        z, pullback = self.sensing.measure(self.map, x)
        v = self.penalty.subgradient(z)
        return Point(x, self.penalty.value(z), pullback(v), v)

    def measure(self, x: Tree) -> Array:
        """The measurements A(c(x)) alone."""
        if self.streamed:
            raise streams.refused(self)
        kernel = self.kernel(x)
        if kernel is not None:
            return kernel.measure(self.map, self.sensing, self.penalty, x)[0]
        return self.sensing.measure(self.map, x)[0]

    @property
    def streamed(self) -> bool:
        """Whether rows of its measurements are read block by block, and not in memory."""
        return is_streamed(self.sensing)

    def shape(self, x: Tree) -> jax.ShapeDtypeStruct:
        """What the measurements at x are, without computing them; traced once for all x of a shape."""
        return shapes_of(_measurements, outlined(self), x)

    def count(self, x: Tree) -> int:
        """How many numbers the measurements at x are."""
        return self.penalty.size or self.shape(x).size

    def changes(self, x: Tree) -> Array:
        """A function of x whose derivative is that of the residuals, but for their sign: AJ, or its weighted rows."""
        z = self.penalty.reading(self.sensing.measure(self.map, x)[0]).ravel()
        return z if self.penalty.rows is None else self.penalty.rows(z)

    def kernel(self, x: Tree) -> Kernel | None:
        """The fused oracle that serves this problem at x, if there is one."""
        kernel = self._registered
        if kernel is None or (self.map.xp is np and not kernel.runs_on_numpy):
            return None
        return kernel if kernel.serves(self.map, self.sensing, self.penalty, x) else None

    def only_by_jax(self, x: Tree) -> bool:
        """Whether a fused oracle serves this problem at x that takes JAX's arrays alone, as a user's may."""
        kernel = self._registered
        return not (kernel is None or kernel.runs_on_numpy) and kernel.serves(self.map, self.sensing, self.penalty, x)

    @property
    def _registered(self) -> Kernel | None:
        kinds = type(self.map), type(self.sensing), type(self.penalty)
        return KERNELS.get((Map, kinds[1], Penalty)) or KERNELS.get(kinds)

    def image_subgradient(self, point: Point) -> Array | None:
        """Aᵀv as an array like the image, for the v of the point; None where no image is formed, or v is not known."""
        if point.v is None or not self.sensing.on_images:
            return None
        return self.sensing.adjoint(self.map(point.x), point.v)

    def cast(self, dtype: np.dtype) -> Composite:
        """The problem with its numbers in `dtype`, except those that a part was asked to store otherwise."""
        box = None if self.box is None else self.box.cast(dtype)
        return Composite(self.map.cast(dtype), self.penalty.cast(dtype), self.sensing.cast(dtype), box)

    def within(self, box: Box | None) -> Composite:
        """The problem with x in a box."""
        c = self.map if box is None else self.map.bounded(*box.flat())
        return Composite(c, self.penalty, self.sensing, box)

    def whitened(self) -> Composite:
        """The problem in a variable in which its measurements treat all directions alike; itself where x is one.

        A box would be none in another variable, and keeps x as it is.
        """
        return self if self.box is not None else Composite(self.map, self.penalty, self.sensing.whitened())

    def settled(self, x: Tree) -> Composite:
        """The problem as it is now: what the functions in it capture is read, once, and made part of it.

        The same program serves for all problems whose functions compute the same, on whatever numbers.
        """
        c, sensing = self.map.settled(x), self.sensing
        try:
            if sensing.needs is IMAGE:
                sensing = sensing.settled(c.image(x))
            z = Composite(c, self.penalty, sensing).shape(x)
        except Exception:
            # Parts that do not fit each other are for `check` to name.
            return Composite(c, self.penalty, sensing, self.box)
        return Composite(c, self.penalty.settled(z), sensing, self.box)

    @property
    def label(self) -> str:
        """How errors and summaries call this problem."""
        return f"{self.penalty.label} of {self.sensing.label} of {self.map.label}"

    def check(self, x: Tree) -> None:
        """Raise InputError unless the parts fit each other and x, without computing or compiling anything."""
        if self.streamed:
            streams.require_room(self)
        self.map.require(self.sensing.needs, self.sensing.label)
        self.map.check(x)
        self.sensing.check(x)
        self.sensing.check_image(self.map, x)
        z = _traced_measurements(self, x)
        self.penalty.check(z.shape)
        checked_once(_check_penalty, self.penalty, z)


def _measurements(problem: Composite, x: Tree) -> Array:
    return problem.sensing.measure(problem.map, x)[0]


def _traced_measurements(problem: Composite, x: Tree) -> jax.ShapeDtypeStruct:
    try:
        z = problem.shape(x)
    except InputError:
        raise
    except Exception as error:
        label = f"{problem.sensing.label} of {problem.map.label}"
        raise failures.untraceable(label, error, "measurements") from error
    failures.require_array(f"{problem.sensing.label} of {problem.map.label}", z)
    if jnp.issubdtype(z.dtype, jnp.complexfloating) and not problem.penalty.takes_complex:
        raise InputError(
            given=f"{problem.sensing.label} of {problem.map.label}, whose measurements are complex",
            needed="real measurements, which a penalty compares with real data",
            missing="a real number for each measurement",
            advice="measure both parts (sensing=gnpolyak.Parts()), or intensities; or compare moduli: Amplitude(b)",
        )
    failures.require_precision(f"{problem.sensing.label} of {problem.map.label}", z.dtype, x)
    return z


def _stated(penalty: Penalty, name: str, z: jax.ShapeDtypeStruct) -> Any:
    """The shape of what a penalty states, its value or its subgradient."""
    label = f"the {name} of {penalty.label}"
    try:
        told = failures.returned(getattr(penalty, name), z)
    except Exception as error:
        function, given = penalty.written(name)
        raise failures.untraceable(label, error, "a function", function, given) from error
    failures.require_array(label, told)
    failures.require_precision(label, told.dtype, z, real=name == "value" or not penalty.takes_complex)
    return told


def _check_penalty(penalty: Penalty, z: jax.ShapeDtypeStruct) -> None:
    value, v = _stated(penalty, "value", z), _stated(penalty, "subgradient", z)
    if value.shape != () or v.shape != z.shape:
        raise InputError(
            given=f"{penalty.label} with a value of shape {value.shape} and a subgradient of shape {v.shape}",
            needed=f"a scalar value and a subgradient of the measurements' shape {z.shape}",
            missing="matching shapes",
            advice="sum inside the value, and return one number per measurement from the subgradient",
        )


def composite(
    model: Map | Callable[..., Array],
    penalty: Penalty,
    *,
    sensing: Sensing | None = None,
    args: tuple[Any, ...] = (),
) -> Composite:
    """State the problem: minimise penalty(model(x)) over x.

    Parameters
    ----------
    model : callable or Map
        Your smooth map c: any function of an array or a pytree that JAX can trace, or one of the library's maps.
    penalty : Penalty
        Your h, such as ``L1(b)``.
    sensing : Sensing, optional
        Linear measurements A between the two; by default the image itself.
    args : tuple
        Data for the model, called as ``model(x, *args)``: arrays, or any pytrees of them. See `AutodiffMap` for why to
        prefer this to a closure.

    Returns
    -------
    Composite

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> problem = gnp.composite(lambda x: x**3, gnp.L1(np.array([8.0, 27.0])))
    >>> res = gnp.minimize(problem, np.array([1.5, 2.5]), target=0.0)
    >>> np.round(res.x, 6)
    array([2., 3.])
    """
    if not isinstance(penalty, Penalty):
        raise InputError(
            given=f"a penalty of type {type(penalty).__name__}",
            needed="a Penalty: L1(b), L2(b), L21(b), Pinball(b, q) or CustomPenalty(value, subgradient)",
            missing="an explicit subgradient",
            advice="wrap your function as gnpolyak.CustomPenalty(value, subgradient)"
            if callable(penalty) and not isinstance(penalty, type)
            else "pass gnpolyak.L1(b) with the data b, or another penalty of them",
        )
    if sensing is not None and not isinstance(sensing, Sensing):
        raise InputError(
            given=f"sensing of type {type(sensing).__name__}: {shown(sensing)}",
            needed="a Sensing, such as Entries(mask) or LinearSensing(A)",
            missing="the measurements of the image",
            advice=f"pass an object of that class: {sensing.__name__}()"
            if isinstance(sensing, type)
            else "pass gnpolyak.LinearSensing(A) for a matrix, or leave sensing out for the image itself",
        )
    if isinstance(model, Map) and args:
        raise InputError(
            given=f"args together with the map {model.label}",
            needed="args only with a plain function",
            missing="a function to hand them to",
            advice="leave out args",
        )
    c = model if isinstance(model, Map) else AutodiffMap(model, args)
    return Composite(c, penalty, Identity() if sensing is None else sensing)
