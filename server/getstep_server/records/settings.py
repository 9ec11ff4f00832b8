"""The record of settings: how a contest was called and played, as of a run."""

# Annotations are not strings here: msgspec would evaluate each of them twice, 15 µs every time.
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from getstep_engines import TimeControl
from getstep_server.config.fields import Name, check_unique
from getstep_server.limits import MAX_EVENTS, MAX_TEAMS
from getstep_server.validation import Check, Mistake, Model, wrong

from .openings import BookEntry
from .record import Head, RecordError, as_json, plain, read
from .values import BoundedLine, Limit, Ms, Number, TeamId, Time


class RecordedTeam(Model, frozen=True, kw_only=True):
    id: TeamId
    name: Name


class TimeEntry(Model, frozen=True, kw_only=True):
    """A time control, with the lag compensation."""

    kind: Literal["move", "budget"]
    ms: Limit
    lag_ms: Ms
    increment_ms: Limit | UnsetType | None = UNSET

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:
        increment = fields.get("increment_ms", UNSET)
        if increment is None or (increment is not UNSET and fields.get("kind") == "move"):
            yield wrong(("increment_ms",), increment, "more than 0 with the kind 'budget', and else nothing")

    @property
    def control(self) -> TimeControl:
        return control_of(plain(self))


class EventEntry(Model, frozen=True, kw_only=True):
    event: Number
    name: Name
    game: str
    options: dict[str, int | str]
    format: str
    settings: dict[str, Any]
    scoring: dict[str, Any]
    tie_breaks: list[str]
    time: TimeEntry
    teams: Annotated[list[TeamId], Check(check_unique, max_length=MAX_TEAMS)] | None
    openings: BookEntry | UnsetType = UNSET


class SettingsRecord(Head, frozen=True, kw_only=True):
    type: str = "settings"
    teams: Annotated[list[RecordedTeam], Meta(max_length=MAX_TEAMS)]
    start: dict[str, Any]
    events: Annotated[list[EventEntry], Meta(min_length=1, max_length=MAX_EVENTS)]
    at: Time
    software: BoundedLine


def validate_settings(fields: Mapping[str, Any]) -> SettingsRecord:
    """Return a validated record of settings.

    Raises:
        RecordError: a field is missing or invalid, or a team or an event is named twice.
    """
    as_json(fields)
    settings = read(SettingsRecord, fields)
    ids, numbers = [team.id for team in settings.teams], [event.event for event in settings.events]
    if len(set(ids)) < len(ids):
        raise RecordError(f"teams have the ids {ids!r:.80}, expected each of them once")
    if numbers != list(range(1, len(numbers) + 1)):
        raise RecordError(f"events have the numbers {numbers!r:.80}, expected 1 to {len(numbers)}")
    return settings


def time_entry(control: TimeControl, lag: float) -> TimeEntry:
    """Return a time control, with the lag compensation in seconds, as the field ``time`` of a record."""
    increment = milliseconds(control.increment) if control.increment else UNSET
    return TimeEntry(
        kind=control.kind, ms=milliseconds(control.seconds), lag_ms=milliseconds(lag), increment_ms=increment
    )


def control_of(time: Mapping[str, Any], factor: float = 1.0) -> TimeControl:
    """Return the time control in the field ``time`` of a game's record, with all times multiplied by ``factor``."""
    return TimeControl(time["kind"], factor * time["ms"] / 1000, factor * time.get("increment_ms", 0.0) / 1000)


def milliseconds(seconds: float) -> float:
    """Return milliseconds with three decimals, like all times of a record."""
    return round(seconds * 1000, 3)  # to the microsecond: sums of floats would differ in the last digits
