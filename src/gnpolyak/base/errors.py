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


def _rebuild(given: str, needed: str, missing: str, advice: str) -> InputError:
    return InputError(given=given, needed=needed, missing=missing, advice=advice)
