"""The settings on record: the names, rules and time limits of a contest, as of each run.

contest.toml and teams.toml may be edited at any time. A table that followed them would change without a trace,
although every hash is still valid. So `run` records the settings before it plays, and again whenever they differ
from the latest ones on record. Tables, exports and reports take names, scoring and tie-breaks from there.

A contest of an earlier version has no such records. Then the files count, and they are compared with the settings
in its records of pairings and games.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, structs
from msgspec.structs import asdict, replace

from getstep_server.config.contest import Contest, ContestFile, Team, contest_path, teams_path
from getstep_server.config.event import ContestEvent
from getstep_server.json_text import encode
from getstep_server.limits import MAX_TEAMS, SETTINGS_SHOWN
from getstep_server.records.decision import Decision
from getstep_server.records.openings import book_entry
from getstep_server.records.reasons import DecisionKind
from getstep_server.records.record import SOFTWARE, Record, RecordError, plain
from getstep_server.records.settings import EventEntry, RecordedTeam, SettingsRecord, time_entry
from getstep_server.text import name_key, pluralize, utc_time
from getstep_server.validation import ValidationError, validated

from .forfeits import FINAL

_OF_PAIRINGS = ("event", "name", "game", "options", "format", "settings", "scoring")
"""The settings of an event that its records of pairings state as well."""

FIXED = ("seed", "game", "options", "format")
"""The settings that an event keeps from its first pairings on."""

_SEAL = ("record", "type", "at", "software", "place", "previous", "hash", "instead_of")
"""The keys of a record that are not settings."""

_NOTHING = object()


class Change(Struct, frozen=True):
    """A setting that differs between the records and the files. ``holds`` says where the new value counts."""

    path: Path
    what: str
    before: str
    now: str
    holds: str

    def __str__(self) -> str:
        return f"{self.what}: {self.before} -> {self.now}"


class SettingsOnRecord:
    """The settings as far as the records state them.

    Args:
        files: the contest as its files are now.
    """

    def __init__(self, files: Contest) -> None:
        self.files = files
        self.contest = files
        """The contest with the settings of the latest record; with those of its files if there is none."""
        self.fields: Mapping[str, Any] | None = None
        """The latest record of settings."""
        self.count = 0
        self._implied: dict[str, Any] = {}
        self._events: dict[int, dict[str, Any]] = {}
        self._teams: dict[int, dict[str, Any]] = {}

    def apply(self, fields: Mapping[str, Any]) -> None:
        """Apply the next record of settings.

        Raises:
            RecordError: no contest can have these settings.
        """
        known = {number: team.name for number, team in self.contest.teams.items()}
        self.contest = contest_on_record(self.files, fields)
        known |= {number: team.name for number, team in self.contest.teams.items()}
        both = self.contest.teams.keys() & self.files.teams.keys()
        self.files.former_names.update({number: name for number, name in known.items() if number not in both})
        self.fields, self.count = fields, self.count + 1

    def apply_roster(self, decision: Decision) -> None:
        """Apply a decision about the list of teams: from here on, the settings on record have it."""
        number, known = decision.team or 0, self.contest.teams
        if number not in known and decision.kind != DecisionKind.JOIN:
            return  # a contest without settings on record, whose files no longer have the team
        team = _team(self.files.teams.get(number), number, decision.name or self.contest.team_name(number))
        seats = decision.seats or (known[number].seats if number in known else 1)
        teams = {**known, number: structs.replace(team, seats=seats)}
        self.contest = replace(self.contest, teams=teams)
        if self.fields is not None:
            self.fields = {**self.fields, "teams": [{"id": one.id, "name": one.name} for one in teams.values()]}

    def roster_objection(self, decision: Decision) -> str | None:
        """Return why a decision about the list of teams is not possible now; None if it is possible."""
        if self.fields is None:  # the files count, which may have changed since
            return None
        teams, number, name = self.contest.teams, decision.team or 0, decision.name
        known = teams.get(number)
        if decision.kind != DecisionKind.JOIN:
            if known is None:
                return f"team {number}, expected one that is on record"
        elif known is not None and known.name != name:
            return f"team {number} is {known.name!r}, expected an id that no team has"
        elif known is None and len(teams) >= MAX_TEAMS:
            return f"{len(teams)} teams and one more, expected at most {MAX_TEAMS}"
        key = name_key(name or "")
        same = next((team for team in teams.values() if name_key(team.name) == key and team.id != number), None)
        return None if same is None else f"name {name!r}, expected one that no team has; team {same.id} has it"

    def note_pairings(self, fields: Mapping[str, Any]) -> None:
        """Note the settings in a record of pairings; for contests without a record of settings."""
        self._implied |= {name: fields[name] for name in ("contest", "seed") if name in fields}
        self._implied["start"] = {"no_show": fields.get("no_show", FINAL)}
        event = {name: fields[name] for name in _OF_PAIRINGS if name in fields}
        self._events[fields["event"]] = self._events.get(fields["event"], {}) | event

    def note_game(self, fields: Mapping[str, Any]) -> None:
        self.contest.add_former_names(fields["teams"])
        self._teams |= {team["id"]: team for team in fields["teams"]}
        if fields["event"] in self._events:
            self._events[fields["event"]]["time"] = fields["time"]

    def incompatibility(self, contest: Contest) -> str | None:
        """Return why the records are not of ``contest``, for the host; None if they are."""
        for number, event in self._events.items():
            if number > len(contest.events):
                return f"{len(contest.events)} events, expected {number} or more: matches of it are on record"
            known = {"seed": self._implied.get("seed"), **event}
            now = {
                "seed": contest.file.contest.seed,
                **plain(_event_entry(contest.event(number), contest.lag, None)),
            }
            for name in FIXED:
                if now[name] != known.get(name):
                    where = name if name == "seed" else f"event {number}: {name}"
                    return f"{where} = {now[name]!r}, expected {known.get(name)!r} as in the recorded pairings"
        return None

    def due(self) -> dict[str, Any] | None:
        """Return the next record of settings; None if the latest one is equal to the files."""
        now = plain(_record_of(self.files))
        if self.fields is not None and _without_seal(now) == _without_seal(self.fields):
            return None
        return now

    def changes(self) -> list[Change]:
        """Return the settings in which the files differ from the records."""
        return list(changes(self.files, self._before(), settings_of(self.files), whole=self.fields is not None))

    def notes(self) -> list[str]:
        """Return notes for the reader of a table about its settings, a line each."""
        lines, found = [], self.changes()
        if self.fields is not None:
            lines += [
                f"{change.path}: {change.what} is {change.now}, on record {change.before}: what is on record counts"
                " until the next run"
                for change in found
            ]
        elif self._events:
            lines += [
                f"{self.files.database}: no settings on record, an earlier version wrote it: names, scoring and"
                " tie-breaks are those of contest.toml and teams.toml",
                *(
                    f"{change.path}: {change.what} is {change.now}, was {change.before}"
                    for change in found
                    if change.holds != _NEXT  # such a change does not affect the table
                ),
            ]
        return shortened(lines)

    def _before(self) -> dict[str, Any]:
        if self.fields is not None:
            return _without_seal(self.fields)
        return {**self._implied, "teams": list(self._teams.values()), "events": list(self._events.values())}


def shortened(lines: list[str]) -> list[str]:
    """Return the first of many lines, and the number of the others."""
    if len(lines) <= SETTINGS_SHOWN:
        return lines
    rest = len(lines) - SETTINGS_SHOWN
    return [*islice(lines, SETTINGS_SHOWN), f"and {pluralize(rest, 'setting')} more"]


# --- the record -------------------------------------------------------------------------------------------------


def settings_of(contest: Contest) -> dict[str, Any]:
    return _without_seal(plain(_record_of(contest)))


def _record_of(contest: Contest) -> SettingsRecord:
    file = contest.file
    return SettingsRecord(
        contest=contest.name,
        seed=file.contest.seed,
        teams=[RecordedTeam(id=team.id, name=team.name) for team in contest.teams.values()],
        start=asdict(file.start),
        events=[
            _event_entry(event, contest.lag, table.teams)
            for event, table in zip(contest.events, file.event, strict=True)
        ],
        at=utc_time(time.time()),
        software=SOFTWARE,
    )


def _event_entry(event: ContestEvent, lag: float, teams: list[int] | None) -> EventEntry:
    return EventEntry(
        event=event.number,
        name=event.name,
        game=event.game.name,
        options=event.options,
        format=event.format.name,
        settings=asdict(event.format.options),
        scoring=asdict(event.scoring),
        tie_breaks=list(event.tie_breaks),
        time=time_entry(event.time_control, lag),
        teams=teams,
        openings=UNSET if event.book is None else book_entry(event.book),
    )


def record_of_settings(fields: Mapping[str, Any]) -> Record:
    """Return the record of these fields, which are from `SettingsOnRecord.due`."""
    return Record(fields)


def contest_on_record(files: Contest, fields: Mapping[str, Any]) -> Contest:
    """Return the contest in a folder with the settings of a record instead of those of its files.

    Raises:
        RecordError: no contest can have these settings.
    """
    try:
        tables = {
            "contest": {"name": fields["contest"], "seed": fields["seed"]},
            "event": [_event_table(event) for event in fields["events"]],
            "time": {"lag_ms": round(fields["events"][0]["time"]["lag_ms"])},
        }
        recorded = validated(ContestFile, tables)
        names = {team["id"]: team["name"] for team in fields["teams"]}
        teams = {number: _team(files.teams.get(number), number, name) for number, name in names.items()}
    except ValidationError as error:
        raise RecordError(f"settings that no contest can have: {error.mistakes[0]!s:.300}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"a record of settings that cannot be read: {error!r:.300}") from error
    now = files.file
    file = structs.replace(
        recorded,
        server=now.server,
        start=now.start,
        page=now.page,
        programs=now.programs,
        challenges=now.challenges,
        quotas=now.quotas,
        notes=now.notes,
    )
    contest = replace(files, file=file, teams=teams)  # names of former teams are noted for both
    for _place, _value, expected in contest.check_books():
        raise RecordError(f"openings that no contest can have, expected {expected:.300}")
    return contest


def _event_table(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of contest.toml that makes this event."""
    same = ("name", "game", "options", "format", "settings", "scoring", "tie_breaks", "teams")
    openings = {"openings": event["openings"]} if "openings" in event else {}
    return {**{name: event[name] for name in same}, **_limit(event["time"]), **openings}


