"""Seeded problem instances that carry their truth, one generator a problem class."""

from gnpolyak.instances.tensor_sensing import Instance, tensor_sensing

__all__ = ["Instance", "tensor_sensing"]
