"""What a case is: who sends what, and what has to come of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Literal, TypeAlias

from getstep_server import limits

if TYPE_CHECKING:
    from ._match import Actor

Attack: TypeAlias = "Callable[[Actor], Awaitable[None]]"


class NotAsExpected(Exception):  # noqa: N818 - a verdict
    """The server did something else; the message says what."""


class NotRun(Exception):  # noqa: N818 - a verdict
    """A case cannot be run here; the message says why."""


class Who(Enum):
    """Who sends it."""

    STRANGER = "a stranger"
    LOBBY = "a team in the lobby"
    ON_TURN = "a player on turn"
    OUT_OF_TURN = "a player out of turn"
    CLASSIC_STRANGER = "a stranger on the classic port"
    CLASSIC = "a classic player on turn"
    CLASSIC_OUT_OF_TURN = "a classic player out of turn"

    @property
    def plays(self) -> bool:
        """Whether it takes a match."""
        return self in (Who.ON_TURN, Who.OUT_OF_TURN, Who.CLASSIC, Who.CLASSIC_OUT_OF_TURN)

    @property
    def classic(self) -> bool:
        """Whether it takes the classic port."""
        return self in (Who.CLASSIC_STRANGER, Who.CLASSIC, Who.CLASSIC_OUT_OF_TURN)

    @property
    def logs_in(self) -> bool:
        """Whether it takes a team."""
        return self not in (Who.STRANGER, Who.CLASSIC_STRANGER)


@dataclass(frozen=True)
class Times:
    """How long the server waits for what, in seconds: as `limits` says, unless a test has changed that."""

    login: float = limits.LOGIN_SECONDS
    frame: float = limits.FRAME_SECONDS
    linger: float = limits.LINGER_SECONDS
    refusal: float = limits.CLASSIC_REFUSAL_SECONDS
    grace: float = 4.0
    """How much longer anything may take on a busy machine."""
    prompt: float = 2.0
    """Within how long whoever keeps the rules is served, whatever else is going on."""

    @property
    def slack(self) -> float:
        """Within how long all has to have come of a case, after the clock that has to run out, if any."""
        return self.linger + self.grace


Clock: TypeAlias = Literal["", "login", "frame", "refusal", "limit"]
"""Which of the server's clocks has to run out first; ``limit`` is the game's, for the player's turn."""


@dataclass(frozen=True)
class Expected:
    """What has to come of a case. Where ``who`` plays no match, ``match`` means nothing.

    Args:
        goodbye: the reason code that the sender is told, or None.
        closes: whether the server closes the connection.
        match: "lost", "goes on", or the turn code that the turn costs.
        recorded: the code under which the host has it on record, or None.
        clock: what has to run out before anything happens.
        retry_ms: what goodbye says about coming back.
    """

    goodbye: str | None = None
    closes: bool = False
    match: str = "goes on"
    recorded: str | None = None
    clock: Clock = ""
    retry_ms: int | None = None

    def described(self, who: Who) -> str:
        """The same in a few words."""
        parts = [f"after the {self.clock} time"] if self.clock else []
        parts.append(f"goodbye {self.goodbye}" if self.goodbye else "closed" if self.closes else "stays")
        if self.recorded and self.recorded != self.goodbye:
            parts.append(f"recorded as {self.recorded}")
        if who.plays:
            costs_turn = self.match not in ("lost", "goes on")
            parts.append(f"costs the turn ({self.match})" if costs_turn else f"match {self.match}")
        return ", ".join(parts)


HARMLESS = Expected()
"""Nothing at all happens."""

VANISHES = Expected(closes=True)
"""The connection ends, which may happen to anybody."""


TRUNCATED = Expected("truncated_frame", closes=True, recorded="truncated_frame", retry_ms=1000)
"""On record, but a crash looks the same."""


def hostile(code: str, clock: Clock = "") -> Expected:
    """A hostile act: goodbye with its code, on record, and the match is lost."""
    return Expected(code, closes=True, match="lost", recorded=code, clock=clock, retry_ms=1000)


def hostile_classic(code: str, clock: Clock = "refusal") -> Expected:
    """The same on the classic wire, which has no word for goodbye."""
    return Expected(closes=True, match="lost", recorded=code, clock=clock)


def refused(code: str, retry_ms: int | None = None) -> Expected:
    """A login that is turned away."""
    return Expected(code, closes=True, recorded=code, retry_ms=retry_ms)


def costs_turn(code: str, clock: Clock = "") -> Expected:
    """A fault: it costs what the game says, and nobody's connection."""
    return Expected(match=code, clock=clock)


@dataclass(frozen=True)
class Case:
    """One hostile thing to do. ``number`` never changes once given; ``game`` is set if no other game will do."""

    number: str
    title: str
    who: Who
    expected: Expected
    attack: Attack
    game: str | None = None


def by_stranger(expected: Expected) -> Expected:
    """What of it a stranger gets: it is told not to come back."""
    return replace(expected, retry_ms=None)


def sends(data: bytes) -> Attack:
    """An attack that is nothing but bytes."""

    async def attack(actor: Actor) -> None:
        await actor.send(data)

    return attack


def order(number: str) -> tuple[int, ...]:
    """Sorts case numbers: 2.10 comes after 2.9."""
    return tuple(int(part) for part in number.split("."))
