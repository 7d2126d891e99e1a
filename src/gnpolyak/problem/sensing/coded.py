"""Intensities of coded patterns, by fast transforms: no row of A is ever stored."""

from __future__ import annotations

import abc
import os
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.namespace import Array
from gnpolyak.base.numbers import is_whole, require_seed
from gnpolyak.base.transforms import joined, walsh_hadamard
from gnpolyak.problem.capabilities import INTENSITIES, Capability
from gnpolyak.problem.maps import Hermitian, Map, SymmetricCP
from gnpolyak.problem.sensing.base import Sensing

# Codes that are drawn have moduli between these, whole numbers of a byte, as often in one octave as in another. Their
# fourth moment is then twice the square of their second, as that of complex Gaussian numbers is, and no entry of the
# signal is left in the dark. Codes of one modulus could not tell one bright point from another.
_MODULI = 18, 122
# From so many numbers on, transforms are shared among cores: for fewer, waking threads takes longer.
_SHARED = 2**15


class CodedSensing(Sensing):
    """What the two kinds of coded patterns have in common: codes, and a transform in O(d log d).

    Codes are kept as they are given, but in one byte each where they are whole numbers up to 127, or complex ones with
    such parts in two.
    """

    needs: ClassVar[Capability] = INTENSITIES
    codes: tuple[Array, ...]
    """The codes, of shape (L, *shape); real and imaginary parts where they are complex."""

    def __init__(self, codes: Any) -> None:
        given = arrays.as_array(codes, "codes")
        if given.ndim < 2 or 0 in given.shape:
            raise InputError(
                given=f"codes of shape {given.shape}",
                needed="an array of shape (L, *shape of the signal), one code for each pattern and each entry",
                missing="an axis for the patterns before those of the signal, none of them empty",
                advice="pass codes[None] for a single pattern",
            )
        self._check_shape(given.shape[1:])
        self.codes = tuple(_small(part) for part in _parts(arrays.at_hand(given)))

    @classmethod
    def drawn(cls, shape: int | tuple[int, ...], patterns: int = 12, *, seed: int = 0) -> Self:
        """Patterns with random codes: whole numbers with moduli from 18 to 122, and signs or quarter turns.

        Parameters
        ----------
        shape : int or tuple of int
            That of the signal.
        patterns : int
            The number L of patterns.
        seed : int
            Seed of the codes.
        """
        require_seed(seed)
        sides = shape if isinstance(shape, tuple) else (shape,)
        if not sides or not all(is_whole(each, 1) for each in (*sides, patterns)):
            raise InputError(
                given=f"shape={shown(shape)} and patterns={shown(patterns)}",
                needed="a whole number or a tuple of them for the shape, and a whole number of patterns",
                missing="numbers of at least 1",
                advice="pass shape=(1024, 1024) for an image, and patterns=12",
            )
        return cls(cls._draw((int(patterns), *map(int, sides)), np.random.default_rng(seed)))

    @classmethod
    @abc.abstractmethod
    def _draw(cls, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Random codes."""

    @abc.abstractmethod
    def _check_shape(self, shape: tuple[int, ...]) -> None:
        """Raise InputError for signals of a shape that has no transform."""

    @abc.abstractmethod
    def _transform(self, z: Array) -> Array:
        """The transform of each signal; the first two axes are those of factors and patterns."""

    @abc.abstractmethod
    def _adjoint(self, z: Array) -> Array:
        """Its adjoint."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the signal."""
        return self.codes[0].shape[1:]

    @property
    def d(self) -> int:
        """The size of the signal."""
        return int(np.prod(self.shape))

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[tuple[Sensing, Map, Any]]:
        x = rng.standard_normal((2, 8, 2))
        yield cls.drawn((2, 4), 3), SymmetricCP(2), x[0]
        yield cls.drawn(8, 3, seed=1), Hermitian(), x[0] + 1j * x[1]
        codes = rng.standard_normal((3, 8)) + 1j * rng.standard_normal((3, 8))
        yield cls(codes), Hermitian(), x[1, :, :1] - 2j * x[0, :, :1]
        yield cls(codes[:1].real), SymmetricCP(2), x[1, :, :1]

    def forward(self, x: Array) -> Array:
        """The patterns of each column before their moduli are taken, of shape (r, L, *shape)."""
        return self._transform(x.T.reshape(-1, 1, *self.shape) * self._codes(x))

    def backward(self, patterns: Array) -> Array:
        """The adjoint of `forward`, of shape (d, r)."""
        back = (self._codes(patterns).conj() * self._adjoint(patterns)).sum(axis=1)
        return back.reshape(len(back), -1).T

    def _codes(self, like: Array) -> Array:
        """The codes in the precision of an array; on the host they are kept in it."""
        dtype = np.dtype(like.real.dtype)
        if dtype in self._kept:
            return self._kept[dtype]
        parts = [part.astype(dtype) for part in self.codes]
        codes = parts[0] if len(parts) == 1 else joined(self.xp, *parts)
        if self.xp is np:
            self._kept[dtype] = codes
        return codes

    @cached_property
    def _kept(self) -> dict[np.dtype, Array]:
        return {}

    def energy(self, like: Array) -> Array:
        """The mean over the patterns of |code|² for each entry of the signal, the diagonal of Σ p̄ᵢpᵢᵀ/m."""
        codes = self._codes(like)
        return (codes * codes.conj()).real.mean(axis=0).ravel()

    def measure(self, c: Map, x: Array) -> tuple[Array, Callable[[Array], Array]]:
        return c.intensities(x, self.forward, self.backward)

    def push(self, c: Map, x: Array) -> Callable[[Array], Array]:
        return c.intensities_push(x, self.forward)

    def check(self, x: Array) -> None:
        if x.shape[0] != self.d:
            raise InputError(
                given=f"a variable with {x.shape[0]} rows and codes for signals of shape {self.shape}",
                needed=f"factors with {self.d} rows, a signal's entries in the order of numpy.ravel",
                missing="equal dimensions d",
                advice="pass x0 of shape (d, r): image.reshape(-1, 1)",
            )


class FourierSensing(CodedSensing):
    """Coded diffraction patterns: Σⱼ |F(cₗ ⊙ xⱼ)|², the intensities of Fourier transforms of a signal behind L codes.

    F is the discrete Fourier transform over all axes of the signal, as ``numpy.fft.fftn`` has it. On c(X) = XXᴴ, or
    XXᵀ for a real X of shape (d, r), A and its adjoint take O(L d log d) operations, and memory for the codes alone.

    Parameters
    ----------
    codes : array_like
        Real or complex, of shape (L, *shape of the signal), such as (12, 1024, 1024) for an image. The data b have this
        shape too. `FourierSensing.drawn(shape, patterns)` draws some. Real codes of a real signal give each intensity
        twice, and do not tell a signal from one that is reversed where the codes are.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> sensing = gnp.FourierSensing.drawn((8, 8), patterns=8)
    >>> image = np.random.default_rng(0).random((8, 8))
    >>> b = np.abs(np.fft.fft2(np.asarray(sensing.codes[0]) * image + 1j * np.asarray(sensing.codes[1]) * image)) ** 2
    >>> b[0, :5] = 1e6
    >>> res = gnp.minimize(gnp.composite(gnp.SymmetricCP(2), gnp.L1(b), sensing=sensing), rank=1)
    >>> bool(np.allclose(np.abs(res.x).reshape(8, 8), image))
    True
    """

    over_xp: ClassVar[bool] = True

    @classmethod
    def _draw(cls, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        turns = np.array([1, 1j, -1, -1j], np.complex64)
        return _moduli(shape, rng) * turns[rng.integers(4, size=shape)]

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        """Every length has a fast Fourier transform."""

    def _transform(self, z: Array) -> Array:
        return self._fourier("fftn", z)

    def _adjoint(self, z: Array) -> Array:
        # Not the inverse: without its factor 1/d.
        return self._fourier("ifftn", z, norm="forward")

    def _fourier(self, name: str, z: Array, **how: Any) -> Array:
        axes = range(2, z.ndim)
        if self.xp is not np:
            return getattr(self.xp.fft, name)(z, axes=axes, **how)
        # SciPy's takes the transforms of many patterns on several cores. It takes long to import, and few need it.
        from scipy import fft  # noqa: PLC0415

        workers = os.cpu_count() if z.size >= _SHARED else 1
        return getattr(fft, name)(z, axes=axes, workers=workers, **how)


class HadamardSensing(CodedSensing):
    """Coded Hadamard patterns: Σⱼ |H(cₗ ⊙ xⱼ)|², the squares of Walsh–Hadamard transforms of a signal behind L codes.

    H is the matrix (−1)^(a·b), of the bits of two indices, and the d entries of the signal, raveled, are a power of two
    in number; for an image whose sides are powers of two this is the transform of both. Real codes make this real
    throughout, for c(X) = XXᵀ with `SymmetricCP(2)`; a complex X is for `Hermitian` and complex codes. A and its
    adjoint take O(L d log d) operations, and memory for the codes alone.

    Parameters
    ----------
    codes : array_like
        Real or complex, of shape (L, *shape of the signal). The data b have this shape too.
        `HadamardSensing.drawn(shape, patterns)` draws real ones.
    """

    over_xp: ClassVar[bool] = True

    @classmethod
    def _draw(cls, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        return _moduli(shape, rng) * np.where(rng.random(shape, np.float32) < 0.5, -1, 1).astype(np.float32)

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        d = int(np.prod(shape))
        if d & (d - 1):
            raise InputError(
                given=f"codes for signals of shape {shape}, {d} entries",
                needed="a power of two, for which there is a Hadamard matrix of this kind",
                missing=f"{2 ** d.bit_length() - d} more entries",
                advice="pad the signal with entries that are known to be zero, or take FourierSensing",
            )

    def _transform(self, z: Array) -> Array:
        return walsh_hadamard(self.xp, z.reshape(*z.shape[:2], -1)).reshape(z.shape)

    def _adjoint(self, z: Array) -> Array:
        return self._transform(z)


def _moduli(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    least, most = _MODULI
    return np.rint(least * (most / least) ** rng.random(shape, np.float32))


def _parts(codes: Any) -> list[Any]:
    return [codes.real, codes.imag] if np.iscomplexobj(codes) else [codes]


def _small(part: Any) -> Array:
    """The numbers in a byte each, if they are whole and small enough."""
    if arrays.is_traced(part):
        return part
    host = np.asarray(part)
    whole = np.all(np.abs(host) <= 127) and np.array_equal(host, np.rint(host))
    return arrays.on_device(host, np.int8) if whole else arrays.placed(part)
