"""Whether an oracle answers what the problem says, whichever way it computes."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from gnpolyak.base.trees import Tree
from gnpolyak.oracles import Oracle
from gnpolyak.problem.capabilities import CURVATURE, GRAM, IMAGE
from gnpolyak.problem.composite import Composite
from gnpolyak.problem.sensing import Whitened
from gnpolyak.testing.figures import DOUBLE, Figures, are_numpys, computing, drawn, shaped, vector
from gnpolyak.testing.known import Known, has_residuals

# Singular values of J below this share of the largest are zero.
_RANK = 1e-10
# Answers that are compared as matrices: the columns of all others lie one after the other.
_MATRICES = ("matrix", "jacobian")
# A size of residuals, above which some are and others are not.
_LEAST = 0.5


def check_oracle(oracle: Oracle, x: Tree, reference: Composite, *, seed: int = 0) -> dict[str, float]:
    """Hold every answer of an oracle at x against dense derivatives of a reference, in float64.

    Checked are the value and the subgradient, the measurements, the residuals and the data, the products with AJ and
    its adjoint (alone, together and from what an evaluation kept), AJ and J as matrices where they are formed, Aᵀv,
    the action of the map's own metric and of its inverse against the singular values of J, on one vector and on several
    at once, the curvature, sums, medians and counts over the data, and all of the products again with some of the
    variables held. An oracle of NumPy arrays has to answer with such, and without changing what it was asked with.

    Parameters
    ----------
    oracle : Oracle
        In double precision. One of JAX is asked inside a compiled program.
    x : array_like or pytree
        Where: no residual may be zero there, and the oracle takes points of this structure and these shapes.
    reference : Composite
        The same problem, its rows in memory and written for JAX, which differentiates it.

    Examples
    --------
    >>> import numpy as np, gnpolyak as gnp
    >>> from gnpolyak.oracles import host_oracle
    >>> problem = gnp.composite(gnp.SymmetricCP(2), gnp.L1(np.eye(3)))
    >>> x = np.arange(1.0, 7.0).reshape(3, 2)
    >>> errors = gnp.testing.check_oracle(host_oracle(problem, x), x, problem)
    >>> errors["subgradient"] < 1e-10
    True
    """
    figures = Figures(f"{type(oracle).__name__} of {reference.label}")
    with computing(x) as [point]:
        known = Known.of(reference.cast(DOUBLE), point)
        given = _Given.of(oracle, known, point, np.random.default_rng([seed, 0x0AC]))
        before = jax.tree.map(np.array, given)
        if oracle.xp is np:
            with np.errstate(all="ignore"):
                found = _answers(oracle, given)
            figures.require("NumPy arrays", are_numpys(found, DOUBLE))
        else:
            found = jax.device_get(jax.jit(lambda given: _answers(oracle, given))(given))
        same = all(map(np.array_equal, *map(jax.tree.leaves, (before, given))))
        figures.require("arguments left as they are", same)
        _evaluation(figures, found, known, _places(oracle))
        _products(figures, "", found, known, before)
        if not isinstance(reference.sensing, Whitened):
            # A box would be none in another variable, and nothing of one is ever held.
            _products(figures, ", held", found, known, before)
        _metric(figures, oracle, found, known, before)
        if known.rows is not None:
            _reductions(figures, oracle, found, known)
    return figures.judged()


class _Given(NamedTuple):
    """What an oracle is asked with, as arrays of its own kind."""

    x: Tree
    u: Tree
    """A direction."""
    w: Any
    """A number for each residual, or each reading where there are no residuals; zero in places without a datum."""
    v: Any
    """A number for each reading."""
    g: Tree
    """A vector in the range of Jᵀ."""
    damping: Any
    free: Tree

    @classmethod
    def of(cls, oracle: Oracle, known: Known, x: Tree, rng: np.random.Generator) -> _Given:
        singular = np.ones(1) if known.image is None else np.linalg.svd(known.image, compute_uv=False)
        damping = np.median(singular[singular > _RANK * singular[0]]) ** 2
        g = known.g if known.image is None else known.image.T @ rng.standard_normal(len(known.image))
        rows = known.reading if known.rows is None else known.rows
        w, v = (_placed(oracle, rng.uniform(0.5, 1.5, len(each))) for each in (rows, known.reading))
        free = jax.tree.map(lambda leaf: rng.random(leaf.shape) < 0.6, x)
        asked = cls(x, drawn(x, rng), w, v, shaped(g, x), np.asarray(damping), free)
        return jax.tree.map(np.array if oracle.xp is np else jnp.asarray, asked)


def _places(oracle: Oracle) -> np.ndarray | None:
    """Which places hold a datum, where some hold none."""
    counted = oracle.reduce.counted()
    return None if counted is True else np.asarray(counted)


def _placed(oracle: Oracle, data: np.ndarray) -> np.ndarray:
    places = _places(oracle)
    if places is None:
        return data
    whole = np.zeros(places.shape)
    whole[places] = data
    return whole


def _answers(oracle: Oracle, given: _Given) -> dict[str, Any]:
    """Everything that an oracle can be asked."""
    x = given.x
    point = oracle.evaluate(x)
    z, _ = oracle.measure(x)
    found: dict[str, Any] = {"value": point.value, "subgradient": point.subgradient, "measure": z}
    if point.v is not None:
        found["v"] = point.v
        subgradient = oracle.image_subgradient(point)
        found |= {} if subgradient is None else {"image subgradient": subgradient}
    kept = None
    if has_residuals(oracle.penalty):
        found["value beside residuals"], r, kept = oracle.residuals(x)
        r = oracle.xp.where(oracle.reduce.counted(), r, 0.0)
        found |= {"residuals": r, "data": oracle.data, "sums": oracle.reduce.sums(r, abs(r))}
        found |= {"median": oracle.reduce.median(abs(r)), "typical": oracle.reduce.typical(r)}
        found["median above"] = oracle.reduce.median_above(abs(r), _LEAST)
    found |= _linear(oracle, given, kept)
    found |= {f"{name}, held": each for name, each in _linear(oracle.holding(given.free), given, None).items()}
    if oracle.map.has(GRAM):
        found["gram"] = oracle.gram(x)(given.u)
    several = jax.tree.map(lambda *leaves: oracle.xp.stack(leaves), given.g, given.u, given.g)
    for name, damping in (("metric", 0.0), ("damped metric", given.damping)):
        found[name] = oracle.metric(x, damping)(given.g)
        found[f"{name}, other"] = oracle.metric(x, damping)(given.u)
        found[f"{name}, several"] = oracle.metrics(x, damping)(several)
    if oracle.map.has(CURVATURE):
        found["curvature"] = oracle.curvature(x, given.u)
    return found


def _linear(oracle: Oracle, given: _Given, kept: Any) -> dict[str, Any]:
    """The products at x, from what was kept there and without, and the matrices that are formed."""
    x, u, w = given.x, given.u, given.w
    actions, again, products = oracle.actions(x), oracle.linearise(x), oracle.linearise(x, kept)
    pushed, pulled = products.product(u, w)
    _, weighed, energy = again.weighed(u, w)
    found = {
        "push": products.push(u),
        "pull": products.pull(w),
        "product, pushed": pushed,
        "product, pulled": pulled,
        "product, weighed": weighed,
        "energy": energy,
        "push without weights": actions.push(u),
        "pull without weights": actions.pull(given.v),
    }
    if oracle.forms:
        found["matrix"] = oracle.matrix(x)
    if oracle.map.has(IMAGE):
        found["jacobian"] = oracle.jacobian(x)
    return found


def _evaluation(figures: Figures, found: dict[str, Any], known: Known, places: np.ndarray | None) -> None:
    z = found["measure"]
    figures.compare("measure", vector(z if places is None else z[places]), known.z)
    figures.compare("value", found["value"], known.value)
    figures.compare("subgradient", vector(found["subgradient"]), known.g)
    if "v" in found:
        v = found["v"] if places is None else found["v"][places]
        figures.compare("(AJ)ᵀv", known.measuring.T @ vector(v), known.g)
    if "image subgradient" in found and known.image is not None:
        figures.compare("image subgradient", known.image.T @ vector(found["image subgradient"]), known.g)


def _products(figures: Figures, held: str, found: dict[str, Any], known: Known, given: _Given) -> None:
    """Note the products, of all columns or of those that are free."""
    columns = _columns(given) if held else 1.0
    reading = known.reading * columns
    rows = reading if known.rows is None else known.rows * columns
    u, w, places = vector(given.u), given.w, given.v != 0
    counted = given.w != 0
    pushed, w = rows @ u, w[counted]
    expected = {
        "push": pushed,
        "pull": rows.T @ w,
        "product, pushed": pushed,
        "product, pulled": rows.T @ (w * pushed),
        "product, weighed": rows.T @ (w * pushed),
        "energy": np.sum(w * pushed**2),
        "push without weights": reading @ u,
        "pull without weights": reading.T @ given.v[places],
        "matrix": rows,
        "jacobian": None if known.image is None else known.image * columns,
    }
    over_data = {"push": counted, "product, pushed": counted, "push without weights": places}
    for name, right in expected.items():
        if f"{name}{held}" in found and right is not None:
            answer = found[f"{name}{held}"]
            answer = answer[over_data[name]] if name in over_data else answer
            figures.compare(f"{name}{held}", answer if name in _MATRICES else vector(answer), right)


def _columns(given: _Given) -> np.ndarray:
    """A mask of the columns of J that are free; those of a complex variable are two."""

    def parts(free: np.ndarray, leaf: np.ndarray) -> np.ndarray:
        return np.where(free, 1 + 1j, 0.0) if np.iscomplexobj(leaf) else np.where(free, 1.0, 0.0)

    return vector(jax.tree.map(parts, given.free, given.x))


def _metric(figures: Figures, oracle: Oracle, found: dict[str, Any], known: Known, given: _Given) -> None:
    """Note JᵀJ, its inverses on range(Jᵀ), alone and of several vectors, and the bound on the second derivative."""
    for name in ("metric", "damped metric"):
        first, second, third = (jax.tree.map(lambda leaf, i=i: leaf[i], found[f"{name}, several"]) for i in range(3))
        figures.compare(f"{name}, several", vector((first, third)), vector((found[name],) * 2))
        figures.compare(f"{name}, several, other", vector(second), vector(found[f"{name}, other"]))
    if known.image is None:
        return
    if "gram" in found:
        figures.compare("gram", vector(found["gram"]), known.image.T @ (known.image @ vector(given.u)))
    if oracle.preconditioned:
        _, singular, right = np.linalg.svd(known.image, full_matrices=False)
        kept = singular > _RANK * singular[0]
        coordinates = right[kept] @ vector(given.g)
        for name, damping in (("metric", 0.0), ("damped metric", float(given.damping))):
            expected = right[kept].T @ (coordinates / (singular[kept] ** 2 + damping))
            figures.compare(name, vector(found[name]), expected)
    if "curvature" in found:
        second = _second(known.problem.map, *(jax.tree.map(jnp.asarray, each) for each in (given.x, given.u)))
        size, bound = float(np.linalg.norm(vector(second))), float(found["curvature"])
        figures.note("curvature", max(size / bound - 1, 0.0) if bound > 0 else size, 1e-8)


@jax.jit
def _second(c: Any, x: Tree, u: Tree) -> Array:
    return jax.jvp(lambda y: jax.jvp(c, (y,), (u,))[1], (x,), (u,))[1]


def _reductions(figures: Figures, oracle: Oracle, found: dict[str, Any], known: Known) -> None:
    """Note residuals and data, and what is told of all of them at once."""
    r, counted, penalty = known.r, _places(oracle), known.problem.penalty
    assert r is not None
    here = slice(None) if counted is None else counted
    size, above = np.abs(r), np.abs(r) > _LEAST
    figures.compare("residuals", found["residuals"][here], r)
    figures.compare("value beside residuals", found["value beside residuals"], known.value)
    tilted = 0.0 if penalty.tilt is None else float(penalty.tilt) * np.sum(r)
    figures.compare("value of residuals", np.sum(np.abs(found["residuals"])) + tilted, known.value)
    figures.compare("data", found["data"][here], known.data)
    figures.compare("sums", np.stack(found["sums"]), np.array([np.sum(r), np.sum(size)]))
    figures.compare("median", found["median"], np.sort(size)[r.size // 2])
    middle = size if 2 * np.sum(above) > r.size else size[above]
    figures.compare("median above", found["median above"], np.sort(middle)[middle.size // 2] if middle.size else 0.0)
    figures.compare("typical", found["typical"], np.sort(size)[r.size // 2])
    figures.require("count", oracle.reduce.count(found["residuals"]) == r.size)
