"""What every part of a problem has in common, and the structure that a map may offer beyond its values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gnpolyak.base import arrays
from gnpolyak.base.errors import InputError
from gnpolyak.base.namespace import Portable
from gnpolyak.base.trees import Tree


@dataclass(frozen=True)
class Capability:
    """Structure that a map may have, provided by the method of the same name.

    A part that needs one says so by the object, not by a string; a user's own map and sensing may agree on a new one.
    """

    name: str
    meaning: str

    def __str__(self) -> str:
        return f"{self.name!r} ({self.meaning})"


IMAGE = Capability("image", "c(x) as an array that can be formed")
ENTRIES = Capability("entries", "some entries of c(x)")
GRAM = Capability("gram", "the action z ↦ JᵀJz")
CURVATURE = Capability("curvature", "the size of D²c(x)[s, s]")
DISTANCE = Capability("distance", "‖c(x) − c(y)‖ and ⟨c(x), c(y)⟩")
GRAM_PINV = Capability("gram_pinv", "(JᵀJ + λI)†g in closed form")
RIGHT_GRAM = Capability("right_gram", "the matrix XᵀX of ScaledSM's metric Z ↦ Z (XᵀX)")
POWER_FORMS = Capability("power_forms", "⟨c(x), p^⊗n⟩ for rows p, without forming c(x)")
INTENSITIES = Capability("intensities", "Σⱼ |(Bxⱼ)ᵢ|² for a linear transform B of x's columns, without forming c(x)")
BILINEAR_FORMS = Capability("bilinear_forms", "pᵀ c(x) q for rows p and q, without forming c(x)")
RESIDUALS = Capability(
    "residuals", "what the data leave of the measurements, entry by entry, of which the penalty is the sum of sizes"
)
TILT = Capability("tilt", "a number t for which the penalty is the sum of |r| + t·r over its residuals r")
GAUGE = Capability("gauge", "other variables with the same image")
COLUMNS = Capability("columns", "c(x) as a sum over the columns of x's arrays, in which columns of zeros say nothing")

BY_AUTODIFF = frozenset({ENTRIES, GRAM, CURVATURE, DISTANCE})
"""What a map whose image can be formed has without saying so."""


class Part(Portable):
    """A part of a problem: a penalty, a map or a sensing operator, which JAX sees as a pytree."""

    @property
    def label(self) -> str:
        """How errors and summaries call this part."""
        return type(self).__name__

    @property
    def offers(self) -> frozenset[Capability]:
        """The optional structure this part has."""
        return frozenset()

    def has(self, capability: Capability) -> bool:
        """Tell whether this part has that structure, declared or by autodiff through its image."""
        return capability in self.offers or (capability in BY_AUTODIFF and IMAGE in self.offers)

    def require(self, capability: Capability, by: str, advice: str = "take a map that offers it") -> None:
        """Raise InputError unless this part has that structure, in the name of who needs it."""
        if not self.has(capability):
            raise self.lacking(capability, by, advice)

    def lacking(
        self, capability: Capability, by: str = "a direct call", advice: str = "take a map that offers it"
    ) -> InputError:
        """The error for structure that was asked of this part and is not among what it offers."""
        offered = ", ".join(sorted(repr(each.name) for each in self.offers)) or "nothing optional"
        return InputError(
            given=f"{by} on {self.label}",
            needed=f"a part that offers {capability}",
            missing=f"{capability.name!r}: {self.label} offers {offered}",
            advice=advice,
        )

    def cast(self, dtype: np.dtype) -> Self:
        """The part with its numbers in `dtype`; one that stores some of them otherwise overrides this."""
        return arrays.cast(self, dtype)

    def settled(self, at: Tree) -> Self:
        """The part as it is now, for arguments like `at`: what a user's functions capture may change between solves."""
        return self

    @classmethod
    def examples(cls, rng: np.random.Generator) -> Iterator[Any]:
        """Cases on which the conformance suite tries this part, easy and hard ones: see `gnpolyak.testing`."""
        yield from ()
