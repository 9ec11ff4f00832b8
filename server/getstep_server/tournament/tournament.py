"""The tournament: the issued matches, their results, and the next pairings.

Theory of operation. `Tournament` is an event-sourced projection of the contest's records:

- Its only input are records, in the order in which they are stored. `apply` takes the next one. There are seven
  types: settings, pairings, games (each the end of one attempt at a match), decisions, workers of a cluster,
  challenges and friendly matches. The last two change no table.
- The rest follows from them. The same records always give the same pairings and tables. So a running contest, one
  that resumes after a crash, the ``standings`` command and ``verify`` a year later agree without further state.
- It changes nothing outside and knows no clock. `next_pairings` and `objection` only say what may be recorded next.
  The recorder stores that first, and then applies it like any other record.
- A record that does not follow from those before it raises `RecordError`. `verify` relies on that.

`EventState` holds the part of one event, and `SettingsOnRecord` the settings. Here are the results by match, the
host's decisions, and what concerns several events.

Applying a record happens in the event loop and costs little: a result takes about 10 µs. Tables and ratings take
some ms for each thousand results. They are made on demand, in the caller's thread, and cached until `version`
changes. State that a table reads is replaced, or copied before iteration: no thread sees half a change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, TypeVar

from msgspec.structs import replace

from getstep.openings import Opening
from getstep_server.config.contest import Contest
from getstep_server.config.event import ContestEvent, Scoring, format_of
from getstep_server.formats import Pairing, Played
from getstep_server.limits import MAX_MATCHES
from getstep_server.records.challenge import CHALLENGE, FRIENDLY
from getstep_server.records.decision import Decision, decision_of, freeze_objection, scores_objection
from getstep_server.records.game import is_void, result_of
from getstep_server.records.lost import LOST
from getstep_server.records.match import Match
from getstep_server.records.message import MESSAGE
from getstep_server.records.pairings import pairing_fields, pairings_header
from getstep_server.records.reasons import (
    FREEZE_KINDS,
    INVITATION_KINDS,
    PAUSE_KINDS,
    QUIET_KINDS,
    ROSTER_KINDS,
    STATUS_AFTER,
    DecisionKind,
    Reason,
    TeamStatus,
    VoidReason,
)
from getstep_server.records.record import RecordError, raise_if_newer
from getstep_server.records.result import Result
from getstep_server.records.worker import Workers
from getstep_server.validation import validated

from .challenges import Challenges
from .combined import Tables, combined
from .event_state import EventState, IssuedPairing, TeamStatuses, issued_in
from .messages import Messages
from .pauses import Pauses
from .settings_record import SettingsOnRecord
from .standings import Standing, standings
from .strict import STRICT_AFTER

T = TypeVar("T")

KINDS = ("settings", "pairings", "game", "decision", "worker", CHALLENGE, FRIENDLY, MESSAGE, LOST)
"""The types of records."""


def unknown_kind(kind: object) -> RecordError:
    """Return the error about a record whose type is none of `KINDS`."""
    return RecordError(f"type is {kind!r:.80}, expected one of: {', '.join(KINDS)}")


class Tournament:
    """The state of a contest, computed from its records.

    Args:
        contest: its events and teams as the files state them now. From the first record of settings on, the records
            count instead.
        records: the records that exist already, without the turns of games.

    Raises:
        RecordError: a record does not follow from those before it.
    """

    def __init__(self, contest: Contest, records: Iterable[Mapping[str, Any]] = ()) -> None:
        self.settings = SettingsOnRecord(contest)
        self.place = 0
        """The place in the chain of the last record that `apply` was called with."""
        self.began = ""
        """The time of day in the first record, or in the last one that stands for a lost one; "" if it has none."""
        self.attempts: Counter[int] = Counter()
        """The latest attempt at each match, by its number."""
        self.recorded: set[tuple[int, int]] = set()
        """Match and attempt of every game on record."""
        self.matches: dict[int, Match] = {}
        """All issued matches, by their numbers."""
        self.due = {event.number for event in contest.events}
        """The events in which new pairings may follow."""
        self.decisions: list[Decision] = []
        """The host's decisions, in the order in which they were made."""
        self.replays: Counter[int] = Counter()
        """The number of times that the host reopened each match, by its number."""
        self.pauses = Pauses()
        self.messages = Messages()
        self.workers = Workers()
        self.challenges = Challenges()
        self._events: dict[int, EventState] = {}
        self._results: dict[int, Result] = {}
        self._statuses = TeamStatuses()
        self.frozen_at: int | None = None
        """The place of the decision to freeze; spectators see the records before it. None: they see all."""
        self.fence = 0
        self.archived_through = 0
        """The place up to which the turns of games are in archives."""
        """The fencing number: how many times another computer has taken over the contest."""
        self._strict: bool | None = None
        """True if results wait for a standby host, by the host's decisions; None: as contest.toml says."""
        self._cache: dict[tuple[int, Hashable], tuple[int, Any]] = {}
        self._prepared: tuple[Mapping[str, Any], list[IssuedPairing]] = ({}, [])
        """The record that `prepare_pairings` has read, and its pairings."""
        for fields in records:
            self.apply(fields)
        self.due = {event.number for event in contest.events}

    # --- what the records say ---

    @property
    def contest(self) -> Contest:
        """The contest as its latest record of settings says; as its files say if there is none."""
        return self.settings.contest

    @property
    def is_strict(self) -> bool:
        """True if results are announced only after a standby host has them on its disk."""
        return self.contest.file.server.standby == "strict" if self._strict is None else self._strict

    @property
    def results(self) -> list[Result]:
        """The official results, in the order in which their matches first ended."""
        results, cancelled = dict(self._results), set[int]()
        for state in list(self._events.values()):
            results |= state.round_losses
            cancelled |= state.cancelled
        return [result for number, result in results.items() if number not in cancelled]

    @property
    def official_games(self) -> set[tuple[int, int]]:
        """Match and attempt of every game whose result is official."""
        unplayed = (Reason.ADJUDICATED, Reason.ROUND_LOST)
        return {(one.match.number, one.attempt) for one in self.results if one.reason not in unplayed}

    @property
    def done(self) -> int:
        """The number of matches that have an official result."""
        return self.total - sum(len(state.open) for state in self._events.values())

    @property
    def total(self) -> int:
        """The number of matches that were issued and not cancelled."""
        return len(self.matches) - sum(len(state.cancelled) for state in self._events.values())

    def open(self) -> list[Match]:
        """Return the matches that are to be played, running ones included, in the order of their numbers."""
        numbers = sorted(number for state in self._events.values() for number in state.open)
        return [self.matches[number] for number in numbers]

    def issued(self, event: int) -> int:
        """Return how many matches of an event were issued, byes and cancelled ones included."""
        return len(self._state(event).issued)

    def round_programs(self, event: int) -> Mapping[int, int]:
        """Return the versions of hosted programs that play the latest round of a ladder, by team."""
        return {team: version for team, (version, _) in self._state(event).programs.items()}

    def cancels(self, fields: Mapping[str, Any]) -> bool:
        """Return True if a record of pairings does not list a team that has open matches."""
        return bool(self._state(fields["event"]).open_without(fields["teams"]))

    def open_by_team(self) -> dict[int, int]:
        """Return how many open matches each team has, running ones included. Any thread may call this."""
        numbers = [number for state in list(self._events.values()) for number in list(state.open)]
        return Counter(team for number in numbers for team in self.matches[number].teams)

    def is_open(self, match: Match) -> bool:
        return match.number in self._events[match.event].open

    def accepts_result(self, match: Match) -> bool:
        """Return True if the result of an attempt that ends now is recorded.

        That holds for open matches, and for running ones that the missed-limit rule has decided already.
        """
        return not self.is_cancelled(match) and match.number not in self._results

    def is_cancelled(self, match: Match) -> bool:
        """Return True if a match counts for nothing: it will not be played, or was annulled."""
        return match.number in self._events[match.event].cancelled

    def final_result(self, match: Match) -> Result | None:
        """Return the result of a match in the tables, by all rules; None if it has none or is cancelled."""
        return None if self.is_cancelled(match) else self._events[match.event].final_result(match.number)

    def played_result(self, match: Match) -> Result | None:
        """Return the result as it was played or adjudicated, annulled or not.

        Unlike `final_result`, this ignores the missed-limit rule and whether the match is cancelled.
        """
        return self._results.get(match.number)

    def status(self, team: int, event: int) -> str:
        """Return a team's status in an event by the host's decisions: "", "withdrawn" or "disqualified"."""
        return self._statuses.of(team, event)

    def replayed_since(self, match: Match, when: str) -> bool:
        """Return True if the host reopened a match at the time ``when`` (as records state it) or later."""
        return any(
            d.kind == DecisionKind.REPLAY and d.match == match.number and d.at >= when for d in self.decisions
        )

    def missing_teams(self) -> set[int]:
        """Return the teams with provisional forfeits: they play those matches if they arrive."""
        return {team for state in self._events.values() for team in state.forfeits.teams}

    def reopened_by_arrival(self, team: int) -> list[int]:
        """Return the numbers of the matches that ``team`` forfeited and plays after all if it arrives now."""
        return [
            number
            for event in sorted(self._events)
            for number in self._events[event].forfeits.of(team)
            if self._late_objection(team, number) is None
        ]

    # --- apply records ---

    def apply(self, fields: Mapping[str, Any]) -> list[Match]:
        """Apply the next record, and return the matches that it issues.

        Raises:
            NewerRecordError: a newer version wrote it, and this one cannot apply it.
            RecordError: it does not follow from those before it. It is skipped: the next call applies the next one.
        """
        self.place += 1
        try:
            return self._apply(fields)
        except RecordError as error:
            raise_if_newer(fields, error)
            raise

    def _apply(self, fields: Mapping[str, Any]) -> list[Match]:
        kind = fields.get("type")
        if self.place == 1 or kind == LOST:
            self.began = str(fields.get("at", ""))
        if kind == "pairings":
            return self.apply_pairings(fields)
        if kind == "decision":
            self.apply_decision(decision_of(fields))
        elif kind == "settings":
            self.apply_settings(fields)
        elif kind == "worker":
            self.workers.apply(fields)
        elif kind == CHALLENGE:
            self.challenges.apply(fields, self.place, self.contest)
        elif kind == FRIENDLY:
            self.challenges.apply_result(fields, self.contest)
        elif kind == MESSAGE:
            self.messages.apply(fields)
        elif kind == LOST:
            pass  # it says only that there was another record
        elif kind == "game":
            self.apply_result(result_of(fields))
            self.settings.note_game(fields)
        else:
            raise unknown_kind(kind)
        return []

    def apply_settings(self, fields: Mapping[str, Any]) -> None:
        """Apply a record of settings: names, scoring and tie-breaks change to what it says.

        Raises:
            RecordError: no contest can have these settings, or they contradict the issued pairings.
        """
        self.settings.apply(fields)
        if incompatibility := self.settings.incompatibility(self.contest):
            raise RecordError(incompatibility)
        self.due |= {event.number for event in self.contest.events}

    def apply_pairings(self, fields: Mapping[str, Any]) -> list[Match]:
        """Apply a record of pairings.

        Returns:
            The matches that are new in it.

        Raises:
            RecordError: the record cannot be read, or issues a match a second time.
        """
        prepared, issued = self._prepared
        self._prepared = ({}, [])
        if prepared is not fields:
            issued = issued_in(fields)
        matches = [entry.match for entry in issued if entry.match is not None]
        if known := [match.number for match in matches if match.number in self.matches]:
            raise RecordError(f"match {known[0]} is issued again, expected a new one")
        head = {name: value for name, value in fields.items() if name != "matches"}
        self.settings.note_pairings(head)
        state = self._events[head["event"]] = self._state(head["event"])
        state.apply_pairings(head, issued)
        self.matches.update((match.number, match) for match in matches)
        return matches

    def prepare_pairings(self, fields: Mapping[str, Any]) -> None:
        """Read a record of pairings that will be applied later. Changes nothing; another thread may call this.

        Raises:
            RecordError: the record cannot be read.
        """
        self._prepared = (fields, issued_in(fields))

    def apply_result(self, result: Result) -> None:
        """Apply the end of an attempt at a match.

        Raises:
            RecordError: the match was not issued, or is cancelled.
        """
        match = self.matches.get(result.match.number)
        if match != result.match:
            raise RecordError(f"match {result.match.number}, {result.match!r:.200}, expected one that was issued")
        result = replace(result, match=match)  # the same object: an arena keeps all of them for months
        state = self._events[match.event]
        if match.number in state.cancelled and result.reason != VoidReason.CALLED_OFF:
            raise RecordError(f"match {match.number} was cancelled, expected no game of it")
        self.attempts[match.number] = max(self.attempts[match.number], result.attempt)
        self.recorded.add((match.number, result.attempt))
        if is_void(result):
            return
        self._results[match.number] = result
        self.pauses.forget(None, match.number)
        state.apply_result(result)
        if match.event <= len(self.contest.events):
            after_each = self.contest.event(match.event).format.pairs_after_each_result
            self.due.update([match.event] if after_each or not state.open else ())

    def apply_decision(self, decision: Decision) -> None:
        """Apply a decision of the host or of a rule.

        Raises:
            RecordError: the decision is not possible now; see `objection`.
        """
        if objection := self.objection(decision):
            raise RecordError(objection)
        self.decisions.append(decision)
        if decision.kind in FREEZE_KINDS:
            self.frozen_at = self.place if decision.kind == DecisionKind.FREEZE else None
        if decision.kind in PAUSE_KINDS:
            self.pauses.apply(decision)
        if decision.kind == DecisionKind.TAKE_OVER:
            self.fence = decision.fence or 0
        if decision.kind == DecisionKind.ARCHIVE:
            self.archived_through = decision.through or 0
        self._strict = STRICT_AFTER.get(decision.kind, self._strict)
        if decision.kind in QUIET_KINDS:
            return
        if decision.kind in ROSTER_KINDS:
            self.settings.apply_roster(decision)
            self.due |= {event.number for event in self.contest.events}
            return
        if decision.reopened:
            events = self._reopen(decision.reopened)
        elif decision.match is not None:
            events = self._adjudicate(decision, self.matches[decision.match])
        else:
            # `or 0` is for the type checker: these kinds name a team
            events = self._decide_team(decision, decision.team or 0)
        # Events that the host has deleted from contest.toml get no more pairings.
        self.due |= events & {event.number for event in self.contest.events}

    def _decide_team(self, decision: Decision, team: int) -> set[int]:
        """Return the events that the decision may have changed."""
        self._statuses.set(team, decision.event, STATUS_AFTER[decision.kind])
        events = set(self._events) if decision.event is None else {decision.event}
        for event in events & self._events.keys():
            self._events[event].recompute()
        return events

    def _adjudicate(self, decision: Decision, match: Match) -> set[int]:
        self._results[match.number] = decision.result(match, self.attempts[match.number])
        self.pauses.forget(None, match.number)
        self._events[match.event].apply_adjudication(match.number)
        return {match.event}

    def _reopen(self, numbers: Collection[int]) -> set[int]:
        """Open matches between teams that take part again, and return their events."""
        by_event: dict[int, set[int]] = {}
        for number in numbers:
            by_event.setdefault(self.matches[number].event, set()).add(number)
            self._results.pop(number, None)
            self.replays[number] += 1
        for event, again in by_event.items():
            self._events[event].reopen(again)
        return set(by_event)

    def _state(self, event: int) -> EventState:
        """Return an event's state; an empty one before its first pairings."""
        return self._events.get(event) or EventState(event, self._results, self._statuses)

    # --- check decisions ---

    def objection(self, decision: Decision) -> str | None:
        """Return why a decision is not possible now, in words for the host; None if it is possible."""
        if decision.kind in ROSTER_KINDS:
            return self.settings.roster_objection(decision)
        if decision.kind == DecisionKind.TAKE_OVER:
            expected = f"expected a higher one than {self.fence}"
            return None if (decision.fence or 0) > self.fence else f"fencing number {decision.fence}, {expected}"
        if decision.kind in STRICT_AFTER:
            if STRICT_AFTER[decision.kind] != self.is_strict:
                return None
            return f"results {'wait already' if self.is_strict else 'do not wait'} for a standby host"
        if decision.kind in INVITATION_KINDS:
            return None
        if decision.kind == DecisionKind.ARCHIVE:
            expected = f"expected a place behind {self.archived_through}, where the one before it ends"
            further = (decision.through or 0) > self.archived_through
            return None if further else f"an archive up to place {decision.through}, {expected}"
        if not self._events:
            return "no matches have been issued, expected pairings before the first decision"
        if decision.kind in FREEZE_KINDS:
            return freeze_objection(decision, is_frozen=self.frozen_at is not None)
        if decision.kind in PAUSE_KINDS:
            return self._pause_objection(decision)
        if decision.kind == DecisionKind.PUBLISH:
            return self._state(decision.event or 0).publication_objection(decision)
        if decision.made_by_rule:
            objections = (self._late_objection(decision.team or 0, number) for number in decision.matches)
            return next((objection for objection in objections if objection), None)
        return self._team_objection(decision) if decision.match is None else self._match_objection(decision)

    def _pause_objection(self, decision: Decision) -> str | None:
        if decision.match is not None:
            match = self.matches.get(decision.match)
            if match is None:
                return f"match {decision.match}, expected one of the {len(self.matches)} issued ones"
            if decision.event is not None or not self.is_open(match):
                return f"match {decision.match} is over, expected one that is open"
        elif decision.event is not None and decision.event > len(self.contest.events):
            return f"event {decision.event}, expected one of the {len(self.contest.events)} in contest.toml"
        return self.pauses.objection(decision)

    def _late_objection(self, team: int, number: int) -> str | None:
        """Return why ``team``, which has arrived, does not play a match after all; None if it does."""
        match = self.matches.get(number)
        if match is None:
            return f"match {number}, expected one of the {len(self.matches)} issued ones"
        state = self._events[match.event]
        if number in state.round_losses or not state.forfeits.has(team, number):
            return f"match {number}, expected one with a provisional forfeit of team {team}"
        for player in match.teams:
            if self.status(player, match.event) or player not in state.teams:
                return f"team {player} of match {number} no longer takes part, expected both its teams to take part"
        return None

    def _team_objection(self, decision: Decision) -> str | None:
        team, numbers = decision.team or 0, [event.number for event in self.contest.events]
        if decision.event not in (None, *numbers):
            return f"event {decision.event}, expected one of the {len(numbers)} in contest.toml"
        statuses = {self.status(team, number) for number in numbers if decision.event in (None, number)}
        wanted = STATUS_AFTER[decision.kind]
        if statuses == {wanted}:
            return f"team {team} {f'is {wanted} already' if wanted else 'takes part, expected one that is out'}"
        if wanted == TeamStatus.WITHDRAWN and TeamStatus.DISQUALIFIED in statuses:
            return f"team {team} is disqualified, expected one that takes part; reinstate it first"
        return None

    def _match_objection(self, decision: Decision) -> str | None:
        match = self.matches.get(decision.match or 0)
        if match is None or match.event > len(self.contest.events):
            return f"match {decision.match}, expected one of the {len(self.matches)} issued ones"
        for team in match.teams:
            status = self.status(team, match.event)
            if status == TeamStatus.DISQUALIFIED or (status and decision.kind == DecisionKind.REPLAY):
                return (
                    f"team {team} of match {match.number} is {status}, expected it to take part; reinstate it first"
                )
        return scores_objection(decision, self.contest.event(match.event).game)

    # --- make the next pairings ---

    def next_pairings(self, event: ContestEvent, present: Collection[int] = ()) -> dict[str, Any] | None:
        """Return the next record of pairings of an event; None if it would say nothing new. Changes nothing.

        A team that has left the event since the last record has to be on record, even without new pairings. If the
        format pairs those that are ``present``, that holds only for a team with open matches.
        """
        state = self._state(event.number)
        arena = event.format.pairs_present
        elsewhere = self._only_elsewhere(state) if arena else set()
        teams = state.seeding(
            [team for team in event.teams if not arena or (team in present and team not in elsewhere)]
        )
        head = pairings_header(self.contest, event, teams)
        entries = self.pairings(head)
        rule_changed = bool(state.open) and head["no_show"] != state.forfeits.no_show
        # An arena's list of teams changes with each one that comes or goes, and needs no record of its own.
        if entries or rule_changed or (teams != state.teams and not arena) or state.open_without(teams):
            return {**head, "matches": entries}
        return None

    def _only_elsewhere(self, state: EventState) -> set[int]:
        """Return the teams with open matches in other events, but none in this one."""
        others = [number for other in self._events.values() if other is not state for number in other.open]
        busy = {team for number in others for team in self.matches[number].teams}
        return busy.difference(team for number in state.open for team in self.matches[number].teams)

    def pairings(self, head: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the ``matches`` of a record of pairings with this ``head``, if that is the next record.

        Raises:
            RecordError: the head is not valid, lists a team that is out, or asks for too many matches.
        """
        try:
            format_ = format_of(head["format"], head["settings"], head["seed"], head["event"])
            scoring = validated(Scoring, head["scoring"])
            games = self._state(head["event"]).history(scoring, head["teams"])
            out = [team for team in head["teams"] if self.status(team, head["event"])]
        except (KeyError, TypeError, ValueError) as error:
            raise RecordError(f"a record of pairings that cannot be read: {error!r:.300}") from error
        if out:
            status = self.status(out[0], head["event"])
            raise RecordError(f"team {out[0]} takes part, expected none that is {status} by the host")
        most = format_.max_matches(len(head["teams"]))
        if most > MAX_MATCHES:
            raise RecordError(f"settings make up to {most} matches of these teams, expected at most {MAX_MATCHES}")
        numbers = count(max(self.matches, default=0) + 1)
        pairings = format_.next_pairings(head["teams"], games)
        openings = self._openings(head, [each for each in pairings if not each.is_bye])
        try:
            return [
                pairing_fields(each, None, head)
                if each.is_bye
                else pairing_fields(each, next(numbers), head, next(openings))
                for each in pairings
            ]
        except ValueError as error:
            raise RecordError(f"options that no match can have: {error}") from error

    def _openings(self, head: Mapping[str, Any], pairings: Sequence[Pairing]) -> Iterator[Opening]:
        """Return the openings of new matches, one for each.

        Raises:
            RecordError: the settings do not have the book that the head names.
        """
        name = head.get("openings")
        if name is None:
            return iter([()] * len(pairings))
        book = self.contest.event(head["event"]).book
        if book is None or book.name != name:
            raise RecordError(f"openings is {name!r:.80}, expected the book of the settings")
        draw = self._state(head["event"]).openings.copy()  # a copy: the new pairings are not on record yet
        seed = f"{head['seed']} {head['event']}"
        return iter([draw.next((one.first, one.second or 0), book, seed) for one in pairings])

    # --- tables ---

    def table(self, event: ContestEvent) -> list[Standing]:
        """Return an event's standings, with all teams that take part or did."""
        return self.cached(event, "table", lambda: self._standings(event))

    def version(self, event: ContestEvent) -> int:
        """Return a number that changes with each record on which an event's tables and pairings depend."""
        return len(self.decisions) + self.settings.count + self._state(event.number).version

    def cached(self, event: ContestEvent, name: Hashable, make: Callable[[], T]) -> T:
        """Return ``make()``, or what it returned the last time under this name if the event has no new records."""
        now = self.version(event)
        version, value = self._cache.get((event.number, name), (-1, None))
        if version != now:
            value = make()
            self._cache[event.number, name] = (now, value)
        known: T = value
        return known

    def tables(self) -> Tables:
        """Return the tables of all events, and the combined one if there are several.

        They take some milliseconds for each thousand results. Any thread may call this.
        """
        by_event = {event.number: tuple(self.table(event)) for event in self.contest.events}
        if len(by_event) == 1:
            return Tables(by_event, ())
        teams = dict.fromkeys([*self.contest.teams, *(row.team for rows in by_event.values() for row in rows)])
        rows = combined(teams, {str(n): rows for n, rows in by_event.items()}, seed=self.contest.file.contest.seed)
        return Tables(by_event, tuple(rows))

    def remaining_estimate(self, event: ContestEvent) -> int:
        """Return how many matches of an event will be issued later, as far as its format can tell."""
        return event.format.remaining_estimate(self._state(event.number).seeding(event.teams), self._history(event))

    def played(self, event: ContestEvent) -> tuple[list[int], list[Played]]:
        """Return the teams that take part in an event, in the order of seeding, and its pairings with points."""
        return self._state(event.number).seeding(event.teams), self._history(event)

    def _history(self, event: ContestEvent) -> list[Played]:
        state = self._state(event.number)
        return self.cached(event, "history", lambda: state.history(event.scoring, event.teams))

    def _standings(self, event: ContestEvent) -> list[Standing]:
        state = self._state(event.number)
        paired = [team for entry in state.issued for team in entry.pairing.teams]
        teams = list(dict.fromkeys([*event.teams, *state.teams, *paired]))
        games = self._history(event)
        gone = dict.fromkeys((team for team in teams if team not in event.teams), TeamStatus.WITHDRAWN)
        decided = {team: status for team in teams if (status := self.status(team, event.number))}
        rows = standings(
            teams,
            state.official_results(),
            scoring=event.scoring,
            tie_breaks=event.tie_breaks,
            seed=event.format.seed,
            byes=event.format.byes(games),
            places=event.format.places(state.seeding(event.teams), games),
            statuses=gone | decided,
            under_way=bool(state.open) or self.remaining_estimate(event) > 0,
        )
        ratings, leagues = event.format.ratings(games), event.format.leagues(games)
        if not ratings:
            return rows
        return [replace(row, rating=ratings.get(row.team), league=leagues.get(row.team)) for row in rows]
