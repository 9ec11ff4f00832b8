"""Hostile cases, each with a number that never changes, and a runner that plays them against a server here.

    getstep-server attack --list
    getstep-server attack 127.0.0.1:7777

It answers one question: can somebody who breaks the rules of protocol.md disturb anybody else's match? After each
case the runner looks at what the sender is told, whether its connection is closed, what becomes of the match, and
whether the server still greets a newcomer. Cases that take a team use up matches: attack a contest made for that.
"""

from ._case import Case, Expected, NotAsExpected, NotRun, Times, Who
from ._cases import CASES
from ._command import add_attack, loopback
from ._stage import Address, Credential, Stage

__all__ = [
    "CASES",
    "Address",
    "Case",
    "Credential",
    "Expected",
    "NotAsExpected",
    "NotRun",
    "Stage",
    "Times",
    "Who",
    "add_attack",
    "loopback",
]
