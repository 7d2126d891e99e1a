"""The one error a user of this library meets: it names four things."""

from __future__ import annotations


class InputError(ValueError):
    """Input that cannot be solved, with everything needed to mend it.

    Parameters
    ----------
    given : str
        What the caller passed.
    needed : str
        What the callee requires.
    missing : str
        What stands between the two.
    advice : str
        What to do next.
    """

    def __init__(self, *, given: str, needed: str, missing: str, advice: str) -> None:
        self.given = given
        self.needed = needed
        self.missing = missing
        self.advice = advice
        super().__init__(f"Given: {given}. Needed: {needed}. Missing: {missing}. Do: {advice}.")

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only constructors do not survive pickling by default, and process pools pickle errors.
        return _rebuild, (self.given, self.needed, self.missing, self.advice)


_LONGEST = 120


def shown(value: object) -> str:
    """A value as errors quote it: its repr on one line, cut where it is long, its type where it has none."""
    if isinstance(value, int) and abs(value) > 10**40:
        # Python refuses to write out integers of more than 4,300 digits.
        return f"an integer of {value.bit_length()} bits"
    try:
        text = " ".join(repr(value).split())
    except Exception:
        return f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _rebuild(given: str, needed: str, missing: str, advice: str) -> InputError:
    return InputError(given=given, needed=needed, missing=missing, advice=advice)
