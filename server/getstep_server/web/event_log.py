"""The feed of the API: what happens in a contest as events, which a reader can resume from any batch.

Theory of operation
-------------------

*A position, not a queue.* A reader is at a `Position`: a place in the chain of records, and for each attempt that
has begun and is not on record up to there, the number of its turns that were told. Its text is the *token* of a
batch. What follows a position is computed from the records and the journal, whoever asks: a turn is read from the
journal while its match is played, and from the match's record later. So a token works after a restart of the page
or of the server, and nothing is lost or told twice. A slow reader costs no memory: it is closed, and comes back
with its token.

*Shared batches.* `EventLog.run` notes every FEED_SECONDS how far the contest is, and like a topic less often if the
page needs much processor time (`rest_of_crowd`). All readers at one position wait
for the next note, and then get the same bytes, which the first of them makes. A reader that is behind gets batches
of at most FEED_EVENTS, with a rest after each that is made for it alone.

*Freeze.* Records after the freeze, and the turns of running matches, wait until the results are revealed. A
reader's position stays where it is until then, so nothing is lost either.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import trio

from getstep_engines import GAMES
from getstep_server.api.answers import (
    Decided,
    Ended,
    FeedBatch,
    FeedEvent,
    Paired,
    Played,
    Said,
    SettingsChanged,
    StandingsChanged,
    Started,
)
from getstep_server.api.build import match_answer, message_answer, result_answer
from getstep_server.api.visibility import visible_to_all
from getstep_server.limits import FEED_CACHE_BYTES, FEED_EVENTS, HEARTBEAT_SECONDS, MAX_FEED_MATCHES
from getstep_server.records.decision import decision_of
from getstep_server.records.game import is_void, result_of
from getstep_server.records.match import Match
from getstep_server.records.message import message_of
from getstep_server.records.record import parse
from getstep_server.storage.store import StoredRecord

from .details import turn_answer
from .feed import Feed
from .http import Send
from .live import LiveMatch
from .topics import encode, rest_of_crowd

_TOKEN = re.compile(r"(0|[1-9][0-9]{0,9})((?:\.[0-9]{1,9}-[0-9]{1,9}-[0-9]{1,9})*)")

FEED_SECONDS = 0.25
"""The interval at which readers get what has happened: as often as a page."""

REST_SECONDS = 0.05
"""The rest after a batch that was made for a reader that is behind: to make one takes 5 ms."""


@dataclass(frozen=True)
class Position:
    """How far a reader is: the place of a record, and the turns told of each match and attempt after it."""

    place: int = 0
    turns: Mapping[tuple[int, int], int] = field(default_factory=dict)

    @cached_property  # hundreds of readers are at one position, and each asks for its token three times
    def token(self) -> str:
        """The text of this position."""
        started = "".join(f".{match}-{attempt}-{n}" for (match, attempt), n in sorted(self.turns.items()))
        return f"{self.place}{started}"


def position_of(token: str) -> Position | None:
    """Return the position of a token; None if the text is no token."""
    found = _TOKEN.fullmatch(token)
    if found is None or token.count(".") > MAX_FEED_MATCHES:
        return None
    entries = (map(int, part.split("-")) for part in found[2].split(".")[1:])
    return Position(int(found[1]), {(match, attempt): n for match, attempt, n in entries})


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as it is sent: its JSON, and the position after it."""

    text: bytes
    after: Position


