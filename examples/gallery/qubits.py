"""The state of four qubits from measurements of which a fifth is wrong.

The state is a mixture of rank 2: three parts of (|0000⟩ + |1111⟩)/√2, and one part of a W state with phases. The
expectation values of all 256 Pauli strings are given, a fifth of them replaced by any number between −1 and 1. Linear
inversion, which is least squares, cut to its two largest eigenvalues, is where `minimize` begins; least absolute
deviations end at the state.
"""

from functools import reduce
from itertools import product

import numpy as np
from showing import panels, show, titled

import gnpolyak as gnp

PAULI = {"I": np.eye(2), "X": np.eye(2)[::-1], "Y": np.array([[0, -1j], [1j, 0]]), "Z": np.diag([1.0, -1.0])}
STRINGS = ["".join(letters) for letters in product("IXYZ", repeat=4)]
MATRICES = np.array([reduce(np.kron, [PAULI[letter] for letter in string]) for string in STRINGS])


def make_data(ruined=0.2, seed=0):
    rng = np.random.default_rng(seed)
    factor = np.zeros((16, 2), complex)
    factor[[0, 15], 0] = np.sqrt(0.75 / 2)
    factor[[1, 2, 4, 8], 1] = np.sqrt(0.25 / 4) * np.array([1, 1j, -1, -1j])
    state = factor @ factor.conj().T
    expected = np.einsum("kij,ji->k", MATRICES, state).real
    return state, np.where(rng.random(256) < ruined, rng.uniform(-1, 1, 256), expected)


def least_squares(b, rank=2):
    values, vectors = np.linalg.eigh(np.einsum("k,kij->ij", b, MATRICES) / 16)
    return vectors[:, -rank:] * np.sqrt(np.maximum(values[-rank:], 0))


def fit(b):
    problem = gnp.composite(gnp.Hermitian(), gnp.L1(b), sensing=gnp.PauliSensing(4, STRINGS))
    return gnp.minimize(problem, least_squares(b)).x


def work():
    state, b = make_data()
    found = {name: x @ x.conj().T for name, x in (("least squares, rank 2", least_squares(b)), ("gnpolyak", fit(b)))}
    errors = {name: np.linalg.norm(x - state) / np.linalg.norm(state) for name, x in found.items()}
    return errors, {"the state": state, **found}


def draw(errors, shown):
    sizes = {title: np.abs(state) for title, state in titled(errors, shown).items()}
    figure = panels(sizes, width=3.2, cmap="magma_r", vmax=0.4)
    for axes in figure.axes:
        axes.set(xticks=(0, 5, 10, 15), xticklabels=("0000", "0101", "1010", "1111"))
    figure.colorbar(figure.axes[0].images[0], ax=figure.axes, label="size of the entries", shrink=0.8)
    return figure


if __name__ == "__main__":
    show(work, draw)
