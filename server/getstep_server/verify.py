"""Verifying a contest: the chain of its records, every game by the rules and the clocks, and the standings.

The records are read one after the other, and the first thing that does not fit ends it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .contest import Contest
from .decisions import decision_of
from .game_record import (
    CALLED_OFF,
    FIRST,
    VOIDS,
    RecordError,
    hash_of,
    match_of,
    parse,
    result_of,
)
from .record_shape import as_json, decision_shape, game_of, pairings_of
from .replay import DoesNotFit, replay
from .schedule import Match
from .store import Store, StoredRecord, StoreError
from .tournament import Tournament

_NOT_IN_HEAD = ("turns", "place", "previous", "hash")


class Finding(Exception):  # noqa: N818 - what was looked for
    """The first thing that does not fit: what was found and what was expected.

    Args:
        what: a sentence.
        place: of the record, from 1; None if it is none.
        match: its number.
        attempt: at that match.
        turn: in that game, from 1.
    """

    def __init__(
        self,
        what: str,
        place: int | None = None,
        match: int | None = None,
        attempt: int | None = None,
        turn: int | None = None,
    ) -> None:
        self.what, self.place, self.match, self.attempt, self.turn = what, place, match, attempt, turn
        named = {"place": place, "match": match, "attempt": attempt, "turn": turn}
        where = ", ".join(f"{name} {number}" for name, number in named.items() if number is not None)
        super().__init__(f"{where}: {what}" if where else what)


@dataclass(frozen=True)
class Verified:
    """A contest in which everything fits.

    ``records`` make the chain, whose last hash is ``head``; ``beyond`` of them come after the hash that was kept
    elsewhere. ``played`` of ``matches`` have a result, ``cancelled`` ones are not to be played, and ``annulled``
    ones count for nobody. ``void`` attempts were broken off; ``overruled`` ones were played, and something else
    counts instead. ``turns`` were replayed.
    """

    records: int
    head: str
    beyond: int
    matches: int
    played: int
    cancelled: int
    annulled: int
    void: int
    overruled: int
    turns: int


def verify(
    contest: Contest,
    store: Store,
    *,
    head: str | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Verified:
    """Verify all records of a contest, also while it runs.

    Args:
        contest: its folder says which events there are.
        store: its records.
        head: a hash of the chain that was kept elsewhere.
        progress: called after each record with its place and the number of all.

    Raises:
        Finding: something does not fit.
        StoreError: the database cannot be read.
    """
    try:
        with store.snapshot():
            return _verify(contest, store, head, progress)
    except sqlite3.Error as error:
        raise StoreError(f"{store.path}: {error}") from error


def _verify(contest: Contest, store: Store, head: str | None, progress: Callable[[int, int], None]) -> Verified:
    total, last = store.chain()
    walk, kept_at = _Walk(contest), None
    for stored in store.records():
        walk.take(stored)
        if stored.hash == head:
            kept_at = stored.place
        progress(stored.place, total)
    _check_end(walk, total, last)
    if head is not None and kept_at is None:
        raise Finding(f"no record has the hash {head!r}, which was kept elsewhere: this is another chain")
    _check_standings(contest, store, walk.tournament)
    beyond = 0 if kept_at is None else walk.place - kept_at
    tournament = walk.tournament
    gone = [match for match in tournament.matches.values() if tournament.is_cancelled(match)]
    annulled = sum(tournament.result(match) is not None for match in gone)
    return Verified(
        records=walk.place,
        head=walk.previous,
        beyond=beyond,
        matches=len(tournament.matches),
        played=tournament.done,
        cancelled=len(gone) - annulled,
        annulled=annulled,
        void=walk.void,
        overruled=len(tournament.recorded) - walk.void - len(tournament.counting),
        turns=walk.turns,
    )


class _Walk:
    """Along the chain, from its first record."""

    def __init__(self, contest: Contest) -> None:
        self.place = 0
        self.previous = FIRST
        self.tournament = Tournament(contest)
        """As the turns of the games make it."""
        self.void = 0
        self.turns = 0
        self._contest = contest
        self._attempts: dict[int, int] = {}
        self._decided: dict[int, int] = {}
        """Where the record is that decided a match."""
        self._called_off: dict[int, int] = {}
        """Where the latest decision is that may have ended a running attempt at a match."""
        self._latest: dict[int, int] = {}
        """Where the record of the latest attempt at a match is."""

    def take(self, stored: StoredRecord) -> None:
        """Look at the next record.

        Raises:
            Finding: it does not fit.
        """
        try:
            fields = self._take_link(stored)
            self._take_content(stored, fields)
        except RecordError as error:
            turn = error.turn if isinstance(error, DoesNotFit) else None
            raise Finding(str(error), self.place + 1, stored.number, stored.attempt, turn) from error
        self.place, self.previous = stored.place, stored.hash

    def _take_link(self, stored: StoredRecord) -> dict[str, Any]:
        """A record's fields, its text being what was sealed here."""
        if stored.place != self.place + 1:
            raise RecordError(f"the next record has place {stored.place}, expected {self.place + 1}")
        digest = hash_of(stored.line)
        if stored.hash != digest:
            raise RecordError(f"hash is {stored.hash!r:.80}, expected {digest!r}: the text is not what was sealed")
        if stored.previous != self.previous:
            raise RecordError(
                f"previous is {stored.previous!r:.80}, expected {self.previous!r}, the hash of the record before it"
            )
        fields = parse(stored.line)
        _check_head(parse(stored.head), fields)
        return fields

    def _take_content(self, stored: StoredRecord, fields: dict[str, Any]) -> None:
        kind = fields.get("type")
        if not self.place and kind != "pairings":
            raise RecordError(f"type is {kind!r:.80}, expected 'pairings': the first record has pairings")
        if kind not in ("pairings", "game", "decision"):
            raise RecordError(f"type is {kind!r:.80}, expected 'pairings', 'game' or 'decision'")
        if kind == "game":
            self._take_game(stored, fields)
            return
        _check_columns(stored, (None,) * 5)
        if kind == "pairings":
            self._take_pairings(fields)
        else:
            self._take_decision(stored.place, fields)

    def _take_pairings(self, fields: Mapping[str, Any]) -> None:
        shape = pairings_of(fields)
        expected = self.tournament.pairings(fields)
        if len(shape.matches) != len(expected):
            raise RecordError(f"{len(shape.matches)} matches, expected {len(expected)}")
        for one, other in zip(fields["matches"], expected, strict=True):
            _check_entry(one, other)
        self.tournament.take_pairings(fields)
        if misfit := self.tournament.misfit():
            raise RecordError(f"by contest.toml {misfit}")

    def _take_decision(self, place: int, fields: Mapping[str, Any]) -> None:
        self._check_seed(decision_shape(fields).seed)
        decision = decision_of(fields)
        for match in self.tournament.matches.values():
            if self.tournament.awaits(match) and decision.is_about(match):
                self._called_off[match.number] = place
        self.tournament.take_decision(decision)
        if decision.match is not None:
            self._decided.pop(decision.match, None)
        if decision.match is not None and decision.kind == "adjudicate":
            self._decided[decision.match] = place

    def _take_game(self, stored: StoredRecord, fields: dict[str, Any]) -> None:
        game, match, matches = game_of(fields), match_of(fields), self.tournament.matches
        _check_columns(stored, (game.match, game.event, game.pairing, game.leg, game.attempt))
        if game.match not in matches:
            raise RecordError(f"match is {game.match}, expected one of the {len(matches)} in the pairings")
        _check_match(match, matches[game.match])
        self._check_seed(game.seed)
        self._check_attempt(game.match, game.attempt, called_off=game.reason == CALLED_OFF)
        result = result_of({**fields, **replay(fields)})
        self.tournament.take_result(result)
        self.turns += len(game.turns)
        self._attempts[game.match], self._latest[game.match] = game.attempt, stored.place
        if game.reason in VOIDS:
            self.void += 1
        else:
            self._decided[game.match] = stored.place

    def _check_seed(self, found: int) -> None:
        seed = self._contest.file.contest.seed
        if found != seed:
            raise RecordError(f"seed is {found}, expected {seed} by the pairings")

    def _check_attempt(self, match: int, attempt: int, *, called_off: bool) -> None:
        if called_off and self._called_off.get(match, 0) <= self._latest.get(match, 0):
            raise RecordError(
                f"reason is {CALLED_OFF!r}, expected a decision about match {match}, or one of its teams, before it"
            )
        if match in self._decided and not called_off:
            raise RecordError(f"match {match} again, expected none: its result is at place {self._decided[match]}")
        expected = self._attempts.get(match, 0) + 1
        if attempt != expected:
            raise RecordError(f"attempt is {attempt}, expected {expected}: a record is missing, or out of order")


