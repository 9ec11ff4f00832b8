"""Verification of a contest: the chain of its records, each game by the rules and the clocks, and the standings.

The records are read in order. Verification ends at the first contradiction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET

from getstep_server.config.contest import Contest
from getstep_server.records.challenge import CHALLENGE, FRIENDLY
from getstep_server.records.decision import Decision, decision_of, publications, validate_decision
from getstep_server.records.game import GameRecord, match_of, result_of, validate_game
from getstep_server.records.lost import INSTEAD_OF, LOST, is_archived, link_of, lost_of
from getstep_server.records.match import Match
from getstep_server.records.message import MESSAGE
from getstep_server.records.pairings import validate_pairings
from getstep_server.records.reasons import VOID_REASONS, DecisionKind, VoidReason
from getstep_server.records.record import FIRST, RecordError, as_json, hash_of, parse, raise_if_newer
from getstep_server.records.replay import DoesNotFit, replay
from getstep_server.records.settings import validate_settings
from getstep_server.records.worker import time_factor, worker_of
from getstep_server.tournament.forfeits import FINAL
from getstep_server.tournament.settings_record import changes
from getstep_server.tournament.tournament import KINDS, Tournament, unknown_kind

from .archived import ArchiveFiles, kept_of
from .database import DatabaseError, StoreError
from .lost_records import NOTHING_TOLD, Told, missing_results
from .store import Store, StoredRecord

_NOT_IN_HEAD = ("turns", "place", "previous", "hash")


class VerifyError(Exception):
    """Raised at the first contradiction; the message says what was found and what was expected.

    Unlike a `RecordError`, which it may wrap, it names the place in the chain.

    Args:
        what: a sentence.
        place: the place of the record, from 1; None if the contradiction is not in a record.
        match: the number of the match.
        attempt: the attempt at the match.
        turn: the turn of the game, from 1.
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
    """The totals of a contest without contradictions.

    Attributes:
        records: the length of the chain.
        tip: the hash of the last record.
        beyond: the records after the hash that was kept elsewhere.
        matches: all matches of the pairings.
        played: the matches with a result that counts.
        cancelled: the matches that will not be played.
        annulled: the matches that were played and do not count, because a team was disqualified.
        void: the attempts that did not finish: the server failed, or the host called them off.
        overruled: the finished attempts that another result replaces.
        turns: the turns replayed.
        changes: the settings that were changed between two runs.
        notes: differences between the files and the records.
        published: the published programs: the team, the version and the SHA-256 of its source.
        lost: the places whose records are lost, or were made again, in a contest that was rescued.
        archived: the games whose turns are in an archive that was not given.
        archives: the decisions by which turns were moved into archives.
    """

    records: int
    tip: str
    beyond: int
    matches: int
    played: int
    cancelled: int
    annulled: int
    void: int
    overruled: int
    turns: int
    changes: tuple[str, ...]
    notes: tuple[str, ...]
    published: tuple[tuple[int, int, str], ...]
    lost: tuple[str, ...]
    archived: int
    archives: tuple[Decision, ...]


def verify(
    contest: Contest,
    store: Store,
    *,
    expected_hash: str | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
    told: Told = NOTHING_TOLD,
    archives: ArchiveFiles | None = None,
) -> Verified:
    """Verify all records of a contest; the contest may be running.

    Args:
        contest: the contest, with the events of its folder.
        store: the records.
        expected_hash: a hash of the chain that was kept elsewhere.
        progress: called after each record with its place and the expected number of records.
        told: what other files tell of its matches, read before the database was opened.
        archives: files with the turns that are no longer in the records.

    Raises:
        VerifyError: there is a contradiction, or results are missing.
        StoreError: the database cannot be read.
    """
    try:
        with store.snapshot():
            return _verify(contest, store, expected_hash, progress, told, archives or ArchiveFiles([]))
    except DatabaseError as error:
        raise StoreError(f"{store.path}: {error}") from error


