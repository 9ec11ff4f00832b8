"""The verdicts of cases, and the exceptions that end a case early."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias

Need: TypeAlias = Literal["must", "should", "may"]
"""The word of protocol.md for what a step requires."""


class Verdict(Enum):
    """The outcome of a case."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    """The client does what protocol.md says, also where it says *should*."""
    NON_STRICT = "non-strict"
    """The client does what it must, and not all that it should."""
    FAIL = "fail"
    """The client does not do what it must."""
    INFORMATIONAL = "informational"
    """The case tells something about the client, and is neither passed nor failed; `Outcome.why` says what."""


VERDICT_OF_NEED = {"must": Verdict.FAIL, "should": Verdict.NON_STRICT, "may": Verdict.INFORMATIONAL}
"""The verdict if the client does not meet a requirement of this kind."""


class NotAsRequired(Exception):  # noqa: N818 - the outcome of a case, not an error in this program
    """Raised when the client does something else than a step requires.

    Args:
        why: what it did, and what was expected.
        need: how strictly; None leaves it to the step.
    """

    def __init__(self, why: str, need: Need | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.need = need


@dataclass(frozen=True)
class Outcome:
    """The result of one case.

    Attributes:
        number: of the case.
        verdict: of the client.
        why: what was not as required, or what an informational case has found; "" after a pass.
        seconds: that the case took.
        transcript: a line for each message and event.
        output: the end of what the client printed.
    """

    number: str
    verdict: Verdict
    why: str
    seconds: float
    transcript: tuple[str, ...] = ()
    output: str = ""
