"""A start from the data alone for power measurements of symmetric CP tensors."""
