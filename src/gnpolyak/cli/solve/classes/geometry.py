"""Cameras and rotations: bundle adjustment, and synchronisation."""

from __future__ import annotations

from typing import Any

import numpy as np

import gnpolyak as gnp
from gnpolyak.cli.solve.kinds import KINDS, Arrays, Built, Kind, alike, enough, example, indices, numbers, wrong
from gnpolyak.cli.solve.pictures import one_by_one
from gnpolyak.instances.bundle_adjustment import projected

_VARIABLE = {"quaternions": 4, "translations": 3, "points": 3}


def _synchronisation(arrays: Arrays) -> Built:
    kind = "synchronisation"
    i, j, r = indices(kind, arrays, "i"), indices(kind, arrays, "j"), numbers(kind, arrays, "R", 3)
    alike(kind, arrays, "i", "j", "R")
    n = int(max(i.max(), j.max())) + 1
    if r.shape[1:] != (3, 3):
        raise wrong(kind, f"R has shape {r.shape}", "save a 3×3 matrix for each pair")
    if n > 2 * len(i):
        raise wrong(kind, f"{n:,} rotations for {len(i):,} pairs", "count the rotations from 0, without gaps")
    problem = gnp.composite(gnp.RelativeRotations(i, j, n), gnp.L1(r))
    return Built(problem, f"{n:,} rotations from {len(i):,} pairs", r, one="pairs")


def _bundle(arrays: Arrays) -> Built:
    kind = "bundle_adjustment"
    x0 = tuple(_first(arrays, name, width) for name, width in _VARIABLE.items())
    camera, point = indices(kind, arrays, "camera"), indices(kind, arrays, "point")
    seen = numbers(kind, arrays, "seen", 2)
    alike(kind, arrays, "camera", "point", "seen")
    alike(kind, arrays, "quaternions", "translations")
    if seen.shape[1] != 2:
        raise wrong(kind, f"seen has shape {seen.shape}", "save two coordinates for each observation")
    for name, index, count in (("camera", camera, len(x0[0])), ("point", point, len(x0[2]))):
        if index.max() >= count:
            raise wrong(kind, f"{name} reaches to {index.max():,}, and there are {count:,}", "count them from 0")
    _require_sight(x0, camera, point)
    # Six numbers a camera and three a point, less the seven of a similarity, which no picture shows.
    enough(kind, seen.size, 6 * len(x0[0]) + 3 * len(x0[2]) - 7)
    problem = gnp.composite(projected, gnp.L1(seen), args=(camera, point))
    found = f"{len(x0[0]):,} cameras and {len(x0[2]):,} points from {len(seen):,} observations"
    return Built(problem, found, seen, one="observations", x0=x0)


def _require_sight(x0: Any, camera: np.ndarray, point: np.ndarray) -> None:
    """Raise InputError where the start has no picture: a camera without a rotation, or a point beside it."""
    if not np.all(np.any(x0[0] != 0, axis=1)):
        raise wrong(
            "bundle_adjustment", "a rotation for each camera: a row of quaternions is all zero", "save (w, x, y, z)"
        )
    ahead = gnp.RelativeRotations.rotations(x0[0])[camera, 2]
    if np.any(np.sum(ahead * x0[2][point], axis=1) + x0[1][camera, 2] == 0):
        advice = "begin with points before the cameras"
        raise wrong("bundle_adjustment", "a point that is not in the plane of its camera at the start", advice)


def _first(arrays: Arrays, name: str, width: int) -> Any:
    array = numbers("bundle_adjustment", arrays, name, 2)
    if array.shape[1] != width:
        raise wrong("bundle_adjustment", f"{name} has shape {array.shape}", f"save {width} numbers in each row of it")
    return array


def _named(x: Any) -> Arrays:
    return {name: np.asarray(each) for name, each in zip(_VARIABLE, x, strict=True)}


def _example_synchronisation() -> Arrays:
    case = example("synchronisation", n=30)
    c = case.problem.map
    return {"i": np.asarray(c.i), "j": np.asarray(c.j), "R": np.asarray(case.problem.penalty.b)}


def _example_bundle() -> Arrays:
    case = example("bundle_adjustment", cameras=8, points=30)
    # Every camera sees every point.
    camera, point = np.divmod(np.arange(8 * 30), 30)
    data = {"camera": camera, "point": point, "seen": np.asarray(case.problem.penalty.b)}
    return data | _named(case.x0)


KINDS["synchronisation"] = Kind(
    holds="i and j, the indices of pairs, and R, the 3×3 matrix R_i R_jᵀ of each",
    names=(frozenset({"i", "j", "R"}),),
    build=_synchronisation,
    answer=lambda x: {"R": gnp.RelativeRotations.rotations(x), "quaternions": np.asarray(x)},
    example=_example_synchronisation,
    picture=one_by_one,
    rank=None,
)
KINDS["bundle_adjustment"] = Kind(
    holds="camera and point, their indices from 0 for each observation, and seen, its place (x/z, y/z) in the picture; "
    "to begin with, about right: quaternions and translations of the cameras, and points in space",
    names=(frozenset({"camera", "point", "seen", *_VARIABLE}),),
    build=_bundle,
    answer=_named,
    example=_example_bundle,
    picture=one_by_one,
    rank=None,
)
