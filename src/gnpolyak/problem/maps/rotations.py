"""Rotations of space as quaternions, and the map to relative rotations of pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from gnpolyak.base import arrays, trees
from gnpolyak.base.errors import InputError
from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array, cho_solver
from gnpolyak.base.numbers import COUNTABLE, require_whole
from gnpolyak.base.trees import Tree
from gnpolyak.problem import capabilities as can
from gnpolyak.problem.maps.base import Map
from gnpolyak.problem.maps.scattering import scatter

# The Laplacian is kept, and factorised in each system, up to this many rotations: 32 MB.
_LARGEST_LAPLACIAN = 2000


def rotation(xp: Any, q: Array) -> Array:
    """The rotation matrices of quaternions (w, v) of any length: ((w² − v·v) I + 2vvᵀ + 2w[v]ₓ) / |q|².

    Smooth everywhere but at zero, with no angle at which it ends or turns singular, as rotation vectors do at π.
    """
    w, v = q[..., :1, None], q[..., 1:]
    inner = (v * v).sum(axis=-1)[..., None, None]
    outer = v[..., :, None] * v[..., None, :]
    return ((w * w - inner) * xp.eye(3, dtype=q.dtype) + 2 * outer + 2 * w * _cross(xp, v)) / (w * w + inner)


# The matrices of the cross products with the three unit vectors, one a row.
_GENERATORS = np.array(
    [[0, 0, 0, 0, 0, -1, 0, 1, 0], [0, 0, 1, 0, 0, 0, -1, 0, 0], [0, -1, 0, 1, 0, 0, 0, 0, 0]], np.float64
)


def _cross(xp: Any, v: Array) -> Array:
    """The matrices [v]ₓ with [v]ₓu = v × u."""
    if xp is np:
        return (v @ _GENERATORS.astype(v.dtype, copy=False)).reshape(*v.shape, 3)
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    zero = xp.zeros_like(x)
    return xp.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*v.shape, 3)


def _axial(xp: Any, m: Array) -> Array:
    """The adjoint of v ↦ [v]ₓ."""
    if xp is np:
        return m.reshape(-1, 9) @ _GENERATORS.T.astype(m.dtype, copy=False)
    return xp.stack([m[:, 2, 1] - m[:, 1, 2], m[:, 0, 2] - m[:, 2, 0], m[:, 1, 0] - m[:, 0, 1]], axis=-1)


class RelativeRotations(Map):
    """Relative rotations of pairs, c(q)ₑ = R(qᵢ) R(qⱼ)ᵀ for the pairs e = (i, j), of n rotations given as quaternions.

    The variable has shape (n, 4): one quaternion a rotation, of any length but zero. With dRᵢ = Rᵢ[ωᵢ]ₓ the derivative
    is Rᵢ[ωᵢ − ωⱼ]ₓRⱼᵀ, of squared length 2‖ωᵢ − ωⱼ‖². So JᵀJ is twice the Laplacian of the graph of pairs, in each
    of the three coordinates of ω, and its pseudo-inverse a system of n unknowns. J has rank 3(n − k) for a graph of k
    connected parts: a rotation of a whole part, Rᵢ → RᵢG, changes no pair.

    Parameters
    ----------
    i, j : array_like of int
        The two ends of each pair, from 0 to n − 1. A pair may come more than once.
    n : int, optional
        The number of rotations; by default one more than the largest index.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> c = gnp.RelativeRotations([0, 1], [1, 2])
    >>> quarter_turn = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]
    >>> np.round(np.asarray(c(np.array([quarter_turn, [1.0, 0, 0, 0], [1.0, 0, 0, 0]])))[0]).astype(int)
    array([[ 0, -1,  0],
           [ 1,  0,  0],
           [ 0,  0,  1]])
    """

    over_xp: ClassVar[bool] = True
    i: Array
    j: Array
    laplacian: Array | None
    """L of the graph of pairs; None where it is too large to be kept."""
    joined: Array | None
    """For each two rotations whether they are in one connected part of the graph, 1 or 0."""
    n: int = field(static=True)

    def __init__(self, i: Any, j: Any, n: int | None = None) -> None:
        first, second = _ends(i, j)
        self.n = int(max(first.max(), second.max())) + 1 if n is None else require_whole("n", n, 2, most=COUNTABLE)
        _check_ends(first, second, self.n)
        kept = self.n <= _LARGEST_LAPLACIAN
        laplacian = _laplacian(first, second, self.n) if kept else None
        self.i, self.j = (arrays.on_device(each, np.int32) for each in (first, second))
        self.laplacian = None if laplacian is None else arrays.placed(laplacian)
        self.joined = None if laplacian is None else arrays.placed(_joined(laplacian))

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Map, Any]]:
        yield cls([0, 0, 1, 2, 3], [1, 2, 2, 3, 4]), rng.standard_normal((5, 4))
        # Two parts, a pair twice and once in the other direction, half turns (where rotation vectors would end), a
        # rotation without a pair, and quaternions of several lengths.
        lengths = np.array([[1.0], [2.0], [0.5], [1.0], [3.0]])
        yield cls([0, 1, 0, 1, 2], [1, 0, 1, 2, 0], n=5), np.eye(4)[[1, 2, 0, 3, 1]] * lengths

    @property
    def offers(self) -> frozenset[can.Capability]:
        closed = {can.GRAM_PINV} if self.laplacian is not None else set()
        return frozenset({can.IMAGE, can.GAUGE} | closed)

    @staticmethod
    def rotations(x: Any) -> np.ndarray:
        """The rotation matrices, shape (n, 3, 3), of a variable or an answer."""
        return rotation(np, np.asarray(x))

    def check(self, x: Tree) -> None:
        shape = getattr(x, "shape", None)
        if shape != (self.n, 4) or np.iscomplexobj(x) or not _all_nonzero(x):
            zero = " with a zero quaternion" if shape == (self.n, 4) and not np.iscomplexobj(x) else ""
            raise InputError(
                given=f"a variable of {'shape ' + str(shape) if shape else 'type ' + type(x).__name__}{zero}",
                needed=f"for {self.label}, a real array of shape ({self.n}, 4)",
                missing="a quaternion for each rotation, none of them zero",
                advice="begin with (1, 0, 0, 0), which changes nothing, where nothing better is known",
            )

    def image(self, x: Array) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((self.i.shape[0], 3, 3), x.dtype)

    def __call__(self, x: Array) -> Array:
        r = rotation(self.xp, x)
        return _products(self.xp, r[self.i], r[self.j])

    def linearize(self, x: Array) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """Jz = [Rᵢδ]ₓRᵢRⱼᵀ with δ = ωᵢ − ωⱼ, and ω = SQᵀz for the orthonormal frame Q of the tangents, S = 2/|q|."""
        xp, frame = self.xp, _scaled_frame(self.xp, x)
        r = rotation(xp, x)
        first = r[self.i]
        image = _products(xp, first, r[self.j])

        def push(z: Array) -> Array:
            omega = _along(self.xp, frame, z)
            turned = _contracted(xp, "eab,eb->ea", first, omega[self.i] - omega[self.j])
            return _products(xp, _cross(xp, turned), image.swapaxes(-1, -2))

        def pull(v: Array) -> Array:
            turned = _axial(xp, _products(xp, v, image))
            return _combined(self.xp, frame, self._differences(_contracted(xp, "eab,ea->eb", first, turned)))

        return push, pull

    def gram(self, x: Array) -> Callable[[Array], Array]:
        frame = _scaled_frame(self.xp, x)

        def action(z: Array) -> Array:
            omega = _along(self.xp, frame, z)
            return 2 * _combined(self.xp, frame, self._differences(omega[self.i] - omega[self.j]))

        return action

    def _differences(self, delta: Array) -> Array:
        """The adjoint of ω ↦ ωᵢ − ωⱼ."""
        return scatter(self.xp, self.i, delta, self.n) - scatter(self.xp, self.j, delta, self.n)

    def preconditioner(self, x: Array, damping: Array | float = 0.0) -> Callable[[Array], Array]:
        if self.laplacian is None or self.joined is None:
            return super().preconditioner(x, damping)
        xp = self.xp
        length = xp.linalg.norm(x, axis=1, keepdims=True)
        scale = 2.0 / length
        # JᵀJ = Q (2SLS) Qᵀ for the orthonormal frame Q of the tangents and ω = SQᵀ dq. Its null space is known: S⁻¹1 on
        # each connected part. What projects on it makes the system regular, and takes no part in the solution.
        null = self.joined * (length * length.T) / (self.joined @ length**2)
        system = 2 * scale * self.laplacian * scale.T
        size = system.diagonal().max() + damping
        inverse = cho_solver(xp, system + damping * xp.eye(self.n, dtype=x.dtype) + size * null)
        frame = _frame(xp, x / length)

        def solve(g: Array) -> Array:
            omega = xp.moveaxis(_along(self.xp, frame, g), -2, 0)
            solved = inverse(omega.reshape(self.n, -1)).reshape(omega.shape)
            return _combined(self.xp, frame, xp.moveaxis(solved, 0, -2))

        return solve

    def curvature(self, x: Array, s: Array) -> Array:
        """The norm of D²c(x)[s, s], of which Rᵢ(Eᵢ″ + 2Eᵢ′Eⱼ′ᵀ + Eⱼ″ᵀ)Rⱼᵀ is the part of a pair.

        R(q + ts) = R(q) E(t) with E′ = [ω]ₓ and E″ = [ω]ₓ² − 2h[ω]ₓ at zero, for h = ⟨q, s⟩/|q|².
        """
        xp = self.xp
        turn = _cross(xp, _along(self.xp, _scaled_frame(xp, x), s))
        longer = ((x * s).sum(axis=1) / (x * x).sum(axis=1))[:, None, None]
        second = _products(xp, turn, -turn) - 2 * longer * turn
        i, j = self.i, self.j
        return trees.norm(second[i] + second[j].swapaxes(-1, -2) + 2 * _products(xp, turn[i], turn[j]))

    def gauge(self, x: Array, rng: np.random.Generator) -> Array:
        """All rotations turned by one, Rᵢ → RᵢG, and each quaternion with either sign."""
        turn = rng.standard_normal(4)
        signs = rng.choice([-1.0, 1.0], (self.n, 1))
        w, *v = turn / np.linalg.norm(turn)
        return signs.astype(x.dtype) * (w.astype(x.dtype) * x + _frame(self.xp, x) @ np.asarray(v, x.dtype))


# The products of (w, x, y, z) with the quaternions i, j and k, as columns: which entry, and with which sign.
_PLACES = np.array([[1, 2, 3], [0, 3, 2], [3, 0, 1], [2, 1, 0]], np.int32)
_SIGNS = np.array([[-1, -1, -1], [1, -1, 1], [1, 1, -1], [-1, 1, 1]])


def _frame(xp: Any, q: Array) -> Array:
    """The matrices Q of the products qi, qj, qk, which for unit quaternions are orthonormal and orthogonal to q."""
    return xp.take(q, _PLACES, axis=1) * xp.asarray(_SIGNS, q.dtype)


def _scaled_frame(xp: Any, x: Array) -> Array:
    """The matrices QS, which turn a change of quaternions of any length into ω."""
    return _frame(xp, 2 * x / (x * x).sum(axis=1, keepdims=True))


def _along(xp: Any, frame: Array, z: Array) -> Array:
    """Qᵀz."""
    if xp is np:
        return np.einsum("nij,...ni->...nj", frame, z)
    return (frame * z[..., None]).sum(axis=-2)


def _combined(xp: Any, frame: Array, omega: Array) -> Array:
    """Qω."""
    if xp is np:
        return np.einsum("nij,...nj->...ni", frame, omega)
    return (frame * omega[..., None, :]).sum(axis=-1)


def _products(xp: Any, a: Array, b: Array) -> Array:
    """abᵀ for stacks of matrices."""
    return _contracted(xp, "eab,ecb->eac", a, b) if xp is jnp else a @ b.swapaxes(-1, -2)


def _contracted(xp: Any, axes: str, a: Array, b: Array) -> Array:
    """A sum of products, never at less than full precision."""
    precise = {"precision": jax.lax.Precision.HIGHEST} if xp is jnp else {}
    return xp.einsum(axes, a, b, **precise)


def _all_nonzero(x: Any) -> bool:
    return arrays.is_traced(x) or bool((x != 0).any(axis=-1).all())


def _ends(i: Any, j: Any) -> tuple[np.ndarray, np.ndarray]:
    first, second = arrays.as_indices(i, "i"), arrays.as_indices(j, "j")
    whole = first.dtype.kind in "iu" and second.dtype.kind in "iu"
    if first.ndim != 1 or first.shape != second.shape or not first.size or not whole:
        raise InputError(
            given=f"ends of shapes {first.shape} and {second.shape}, dtypes {first.dtype} and {second.dtype}",
            needed="two lists of as many whole numbers, at least one each",
            missing="an i and a j for each pair",
            advice="pass RelativeRotations(i, j) with the indices of the rotations from 0",
        )
    return first, second


def _check_ends(i: np.ndarray, j: np.ndarray, n: int) -> None:
    least, most = min(i.min(), j.min()), max(i.max(), j.max())
    if least < 0 or most >= n or np.any(i == j):
        raise InputError(
            given=f"pairs with indices from {least} to {most}, {int(np.sum(i == j))} of a rotation with itself",
            needed=f"indices from 0 to {n - 1}, two different ones in each pair",
            missing="valid pairs",
            advice="count the rotations from 0, and leave out pairs of a rotation with itself",
        )


def _laplacian(i: np.ndarray, j: np.ndarray, n: int) -> np.ndarray:
    laplacian = np.zeros((n, n))
    for a, b in ((i, j), (j, i)):
        np.add.at(laplacian, (a, a), 1.0)
        np.add.at(laplacian, (a, b), -1.0)
    return laplacian


def _joined(laplacian: np.ndarray) -> np.ndarray:
    """Which rotations are connected: the smallest index of each part spreads along the pairs until it meets no more."""
    pairs = laplacian != 0
    np.fill_diagonal(pairs, True)
    label, spread = np.full(len(pairs), -1), np.arange(len(pairs))
    while not np.array_equal(spread, label):
        label = spread
        spread = np.min(np.where(pairs, label[None, :], len(label)), axis=1)
        spread = spread[spread]
    return np.asarray(label[:, None] == label[None, :], dtype=float)
