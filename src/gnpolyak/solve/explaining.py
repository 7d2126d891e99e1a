"""What failed inside a solve: an exception from compiled code, traced back to the user's function that it came from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax

from gnpolyak.base import failures
from gnpolyak.base.errors import InputError
from gnpolyak.base.streams.rows import outlined
from gnpolyak.base.trees import Tree
from gnpolyak.problem.capabilities import IMAGE
from gnpolyak.problem.composite import Composite


@contextmanager
def explained(problem: Composite, x: Tree) -> Iterator[None]:
    """Turn an exception into an InputError where the problem's derivatives, or a function on the host, raised it.

    Nothing is looked at before something fails: a solve that goes well does not pay for it. What comes from elsewhere,
    a callback for instance, is the caller's own and stays as it is.
    """
    try:
        yield
    except InputError:
        raise
    except jax.errors.JaxRuntimeError as error:
        if "allback" not in str(error):
            raise
        raise _on_the_host(problem, error) from error
    except Exception as error:
        cause = _refusal(problem, x)
        if cause is None:
            raise
        raise failures.untraceable(problem.label, cause, "a map and measurements") from error


def _refusal(problem: Composite, x: Tree) -> Exception | None:
    """What JAX says to the derivatives that a solve takes, backwards and forwards; None where it takes both."""
    try:
        # A custom_vjp is refused as late as at lowering.
        jax.jit(Composite.evaluate).lower(outlined(problem), x)
        if problem.map.has(IMAGE):
            jax.jit(lambda x: jax.jvp(problem.map, (x,), (x,))).lower(x)
    except Exception as error:
        return error
    return None


def _on_the_host(problem: Composite, error: Exception) -> InputError:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = next((line for line in reversed(lines) if "Error" in line or "Exception" in line), lines[-1])
    return InputError(
        given=f"{problem.label}, a function of which runs on the host",
        needed="a function that returns an array wherever it is called",
        missing=f"its answer: it raised {raised[:300]}",
        advice="call the function at x0 and near it yourself, and let it return NaN where it has no value",
    )
