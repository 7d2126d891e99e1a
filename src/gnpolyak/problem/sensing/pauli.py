"""Expectation values of Pauli strings in a quantum state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.modules import field
from gnpolyak.base.namespace import Array, sums
from gnpolyak.base.numbers import is_whole
from gnpolyak.base.transforms import hadamard_matrix, joined
from gnpolyak.problem.maps import Hermitian, Map
from gnpolyak.problem.sensing.base import Sensing

# Which letters flip a qubit, and which give its basis states different signs; Y = iXZ does both.
_FLIPS, _SIGNS = "XY", "ZY"
# The state itself is formed, 2^q × 2^q: 2 GB of complex numbers at the most.
_MOST_QUBITS = 13


class PauliSensing(Sensing):
    """The expectation values tr(P_k ρ) of Pauli strings P_k in the state ρ = c(x), a matrix of shape (2^q, 2^q).

    A string is a permutation with signs, i^|x∧z| Xˣ Zᶻ with a bit for each qubit in the masks x and z, so

        tr(Pρ) = Re i^|x∧z| Σₐ (−1)^(z·a) ρ[a, a ⊕ x].

    For each x this is one coefficient of a Walsh–Hadamard transform, in two products with smaller Hadamard matrices.
    No matrix of a string is formed; all 4^q of them cost less than forming ρ does.

    Parameters
    ----------
    qubits : int
        The number q of qubits, up to 13.
    paulis : sequence of str, or array of int, optional
        Strings such as ``"XIZY"``, whose first letter acts on the first factor of the Kronecker product; or an array of
        shape (m, 2) with the masks x and z of each, the first qubit being the highest bit. By default all 4^q strings,
        in the order of x 2^q + z.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> bell = np.array([[1.0], [0.0], [0.0], [1.0]], complex) / np.sqrt(2)
    >>> sensing = gnp.PauliSensing(2, ["II", "XX", "YY", "ZI"])
    >>> np.round(sensing.measure(gnp.Hermitian(), bell)[0], 3) + 0.0
    Array([ 1.,  1., -1.,  0.], dtype=float32)
    """

    over_xp: ClassVar[bool] = True
    qubits: int = field(static=True)
    x: Array
    """Which qubits each string flips."""
    z: Array
    """Which qubits each string gives signs."""

    def __init__(self, qubits: int, paulis: Sequence[str] | Any | None = None) -> None:
        if not is_whole(qubits, 1) or qubits > _MOST_QUBITS:
            raise _refused(
                f"qubits={shown(qubits)}", f"a whole number of qubits from 1 to {_MOST_QUBITS}", "a valid number"
            )
        self.qubits = int(qubits)
        masks = _masks(self.qubits, paulis)
        self.x, self.z = (arrays.on_device(column, np.int32) for column in masks.T)

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Sensing, Map, Any]]:
        paulis = ["XYZ", "IIY", "ZZI", "YYX", "III"]
        yield cls(3, paulis), Hermitian(), rng.standard_normal((8, 2)) + 1j * rng.standard_normal((8, 2))

    def apply(self, image: Array) -> Array:
        self._check_image(image.shape)
        xp, every = self.xp, self.xp.arange(2**self.qubits)
        # Row x has the entries ρ[a, a ⊕ x], for all a.
        flipped = image[every, every ^ every[:, None]]
        is_imaginary, sign = self._phases(flipped.real.dtype)
        real = self._transformed(flipped.real)[self.x, self.z]
        if not xp.iscomplexobj(image):
            return xp.where(is_imaginary, 0, sign * real)
        # The real part of i^k (real + i imag).
        return sign * xp.where(is_imaginary, -self._transformed(flipped.imag)[self.x, self.z], real)

    def adjoint(self, image: Array, v: Array) -> Array:
        xp, every = self.xp, self.xp.arange(2**self.qubits)
        is_imaginary, sign = self._phases(v.dtype)
        signed = sign * v
        real = self._transformed(self._scattered(xp.where(is_imaginary, 0, signed)))
        places = every ^ every[:, None], every[:, None]
        if not xp.iscomplexobj(image):
            return real[places]
        imag = self._transformed(self._scattered(xp.where(is_imaginary, -signed, 0)))
        return joined(xp, real, imag)[places]

    def _phases(self, dtype: np.dtype) -> tuple[Array, Array]:
        """i^|x∧z| of each string: whether it is imaginary, and its sign."""
        turns = self.xp.bitwise_count(self.x & self.z) % 4
        return turns % 2 == 1, self.xp.where(turns < 2, 1.0, -1.0).astype(dtype)

    def _scattered(self, v: Array) -> Array:
        """The matrix with the sum of the numbers of each string in the row of its x and the column of its z."""
        d = 2**self.qubits
        return sums(self.xp, v, self.x * d + self.z, d * d).reshape(d, d)

    def _transformed(self, rows: Array) -> Array:
        """Σₐ (−1)^(z·a) rows[:, a] for all z; its own adjoint."""
        halves = self.qubits // 2, self.qubits - self.qubits // 2
        high, low = (hadamard_matrix(self.xp, q, rows.dtype) for q in halves)
        return (high @ rows.reshape(len(rows), len(high), len(low)) @ low).reshape(rows.shape)

    def _check_image(self, shape: tuple[int, ...]) -> None:
        d = 2**self.qubits
        if shape != (d, d):
            raise _refused(
                f"an image of shape {shape} for strings of {self.qubits} qubits",
                f"a state of shape ({d}, {d}), such as Hermitian gives of factors with {d} rows",
                "equal dimensions",
            )


def strings(qubits: int, masks: Any) -> list[str]:
    """The strings of these masks, one a row."""
    bits = (np.asarray(masks)[:, :, None] >> np.arange(qubits)[::-1]) & 1
    return ["".join(row) for row in np.array(list("IZXY"))[2 * bits[:, 0] + bits[:, 1]].tolist()]


def _masks(qubits: int, paulis: Any) -> np.ndarray:
    if paulis is None:
        return np.stack(np.divmod(np.arange(4**qubits), 2**qubits), axis=1)
    if isinstance(paulis, (list, tuple)) and len(paulis) and isinstance(paulis[0], str):
        return np.array([_parsed(qubits, each) for each in paulis])
    masks = arrays.as_indices(paulis, "paulis")
    whole = masks.ndim == 2 and masks.shape[1:] == (2,) and len(masks) and masks.dtype.kind in "iu"
    if not whole or np.any(masks < 0) or np.any(masks >= 2**qubits):
        raise _refused(
            f"paulis of type {type(paulis).__name__}",
            f"strings such as 'XIZY', or an array of shape (m, 2) with masks from 0 to {2**qubits - 1}",
            "the strings",
        )
    return masks


def _parsed(qubits: int, string: Any) -> tuple[int, int]:
    if not isinstance(string, str) or len(string) != qubits or set(string) - set("IXYZ"):
        raise _refused(
            f"the Pauli string {shown(string)}", f"{qubits} letters of I, X, Y and Z", "a letter for each qubit"
        )
    bits = ["".join("01"[letter in kind] for letter in string) for kind in (_FLIPS, _SIGNS)]
    return int(bits[0], 2), int(bits[1], 2)


def _refused(given: str, needed: str, missing: str) -> InputError:
    return InputError(given=given, needed=needed, missing=missing, advice="see help(gnpolyak.PauliSensing)")