def _check_head(head: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    """What is read for the standings, a record's head alone, is what the whole of it says."""
    for name in sorted({*head, *fields}.difference(_NOT_IN_HEAD)):
        found, expected = ({name: value[name]} if name in value else {} for value in (head, fields))
        if as_json(found) != as_json(expected):
            raise RecordError(f"its head has {found!r:.100}, expected {expected!r:.100} as in the whole record")


def _check_columns(stored: StoredRecord, expected: tuple[int | None, ...]) -> None:
    """The keys of the table, by which records are found, say the same as the record."""
    found = (stored.number, stored.event, stored.pairing, stored.leg, stored.attempt)
    if found != expected:
        raise RecordError(
            f"the table has match, event, pairing, leg and attempt {found!r:.80}, expected {expected!r}"
        )


def _check_entry(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """One of the pairings, by what the format makes of the record and all before it."""
    what = "a bye" if expected["number"] is None else f"match {expected['number']}"
    for name, value in expected.items():
        if found[name] != value:
            raise RecordError(
                f"{name} of {what} is {found[name]!r:.80}, expected {value!r} by the format and the seed"
            )


def _check_match(found: Match, expected: Match) -> None:
    for name in Match.__slots__:
        one, other = getattr(found, name), getattr(expected, name)
        if one != other:
            raise RecordError(
                f"{name} of match {expected.number} is {one!r:.80}, expected {other!r} by the pairings"
            )


def _check_end(walk: _Walk, total: int, last: str) -> None:
    if walk.place != total:
        raise Finding(f"{walk.place} records, expected {total!r:.80}: so many the database has counted")
    if walk.previous != last:
        raise Finding(f"hash is {walk.previous!r}, expected {last!r:.80} by the database's count", walk.place)


def _check_standings(contest: Contest, store: Store, replayed: Tournament) -> None:
    """The tables that are shown are those that the replayed games make."""
    found, expected = Tournament(contest, store.heads()).tables(), replayed.tables()
    for event, rows in expected.events.items():
        for one, other in zip(found.events[event], rows, strict=True):
            if one != other:
                raise Finding(f"in the standings {one!r}, expected {other!r}")
