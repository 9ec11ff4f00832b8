"""The messages from the process of a submission to the page: a line of JSON each.

A module of its own: `submission` imports what builds and tries a program, which the page must not load.
"""

from __future__ import annotations

from typing import Literal

import msgspec

FAILED = "The server failed while it tried the program, which is not your fault. Ask the host."
"""The text for a team if the server failed. The page's log has more."""


class SubmissionStatus(msgspec.Struct, frozen=True):
    """A line about a submission: its progress while the state is ``working``, else its result."""

    state: Literal["working", "stored", "refused", "failed"]
    text: str
