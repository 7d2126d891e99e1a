import os
from importlib.metadata import version

# Most of the suite's time is XLA's compiler. Programs that run for milliseconds need not be optimised, so they are
# not, where this XLA knows how; XLA_FLAGS= (empty) on the command line gives the programs that users get.
if version("jaxlib").startswith("0.10."):
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false")

# Commands that tests start in processes of their own leave the user's cache alone.
os.environ.setdefault("GNPOLYAK_CACHE", "off")

import jax
import pytest


class Compilations:
    """Counts the programs that XLA compiles while it is open, apart from the one that puts NumPy arrays on a device."""

    def __enter__(self):
        self.count, self.names = 0, []
        jax.monitoring.register_event_duration_secs_listener(self._listen)
        return self

    def _listen(self, event, duration, **kwargs):
        if event.endswith("backend_compile_duration") and kwargs["fun_name"] != "jit(stage)":
            self.count += 1
            self.names.append(kwargs["fun_name"])

    def __exit__(self, *exc):
        jax.monitoring.unregister_event_duration_listener(self._listen)


@pytest.fixture
def compilations():
    return Compilations


@pytest.fixture(autouse=True, scope="module")
def _room():
    """Drop compiled programs with each file: together they need more memory maps than Linux grants (65,530)."""
    yield
    jax.clear_caches()
