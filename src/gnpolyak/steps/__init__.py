"""How a step is found, as pure functions: metrics, targets, methods, and the iteration they make up."""
