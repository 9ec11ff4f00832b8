"""Seats: a seat is a team's place in the contest. It survives reconnects, and the judge knows nothing but seats.

A team has one seat for each match that it may play at once.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import trio

from getstep.referee import STALLED_MISSES
from getstep.referee.answers import Answer
from getstep.wire import (
    MAX_ID,
    End,
    GetStep,
    Goodbye,
    Message,
    Notice,
    Penalty,
    Start,
)
from getstep_server.config.contest import Team
from getstep_server.events import BotAnswers, BotHangs, Publish, TeamArrived, TeamLeft

REPLACED = Goodbye("replaced", "A newer login of your team has taken this seat.", None)


def hosted_program(team: int) -> Goodbye:
    """Return the goodbye to a bot of a team whose program the host runs."""
    return Goodbye("hosted_program", f"The host runs the program of team {team}, so its bots cannot log in.", None)


@dataclass(frozen=True, slots=True)
class ProtocolViolation:
    """A violation of the protocol by a player: ``code`` is a hostile code of protocol.md."""

    code: str
    detail: str


class Received(NamedTuple):
    """An answer or a violation that a seat has received for the judge.

    ``at`` is when it reached this machine, on trio's clock: by the kernel's timestamp if ``stamped``, otherwise by
    the time at which the server woke up to read it.
    """

    seat: Seat
    what: Answer | ProtocolViolation
    at: float
    stamped: bool


class Mailbox(Protocol):
    """A match's mailbox, as its seats see it."""

    def put(self, received: Received, /) -> None:
        """Queue ``received`` for the judge, which takes it at the next `wake`."""

    def wake(self) -> None:
        """Resume the judge if it waits for an entry."""


class Peer(Protocol):
    """A connection of a team, as its seat sees it. No method blocks or raises."""

    address: str
    client: str

    @property
    def notices(self) -> bool:
        """True if the client knows the message `Notice`."""

    @property
    def last_received_ns(self) -> int:
        """The time when something last arrived on it, by `time.perf_counter_ns`."""

    @property
    def round_trip_ms(self) -> float | None:
        """The time to the client and back, in ms; None if it is not known. Any thread may ask."""

    def poll(self) -> None:
        """Read what has arrived, without waiting for the poller."""

    def send(self, message: Message) -> None:
        """Hand a message to the kernel; a peer that does not read loses the connection."""

    def close(self, goodbye: Goodbye) -> None:
        """Send the goodbye and close."""


class Borrower(Protocol):
    """The owner of another process, to which seats and connections are lent for a match."""

    def bring(self, seat: Seat, connection: Peer) -> None:
        """Lend a connection that has taken a lent seat, in place of an older one."""

    def close(self, connection: Peer, goodbye: Goodbye) -> None:
        """Send the goodbye on a lent connection and close it."""

    def notify(self, connection: Peer, notice: Notice) -> None:
        """Send a notice on a lent connection."""


class _Nothing:
    """The mailbox of a match that is judged elsewhere."""

    def put(self, _: Received) -> None:
        pass

    def wake(self) -> None:
        pass


class Silence(NamedTuple):
    """The limits that a connected bot has missed in a row without a sign of life, in one match or in several.

    ``match`` is the match of the last one if there are so many that the bot is said to hang; else None.
    """

    misses: int = 0
    match: int | None = None


