"""Solves over seeds, told in one line and kept in one table."""

from dataclasses import dataclass, field

import numpy as np

import gnpolyak as gnp

EXACT = 1e-10


@dataclass
class Figures:
    """What the solves of one setting came to."""

    name: str
    errors: list = field(default_factory=list)
    calls: list = field(default_factory=list)
    statuses: list = field(default_factory=list)

    def add(self, res, error):
        self.errors.append(float(error))
        self.calls.append(res.calls)
        self.statuses.append(res.status)

    @property
    def exact(self):
        return sum(error <= EXACT for error in self.errors)

    @property
    def successes(self):
        return sum(status.success for status in self.statuses)

    @property
    def false(self):
        """Successes that are not the truth."""
        return sum(s.success and not e <= EXACT for s, e in zip(self.statuses, self.errors, strict=True))

    def __str__(self):
        n = len(self.errors)
        ends = {status.name: self.statuses.count(status) for status in dict.fromkeys(self.statuses)}
        return (
            f"{self.name}: exact {self.exact}/{n}, success {self.successes}/{n}, "
            f"error median {np.median(self.errors):.0e} worst {max(self.errors):.0e}, "
            f"calls median {np.median(self.calls):g} worst {max(self.calls)}, {ends}"
        )


def over_seeds(name, build, seeds=range(5), **options):
    """Solve what build(seed) returns, a problem, a start and an error, for each seed."""
    figures = Figures(name)
    for seed in seeds:
        problem, start, error = build(seed)
        res = gnp.minimize(problem, start, **options)
        figures.add(res, error(res.x))
        if not (res.success and figures.errors[-1] <= EXACT):
            print(f"  missed: seed {seed}: {res.status.name}, error {figures.errors[-1]:.1e}, {res.calls} calls")
    print(figures)
    return figures
