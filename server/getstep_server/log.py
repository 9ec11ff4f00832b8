"""The contest's log: contest.log in the contest folder, a JSON object a line, in the order of what happened.

It says who came and went, what was played, and what went wrong, but not every move. Nothing in the event loop waits
for the disk: a line is queued as it is, and a thread renders and writes it. Where the disk is too slow, or full,
lines are lost, counted and told of, and the contest goes on.

Rendered as ASCII, JSON lets nobody's name or message forge a line or repaint a terminal; tokens are struck out of
whatever clients send.
"""

from __future__ import annotations

import contextlib
import json
import logging
import platform
import queue
import re
import time
from collections.abc import Callable, Iterable
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from pathlib import Path
from typing import Any, TypeAlias

import structlog

from . import __version__
from ._text import printable, utc_time
from ._toml import ConfigError
from .contest import Contest
from .contest_event import ContestEvent
from .decisions import described
from .events import (
    ContestOver,
    ContestStarted,
    DatabaseHeld,
    DecisionTaken,
    DiskFull,
    DiskUsable,
    Event,
    Incident,
    IncidentsSummed,
    JournalCut,
    Listening,
    MatchCalledOff,
    MatchEnded,
    MatchStarted,
    Noted,
    Repeatable,
    ServerFault,
    ServerLate,
    TeamArrived,
    TeamLeft,
    TurnFaulted,
    Waiting,
)
from .limits import LOG_FILE_BYTES, LOG_FILES_KEPT, LOG_QUEUE_LINES, LOG_TEXT_CHARS
from .schedule import Match

Fields: TypeAlias = dict[str, Any]

_UNSTAMPED = (
    "this system does not stamp arrivals: thinking times are taken when the server wakes up to read an answer,"
    " which may be some milliseconds after it arrived"
)


def log_path(folder: Path) -> Path:
    return folder / "contest.log"


class ContestLog:
    """A consumer of events that writes them down.

    It never blocks and never raises. What `repeats` decides upon is logged when it says so, as `Noted`.

    Args:
        contest: for the folder, the names, and the tokens that must not be written.

    Raises:
        ConfigError: the file cannot be written.
    """

    def __init__(self, contest: Contest) -> None:
        self.contest = contest
        self._queued = _Queued()
        self._file = _open(log_path(contest.folder))
        self._file.setFormatter(_Lines(team.token for team in contest.teams.values()))
        self._writer = _Writer(self._queued, self._file)
        self._writer.start()
        self._log = _logger(self._queued)
        self._log.info(
            "run_began",
            contest=contest.name,
            events=[_event(event) for event in contest.events],
            teams=len(contest.teams),
            software=f"getstep-server {__version__}, Python {platform.python_version()}, {platform.platform()}",
        )

    def close(self, how: str) -> None:
        """Say how the run ended, write what is queued, close the file. Nothing may be logged after that."""
        self._queued.patient = True
        self._log.info("run_ended", how=how)
        self._writer.stop()
        with contextlib.suppress(OSError):  # a full disk, again
            self._file.close()

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case Noted(what, count):
                self._noted(what, count)
            case MatchStarted(match, turns):
                self._log.info("match_started", **self._about(match), turns=turns)
            case JournalCut(path, line):
                self._log.warning("journal_cut", path=path, line=line)
            case DiskFull(folder, why):
                self._log.error("disk_full", folder=folder, why=why)
            case DatabaseHeld(folder, why):
                self._log.error("database_held", folder=folder, why=why)
            case DiskUsable(folder):
                self._log.info("disk_usable", folder=folder)
            case MatchEnded():
                self._ended(event)
            case MatchCalledOff(match, why):
                self._log.info("match_called_off", **self._about(match), why=why)
            case DecisionTaken():
                self._decided(event)
            case ContestStarted(done, total):
                self._log.info("contest_started", done=done, total=total)
            case ContestOver():
                self._log.info("contest_over")
            case Listening():
                self._listening(event)
            case IncidentsSummed(total, most):
                rows = [_incident(first) | {"count": count} for first, count in most]
                self._log.info("incidents_summed", total=total, most=rows)

    # --- events as lines ---

    def _noted(self, event: Repeatable, count: int) -> None:
        match event:
            case Incident(team=team):
                self._log.warning("incident", **_incident(event), name=self._name(team), count=count)
            case TeamArrived(team, address, client, again, here):
                who = {"team": team, "name": self._name(team), "here": here}
                self._log.info(
                    "team_arrived", **who, address=address, client=client, again=again, this_minute=count
                )
            case TeamLeft(team, why, here):
                who = {"team": team, "name": self._name(team), "here": here}
                self._log.info("team_left", **who, why=why, this_minute=count)
            case TurnFaulted(match, player, code, detail, thought):
                who = self._player(match, player)
                self._log.info("turn_faulted", **who, code=code, detail=detail, thought=_ms(thought), count=count)
            case ServerLate(match, player, seconds):
                self._log.warning(
                    "server_late", **self._player(match, player), seconds=_ms(seconds), this_minute=count
                )
            case ServerFault(where, trace):
                self._log.error("server_fault", where=where, trace=trace, count=count)
            case Waiting(teams):
                names = [self._name(team) for team in teams]
                self._log.info("waiting", teams=list(teams), names=names, this_minute=count)

    def _listening(self, event: Listening) -> None:
        where = {"host": event.host, "port": event.port, "classic_port": event.classic_port}
        self._log.info("listening", **where, stamped=event.stamped)
        if not event.stamped:
            self._log.warning("unstamped", message=_UNSTAMPED)

    def _ended(self, event: MatchEnded) -> None:
        result = event.result
        self._log.info(
            "match_ended",
            **self._about(result.match),
            winner=None if result.winner is None else result.match.teams[result.winner],
            reason=result.reason,
            detail=result.detail,
            scores=result.scores,
            turns=result.turns,
            thought=[_ms(seconds) for seconds in result.thought],
            faults=result.faults,
            seconds=_ms(result.seconds),
            done=event.done,
            total=event.total,
        )

    def _decided(self, event: DecisionTaken) -> None:
        decision = event.decision
        self._log.info(
            "decision",
            what=described(decision, self.contest, event.match),
            **{name: getattr(decision, name) for name in ("kind", "team", "match", "by", "why")},
            event_number=decision.event,
            done=event.done,
            total=event.total,
        )

    def _about(self, match: Match) -> Fields:
        names = [self._name(team) for team in match.teams]
        return {
            "match": match.number,
            "event_number": match.event,
            "round": match.round,
            "game": match.game,
            "teams": match.teams,
            "names": names,
        }

    def _player(self, match: Match, player: int) -> Fields:
        team = match.teams[player]
        return {"match": match.number, "team": team, "name": self._name(team)}

    def _name(self, team: int | None) -> str | None:
        return None if team is None else self.contest.team_name(team)


