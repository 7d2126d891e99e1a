"""Seeded problem instances that carry their truth, one generator a problem class."""

from gnpolyak.instances.tensor_sensing import (
    DEFAULT_MEASUREMENTS,
    Instance,
    default_measurements,
    tensor_sensing,
)

__all__ = ["DEFAULT_MEASUREMENTS", "Instance", "default_measurements", "tensor_sensing"]
