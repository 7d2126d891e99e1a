"""GNP does not care how you write your variable; the subgradient method does.

The same sharp problem is stated twice: in x, and in u with x = φ(u) for a nonlinear, badly scaled φ. One short step of
each method is taken from corresponding points, and the two images c(x) are compared. For GNP they agree to first
order, so the relative difference shrinks with the step. For Polyak they differ already at first order.
"""

import numpy as np

import gnpolyak as gnp

rng = np.random.default_rng(0)
A = rng.standard_normal((12, 3))
B = rng.standard_normal(12)
SCALES = np.array([0.3, 1.0, 3.0])
BEND = np.array([0.5, -0.3, 0.2])
U0 = np.array([0.3, -0.2, 0.5])


def c(x, a):
    return a @ x + 0.1 * (a @ x) ** 3


def phi(u):
    return SCALES * u + (u @ u) * BEND


def c_after_phi(u, a):
    return c(phi(u), a)


def image_after_one_step(function, start, method, length):
    """The image after one step that aims `length` below the current value."""
    problem = gnp.composite(function, gnp.L1(B), args=(A,))
    value = gnp.minimize(problem, start, target=0.0, max_calls=1).value
    moved = gnp.minimize(problem, start, method, target=value - length, max_calls=2)
    return function(moved.x, A)


def difference(method, length):
    """How far the images of the two parameterisations are apart after a step, relative to the step."""
    x0 = phi(U0)
    in_x = image_after_one_step(c, x0, method, length)
    in_u = image_after_one_step(c_after_phi, U0, method, length)
    return np.linalg.norm(in_x - in_u) / np.linalg.norm(in_x - c(x0, A))


def main():
    print("step        GNP    Polyak    (difference of the two images, relative to the step)")
    for length in (1e-1, 1e-2, 1e-3):
        print(f"{length:<6g} {difference('gnp', length):8.1e}  {difference('polyak', length):8.1e}")


if __name__ == "__main__":
    main()
