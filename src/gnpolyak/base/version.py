"""The version, in the one place every tool reads it from."""

__version__ = "0.2.0"
