"""A map with a target rule, a linear solver and a start of its own, all used by `minimize`."""

import jax.numpy as jnp
import numpy as np

import gnpolyak as gnp


class Linear(gnp.Map):
    """c(x) = Mx."""

    matrix: jnp.ndarray

    def __call__(self, x):
        return self.matrix @ x


class Cautious(gnp.Known):
    """A known optimum, approached by half steps."""

    fraction = 0.5


class NormalEquations(gnp.LinearSolver):
    """(MᵀM + λI)⁻¹g."""

    def solve_many(self, oracle, x, subgradients, damping):
        gram = oracle.map.matrix.T @ oracle.map.matrix + damping * jnp.eye(len(x))
        return jnp.linalg.solve(gram, subgradients.T).T

    def solve(self, oracle, point, damping):
        return self.solve_many(oracle, point.x, point.subgradient[None], damping)[0], 0


@gnp.tables.starts.register(Linear, gnp.Identity)
def least_squares(problem):
    return np.linalg.lstsq(problem.map.matrix, problem.penalty.b)[0]


def main() -> None:
    matrix = np.random.default_rng(0).standard_normal((40, 3))
    b = matrix @ [1.0, 2.0, 3.0]
    b[:6] += 10.0
    problem = gnp.composite(Linear(matrix), gnp.L1(b))
    print(gnp.minimize(problem, method=gnp.GNP(solver=NormalEquations()), target=Cautious(60.0)))


if __name__ == "__main__":
    main()