def _verify(
    contest: Contest,
    store: Store,
    expected_hash: str | None,
    progress: Callable[[int, int], None],
    told: Told,
    archives: ArchiveFiles,
) -> Verified:
    total, last = store.chain()
    walk, kept_at = _Walk(contest, store), None
    for stored in store.records():
        walk.take(archives.whole(stored))
        if expected_hash is not None and expected_hash in (stored.hash, walk.previous):
            kept_at = stored.place
        progress(stored.place, total)
    _check_end(walk, total, last)
    walk.check_archived()
    store.check_pages()  # an index or the incidents may be damaged although all records are readable
    if expected_hash is not None and kept_at is None:
        raise VerifyError(
            f"no record has the hash {expected_hash!r}, which was kept elsewhere: this is another chain"
        )
    recorded = Tournament(contest, store.record_headers())
    _check_standings(recorded, walk.tournament)
    if problem := missing_results(contest, told, recorded):
        raise VerifyError(problem)
    beyond = 0 if kept_at is None else walk.place - kept_at
    tournament = walk.tournament
    gone = [match for match in tournament.matches.values() if tournament.is_cancelled(match)]
    annulled = sum(tournament.played_result(match) is not None for match in gone)
    return Verified(
        records=walk.place,
        tip=walk.previous,
        beyond=beyond,
        matches=len(tournament.matches),
        played=tournament.done,
        cancelled=len(gone) - annulled,
        annulled=annulled,
        void=walk.void,
        overruled=len(tournament.recorded) - walk.void - len(tournament.official_games),
        turns=walk.turns,
        changes=tuple(walk.changes),
        notes=tuple(tournament.settings.notes()),
        published=tuple((one.team, one.version, one.sha256) for one in publications(tournament.decisions)),
        lost=tuple(walk.lost),
        archived=len(walk.archived),
        archives=tuple(one for one in tournament.decisions if one.kind == DecisionKind.ARCHIVE),
    )


