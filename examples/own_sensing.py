"""Robust matrix completion with a mask written here: the default method takes it as it is."""

import jax.numpy as jnp
import numpy as np

import gnpolyak as gnp


class Mask(gnp.Sensing):
    """The entries of an image that were seen."""

    seen: jnp.ndarray

    def apply(self, image):
        return image[self.seen[0], self.seen[1]]


def main() -> None:
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal((12, 1)), rng.standard_normal((10, 1))
    seen = np.stack(np.nonzero(rng.random((12, 10)) < 0.7))
    b = (u @ v.T)[seen[0], seen[1]]
    b[rng.random(b.size) < 0.1] += 5.0
    problem = gnp.composite(lambda x: x["u"] @ x["v"].T, gnp.L1(b), sensing=Mask(jnp.asarray(seen)))
    res = gnp.minimize(problem, {"u": u + 0.1, "v": v + 0.1})
    print(f"{res.status.name}: error {np.abs(res.x['u'] @ res.x['v'].T - u @ v.T).max():.0e}")


if __name__ == "__main__":
    main()
