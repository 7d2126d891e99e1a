"""Peak memory of one solve, in a process of its own: ``python -m gnpolyak.bench.memory d r m`` prints JSON."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

import gnpolyak as gnp


def peak() -> int:
    """The most memory this process has held, in bytes."""
    status = Path("/proc/self/status")
    if status.is_file():
        # Not getrusage: what that reports on Linux starts at the size of the process that started this one.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


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
