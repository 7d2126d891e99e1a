"""Every problem class against what a user would take for it today: peers in a few lines each, and the race they run."""

from gnpolyak.bench.zoo.passes import observed, passes
from gnpolyak.bench.zoo.race import contest

__all__ = ["contest", "observed", "passes"]
