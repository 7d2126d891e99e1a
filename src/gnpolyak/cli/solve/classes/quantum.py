"""Quantum states from the expectation values of Pauli strings."""

from __future__ import annotations

from typing import Any

import numpy as np

import gnpolyak as gnp
from gnpolyak.cli.solve.kinds import KINDS, Arrays, Built, Kind, alike, example, numbers, whole, wrong
from gnpolyak.cli.solve.pictures import state
from gnpolyak.problem.sensing.pauli import strings

_KIND = "quantum_tomography"
_MOST_QUBITS = 13
# The state, its transform and their derivatives, each a complex matrix.
_COPIES = 8


def _state(arrays: Arrays) -> Built:
    paulis, b = arrays["paulis"], numbers(_KIND, arrays, "b", 1)
    alike(_KIND, arrays, "paulis", "b")
    qubits = _qubits(arrays)
    given: Any = [str(each) for each in paulis] if paulis.dtype.kind == "U" else _masks(arrays, qubits)
    sensing = gnp.PauliSensing(qubits, given)
    problem = gnp.composite(gnp.Hermitian(), gnp.L1(b), sensing=sensing)
    found = f"a state of {qubits} qubits, of rank {{rank}}"
    return Built(problem, found, b, room=_COPIES * 16 * 4**qubits)


def _qubits(arrays: Arrays) -> int:
    """As many as the letters of a string, unless the file says another number."""
    paulis = arrays["paulis"]
    if paulis.dtype.kind == "U" and paulis.ndim != 1:
        raise wrong(_KIND, f"paulis is text of shape {paulis.shape}", "save one string a measurement, such as 'XIZY'")
    if "qubits" in arrays:
        return whole(_KIND, arrays, "qubits", 1, _MOST_QUBITS)
    if paulis.dtype.kind != "U":
        raise wrong(_KIND, "qubits, which masks do not tell", "save qubits beside them, or strings such as 'XIZY'")
    letters = len(str(paulis[0]))
    if not 1 <= letters <= _MOST_QUBITS:
        raise wrong(_KIND, f"strings of {letters} letters", f"from 1 to {_MOST_QUBITS} qubits can be done")
    return letters


def _masks(arrays: Arrays, qubits: int) -> np.ndarray:
    masks = numbers(_KIND, arrays, "paulis", 2)
    if masks.shape[1] != 2 or np.any(masks % 1) or masks.min() < 0 or masks.max() >= 2**qubits:
        raise wrong(_KIND, "paulis has no masks x and z in each row", f"save whole numbers from 0 to {2**qubits - 1}")
    return np.asarray(masks, dtype=np.int64)


def _density(x: Any) -> Arrays:
    x = np.asarray(x)
    return {"rho": x @ x.conj().T, "X": x}


def _example() -> Arrays:
    case = example(_KIND, qubits=3, r=1)
    masks = np.stack([np.asarray(case.problem.sensing.x), np.asarray(case.problem.sensing.z)], axis=1)
    return {"paulis": np.array(strings(3, masks)), "b": np.asarray(case.problem.penalty.b)}


KINDS[_KIND] = Kind(
    holds="paulis, strings such as XIZY (or the masks x and z of each, and qubits), and b, their expectation values",
    names=(frozenset({"paulis", "b"}),),
    optional=frozenset({"qubits"}),
    build=_state,
    answer=_density,
    example=_example,
    picture=state,
)
