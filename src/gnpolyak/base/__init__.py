"""What knows nothing of optimisation: arrays, trees, Krylov methods, errors, files and the environment."""
