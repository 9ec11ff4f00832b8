"""Cases: each has a sender, an input, and the required reaction of the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal, TypeAlias

from ._player import Sender

Attack: TypeAlias = Callable[[Sender], Awaitable[None]]


class SenderKind(Enum):
    """The state of a connection that a case sends on."""

    UNAUTHENTICATED = "an unauthenticated connection"
    LOBBY = "a team in the lobby"
    ON_TURN = "a player on turn"
    OUT_OF_TURN = "a player out of turn"
    CLASSIC_UNAUTHENTICATED = "an unauthenticated connection on the classic port"
    CLASSIC = "a classic player on turn"
    CLASSIC_OUT_OF_TURN = "a classic player out of turn"

    @property
    def needs_match(self) -> bool:
        """The case needs a match."""
        return self in _PLAYERS

    @property
    def needs_classic_port(self) -> bool:
        """The case needs the classic port."""
        return self in _CLASSIC

    @property
    def needs_team(self) -> bool:
        """The case needs a team that has logged in."""
        return self not in _UNAUTHENTICATED


_PLAYERS = (
    SenderKind.ON_TURN,
    SenderKind.OUT_OF_TURN,
    SenderKind.CLASSIC,
    SenderKind.CLASSIC_OUT_OF_TURN,
)
_CLASSIC = (SenderKind.CLASSIC_UNAUTHENTICATED, SenderKind.CLASSIC, SenderKind.CLASSIC_OUT_OF_TURN)
_UNAUTHENTICATED = (SenderKind.UNAUTHENTICATED, SenderKind.CLASSIC_UNAUTHENTICATED)

Clock: TypeAlias = Literal["", "login", "frame", "refusal", "limit"]
"""The time limit of the server that has to expire first, if any; ``limit`` is the game's, for the player's turn."""


@dataclass(frozen=True)
class Expected:
    """The reaction of the server that a case requires.

    Args:
        goodbye: the reason code of the goodbye to the sender, or None.
        closes: the server closes the connection.
        match: "lost", "continues", or the turn code that the turn costs. It is ignored if no match is played.
        recorded: the code of the incident on record, or None.
        clock: the time limit that has to expire before anything happens.
        retry_ms: the field of goodbye with that name.
    """

    goodbye: str | None = None
    closes: bool = False
    match: str = "continues"
    recorded: str | None = None
    clock: Clock = ""
    retry_ms: int | None = None

    def describe(self, sender: SenderKind) -> str:
        """Return the expectation in a few words."""
        parts = [f"after the {self.clock} time"] if self.clock else []
        parts.append(f"goodbye {self.goodbye}" if self.goodbye else "closed" if self.closes else "stays open")
        if self.recorded and self.recorded != self.goodbye:
            parts.append(f"recorded as {self.recorded}")
        if sender.needs_match:
            costs_turn = self.match not in ("lost", "continues")
            parts.append(f"costs the turn ({self.match})" if costs_turn else f"match {self.match}")
        return ", ".join(parts)


HARMLESS = Expected()
"""No effect at all."""

VANISHES = Expected(closes=True)
"""The connection ends. Nothing is recorded: every network may do that."""

TRUNCATED = Expected("truncated_frame", closes=True, recorded="truncated_frame", retry_ms=1000)
"""The connection ends inside a frame. It is recorded, but costs nothing: a client that crashes looks the same."""


def hostile(code: str, clock: Clock = "") -> Expected:
    """Return the effect of a protocol violation: goodbye with its code, an incident, and the loss of the match."""
    return Expected(code, closes=True, match="lost", recorded=code, clock=clock, retry_ms=1000)


def hostile_classic(code: str, clock: Clock = "refusal") -> Expected:
    """Return the effect of a violation on the classic wire, which has no message for goodbye."""
    return Expected(closes=True, match="lost", recorded=code, clock=clock)


def refused(code: str, retry_ms: int | None = None) -> Expected:
    """Return the effect of a refused login."""
    return Expected(code, closes=True, recorded=code, retry_ms=retry_ms)


def costs_turn(code: str, clock: Clock = "") -> Expected:
    """Return the effect of a fault: the penalty of the game; the connection stays open."""
    return Expected(match=code, clock=clock)


def before_login(expected: Expected) -> Expected:
    """Return the effect on an unauthenticated connection: goodbye without ``retry_ms``."""
    return replace(expected, retry_ms=None)


@dataclass(frozen=True)
class Case:
    """A hostile input and its expected effect.

    Attributes:
        number: group and place, such as "3.17". It never changes: documents and reports refer to it.
        title: the input in a few words.
        sender: the connection that it is sent on.
        expected: the reaction of the server.
        attack: sends it.
        game: the only game in which the case is possible; None for all games.
    """

    number: str
    title: str
    sender: SenderKind
    expected: Expected
    attack: Attack
    game: str | None = None


def sends(data: bytes) -> Attack:
    """Return an attack that sends ``data`` and does nothing else."""

    async def attack(sender: Sender) -> None:
        await sender.send(data)

    return attack


def sort_key(number: str) -> tuple[int, ...]:
    """Return a key that sorts case numbers: 2.10 comes after 2.9."""
    return tuple(int(part) for part in number.split("."))
