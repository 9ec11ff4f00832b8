"""Hostile test cases for a running server on this machine. Each case has a number that never changes.

    getstep-server attack --list
    getstep-server attack 127.0.0.1:7777

The question is: can a client that breaks the rules of protocol.md disturb the match of another client? After each
case the runner checks the goodbye to the sender, its connection, its match, and that the server still greets a new
client. Cases of players use up matches: run them against a contest made for that.

For a host the cases test a server. For an author of a client or of another server they are a conformance suite:
each case names an input and the reaction that protocol.md requires.
"""

from ._case import Case, Expected, SenderKind
from ._cases import CASES
from ._errors import MissingOption, NotAsExpected, NotRun
from ._player import Credential
from ._runner import Address, CaseRunner
from ._times import Times

__all__ = [
    "CASES",
    "Address",
    "Case",
    "CaseRunner",
    "Credential",
    "Expected",
    "MissingOption",
    "NotAsExpected",
    "NotRun",
    "SenderKind",
    "Times",
]
