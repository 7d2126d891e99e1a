"""How problems are evaluated: one interface, and an implementation a file."""

from gnpolyak.oracles.base import Oracle
from gnpolyak.oracles.choice import forms_jacobian, host_oracle, is_small, oracle_for
from gnpolyak.oracles.model import ModelOracle
from gnpolyak.oracles.parts import PartsOracle
from gnpolyak.oracles.reductions import Reductions

__all__ = [
    "ModelOracle",
    "Oracle",
    "PartsOracle",
    "Reductions",
    "forms_jacobian",
    "host_oracle",
    "is_small",
    "oracle_for",
]