class EventLog:
    """The events of a contest, from any position.

    Args:
        feed: the contest.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._now = {with_turns: self._look(with_turns=with_turns) for with_turns in (False, True)}
        self._changed = trio.Event()
        self._making = trio.Lock()
        self._batches: OrderedDict[tuple[str, bool], Batch] = OrderedDict()
        """The latest batches by the token before them; dropped when the contest goes on from another state."""
        self._bytes = 0

    async def run(self) -> None:
        """Note how far the contest is until cancelled, and wake the readers."""
        rest, busy_at = FEED_SECONDS, time.thread_time()
        while True:
            await trio.sleep(rest)
            self.note()
            busy = time.thread_time()
            rest, busy_at = max(FEED_SECONDS, rest_of_crowd(busy - busy_at)), busy

    def note(self) -> None:
        """Note how far the contest is now, and wake the readers if it has gone on."""
        now = {with_turns: self._look(with_turns=with_turns) for with_turns in (False, True)}
        if now == self._now:
            return
        self._now = now
        event, self._changed = self._changed, trio.Event()
        event.set()

    def now(self, *, with_turns: bool) -> Position:
        """Return the position from which a new reader follows."""
        return self._now[with_turns]

    def is_known(self, position: Position) -> bool:
        """Return False if the chain is shorter than that: the records were replaced by others."""
        return position.place <= self._feed.whole.place

    async def next(self, position: Position, *, with_turns: bool) -> Batch | None:
        """Return the events that follow a position; None if there are none yet."""
        key = (position.token, with_turns)
        if batch := self._batches.get(key):
            return batch
        async with self._making:  # the first of the readers at this position makes it for all
            batch = self._batches.get(key)
            if batch is None:
                events, after = await self._events(position, with_turns=with_turns)
                if not events:
                    return None if after == position else Batch(b"", after)
                batch = Batch(_text(events, after), after)
                self._keep(key, batch)
            return batch

    async def follow(self, position: Position, *, with_turns: bool, sse: bool, send: Send) -> None:
        """Send the batches after a position as they come, until cancelled."""
        while True:
            changed = self._changed
            known = (position.token, with_turns) in self._batches
            batch = await self.next(position, with_turns=with_turns)
            if batch is None:
                with trio.move_on_after(HEARTBEAT_SECONDS) as scope:
                    await changed.wait()
                if scope.cancelled_caught:  # only a write shows that a reader has gone
                    await send(b":\n\n" if sse else b"\n")
                continue
            position = batch.after
            if batch.text:
                head = b"id: %b\ndata: " % position.token.encode() if sse else b""
                await send(head + batch.text + (b"\n\n" if sse else b"\n"))
            if not known and position != self._now[with_turns]:
                await trio.sleep(REST_SECONDS)

    # --- positions ---

    def _look(self, *, with_turns: bool) -> Position:
        feed = self._feed
        if feed.whole.frozen_at is not None:
            return Position(feed.whole.frozen_at)
        running = islice(feed.live.running.values(), MAX_FEED_MATCHES)
        return Position(
            feed.whole.place,
            {(live.match.number, live.attempt): live.played if with_turns else 0 for live in running},
        )

    def _keep(self, key: tuple[str, bool], batch: Batch) -> None:
        self._batches[key] = batch
        self._bytes += len(batch.text)
        while self._bytes > FEED_CACHE_BYTES:
            self._bytes -= len(self._batches.popitem(last=False)[1].text)

    # --- events ---

    async def _events(self, start: Position, *, with_turns: bool) -> tuple[list[FeedEvent], Position]:
        """Return at most FEED_EVENTS events after a position, and the position after them."""
        target, store = self._now[with_turns], self._feed.store
        place, told, events = start.place, dict(start.turns), list[FeedEvent]()
        while place < target.place and len(events) < FEED_EVENTS:
            records = [] if store is None else await store.after(place)
            if not records or records[0].place > target.place:
                return events, Position(place, told)
            for record in (record for record in records if record.place <= target.place):
                whole = self._of_record(record, told, events, with_turns=with_turns)
                if not whole:  # the rest of a long match is in the next batch
                    return events, Position(place, told)
                place = record.place
                if len(events) >= FEED_EVENTS:
                    break
        if place >= target.place:
            for key, played in target.turns.items():
                if len(events) >= FEED_EVENTS:
                    break
                live = self._live(*key)
                if live is not None:
                    self._of_live(live, key, played if with_turns else 0, told, events)
        return events, Position(place, told)

    def _live(self, match: int, attempt: int) -> LiveMatch | None:
        live = self._feed.live.find(match)
        return live if live is not None and live.attempt == attempt else None

    def _of_live(
        self,
        live: LiveMatch,
        key: tuple[int, int],
        played: int,
        told: dict[tuple[int, int], int],
        events: list[FeedEvent],
    ) -> None:
        first = self._begin(live.match, key, told, events)
        last = min(max(played, first), first + FEED_EVENTS)
        game = live.state.game
        for number, turn in enumerate(live.turns_from(first, last), start=first + 1):
            events.append(
                Played(match=key[0], attempt=key[1], turn=turn_answer(game, number, turn, with_move=True))
            )
            told[key] = number

    def _begin(
        self, match: Match, key: tuple[int, int], told: dict[tuple[int, int], int], events: list[FeedEvent]
    ) -> int:
        """Tell that an attempt has begun, unless it was told; return the number of its turns that were told."""
        if key not in told:
            # an earlier attempt that left no record is over
            for old in [old for old in told if old[0] == key[0] and old[1] < key[1]]:
                del told[old]
            events.append(Started(match=match_answer(self._feed.tournament, match), attempt=key[1]))
            told[key] = 0
        return told[key]

    def _of_record(
        self,
        record: StoredRecord,
        told: dict[tuple[int, int], int],
        events: list[FeedEvent],
        *,
        with_turns: bool,
    ) -> bool:
        """Add what a record tells. Return False if there was no room for all of it."""
        fields = parse(record.head)
        match fields["type"]:
            case "game":
                return self._of_game(record, fields, told, events, with_turns=with_turns)
            case "pairings":
                events.extend(_pairings(fields))
            case "decision":
                events.append(_decided(fields))
            case "message":
                message = message_of(fields)
                if visible_to_all(message):
                    events.append(Said(message=message_answer(self._feed.whole, message)))
            case "settings":
                events.append(SettingsChanged())
            case _:  # a worker of a cluster is of no interest
                pass
        return True

    def _of_game(
        self,
        record: StoredRecord,
        fields: dict[str, Any],
        told: dict[tuple[int, int], int],
        events: list[FeedEvent],
        *,
        with_turns: bool,
    ) -> bool:
        result = result_of(fields)
        key = (result.match.number, result.attempt)
        first = self._begin(result.match, key, told, events)
        if with_turns:
            turns, game = parse(record.line)["turns"], GAMES.get(result.match.game)
            last = min(len(turns), first + FEED_EVENTS)
            for number, turn in enumerate(turns[first:last], start=first + 1):
                shown = turn_answer(game, number, turn, with_move=True)
                events.append(Played(match=key[0], attempt=key[1], turn=shown))
            told[key] = max(first, last)
            if last < len(turns):
                return False
        del told[key]
        void = is_void(result)
        events.append(
            Ended(match=key[0], attempt=key[1], void=void, result=result_answer(self._feed.tournament, result))
        )
        if not void:
            events.append(StandingsChanged(event=result.match.event))
        return True


def _pairings(fields: Mapping[str, Any]) -> Iterator[Paired]:
    rounds: dict[int, list[int]] = {}
    for entry in fields["matches"]:
        if entry["number"] is not None:  # a bye has none
            rounds.setdefault(entry["round"], []).append(entry["number"])
    for round_, numbers in rounds.items():
        yield Paired(event=fields["event"], round=round_, matches=numbers)


def _decided(fields: Mapping[str, Any]) -> Decided:
    decision = decision_of(fields)
    return Decided(
        decision=str(decision.kind),
        by=decision.by,
        why=decision.why,
        at=decision.at,
        team=decision.team,
        event=decision.event,
        match=decision.match,
    )


def _text(events: Sequence[FeedEvent], after: Position) -> bytes:
    return encode(FeedBatch(token=after.token, at=round(1000 * time.time()), events=list(events)))