def _team(known: Team | None, number: int, name: str) -> Team:
    """Return a team as it is on record; one that is no longer in teams.toml has no token, and cannot log in."""
    if known is None:
        return Team(id=number, name=name, token="")
    return structs.replace(known, name=name)


def _without_seal(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in _SEAL}


# --- changes -------------------------------------------------------------------------------------------

_NAMES = "in all tables"
_TABLE = "for all matches of the event, those that were played too"
_NEXT = "for matches that have not begun"
_LATER = "for new pairings, and for the table"
_HOLDS = {"scoring": _TABLE, "tie_breaks": _TABLE, "name": _NAMES}


def changes(
    contest: Contest, before: Mapping[str, Any], now: Mapping[str, Any], *, whole: bool = True
) -> Iterator[Change]:
    """Yield the differences between two records of settings.

    Args:
        contest: the contest of the records.
        before: the earlier settings.
        now: the later settings.
        whole: True if ``before`` has all teams and events; otherwise a missing one is not a change.
    """
    yield from _contest_changes(contest_path(contest.folder), before, now)
    for key, path in (("teams", teams_path(contest.folder)), ("events", contest_path(contest.folder))):
        number = "id" if key == "teams" else "event"
        old, new = ({entry[number]: entry for entry in each.get(key, ())} for each in (before, now))
        for one in sorted(old.keys() | new.keys()):
            if one in old and one in new:
                yield from _entry_changes(path, key, old[one], new[one])
            elif whole:
                was, is_ = (_json(each[one]["name"]) if one in each else "nothing" for each in (old, new))
                yield Change(path, f"{key.removesuffix('s')} {one}", was, is_, "for new pairings")


