"""Where a player sits: a seat outlives the connections of its team, and the judge knows nothing but seats.

A team has one seat for each match that it may play at once.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeAlias

import trio

from getstep.wire import (
    MAX_ID,
    End,
    GetStep,
    Goodbye,
    MalformedAnswer,
    Message,
    Penalty,
    Raised,
    Resign,
    Start,
    Step,
)

from .contest import Team
from .events import Publish, TeamArrived, TeamLeft
from .timekeeper import Alarm, Timekeeper


@dataclass(frozen=True, slots=True)
class Hostile:
    """A player broke the protocol: ``code`` is a hostile code of protocol.md."""

    code: str
    detail: str


Answer: TypeAlias = Step | Raised | Resign | MalformedAnswer


class Arrival(NamedTuple):
    """Something a seat has for the judge.

    ``at`` is when it reached this machine, on trio's clock: by the kernel's stamp if ``stamped``, else by when
    we woke up to read it.
    """

    seat: Seat
    what: Answer | Hostile
    at: float
    stamped: bool


class Link(Protocol):
    """One connection of a team, as its seat sees it. No method blocks or raises."""

    address: str
    client: str

    @property
    def heard(self) -> int:
        """When something last arrived on it, by `time.perf_counter_ns`."""

    def look(self) -> None:
        """Take in what has arrived, without waiting to be woken up for it."""

    def send(self, message: Message) -> None:
        """Hand a message to the kernel; a peer that does not take it loses the connection."""

    def close(self, goodbye: Goodbye) -> None:
        """Say goodbye and close."""


Errand: TypeAlias = Callable[[], Awaitable[object]]
"""Something that takes time."""


@dataclass(frozen=True, slots=True)
class Held:
    """Something that is done together with others: ``until`` has a function called once it is, with whether it was;
    or it returns False, if nothing is being done."""

    until: Callable[[Callable[[bool], None]], bool]


Turns: TypeAlias = Generator[float | Errand | Held, Any, None]
"""A judge at work. It yields the time on trio's clock until which it waits for an arrival, and is sent that, or
None when the time has come; or it yields an errand, and is sent None when that is done; or something that is held,
and is sent whether it was done."""

_NEVER = float("inf")


class Table:
    """One match's mailbox, and where its judge works: both seats put in, the judge takes out.

    It stays small by itself: a seat puts in one answer for each question the judge asks, and one breach for each
    connection, of which the first ends the match.
    """

    def __init__(self, timekeeper: Timekeeper) -> None:
        self._arrivals: deque[Arrival] = deque()
        self._alarm = Alarm(timekeeper)
        self._turns: Turns | None = None
        self._deadline = _NEVER
        self._waiting = False  # for an arrival
        self._errand: Errand | None = None
        self._failure: Exception | None = None

    def put(self, arrival: Arrival) -> None:
        """Hand something to the judge, who takes it at the next `wake`."""
        self._arrivals.append(arrival)

    def take(self) -> Arrival | None:
        """What is there, if anything."""
        return self._arrivals.popleft() if self._arrivals else None

    def wake(self) -> None:
        """Have the judge go on with what is there, if it waits for that; what it raises, `play` raises."""
        if self._waiting and self._arrivals:
            self._go_on(self._arrivals.popleft())

    async def play(self, turns: Turns) -> None:
        """Have ``turns`` played to their end.

        Who puts something in has the judge go on at once: waking a task for each move costs more than the rules do.
        This task sees to what is left, deadlines that pass and errands.

        Raises:
            Exception: whatever ``turns`` raises.
        """
        self._turns = turns
        try:
            self._go_on(None)
            while self._turns is not None:
                await self._see_to_it()
        finally:
            self._waiting, self._turns = False, None
            turns.close()
        if self._failure is not None:
            raise self._failure

    async def _see_to_it(self) -> None:
        if self._errand is None:
            await self._alarm.wait(self._deadline)
            if self._waiting and self._deadline <= trio.current_time():
                self._go_on(None)
        else:
            errand, self._errand = self._errand, None
            await errand()
            self._go_on(None)

    def _go_on(self, answer: Arrival | bool | None) -> None:
        """Have the judge work until it has to wait; ``answer`` is to what it waited for."""
        turns = self._turns
        if turns is None:
            return
        self._waiting = False
        try:
            wish = turns.send(answer)
            while True:
                if isinstance(wish, float):
                    if not self._arrivals:
                        break
                    wish = turns.send(self._arrivals.popleft())
                elif isinstance(wish, Held):
                    if wish.until(self._go_on):
                        return
                    wish = turns.send(False)
                else:
                    break
        except StopIteration:
            self._turns = None
        except Exception as error:
            self._turns, self._failure = None, error
        else:
            if isinstance(wish, float):
                self._waiting, self._deadline = True, wish
                self._alarm.move(wish)
                return
            self._errand = wish
        self._alarm.ring()


@dataclass(slots=True)
class _Shared:
    """What the seats of one team have in common."""

    seats: list[Seat] = field(default_factory=list)
    # Random, so that an answer from before a restart of the server does not fit by chance.
    last_id: int = field(default_factory=lambda: secrets.randbelow(MAX_ID // 2))

    @property
    def here(self) -> int:
        """How many bots of the team are here."""
        return sum(seat.connected for seat in self.seats)


class Seat:
    """A team's place in the contest, or one of several.

    The session attaches and detaches connections; the director takes the seat for a match and frees it; the judge
    begins the match, asks, and ends it. Whoever attaches in the middle of a match is brought up to date with the
    match's start and the open question.
    """

    def __init__(self, team: Team, publish: Publish, shared: _Shared | None = None) -> None:
        self.team = team
        self.link: Link | None = None
        self.taken = False
        """Whether the director has a match here: it is being played, is about to be, or has just been."""
        self._publish = publish
        self.been_here = False
        self._shared = shared or _Shared()
        self._shared.seats.append(self)
        self._asked = 0
        self._table: Table | None = None
        self._start: Start | None = None
        self._question: GetStep | None = None
        self._time_up = 0.0

    @property
    def connected(self) -> bool:
        """Whether a bot sits here now."""
        return self.link is not None

    @property
    def in_match(self) -> bool:
        """Whether a match is being played here."""
        return self._table is not None

    @property
    def match(self) -> int | None:
        """The number of the match that is being played here, if there is one."""
        return None if self._start is None else self._start.match

    @property
    def has_question(self) -> bool:
        """Whether a question is open here."""
        return self._question is not None

    @property
    def last_id(self) -> int:
        """The id of the latest question that the team was asked, here or at another of its seats."""
        return self._shared.last_id

    # --- for the session ---

    def attach(self, link: Link) -> None:
        """Seat a connection that has logged in, in place of an older one."""
        older, self.link = self.link, link
        if older is not None:
            older.close(Goodbye("replaced", "A newer login of your team has taken this seat.", None))
        self._publish(TeamArrived(self.team.id, link.address, link.client, self.been_here, self._shared.here))
        self.been_here = True
        if self._start is not None:
            link.send(replace(self._start, resumed=True))
        if self._question is not None:
            left = max(0.0, self._time_up - trio.current_time())
            link.send(replace(self._question, time_left_ms=round(left * 1000)))

    def detach(self, link: Link, why: str) -> None:
        """A connection is gone; nothing happens if a newer one has taken the seat."""
        if self.link is link:
            self.link = None
            self._publish(TeamLeft(self.team.id, why, self._shared.here))

    def answer(self, link: Link, answer: Answer, at: float, *, stamped: bool) -> None:
        """Pass an answer to the open question on to the judge; any other is stale."""
        question = self._question
        if self.link is link and self._table is not None and question is not None and answer.id == question.id:
            table = self._table
            table.put(Arrival(self, answer, at, stamped))
            self._question = None  # not before: if the answer is lost on the way, the question is asked again
            table.wake()

    def breach(self, link: Link, code: str, detail: str) -> None:
        """The connection broke the protocol: the match that is being played here is lost."""
        if self.link is link and self._table is not None:
            self._table.put(Arrival(self, Hostile(code, detail), trio.current_time(), stamped=False))
            self._table.wake()

    # --- for the judge ---

    def begin(self, table: Table, start: Start) -> None:
        """Sit down at ``table`` for a match."""
        self._table, self._start = table, start
        self._send(start)

    def ask(self, move_number: int, board: list[list[int]], last_move: object, limit: float) -> float:
        """Ask for a move within ``limit`` seconds.

        Returns:
            When the question was handed to the kernel, on trio's clock; now, if nobody is connected.
        """
        if self._start is None:
            raise RuntimeError("a question before the match has begun")
        self._shared.last_id += 1
        self._asked = self._shared.last_id
        self._question = GetStep(
            id=self._asked,
            move_number=move_number,
            board=board,
            is_black=self._start.is_black,
            time_left_ms=round(limit * 1000),
            last_move=last_move,
        )
        self._send(self._question)
        asked = trio.current_time()
        self._time_up = asked + limit
        return asked

    def look(self) -> None:
        """Take in an answer that has arrived and was not read yet."""
        if self.link is not None:
            self.link.look()

    def penalize(self, code: str, detail: str) -> None:
        """Close the latest question and tell the player what it cost."""
        self._question = None
        self._send(Penalty(self._asked, code, detail))

    def end(self, end: End) -> None:
        """Tell the player the result and clear the table."""
        self._send(end)
        self.leave()

    def leave(self) -> None:
        """Clear the table without a word, when the server stops in the middle of a match."""
        self._table = self._start = self._question = None

    # --- inside ---

    def _send(self, message: Message) -> None:
        if self.link is not None:
            self.link.send(message)


def seats_of(team: Team, publish: Publish) -> tuple[Seat, ...]:
    """All seats of a team."""
    shared = _Shared()
    return tuple(Seat(team, publish, shared) for _ in range(team.seats))


def seat_for_newcomer(seats: Sequence[Seat]) -> Seat:
    """Where a new connection of a team sits, whose seats these are.

    A bot that lost its link comes back to its match, first of all to one where it is asked. With a bot at every
    seat the one that has been silent longest goes: the other end of a dead link says nothing any more. First of all
    one that is asked, because a bot that is not has no reason to say anything.
    """
    empty = [seat for seat in seats if seat.link is None]
    if empty:
        return max(empty, key=lambda seat: (seat.has_question, seat.taken))
    return min(seats, key=lambda seat: (not seat.has_question, 0 if seat.link is None else seat.link.heard))
