"""Bundle adjustment: cameras and points from pictures."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base import arrays
from gnpolyak.base.numbers import is_real
from gnpolyak.instances.base import INSTANCES, Instance, around, check, corrupted, count, room, seeded, share
from gnpolyak.problem.composite import composite
from gnpolyak.problem.maps.rotations import rotation
from gnpolyak.problem.penalties import L1

# The points fill a ball of radius 1; the cameras stand this far from its centre, and look at it.
_DISTANCE = 4.0

View = tuple[Array, Array, Array]


def projected(x: View, camera: Array, point: Array) -> Array:
    """The two coordinates of each observation: p = R(q)y + t of a point y for its camera (q, t), then p₁/p₃, p₂/p₃."""
    turns, shifts, points = x
    p = jnp.einsum("eab,eb->ea", rotation(jnp, turns)[camera], points[point]) + shifts[camera]
    return p[:, :2] / p[:, 2:]


@INSTANCES.register("bundle_adjustment")
def bundle_adjustment(
    cameras: int = 20, points: int = 60, p_fail: float = 0.1, seed: int = 0, *, observed: float = 1.0
) -> Instance:
    """Cameras and points in space from the points' places in pictures, a share of them wrong.

    Each camera has a rotation and a translation, and sees a point y at (p₁/p₃, p₂/p₃) with p = R(q)y + t. The
    cameras stand around a ball of points and look at its centre. An observation is wrong with probability p_fail: both
    of its coordinates are ruined. A similarity of space, of seven parameters, changes no picture, so an answer is
    judged by its pictures.

    Parameters
    ----------
    cameras, points : int
        How many of each; at least 2 cameras and 6 points.
    p_fail : float
        Probability of a wrong observation, in [0, ½).
    seed : int
        Seed of the generator.
    observed : float
        Share of the points that each camera sees, in (0, 1].

    Returns
    -------
    Instance
        Its variable is (quaternions, translations, points), of shapes (cameras, 4), (cameras, 3) and (points, 3).
    """
    rules = (
        count("cameras", cameras, 2),
        count("points", points, 6),
        share(p_fail),
        seeded(seed),
        ("observed", observed, is_real(observed) and 0 < observed <= 1, "a share in (0, 1]"),
    )
    check("bundle_adjustment", rules)
    room("bundle_adjustment", (4 + 16 * observed) * cameras * points, "number of cameras or points")
    for_points, for_cameras, for_pairs, for_wrong, for_start = np.random.default_rng(seed).spawn(5)
    truth = (*_around(cameras, for_cameras), _ball(points, for_points))
    camera, point = _seen(cameras, points, observed, for_pairs)
    with arrays.computing_in(np.dtype(np.float64)):
        clean = np.array(jax.jit(projected)(truth, camera, point))
    wrong = corrupted(clean, 1.0, for_wrong)
    bad = for_wrong.random(len(clean)) < p_fail
    b: Any = np.where(bad[:, None], wrong, clean)
    return Instance(
        problem=composite(projected, L1(b), args=(camera, point)),
        x0=around(truth, for_start),
        truth=truth,
        target=float(np.sum(np.abs(b - clean))),
        settings={"cameras": cameras, "points": points, "p_fail": p_fail, "seed": seed, "observed": observed},
    )


def _ball(n: int, rng: np.random.Generator) -> np.ndarray:
    """Points that are uniform in the ball of radius 1."""
    direction = rng.standard_normal((n, 3))
    return direction / np.linalg.norm(direction, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / 3)


def _around(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Cameras all around the ball: any rotation, and the centre straight ahead at about the same distance."""
    turns = rng.standard_normal((n, 4))
    ahead = np.array([0.0, 0.0, _DISTANCE]) + 0.2 * rng.standard_normal((n, 3))
    return turns / np.linalg.norm(turns, axis=1, keepdims=True), ahead


def _seen(cameras: int, points: int, observed: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """For each observation its camera and its point; every camera sees as many."""
    order = np.argsort(rng.random((cameras, points)), axis=1)
    seen = np.sort(order[:, : max(1, round(observed * points))], axis=1)
    return np.repeat(np.arange(cameras), seen.shape[1]), seen.ravel()