class _Walk:
    """The state of the verification after the records read."""

    def __init__(self, contest: Contest, store: Store) -> None:
        self._store = store
        self.place = 0
        self.previous = self.hash = FIRST
        self.tournament = Tournament(contest)
        """Computed from the turns of the games, not from the recorded results."""
        self.void = 0
        self.turns = 0
        self.changes: list[str] = []
        """The settings that were changed between two runs."""
        self.lost: list[str] = []
        """The places whose records are lost or made again. What they would explain is not checked from there on."""
        self.archived: dict[int, int | None] = {}
        """The games whose turns are in an archive that was not given: by place, the match."""
        self._complete = False
        """True if the first record has the settings, so all settings are on record."""
        self._names: dict[int, set[str]] = {}
        self._times: dict[int, list[dict[str, Any]]] = {}
        """By event: the time controls of all settings read."""
        self._attempts: dict[int, int] = {}
        self._decided: dict[int, int] = {}
        """By match: the place of the record that decided it."""
        self._called_off: dict[int, int] = {}
        """By match: the place of the latest decision that may have called off a running attempt."""
        self._latest: dict[int, int] = {}
        """By match: the place of the record of the latest attempt."""

    def take(self, stored: StoredRecord) -> None:
        """Check the next record.

        Raises:
            VerifyError: the record contradicts itself or the records before it.
        """
        try:
            fields = self._check_seal(stored)
            try:
                self._take_content(stored, fields)
            except RecordError as error:
                raise_if_newer(fields, error)
                raise
        except RecordError as error:
            turn = error.turn if isinstance(error, DoesNotFit) else None
            raise VerifyError(str(error), self.place + 1, stored.number, stored.attempt, turn) from error
        self.place, self.hash, self.previous = stored.place, stored.hash, link_of(stored.head, stored.hash)

    def _check_seal(self, stored: StoredRecord) -> dict[str, Any]:
        """Check place, hashes and header of a record, and return its fields."""
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
        # The standings are computed from the header, so it must equal the whole record.
        head = parse(stored.head)
        for name in sorted({*head, *fields}.difference(_NOT_IN_HEAD)):
            found, expected = ({name: value[name]} if name in value else {} for value in (head, fields))
            if as_json(found) != as_json(expected):
                raise RecordError(f"its head has {found!r:.100}, expected {expected!r:.100} as in the whole record")
        return fields

    def _take_content(self, stored: StoredRecord, fields: dict[str, Any]) -> None:
        kind = fields.get("type")
        if not self.place and kind not in ("settings", "pairings", LOST):
            raise RecordError(f"type is {kind!r:.80}, expected 'settings' or 'pairings' in the first record")
        if kind not in KINDS:
            raise unknown_kind(kind)
        if kind == "game":
            self._take_game(stored, fields)
            return
        _check_columns(stored, (None,) * 5)  # records other than games have empty key columns
        if kind == LOST:
            self._take_lost(stored.place, fields)
            return
        if INSTEAD_OF in fields:
            self.lost.append(f"place {stored.place}: {kind}, made again")
            self._complete = False
        if kind == "settings":
            self._take_settings(stored.place, fields)
        elif kind == "pairings":
            self._take_pairings(fields)
        elif kind == CHALLENGE:
            self.tournament.challenges.apply(fields, stored.place, self.tournament.contest)
            self._check_seed(fields["seed"])
        elif kind == MESSAGE:
            self._check_seed(fields["seed"])
            self.tournament.messages.apply(fields)
        elif kind == FRIENDLY:
            self._take_friendly(fields)
        elif kind == "worker":
            self._check_seed(worker_of(fields).seed)
            self.tournament.workers.apply(fields)
        else:
            self._take_decision(stored.place, fields)

    def _take_friendly(self, fields: dict[str, Any]) -> None:
        """Check a friendly match: it follows its challenge, and its turns the rules. It changes no table."""
        self._check_seed(validate_game(fields).seed)
        if fields["match"] not in self.tournament.challenges.made and self.lost:
            return  # the record of its challenge is lost
        self._check_game(fields)
        self.tournament.challenges.apply_result(self._replayed(fields), self.tournament.contest)

    def _replayed(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a game's record with the result that follows from its turns, if they are here."""
        if not is_archived(fields):
            return {**fields, **replay(fields)}
        if fields["turns"]:
            raise RecordError(f"{len(fields['turns'])} turns, expected none beside {INSTEAD_OF}")
        self.archived[self.place + 1] = fields["match"]
        return fields

    def check_archived(self) -> None:
        """Check that a decision explains each game whose turns are not here.

        Raises:
            VerifyError: there is none for a game.
        """
        for place, match in self.archived.items():
            if place > self.tournament.archived_through and not self.lost:
                raise VerifyError("no turns, expected a decision that they are in an archive", place, match)

    def _check_kept(self, decision: Decision, after: int) -> None:
        """Check what a decision says of the records that stay when turns go into an archive."""
        if self.lost:
            return
        if (decision.through or 0) > self.place:
            raise RecordError(f"an archive up to place {decision.through}, expected one before this record")
        found = kept_of(self._store, after, decision.through or 0)
        if found != (decision.games, decision.kept):
            raise RecordError(
                f"an archive of {decision.games} games with kept {decision.kept!r}, expected {found[0]} with"
                f" {found[1]!r} by the records from place {after + 1} to {decision.through}"
            )

    def _take_lost(self, place: int, fields: Mapping[str, Any]) -> None:
        record = lost_of(fields)
        game = "" if record.match is UNSET else f" match {record.match}, attempt {record.attempt}:"
        self.lost.append(f"place {place}:{game} {record.why}")
        self._complete = False

    def _take_settings(self, place: int, fields: Mapping[str, Any]) -> None:
        validate_settings(fields)
        known, before = self.tournament.settings, self.tournament.settings.fields
        self.tournament.apply_settings(fields)
        now = known.contest
        if before is not None:
            found = changes(now, before, fields)
            self.changes += [f"place {place}, {fields['at']}: {change}" for change in found]
        elif not place - 1 and not self.lost:
            self._complete = True
        for team, one in now.teams.items():
            self._names.setdefault(team, set()).add(one.name)
        for event in fields["events"]:
            self._times.setdefault(event["event"], []).append(event["time"])

    def _check_settings(self, fields: Mapping[str, Any]) -> None:
        """Check pairings against the latest settings on record."""
        recorded = self.tournament.settings.fields
        if recorded is None or self.lost:
            return
        events = {event["event"]: event for event in recorded["events"]}
        if fields["event"] not in events:
            raise RecordError(f"event is {fields['event']}, expected one of the {len(events)} in the settings")
        expected = {"contest": recorded["contest"], "seed": recorded["seed"], **events[fields["event"]]}
        book = events[fields["event"]].get("openings", {}).get("name")
        if fields.get("openings") != book:
            raise RecordError(f"openings is {fields.get('openings')!r:.80}, expected {book!r:.80} by the settings")
        for name in ("contest", "seed", "name", "game", "options", "format", "settings", "scoring"):
            if fields[name] != expected[name]:
                found = f"{name} is {fields[name]!r:.80}"
                raise RecordError(f"{found}, expected {expected[name]!r:.80} by the settings")
        no_show, ruled = fields.get("no_show", FINAL), recorded["start"].get("no_show", FINAL)
        if no_show != ruled:
            raise RecordError(f"no_show is {no_show!r:.80}, expected {ruled!r:.80} by the settings")

    def _check_game(self, fields: Mapping[str, Any]) -> None:
        """Check the names and the time control of a game: some earlier settings have them, as it may span runs."""
        if not self._complete:  # the first run was by a version that did not record settings
            return
        if fields["time"] not in self._times[fields["event"]]:
            raise RecordError(f"time is {fields['time']!r:.80}, expected one that is in the settings before it")
        for team in fields["teams"]:
            if team["name"] not in self._names.get(team["id"], ()):
                raise RecordError(
                    f"name of team {team['id']} is {team['name']!r}, expected one that is in the settings before it"
                )

    def _take_pairings(self, fields: Mapping[str, Any]) -> None:
        shape = validate_pairings(fields)
        self._check_settings(fields)
        expected = [] if self.lost else self.tournament.pairings(fields)  # a lost result may have led to others
        if not self.lost and len(shape.matches) != len(expected):
            raise RecordError(f"{len(shape.matches)} matches, expected {len(expected)}")
        for one, other in zip(fields["matches"], expected, strict=not self.lost):
            _check_entry(one, other)
        self.tournament.apply_pairings(fields)
        if incompatibility := self.tournament.settings.incompatibility(self.tournament.contest):
            raise RecordError(f"by contest.toml {incompatibility}")

    def _take_decision(self, place: int, fields: Mapping[str, Any]) -> None:
        self._check_seed(validate_decision(fields).seed)
        decision = decision_of(fields)
        for match in self.tournament.matches.values():
            if self.tournament.accepts_result(match) and decision.is_about(match):
                self._called_off[match.number] = place
        after = self.tournament.archived_through
        self.tournament.apply_decision(decision)
        if decision.kind == DecisionKind.ARCHIVE:
            self._check_kept(decision, after)
        if decision.name is not None:
            self._names.setdefault(decision.team or 0, set()).add(decision.name)
        for number in decision.reopened:
            self._decided.pop(number, None)
        if decision.match is not None and decision.kind == DecisionKind.ADJUDICATE:
            self._decided[decision.match] = place

    def _check_worker(self, game: GameRecord) -> None:
        """Check that a worker on record has played a game: two programs, with the limits of that worker."""
        if game.worker is UNSET:
            return
        workers = self.tournament.workers
        if game.worker not in workers and self.lost:
            return
        if game.worker not in workers:
            raise RecordError(f"worker is {game.worker}, expected one of the {len(workers)} on record before it")
        if game.programs is UNSET or None in game.programs:
            raise RecordError("a worker, expected none: not both players are programs that the host runs")
        if game.time_factor is not UNSET and game.time_factor != (expected := time_factor(workers, game.worker)):
            raise RecordError(f"time_factor is {game.time_factor}, expected {expected} by the calibrations")

    def _take_game(self, stored: StoredRecord, fields: dict[str, Any]) -> None:
        game, match, matches = validate_game(fields), match_of(fields), self.tournament.matches
        _check_columns(stored, (game.match, game.event, game.pairing, game.leg, game.attempt))
        if game.match not in matches:
            raise RecordError(f"match is {game.match}, expected one of the {len(matches)} in the pairings")
        _check_match(match, matches[game.match])
        self._check_seed(game.seed)
        self._check_game(fields)
        self._check_worker(game)
        self._check_attempt(game.match, game.attempt, called_off=game.reason == VoidReason.CALLED_OFF)
        result = result_of(self._replayed(fields))
        self.tournament.apply_result(result)
        self.turns += len(game.turns)
        self._attempts[game.match], self._latest[game.match] = game.attempt, stored.place
        if game.reason in VOID_REASONS:
            self.void += 1
        else:
            self._decided[game.match] = stored.place

    def _check_seed(self, found: int) -> None:
        seed = self.tournament.contest.file.contest.seed
        if found != seed:
            raise RecordError(f"seed is {found}, expected {seed} by the pairings")

    def _check_attempt(self, match: int, attempt: int, *, called_off: bool) -> None:
        if self.lost:  # an earlier attempt, or the decision that explains this one, may be lost
            return
        if called_off and self._called_off.get(match, 0) <= self._latest.get(match, 0):
            raise RecordError(
                f"reason is 'called_off', expected a decision about match {match}, or one of its teams, before it"
            )
        if match in self._decided and not called_off:
            raise RecordError(f"match {match} again, expected none: its result is at place {self._decided[match]}")
        expected = self._attempts.get(match, 0) + 1
        if attempt != expected:
            raise RecordError(f"attempt is {attempt}, expected {expected}: a record is missing, or out of order")


def _check_columns(stored: StoredRecord, expected: tuple[int | None, ...]) -> None:
    """Check the key columns of the table against the record."""
    found = (stored.number, stored.event, stored.pairing, stored.leg, stored.attempt)
    if found != expected:
        raise RecordError(
            f"the table has match, event, pairing, leg and attempt {found!r:.80}, expected {expected!r}"
        )


def _check_entry(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Check one pairing against the one that the format computes from the records before it."""
    what = "a bye" if expected["number"] is None else f"match {expected['number']}"
    for name, value in expected.items():
        if found[name] != value:
            raise RecordError(
                f"{name} of {what} is {found[name]!r:.80}, expected {value!r} by the format and the seed"
            )


def _check_match(found: Match, expected: Match) -> None:
    for name in Match.__struct_fields__:
        one, other = getattr(found, name), getattr(expected, name)
        if one != other:
            raise RecordError(
                f"{name} of match {expected.number} is {one!r:.80}, expected {other!r} by the pairings"
            )


def _check_end(walk: _Walk, total: int, last: str) -> None:
    if walk.place != total:
        raise VerifyError(f"{walk.place} records, expected {total!r:.80}: so many the database has counted")
    if last not in (walk.previous, walk.hash):
        raise VerifyError(f"hash is {walk.previous!r}, expected {last!r:.80} by the database's count", walk.place)


def _check_standings(recorded: Tournament, replayed: Tournament) -> None:
    """Check that the recorded results give the same tables as the replayed games."""
    found, expected = recorded.tables(), replayed.tables()
    for event, rows in expected.events.items():
        for one, other in zip(found.events[event], rows, strict=True):
            if one != other:
                raise VerifyError(f"in the standings {one!r}, expected {other!r}")
