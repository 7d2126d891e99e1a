"""Peers for low-rank matrices of which all or some entries are seen."""

from __future__ import annotations

from typing import Any

import numpy as np

import gnpolyak as gnp
from gnpolyak.bench.zoo.watch import Watch, image

Matrix = np.ndarray


def table(case: gnp.instances.Instance) -> tuple[Matrix, Matrix]:
    """The data as a matrix, zero where nothing was seen, and 1 where something was."""
    problem: Any = case.problem
    b = np.asarray(problem.penalty.b)
    if not isinstance(problem.sensing, gnp.Entries):
        return b, np.ones(b.shape)
    full, seen = np.zeros(problem.sensing.shape), np.zeros(problem.sensing.shape)
    places = tuple(np.asarray(each) for each in problem.sensing.indices)
    full[places], seen[places] = b, 1.0
    return full, seen


def clipped(b: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The data cut at two standard deviations of the normal law with their median: no outlier rules what follows."""
    level = 2 * 1.4826 * np.median(np.abs(b[seen > 0]))
    return np.clip(b, -level, level)


def leading(matrix: Matrix, r: int) -> tuple[Matrix, Matrix]:
    """(U, V) of the best approximation of rank r."""
    u, s, vt = np.linalg.svd(matrix, full_matrices=False)
    return u[:, :r] * np.sqrt(s[:r]), vt[:r].T * np.sqrt(s[:r])


# The bound on a weight is halved from sweep to sweep. Of 0.3, 0.5, 0.7, 0.8 and 0.9 this was the fastest that reached
# the truth wherever another did, but for a lucky seed of 0.3.
_HALVED, _LEAST = 0.5, 1e-13


def reweighted_als(case: gnp.instances.Instance, watch: Watch) -> None:
    """Alternating least squares with weights 1/max(|residual|, ε), row by row, ε annealed; from a clipped SVD."""
    (b, seen), r = table(case), case.settings["r"]

    def solved(w: Matrix, data: Matrix, v: Matrix) -> Matrix:
        systems = w @ (v[:, :, None] * v[:, None, :]).reshape(len(v), r * r)
        return np.linalg.solve(systems.reshape(-1, r, r), (data @ v)[:, :, None])[:, :, 0]

    watch.start()
    u, v = leading(clipped(b, seen) * (seen.size / seen.sum()), r)
    eps = np.median(np.abs(b - u @ v.T)[seen > 0])
    while True:
        w = seen / np.maximum(np.abs(b - u @ v.T), eps)
        u = solved(w, w * b, v)
        v = solved(w.T, (w * b).T, u)
        eps = max(_HALVED * eps, _LEAST)
        watch(_product(u, v))


# How fast the penalty of the constraint grows: 1.5 in the authors' code. Where entries are missing that stops far from
# the truth, and 1.1 was the fastest that reached it.
_GROWTH, _GROWTH_WITH_GAPS = 1.5, 1.1


def inexact_alm(case: gnp.instances.Instance, watch: Watch) -> None:
    """Principal component pursuit, min ‖L‖∗ + λ‖S‖₁ with L + S = B, by the inexact ALM of Lin, Chen and Ma."""
    b, seen = table(case)
    watch.start()
    weight = 1 / np.sqrt(max(b.shape) * seen.mean())
    norm = np.linalg.norm(b, 2)
    y, mu = b / max(norm, np.abs(b).max() / weight), 1.25 / norm
    s, growth = np.zeros_like(b), _GROWTH if seen.all() else _GROWTH_WITH_GAPS
    for _ in range(1000):
        u, sigma, vt = np.linalg.svd(b - s + y / mu, full_matrices=False)
        low = (u * np.maximum(sigma - 1 / mu, 0)) @ vt
        left = b - low + y / mu
        # What was not seen costs nothing: the sparse part takes all of it.
        s = np.where(seen > 0, np.sign(left) * np.maximum(np.abs(left) - weight / mu, 0), left)
        y = y + mu * (b - low - s)
        mu = min(growth * mu, 1e12 / norm)
        watch(_formed(low))


# Of the lengths 0.2, 0.5 and 0.8 the last was the fastest.
_STEP = 0.8


def scaled_gd(case: gnp.instances.Instance, watch: Watch) -> None:
    """ScaledGD of Tong, Ma and Chi: entries among the largest of their row and column are put aside.

    Told the largest share of outliers in a row or a column, which is what its theory takes for their share. Begun from
    clipped data, which it needs where κ is large: its authors begin without the entries that are put aside.
    """
    (b, seen), r = table(case), case.settings["r"]
    wrong = (np.abs(b - image(case)) > 1e-12) * seen
    share = max((wrong.sum(axis=k) / np.maximum(seen.sum(axis=k), 1)).max() for k in (0, 1))
    watch.start()
    p = seen.mean()
    u, v = leading(clipped(b, seen) / p, r)
    while True:
        left = (u @ v.T - b) * seen
        left = (left - _largest(left, seen, share)) / p
        step_u = np.linalg.solve(v.T @ v, (left @ v).T).T
        step_v = np.linalg.solve(u.T @ u, (left.T @ u).T).T
        u, v = u - _STEP * step_u, v - _STEP * step_v
        watch(_product(u, v))


def _largest(left: Matrix, seen: Matrix, share: float) -> Matrix:
    """The entries that are among the largest of their row and of their column, a share of those seen."""
    size = np.abs(left)
    along = [np.quantile(size, 1 - share * seen.mean(axis=k).mean(), axis=k, keepdims=True) for k in (0, 1)]
    return np.where((size >= along[0]) & (size >= along[1]), left, 0.0)


def _product(u: Matrix, v: Matrix) -> Any:
    return lambda: u @ v.T


def _formed(matrix: Matrix) -> Any:
    return lambda: matrix
