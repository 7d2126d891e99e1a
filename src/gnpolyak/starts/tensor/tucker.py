"""A Tucker tensor from its entries."""

from __future__ import annotations

import jax
import numpy as np

from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.maps import Tucker
from gnpolyak.problem.sensing import Entries, Identity
from gnpolyak.starts.host import on_host
from gnpolyak.starts.table import STARTS
from gnpolyak.starts.tensor.cleaned import checked_ranks, cleaned, estimated, trimmed
from gnpolyak.starts.tensor.seen import Seen


@STARTS.register(Tucker, Entries)
@STARTS.register(Tucker, Identity)
@on_host
def tucker(problem: Composite, rank: int | str | tuple[int, ...] = "auto") -> Tree:
    """(core, factors) with orthonormal factors, from a tensor of data of which a minority is anything.

    Parameters
    ----------
    problem : Composite
        A penalty of residuals (L1) of all or some entries of a `Tucker` tensor.
    rank : tuple of int, int or "auto"
        The ranks, one for each axis; one number for all of them; or as many as the data speak for.

    Returns
    -------
    tuple
        The core and the tuple of factors, in the problem's floating type.
    """
    t = Seen.of(problem)
    ranks = checked_ranks(rank, t.shape)
    found = trimmed(t, estimated(t)) if ranks is None else cleaned(t, ranks)
    return jax.tree.map(lambda leaf: np.ascontiguousarray(leaf, t.dtype), (found.core, found.factors))
