"""Problems whose measurements are spread over devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding

from gnpolyak.base import arrays
from gnpolyak.base.attending import by_all
from gnpolyak.base.errors import InputError, shown
from gnpolyak.base.measurements import Layout
from gnpolyak.base.namespace import Array
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.penalties import Penalty, Spread
from gnpolyak.problem.sensing import BilinearSensing, Identity, PowerSensing, Shards, Slab
from gnpolyak.problem.sensing.linear import Matrix

AXIS = "measurements"
"""The axis of a mesh that is made here."""


@by_all
def shard(problem: Composite, mesh: Mesh | None = None) -> Composite:
    """The problem with its measurements spread over all devices, to be solved like any other.

    Rows, entries and data are cut into as many pieces as there are devices, of one length: the last ones are filled up
    with measurements that are zero of every image, which nothing counts. The variable is on all of them. A value and
    its subgradient then take one pass of each device over its own piece and one sum over all of them, of as many
    numbers as the variable has.

    Parameters
    ----------
    problem : Composite
        L1, or another penalty that is a sum over measurements, of measurements that can be taken one without the other:
        `PowerSensing`, `BilinearSensing`, `LinearSensing` of a matrix, `Entries`, or an image along its first axis.
    mesh : jax.sharding.Mesh, optional
        Devices; their order is that of the measurements. By default all there are. In a program of several processes
        each of them makes this call, with the whole problem; where no process can hold it: `shard_from_local`.

    Returns
    -------
    Composite
        A problem with copies of the arrays. The given one is not changed, and may be deleted.

    Examples
    --------
    >>> import gnpolyak as gnp
    >>> case = gnp.instances.tensor_sensing(d=20, r=2)
    >>> gnp.minimize(gnp.shard(case.problem), rank=2).success
    True
    """
    chosen, m = _checked(problem, mesh), _length(problem)
    room = -(-m // chosen.devices.size)
    ends = [(min(k * room, m), min((k + 1) * room, m)) for k in range(chosen.devices.size)]
    own = [end for end, device in zip(ends, chosen.devices.flat, strict=True) if _is_own(device)]
    return _spread(problem, chosen, own, tuple(stop - start for start, stop in ends), room)


@by_all
def shard_from_local(problem: Composite, mesh: Mesh | None = None) -> Composite:
    """The problem of all processes' measurements, each of which has its own in `problem`.

    All processes make this call, and all later ones on the result, at the same time. Their measurements follow each
    other in the order of the processes, and there may be a different number in each. What is not measured, such as the
    shape of a matrix some entries of which are seen, has to be the same in all of them.

    Parameters
    ----------
    problem : Composite
        As for `shard`, with the measurements of this process alone. Of an image, its rows cannot be given this way:
        state them as `Entries`.
    mesh : jax.sharding.Mesh, optional
        Devices of all processes, those of a process in one block; by default all there are.

    Returns
    -------
    Composite
        The whole problem, of which each process holds its part.
    """
    chosen, m = _checked(problem, mesh), _length(problem)
    if isinstance(problem.sensing, Identity) and jax.process_count() > 1:
        raise _refused("rows of an image from each process", "give them as gnpolyak.Entries, with the image's shape")
    owners = [device.process_index for device in chosen.devices.flat]
    if sorted(owners) != owners:
        raise _refused(f"a mesh with devices of the processes {owners}", "leave out mesh, or make it of jax.devices()")
    here = owners.count(jax.process_index())
    counts = _of_all([m])[:, 0]
    pieces = [_even(int(counts[owner]), owners.count(owner)) for owner in sorted(set(owners))]
    lengths = tuple(length for each in pieces for length in each)
    firsts = np.cumsum([0, *_even(m, here)])
    ends = list(zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True))
    return _spread(problem, chosen, ends, lengths, max(lengths))


def as_placed(problem: Composite) -> Composite:
    """The problem as its arrays lie: those whose rows a user has spread over devices himself are left where they are.

    Without it XLA would have to bring all rows together wherever a pass of our own runs over them.
    """
    sensing, penalty = problem.sensing, problem.penalty
    if not _is_rowwise(sensing) or type(penalty).block is Penalty.block:
        return problem
    rows = [leaf for leaf in jax.tree.leaves(sensing) if np.ndim(leaf) > 1]
    places = {getattr(leaf, "sharding", None) for leaf in rows}
    place = places.pop()
    if places or not isinstance(place, NamedSharding) or not isinstance(place.mesh, Mesh) or place.mesh.size == 1:
        return problem
    (m, *_), mesh = rows[0].shape, place.mesh
    layout = Layout(mesh, (m // mesh.size,) * mesh.size, m // mesh.size)
    if not layout.spread.is_equivalent_to(place, rows[0].ndim) or getattr(penalty, "b", rows[0]).shape != (m,):
        return problem
    with arrays.precise(True):
        if penalty.rows is not None and penalty.rows.kept is not None:
            return problem
        own = jax.tree.map(lambda leaf: jax.device_put(leaf, layout.spread) if leaf.ndim else leaf, penalty)
        return _composed(problem, own, Shards(sensing, True, layout, (m,)))


def joined(problem: Composite, x: Tree) -> Tree:
    """The variable as a problem on several devices needs it: on all of them, and that of the first process."""
    layout = problem.sensing.spread
    if layout is None:
        return x
    if jax.process_count() > 1:
        x = multihost_utils.broadcast_one_to_all(jax.tree.map(np.asarray, x))
    return jax.device_put(x, layout.everywhere)


def at_hand(problem: Composite) -> Composite:
    """The problem on this process and one device, for what is made of the data once: itself if it is there already.

    Of more numbers than a start needs (1 GB) it is one of evenly taken measurements; of an image all are taken.
    """
    layout, sensing, penalty = problem.sensing.spread, problem.sensing, problem.penalty
    if layout is None or not isinstance(sensing, Shards) or not isinstance(penalty, Spread):
        return problem
    image = isinstance(sensing.each, Slab)
    size = sum(leaf.size for leaf in jax.tree.leaves(sensing.each))
    step = 1 if image else -(-size // _AT_HAND)

    def rows(leaf: Any) -> np.ndarray:
        if np.shape(leaf)[:1] != (layout.size,):
            return np.asarray(leaf)
        return layout.gathered(leaf, step)

    b = jax.tree.map(rows, penalty.own)
    own = b if not image else b._with(b=b.b.reshape(sensing.shape))
    c = jax.tree.map(lambda leaf: np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf, problem.map)
    plain = Identity() if image else sensing.each.like(lambda leaf: layout.gathered(_flat(sensing, leaf), step))
    return Composite(c, own, plain, problem.box)


# The most numbers of measurements that a start is made of.
_AT_HAND = 2**27


def _flat(sensing: Shards, leaf: Array) -> Array:
    return leaf if sensing.rowwise else jax.jit(lambda each: each.reshape(-1, *each.shape[2:]))(leaf)


def _checked(problem: Any, mesh: Any) -> Mesh:
    if not isinstance(problem, Composite):
        raise _refused(f"a problem of type {type(problem).__name__}", "make one with gnpolyak.composite")
    if problem.sensing.spread is not None:
        raise _refused(f"{problem.label}, which is spread already", "pass the problem that it was made of")
    if mesh is None:
        return Mesh(np.array(jax.devices()), (AXIS,))
    if not isinstance(mesh, Mesh):
        raise _refused(f"mesh={shown(mesh)}", "leave it out, or pass jax.sharding.Mesh(jax.devices(), ('rows',))")
    return mesh


def _refused(given: str, advice: str) -> InputError:
    return InputError(
        given=given,
        needed="a problem whose measurements can be taken one without the other, and devices for them",
        missing="a way to spread them",
        advice=advice,
    )


def _length(problem: Any) -> int:
    """How many measurements there are to cut between."""
    b = getattr(problem.penalty, "b", None)
    if b is None or b.ndim == 0:
        raise _refused(f"{problem.penalty.label}, which has no data", "use a penalty with data, such as L1(b)")
    return int(b.shape[0])


def _is_own(device: Any) -> bool:
    return bool(device.process_index == jax.process_index())


def _of_all(numbers: Sequence[int]) -> np.ndarray:
    """These whole numbers of each process, a row each."""
    if jax.process_count() == 1:
        return np.asarray([numbers])
    return np.asarray(multihost_utils.process_allgather(np.asarray(numbers, np.int32)))


def _even(m: int, devices: int) -> list[int]:
    """The lengths of pieces that m measurements are cut into, all but the last ones the same."""
    room = -(-m // devices)
    return [min((k + 1) * room, m) - min(k * room, m) for k in range(devices)]


def _spread(
    problem: Composite, mesh: Mesh, ends: Sequence[tuple[int, int]], lengths: tuple[int, ...], room: int
) -> Composite:
    """The problem on a mesh, from the pieces between these ends, which are those of the devices of this process."""
    penalty: Any = problem.penalty
    width = int(np.prod(penalty.b.shape[1:]))
    layout = Layout(mesh, tuple(width * length for length in lengths), width * room)
    devices = [device for device in mesh.devices.flat if _is_own(device)]
    # Blocks are copies: only those of measurements with entries that vary in number are made to be counted.
    most = max(problem.sensing.block(*end, room).entries for end in ends) if problem.sensing.entries else 0
    entries = int(_of_all([most]).max())
    with arrays.precise(True):
        parts = [
            jax.device_put(_piece(problem, end, room, entries), device)
            for end, device in zip(ends, devices, strict=True)
        ]
        sensing, own = (_joined([part[k] for part in parts], layout) for k in range(2))
        shape = (sum(lengths), *penalty.b.shape[1:])
        return _composed(problem, own, Shards(sensing, _is_rowwise(problem.sensing), layout, shape))


def _composed(problem: Composite, own: Any, sensing: Shards) -> Composite:
    """The problem with data and measurements that are spread."""
    layout = sensing.layout
    # Awaited: sums that are under way at once may meet those of another kind in another process.
    magnitude = jax.block_until_ready(jax.jit(lambda h: h.scale(), out_shardings=layout.everywhere)(own))
    c = jax.tree.map(lambda leaf: _everywhere(leaf, layout), problem.map)
    return Composite(c, Spread(own, magnitude), sensing, problem.box)


def _is_rowwise(sensing: Any) -> bool:
    """Whether each array of a sensing has a row for each measurement."""
    return isinstance(getattr(sensing, "operator", sensing), (PowerSensing, BilinearSensing, Matrix))


def _piece(problem: Composite, end: tuple[int, int], room: int, entries: int) -> tuple[Any, Any]:
    """What one device is to have."""
    sensing = problem.sensing.block(*end, room).filled(entries).flattened()
    penalty = problem.penalty.block(*end, room)
    if penalty.rows is not None and penalty.rows.kept is not None:
        raise _refused("weights of which some are zero", "leave out the measurements that are to be ignored")
    held = sensing if _is_rowwise(sensing) else jax.tree.map(lambda leaf: np.asarray(leaf)[None], sensing)
    return held, jax.tree.map(lambda leaf: np.ravel(leaf) if np.ndim(leaf) else np.asarray(leaf), penalty)


def _joined(pieces: Sequence[Any], layout: Layout) -> Any:
    """Arrays over all devices from those of each; numbers, which have no axis, are those of the first."""

    def join(*leaves: Array) -> Array:
        if leaves[0].ndim == 0:
            return jax.device_put(np.asarray(leaves[0]), layout.everywhere)
        shape = (len(layout.lengths) * leaves[0].shape[0], *leaves[0].shape[1:])
        return jax.make_array_from_single_device_arrays(shape, layout.spread, list(leaves))

    return jax.tree.map(join, *pieces)


def _everywhere(leaf: Any, layout: Layout) -> Any:
    return jax.device_put(leaf, layout.everywhere) if isinstance(leaf, (jax.Array, np.ndarray)) else leaf
