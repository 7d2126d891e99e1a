"""Peak memory of one solve, in a process of its own: ``python -m gnpolyak.bench.memory d r m`` prints JSON."""

from __future__ import annotations

import json
import resource
import sys

import gnpolyak as gnp


def peak() -> int:
    """The most memory this process has held, in bytes."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Solve and report the growth over a process that has already solved something tiny."""
    d, r, m = (int(word) for word in sys.argv[1:4])
    tiny = gnp.instances.tensor_sensing(d=4, r=2, kappa=1.0)
    gnp.minimize(tiny.problem, tiny.x0, target=tiny.target)
    before = peak()
    case = gnp.instances.tensor_sensing(d=d, r=r, m=m, kappa=3.0)
    gnp.minimize(case.problem, case.x0, target=case.target, max_calls=10)
    sys.stdout.write(json.dumps({"grown": peak() - before, "data": 2 * m * d * 8}))


if __name__ == "__main__":
    main()
