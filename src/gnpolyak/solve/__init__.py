"""The host's side of a solve: arguments, the only loop, and what is said about its outcome."""
