"""The oracles of problems that are spread over four devices. Run by test_devices.py: devices are for a process's life.

Prints the name of each case that conforms.
"""

import sys

import jax
import numpy as np

import gnpolyak as gnp
from gnpolyak.oracles import oracle_for
from oracles import cases

CASES = {
    # 30 data, 15, and as many as are seen: the last places of four devices are then padding.
    "power": cases.power(),
    "bilinear": cases.bilinear(),
    "entries": cases.entries(),
    "image": (cases.around(gnp.LowRank(), (cases.rows(5, 2), cases.rows(3, 2))), (cases.rows(5, 2), cases.rows(3, 2))),
    "weights": cases.bilinear(lambda b: gnp.L1(b, weights=np.resize([2.0, 0.5, 1.0], b.shape))),
    "Pinball": cases.power(lambda b: gnp.Pinball(b, 0.3)),
}


def main() -> None:
    assert len(jax.devices()) == 4
    for name, (problem, x) in CASES.items():
        with jax.enable_x64(True):
            spread = gnp.shard(problem)
            assert spread.sensing.spread is not None
            try:
                gnp.testing.check_oracle(oracle_for(spread, x), x, problem)
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            else:
                print(name)


if __name__ == "__main__":
    main()
