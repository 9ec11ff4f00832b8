"""Verifying a contest: the chain of its records, every game by the rules and the clocks, and the standings.

The records are read one after the other, and the first thing that does not fit ends it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .contest import Contest
from .game_record import (
    FIRST,
    VOID,
    RecordError,
    hash_of,
    match_of,
    matches_of,
    parse,
    result_of,
)
from .limits import MAX_TEAMS
from .record_shape import as_json, game_of, pairings_of
from .replay import DoesNotFit, replay
from .results import Result
from .schedule import Match, double_round_robin
from .standings import standings
from .store import Store, StoredRecord, StoreError

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
    elsewhere. ``played`` of ``matches`` have a result, ``void`` attempts do not count, and ``turns`` were replayed.
    """

    records: int
    head: str
    beyond: int
    matches: int
    played: int
    void: int
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
        contest: its folder says what the format is.
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
    _check_standings(contest, store, walk.results)
    beyond = 0 if kept_at is None else walk.place - kept_at
    return Verified(walk.place, walk.previous, beyond, len(walk.matches), len(walk.results), walk.void, walk.turns)


class _Walk:
    """Along the chain, from its first record."""

    def __init__(self, contest: Contest) -> None:
        self.place = 0
        self.previous = FIRST
        self.matches: dict[int, Match] = {}
        self.results: list[Result] = []
        """Of the matches that have one, as their turns make them."""
        self.void = 0
        self.turns = 0
        self._contest = contest
        self._seed = 0
        self._attempts: dict[int, int] = {}
        self._decided: dict[int, int] = {}
        """Where the record is that decided a match."""

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
        kind, expected = fields.get("type"), "game" if self.place else "pairings"
        if kind != expected:
            raise RecordError(f"type is {kind!r:.80}, expected {expected!r}: the first record has the pairings")
        if kind == "pairings":
            _check_columns(stored, (None, None, None, None))
            self._take_pairings(fields)
        else:
            self._take_game(stored, fields)

    def _take_pairings(self, fields: Mapping[str, Any]) -> None:
        shape = pairings_of(fields)
        found = matches_of(fields)
        expected = _expected_pairings(self._contest, found, shape.seed)
        if len(found) != len(expected):
            raise RecordError(f"{len(found)} matches, expected {len(expected)}")
        for one, other in zip(found, expected, strict=True):
            _check_match(one, other, "the format and the seed")
        self.matches = {match.number: match for match in found}
        self._seed = shape.seed

    def _take_game(self, stored: StoredRecord, fields: dict[str, Any]) -> None:
        game, match = game_of(fields), match_of(fields)
        _check_columns(stored, (game.match, game.pairing, game.leg, game.attempt))
        if game.match not in self.matches:
            raise RecordError(f"match is {game.match}, expected one of the {len(self.matches)} in the pairings")
        _check_match(match, self.matches[game.match], "the pairings")
        if game.seed != self._seed:
            raise RecordError(f"seed is {game.seed}, expected {self._seed} by the pairings")
        self._check_attempt(game.match, game.attempt)
        result = result_of({**fields, **replay(fields)})
        self.turns += len(game.turns)
        self._attempts[game.match] = game.attempt
        if game.reason == VOID:
            self.void += 1
        else:
            self._decided[game.match] = stored.place
            self.results.append(result)

    def _check_attempt(self, match: int, attempt: int) -> None:
        if match in self._decided:
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
    found = (stored.number, stored.pairing, stored.leg, stored.attempt)
    if found != expected:
        raise RecordError(f"the table has match, pairing, leg and attempt {found!r:.80}, expected {expected!r}")


def _check_match(found: Match, expected: Match, source: str) -> None:
    for name in Match.__slots__:
        one, other = getattr(found, name), getattr(expected, name)
        if one != other:
            raise RecordError(f"{name} of match {expected.number} is {one!r:.80}, expected {other!r} by {source}")


def _expected_pairings(contest: Contest, found: list[Match], seed: int) -> list[Match]:
    """What the contest's format makes of its seed and teams; of the teams in the record, if nobody knows better."""
    teams = sorted({team for match in found for team in match.teams})
    if contest.teams and teams != sorted(contest.teams):
        raise RecordError(f"pairings of the teams {teams!r:.200}, expected those of teams.toml")
    if not 2 <= len(teams) <= MAX_TEAMS:
        raise RecordError(f"pairings of {len(teams)} teams, expected 2 to {MAX_TEAMS}")
    return double_round_robin(teams, seed, contest.game.name, contest.options)


def _check_end(walk: _Walk, total: int, last: str) -> None:
    if walk.place != total:
        raise Finding(f"{walk.place} records, expected {total!r:.80}: so many the database has counted")
    if walk.previous != last:
        raise Finding(f"hash is {walk.previous!r}, expected {last!r:.80} by the database's count", walk.place)


def _check_standings(contest: Contest, store: Store, replayed: list[Result]) -> None:
    """The table that is shown is the one that the replayed games make."""
    shown = store.results()
    teams = list(dict.fromkeys([*contest.teams, *(team for result in shown for team in result.match.teams)]))
    found, expected = (standings(teams, results, scoring=contest.scoring) for results in (shown, replayed))
    for one, other in zip(found, expected, strict=True):
        if one != other:
            raise Finding(f"in the standings {one!r}, expected {other!r}")
