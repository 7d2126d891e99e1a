"""Instances that starts are tried on."""

from functools import cache

import numpy as np

import gnpolyak as gnp

SENSING = {"centred": True, "plain": False}


@cache
def sensing_case(n=2, d=40, r=3, kappa=3.0, centred=True, **options):
    return gnp.instances.tensor_sensing(d=d, r=r, n=n, kappa=kappa, seed=7, centred=centred, **options)


def corrupted(case, kind, share=0.2):
    """The same problem with a share of its data replaced, in units of the median datum."""
    b = np.array(case.problem.penalty.b)
    size, rng = np.median(np.abs(b)), np.random.default_rng(3)
    bad = {
        "clean": b,
        "normal": b + rng.standard_normal(b.shape),
        "huge": 1000 * size * rng.standard_normal(b.shape),
        "one-signed": b + 5 * size * (1 + rng.random(b.shape)),
        "one-signed huge": np.full_like(b, 1000 * size),
    }[kind]
    return with_data(case, np.where(rng.random(b.shape) < share, bad, b))


def with_data(case, b, penalty=gnp.L1):
    return gnp.composite(case.problem.map, penalty(b), sensing=case.problem.sensing)
