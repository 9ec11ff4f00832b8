"""The contest's log: contest.log in the contest folder. Each line is a JSON object, in the order of the events.

It records connections, matches and errors, but not every move. The event loop never waits for the disk: it queues
the fields of a line, and a thread renders and writes them. If the disk is too slow or full, lines are lost. Lost
lines are counted and reported, and the contest continues.

JSON is rendered as ASCII, so that no name or message can forge a line or control a terminal. Tokens are removed
from all text that clients send.
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
from logging.handlers import QueueListener, RotatingFileHandler
from pathlib import Path
from typing import Any, TypeAlias

from getstep_server import __version__
from getstep_server.config.contest import Contest
from getstep_server.config.event import ContestEvent
from getstep_server.errors import ConfigError
from getstep_server.events import (
    BotAnswers,
    BotHangs,
    ContestStarted,
    DecisionTaken,
    Event,
    IncidentsSummed,
    Listening,
    MatchEnded,
    MatchStarted,
    Notice,
    PlayerAskedAgain,
    PlayerStalled,
    Repeatable,
    ServerFault,
    ServerLate,
    TeamArrived,
    TeamLeft,
    TeamsChanged,
    Throttled,
    TurnFaulted,
    Waiting,
)
from getstep_server.incident import Incident
from getstep_server.limits import LOG_FILE_BYTES, LOG_FILES_KEPT, LOG_QUEUE_LINES, LOG_TEXT_CHARS
from getstep_server.records.decision import describe_decision
from getstep_server.records.match import Match
from getstep_server.text import escape_control_chars, utc_time

Fields: TypeAlias = dict[str, Any]

_UNSTAMPED = (
    "this system has no receive timestamps: a thinking time ends when the server reads the answer,"
    " which may be some milliseconds after it arrived"
)


def log_path(folder: Path) -> Path:
    return folder / "contest.log"


class ContestLog:
    """A consumer of events that logs them.

    It never blocks and never raises. Events that repeat are logged when `EventThrottle` passes them on, as
    `Throttled`.

    Args:
        contest: for the folder, the names, and the tokens that must not be written.

    Raises:
        ConfigError: the file cannot be written.
    """

    def __init__(self, contest: Contest) -> None:
        self.contest = contest
        self._queue = _Queue()
        self._file = _open(log_path(contest.folder))
        self._tokens = set[str]()
        self._hide_tokens()
        self._writer = _Writer(self._queue, self._file)
        self._writer.start()
        self._write(
            "info",
            "run_began",
            contest=contest.name,
            events=[_event(event) for event in contest.events],
            teams=len(contest.teams),
            software=f"getstep-server {__version__}, Python {platform.python_version()}, {platform.platform()}",
        )

    def _hide_tokens(self) -> None:
        """Keep the tokens of all teams out of the file: those of now, and those that they had before."""
        self._tokens |= {team.token for team in self.contest.teams.values() if team.token}
        self._file.setFormatter(_Lines(self._tokens))

    def close(self, outcome: str) -> None:
        """Log the outcome of the run, write the queued lines and close the file. Log nothing afterwards."""
        # The run is over: waiting holds nothing up, and its last line must not be the one that is lost.
        self._queue.patient = True
        self._write("info", "run_ended", how=outcome)
        self._writer.stop()
        with contextlib.suppress(OSError):  # a full disk, again
            self._file.close()

    def __call__(self, event: Event) -> None:
        match event:
            case Throttled(what, count):
                self._throttled(what, count)
            case MatchStarted(match, turns):
                self._write("info", "match_started", **self._about(match), turns=turns)
            case Notice():
                if isinstance(event, TeamsChanged):
                    self._hide_tokens()
                self._write(event.level, event.logged, **self._fields(event))
            case MatchEnded():
                self._ended(event)
            case DecisionTaken():
                self._decided(event)
            case ContestStarted(done, total):
                self._write("info", "contest_started", done=done, total=total)
            case Listening():
                self._listening(event)
            case IncidentsSummed(total, most):
                rows = [_incident(first) | {"count": count} for first, count in most]
                self._write("info", "incidents_summed", total=total, most=rows)

    def _write(self, level: str, event: str, /, **fields: Any) -> None:
        """Queue a line. The thread renders it."""
        self._queue.put({"time": utc_time(time.time()), "level": level, "event": event, **fields})

    # --- events as lines ---

    def _throttled(self, event: Repeatable, count: int) -> None:
        match event:
            case Incident(team=team):
                self._write("warning", "incident", **_incident(event), name=self._name(team), count=count)
            case TeamArrived(team, address, client, again, here):
                who = {"team": team, "name": self._name(team), "here": here}
                self._write(
                    "info", "team_arrived", **who, address=address, client=client, again=again, this_minute=count
                )
            case TeamLeft(team, why, here):
                who = {"team": team, "name": self._name(team), "here": here}
                self._write("info", "team_left", **who, why=why, this_minute=count)
            case TurnFaulted(match, player, code, detail, thought):
                who = self._player(match, player)
                self._write(
                    "info", "turn_faulted", **who, code=code, detail=detail, thought=_ms(thought), count=count
                )
            case PlayerStalled(match, player):
                self._write("warning", "player_stalled", **self._player(match, player), count=count)
            case PlayerAskedAgain(match, player, skipped):
                who = self._player(match, player)
                self._write("info", "player_asked_again", **who, skipped=skipped, count=count)
            case BotHangs(team, number, misses):
                who = {"team": team, "name": self._name(team), "match": number}
                self._write("warning", "bot_hangs", **who, misses=misses, this_minute=count)
            case BotAnswers(team, number, why):
                who = {"team": team, "name": self._name(team), "match": number}
                self._write("info", "bot_answers", **who, why=why, this_minute=count)
            case ServerLate(match, player, seconds):
                self._write(
                    "warning", "server_late", **self._player(match, player), seconds=_ms(seconds), this_minute=count
                )
            case ServerFault(where, trace):
                self._write("error", "server_fault", where=where, trace=trace, count=count)
            case Waiting(teams, _, seconds):
                names = [self._name(team) for team in teams]
                most = {} if seconds is None else {"at_most_seconds": seconds}
                self._write("info", "waiting", teams=list(teams), names=names, **most, this_minute=count)

    def _listening(self, event: Listening) -> None:
        where = {"host": event.host, "port": event.port, "classic_port": event.classic_port}
        self._write("info", "listening", **where, stamped=event.stamped)
        if not event.stamped:
            self._write("warning", "unstamped", message=_UNSTAMPED)

    def _ended(self, event: MatchEnded) -> None:
        result = event.result
        self._write(
            "info",
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
        self._write(
            "info",
            "decision",
            what=describe_decision(decision, self.contest, event.match),
            **{name: getattr(decision, name) for name in ("kind", "team", "match", "by", "why")},
            event_number=decision.event,
            done=event.done,
            total=event.total,
        )

    def _fields(self, event: Notice) -> Fields:
        """Return all fields of an event, those of a match and the name of a team included."""
        fields: Fields = {}
        for name in event.__dataclass_fields__:  # type: ignore[attr-defined]  # each event is a dataclass
            value = getattr(event, name)
            fields |= self._about(value) if isinstance(value, Match) else {name: value}
            if name == "team":
                fields["name"] = self._name(value)
        return fields

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
    """Return seconds, rounded to a tenth of a millisecond: further digits are noise."""
    return round(seconds, 4)


# --- from a line to the disk ------------------------------------------------------------------------------------


class _Queue:
    """The queue of lines for the thread. If it is full, a line is dropped and counted, unless ``patient``."""

    patient = False

    def __init__(self) -> None:
        self.records: queue.Queue[logging.LogRecord | None] = queue.Queue(LOG_QUEUE_LINES)
        self.dropped = 0

    def put(self, fields: Fields) -> None:
        """Queue the fields of a line. Wait for room only if ``patient``: when the log is closed."""
        try:
            self.records.put(_record(fields), block=self.patient)
        except queue.Full:
            self.dropped += 1


def _record(fields: Fields) -> logging.LogRecord:
    """Return a record for the handlers of the standard library, which rotate files and count failed lines."""
    return logging.makeLogRecord({"msg": fields})


class _File(RotatingFileHandler):
    """The log file, which counts the lines that cannot be written."""

    failed = 0

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - logging's names
        """Count the failure. The standard library would print a traceback for each line."""
        self.failed += 1


def _open(path: Path) -> _File:
    try:
        return _File(path, maxBytes=LOG_FILE_BYTES, backupCount=LOG_FILES_KEPT, encoding="ascii")
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from error


class _Writer(QueueListener):
    """The thread that writes. As soon as it can write a line, it logs the number of lost ones."""

    def __init__(self, lines: _Queue, file: _File) -> None:
        super().__init__(lines.records, file)
        self._lines = lines
        self._file = file
        self._reported = 0

    def handle(self, record: logging.LogRecord) -> None:
        """Write one line, then the number of lines lost since the last report."""
        failed = self._file.failed
        super().handle(record)
        lost = self._lines.dropped + self._file.failed
        if lost > self._reported and failed == self._file.failed:
            fields = {"time": utc_time(time.time()), "level": "warning", "event": "lines_lost"}
            super().handle(_record({**fields, "count": lost - self._reported}))
            self._reported = lost

    def enqueue_sentinel(self) -> None:
        """Wait for room: the standard library would raise on a full queue, and never end."""
        self._lines.records.put(None)


class _Lines(logging.Formatter):
    """The renderer of fields as JSON without tokens. It uses ``json``, because msgspec cannot write ASCII only."""

    def __init__(self, tokens: Iterable[str]) -> None:
        super().__init__()
        forms = {form for token in tokens for form in (token, escape_control_chars(token), token.encode().hex(" "))}
        # the longest first: a token may begin with another one
        self._secret = re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True))))
        # as they stand in a line, without the quotes
        self._rendered_secrets = [json.dumps(form)[1:-1] for form in forms]

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without its end. The handler calls this twice: to measure the line, and to write it."""
        if not isinstance(record.msg, str):
            record.msg = self._line(record.msg)
        return record.msg

    def _line(self, fields: Fields) -> str:
        line = _as_json(fields)
        if any(secret in line for secret in self._rendered_secrets):  # much faster than the pattern
            fields = _each_text(fields, lambda text: self._secret.sub("(token)", text))
            line = _as_json(fields)
        return line if len(line) <= LOG_TEXT_CHARS else _as_json(_each_text(fields, _shortened))


def _as_json(fields: Fields) -> str:
    """Return JSON in ASCII. A value without a JSON form is written as its `repr`, so that no line is lost."""
    return json.dumps(fields, default=repr)


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
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