def _contest_changes(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Change]:
    for key, what, holds in (("contest", "contest.name", _NAMES), ("seed", "contest.seed", _LATER)):
        yield from _change(path, what, before.get(key, _NOTHING), now[key], holds)
    yield from _change(path, "time.lag_ms", _lag(before), _lag(now), _NEXT)
    for key, value in now["start"].items():
        yield from _change(path, f"start.{key}", before.get("start", {}).get(key, _NOTHING), value, _NEXT)


def _entry_changes(path: Path, key: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the changes of a team, or of an event."""
    which = f"team {now['id']}" if key == "teams" else f"event {now['event']} ({now['name']})"
    for name, value in now.items():
        old, holds = before.get(name, _NOTHING), _HOLDS.get(name, _LATER)
        if name == "time":
            old = old if old is _NOTHING else _limit(old)
            yield from _change(path, f"{which}, time limit", old, _limit(value), _NEXT)
        elif isinstance(value, dict) and isinstance(old, dict):
            for part, new in value.items():
                yield from _change(path, f"{which}, {name}.{part}", old.get(part, _NOTHING), new, holds)
        else:
            yield from _change(path, f"{which}, {name}", old, value, holds)


def _lag(settings: Mapping[str, Any]) -> object:
    """Return the network allowance, which is the same in all events."""
    return next((event["time"]["lag_ms"] for event in settings["events"] if "time" in event), _NOTHING)


def _change(path: Path, what: str, before: object, now: object, holds: str) -> Iterator[Change]:
    """Yield a change, unless the earlier record does not state this setting: a version may lack it."""
    if before is not _NOTHING and before != now:
        yield Change(path, what, _json(before), _json(now), holds)


def _limit(limit: Mapping[str, Any]) -> dict[str, float]:
    """Return a time control as contest.toml writes it."""
    seconds = {f"{limit['kind']}_seconds": limit["ms"] / 1000}
    return {**seconds, "increment_seconds": limit["increment_ms"] / 1000} if "increment_ms" in limit else seconds


def _json(value: object) -> str:
    text = encode(_plain(value)).decode()
    return text if len(text) <= 80 else f"{text[:77]}..."  # a setting may be a list of 1,024 teams


def _plain(value: object) -> object:
    """Return ``value`` with whole numbers as people write them, without a decimal."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value