@dataclass(slots=True)
class Shared:
    seats: list[Seat] = field(default_factory=list)
    # Random, so that an answer from before a restart of the server does not match an open question by chance.
    last_id: int = field(default_factory=lambda: secrets.randbelow(MAX_ID // 2))

    @property
    def connected(self) -> int:
        return sum(seat.connected for seat in self.seats)


class Seat:
    """A team's place in the contest, or one of several. It survives reconnects.

    A connection attaches itself after the login, and detaches itself at its end. The director takes the seat for a
    match and frees it. The judge begins the match, asks, and ends it. A connection that attaches during a match
    gets the match's start and the open question again.
    """

    def __init__(self, team: Team, publish: Publish, shared: Shared | None = None) -> None:
        self.team = team
        self.connection: Peer | None = None
        self.taken = False
        """True while the director holds the seat for a match: from before its start until after its end."""
        self.friendly = False
        """True while the seat is taken for a friendly match, which is none of the tournament."""
        self._publish = publish
        self.was_connected = False
        self.told_of_update = ""
        """The client, by its name in `join`, that was told last if there is a newer one."""
        self.shared = shared or Shared()
        self.shared.seats.append(self)
        self._asked = 0
        self._mailbox: Mailbox | None = None
        self._start: Start | None = None
        self._question: GetStep | None = None
        self._overdue = False  # the question's time is up, and the question was not closed yet
        self._sign_of_life = False
        self.silence = Silence()
        self.silent_since: float | None = None
        """The time on trio's clock of the first miss in `silence`; None if there is none."""
        self._time_up = 0.0
        self._clock_stopped: float | None = None
        """Since when the clock of the open question stands still, because the host has paused the match."""
        self._pause: Notice | None = None
        """What a connection that comes in a pause is told."""
        self._borrower: Borrower | None = None
        self._asked_elsewhere = False

    @property
    def connected(self) -> bool:
        return self.connection is not None

    @property
    def in_match(self) -> bool:
        return self._mailbox is not None

    @property
    def match(self) -> int | None:
        """The number of the match of the tournament that is played at this seat, or None."""
        return None if self._start is None or self.friendly else self._start.match

    @property
    def has_question(self) -> bool:
        """True if the player owes an answer."""
        return self._question is not None or self._asked_elsewhere

    @property
    def last_id(self) -> int:
        """The id of the latest question to the team, at this seat or at another one."""
        return self.shared.last_id

    # --- for the connection ---

    def attach(self, connection: Peer) -> None:
        """Seat a connection that has logged in, in place of an older one."""
        # First replaced, then closed: the older one's `detach` is ignored, and the team has not left in between.
        older, self.connection = self.connection, connection
        if older is not None and self._borrower is None:
            older.close(REPLACED)
        self._publish(
            TeamArrived(
                self.team.id, connection.address, connection.client, self.was_connected, self.shared.connected
            )
        )
        self.was_connected = self._sign_of_life = True
        if self._borrower is not None:
            self._borrower.bring(self, connection)  # the other process closes the older one
        else:
            self._end_silence("it has connected again")
            self.inform(connection)

    def expel(self, goodbye: Goodbye) -> None:
        """Close the connection, if there is one: its client has to log in anew."""
        if self.connection is None:
            return
        if self._borrower is not None:
            self._borrower.close(self.connection, goodbye)
        else:
            self.connection.close(goodbye)

    def inform(self, connection: Peer) -> None:
        """Tell a connection that has come in mid-match what is going on."""
        if self._start is not None:
            connection.send(replace(self._start, resumed=True))
        if self._pause is not None and connection.notices:
            connection.send(self._pause)
        if self._overdue:
            self._question = None  # nobody owes an answer on this connection
        if self._question is not None:
            now = trio.current_time() if self._clock_stopped is None else self._clock_stopped
            left = max(0.0, self._time_up - now)
            connection.send(replace(self._question, time_left_ms=round(left * 1000)))

    def detach(self, connection: Peer, why: str) -> None:
        """Remove a connection; ignored if a newer one has taken the seat."""
        if self.connection is connection:
            self.connection = None
            self._end_silence("it has left")
            self._publish(TeamLeft(self.team.id, why, self.shared.connected))

    def answer(self, connection: Peer, answer: Answer, at: float, *, stamped: bool) -> None:
        """Pass an answer to the open question to the judge. Any other answer is late, and only a sign of life."""
        question, mailbox = self._question, self._mailbox
        if self.connection is not connection or mailbox is None:
            return
        if question is None or answer.id != question.id or self._overdue:
            self.note_sign_of_life()
            return
        if self.silence.misses:
            self._end_silence("it has answered")
        mailbox.put(Received(self, answer, at, stamped))
        self._question = None  # only now: if the answer is lost on the way, the question is asked again
        mailbox.wake()

    def late_answer(self, connection: Peer) -> None:
        """Record a sign of life: an answer to a question that was closed before."""
        if self.connection is connection:
            self.note_sign_of_life()

    def violation(self, connection: Peer, code: str, detail: str) -> None:
        """Report a protocol violation of the connection to the judge: the match is lost."""
        if self.connection is connection and self._mailbox is not None:
            self._mailbox.put(Received(self, ProtocolViolation(code, detail), trio.current_time(), stamped=False))
            self._mailbox.wake()

    # --- for the judge ---

    def begin(self, mailbox: Mailbox, start: Start) -> None:
        """Begin a match, whose judge reads ``mailbox``."""
        self._mailbox, self._start = mailbox, start
        self._sign_of_life = True  # the player is present, whatever it missed in an earlier run of the server
        self._send(start)

    def ask(self, move_number: int, board: list[list[int]], last_move: object, limit: float) -> float:
        """Ask for a move within ``limit`` seconds.

        Returns:
            The time on trio's clock when the question was handed to the kernel; now, if no bot is connected.
        """
        if self._start is None:
            raise RuntimeError("a question before the match has begun")
        self.shared.last_id += 1
        self._asked = self.shared.last_id
        self._question = GetStep(
            id=self._asked,
            move_number=move_number,
            board=board,
            is_black=self._start.is_black,
            time_left_ms=round(limit * 1000),  # without the network allowance: see protocol.md
            last_move=last_move,
        )
        self._overdue = False
        if self.connection is not None:  # else the question waits for a connection: `inform` sends it
            self.connection.send(self._question)
        asked = trio.current_time()  # after the send: packing a large board is the server's time, not the player's
        self._time_up = asked + limit
        return asked

    def poll(self) -> None:
        """Read an answer that has arrived and was not read yet."""
        if self.connection is not None:
            self.connection.poll()

    def stop_clock(self, since: float) -> None:
        """Note that the clock of the open question stands still: a new connection gets the time that was left."""
        self._clock_stopped = since

    def continue_clock(self, seconds: float) -> None:
        """Give the seconds of the pause back."""
        self._clock_stopped = None
        self._time_up += seconds

    def set_pause(self, notice: Notice) -> None:
        """Tell the player, now and at each connection in a pause, that the match is paused; or that it goes on."""
        self._pause = notice if notice.kind == "paused" else None
        self.notify(notice)

    def notify(self, notice: Notice) -> bool:
        """Send a notice if a bot is connected that knows the message; return True if one is."""
        connection = self.connection
        if connection is None or not connection.notices:
            return False
        if self._borrower is not None:
            self._borrower.notify(connection, notice)
        else:
            connection.send(notice)
        return True

    @property
    def is_silent(self) -> bool:
        """True if a bot is connected and gave no sign of life since `take_sign_of_life`."""
        return self.connection is not None and not self._sign_of_life

    def take_sign_of_life(self) -> bool:
        """Return True if there was a sign of life since the last call: a late answer, or a new connection."""
        alive, self._sign_of_life = self._sign_of_life, False
        return alive

    def note_sign_of_life(self) -> None:
        """Record an answer that came too late to count."""
        self._sign_of_life = True
        self._end_silence("it has answered, too late")

    def time_is_up(self) -> None:
        """Treat every further answer to the latest question as late. The question stays open."""
        if self.connection is not None and self._question is not None and not self._overdue:
            self._count_silence()
        self._overdue = True

    def penalize(self, code: str, detail: str) -> None:
        """Close the latest question and tell the player what it cost."""
        self._question = None
        self._send(Penalty(self._asked, str(code), detail))

    def end(self, end: End) -> None:
        """Tell the player the result and end the match at this seat."""
        self._send(end)
        self.release()

    def release(self) -> None:
        """End the match at this seat without telling the player: the server stops during the match."""
        self._mailbox = self._start = self._question = self._pause = self._clock_stopped = None

    # --- for a match that is judged in another process ---

    def lend(self, start: Start, borrower: Borrower, ids: int) -> int:
        """Begin a match that another process judges, until `take_back`.

        Args:
            start: what that process tells the player.
            borrower: owns the process; it gets the connections that come during the loan.
            ids: the number of questions that the process may ask.

        Returns:
            The id of the latest question to the team; those that follow belong to the match.
        """
        latest, self.shared.last_id = self.shared.last_id, self.shared.last_id + ids
        self._mailbox, self._start, self._borrower = _Nothing(), start, borrower
        return latest

    def take_back(self, reserved: int, last_id: int, silence: Silence) -> None:
        """End the loan; the match goes on until `end` or `release`.

        Args:
            reserved: the last id that belonged to the match. It was reserved by `lend`.
            last_id: the last of these ids that was used.
            silence: that of the seat in the other process.
        """
        self.silence = silence
        if not silence.misses:
            self.silent_since = None
        elif self.silent_since is None:  # the other process has another clock
            self.silent_since = trio.current_time()
        self._borrower, self._asked_elsewhere = None, False
        if self.shared.last_id == reserved:  # no other match of the team has taken the ids behind it
            self.shared.last_id = last_id

    def note_question(self, *, is_open: bool) -> None:
        """Note if the player of a lent seat owes an answer."""
        self._asked_elsewhere = is_open and self._borrower is not None

    # --- inside ---

    def _count_silence(self) -> None:
        misses, match = self.silence.misses + 1, self.silence.match
        if self.silent_since is None:
            self.silent_since = trio.current_time()
        if misses == STALLED_MISSES:
            match = self.match or 0
            self._publish(BotHangs(self.team.id, match, misses))
        self.silence = Silence(misses, match)

    def _end_silence(self, why: str) -> None:
        silence, self.silence = self.silence, Silence()
        self.silent_since = None
        if silence.match is not None:
            self._publish(BotAnswers(self.team.id, silence.match, why))

    def _send(self, message: Message) -> None:
        if self.connection is not None:
            self.connection.send(message)


def seats_of(team: Team, publish: Publish) -> tuple[Seat, ...]:
    shared = Shared()
    return tuple(Seat(team, publish, shared) for _ in range(team.seats))


def resized(seats: Sequence[Seat], team: Team, publish: Publish) -> tuple[Seat, ...]:
    """Return the seats of a team that has changed: as many as it has now, under its present name.

    Of seats that are too many, those with a bot or in a match stay.
    """
    shared = seats[0].shared
    for seat in seats:
        seat.team = team
    idle = [seat for seat in seats if not (seat.connected or seat.taken)]
    surplus = idle[::-1][: max(0, len(seats) - team.seats)]
    shared.seats[:] = [seat for seat in shared.seats if seat not in surplus]
    more = [Seat(team, publish, shared) for _ in range(team.seats - len(seats))]
    return (*(seat for seat in seats if seat not in surplus), *more)


def choose_seat(seats: Sequence[Seat]) -> Seat:
    """Return the seat for a new connection of the team that owns ``seats``.

    A bot that lost its connection comes back to its match: an empty seat with an open question is first, then one
    with a match. If every seat has a bot, the connection that has been silent longest is replaced, because a dead
    connection sends nothing. Seats with an open question are first: elsewhere a bot has no reason to send anything.
    """
    empty = [seat for seat in seats if seat.connection is None]
    if empty:
        return max(empty, key=lambda seat: (seat.has_question, seat.taken))
    return min(
        seats,
        key=lambda seat: (
            not seat.has_question,
            0 if seat.connection is None else seat.connection.last_received_ns,
        ),
    )