def _event(event: ContestEvent) -> Fields:
    what = {"name": event.name, "game": event.game.name, "options": event.options, "format": event.format.name}
    return {**what, "teams": len(event.teams)}


def _incident(event: Incident) -> Fields:
    what = {"code": event.code, "team": event.team, "address": event.address}
    return {**what, "detail": event.detail, "first_bytes": event.first_bytes}


def _ms(seconds: float) -> float:
    """Rounded to a tenth of a millisecond: more is noise."""
    return round(seconds, 4)


# --- from a line to the disk ------------------------------------------------------------------------------------


def _logger(handler: logging.Handler) -> structlog.stdlib.BoundLogger:
    """A logger of our own, which no other code's logging configuration reaches."""
    logger = logging.Logger("getstep_server")
    logger.addHandler(handler)
    processors = [structlog.stdlib.add_log_level, _add_time, _hand_over]
    wrapped = structlog.wrap_logger(logger, processors=processors, wrapper_class=structlog.stdlib.BoundLogger)
    bound: structlog.stdlib.BoundLogger = wrapped.bind()
    return bound


def _add_time(_logger: Any, _method: str, fields: Any) -> Any:
    fields["time"] = utc_time(time.time())
    return fields


def _hand_over(_logger: Any, _method: str, fields: Any) -> tuple[tuple[Any], dict[str, Any]]:
    """The last step in the event loop: the fields become a log record's message, to be rendered later."""
    return (fields,), {}


class _Queued(QueueHandler):
    """Queues records as they are. One that finds the queue full is dropped and counted, unless ``patient``."""

    patient = False

    def __init__(self) -> None:
        self.lines: queue.Queue[logging.LogRecord | None] = queue.Queue(LOG_QUEUE_LINES)
        super().__init__(self.lines)
        self.dropped = 0

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """Nothing: the standard library would render it here."""
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        """Wait for room only at the end."""
        try:
            self.lines.put(record, block=self.patient)
        except queue.Full:
            self.dropped += 1


class _File(RotatingFileHandler):
    """The file. What cannot be written is counted."""

    failed = 0

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - logging's names
        """The standard library would print a traceback for each line."""
        self.failed += 1


def _open(path: Path) -> _File:
    try:
        return _File(path, maxBytes=LOG_FILE_BYTES, backupCount=LOG_FILES_KEPT, encoding="ascii")
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from error


class _Writer(QueueListener):
    """The thread. As soon as a line can be written it tells how many could not."""

    def __init__(self, queued: _Queued, file: _File) -> None:
        super().__init__(queued.lines, file)
        self._queued = queued
        self._file = file
        self._told = 0

    def handle(self, record: logging.LogRecord) -> None:
        """Write one line, and what there is to say about lost ones."""
        failed = self._file.failed
        super().handle(record)
        lost = self._queued.dropped + self._file.failed
        if lost > self._told and failed == self._file.failed:
            fields = {"event": "lines_lost", "level": "warning", "time": utc_time(time.time())}
            super().handle(logging.makeLogRecord({"msg": {**fields, "count": lost - self._told}}))
            self._told = lost

    def enqueue_sentinel(self) -> None:
        """Wait for room: the standard library would raise on a full queue, and never end."""
        self._queued.lines.put(None)


class _Lines(logging.Formatter):
    """Renders a record's fields as JSON, without tokens."""

    _render = structlog.processors.JSONRenderer()

    def __init__(self, tokens: Iterable[str]) -> None:
        super().__init__()
        forms = {form for token in tokens for form in (token, printable(token), token.encode().hex(" "))}
        self._secret = re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True))))
        self._rendered_secrets = [json.dumps(form)[1:-1] for form in forms]

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end. The handler asks twice: whether it fits into the file, and to write it."""
        if not isinstance(record.msg, str):
            record.msg = self._line(record.msg)
        return record.msg

    def _line(self, fields: Fields) -> str:
        fields = {key: fields[key] for key in ("time", "level", "event")} | fields
        line = self._as_json(fields)
        if any(secret in line for secret in self._rendered_secrets):  # much faster than the pattern
            fields = _each_text(fields, lambda text: self._secret.sub("(token)", text))
            line = self._as_json(fields)
        return line if len(line) <= LOG_TEXT_CHARS else self._as_json(_each_text(fields, _shortened))

    def _as_json(self, fields: Fields) -> str:
        return str(self._render(None, "", fields))


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    """``value`` with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _each_text(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_each_text(item, change) for item in value]
    return value


def _shortened(text: str) -> str:
    half = LOG_TEXT_CHARS // 2
    return text if len(text) <= LOG_TEXT_CHARS else f"{text[:half]} … {text[-half:]}"
