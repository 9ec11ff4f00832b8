"""The log: every line is true, harmless and bounded, and nothing waits for it."""

from __future__ import annotations

import errno
import logging
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec.structs import replace as replace_fields

from getstep_server.cli.main import run_command
from getstep_server.errors import ConfigError
from getstep_server.events import (
    Announced,
    AnnouncedAsAnother,
    BotAnswers,
    BotHangs,
    CertificateNews,
    ClusterChanged,
    ClusterConnected,
    ClusterTrouble,
    ContestOver,
    ContestStarted,
    DatabaseAway,
    DatabaseLocked,
    DecisionTaken,
    DiskFull,
    DiskLow,
    DiskUsable,
    Event,
    FriendlyEnded,
    FriendlyStarted,
    HouseBotEnded,
    IncidentsSummed,
    JournalCut,
    JudgeEnded,
    Listening,
    MatchCalledOff,
    MatchEnded,
    MatchNotResumed,
    MatchParked,
    MatchStarted,
    MovePlayed,
    NotAnnounced,
    PageEnded,
    PauseComesLater,
    PlayerAskedAgain,
    PlayerStalled,
    QuestionAsked,
    Repeatable,
    ServerFault,
    ServerLate,
    StandbyMissing,
    StandbyReady,
    StartAsked,
    TeamArrived,
    TeamLeft,
    TeamsChanged,
    TeamsUnreadable,
    Throttled,
    TurnFaulted,
    Waiting,
    WorkersRefused,
)
from getstep_server.incident import Incident
from getstep_server.records.decision import Decision
from getstep_server.records.reasons import DecisionKind
from getstep_server.runtime import contest_log as log_module
from getstep_server.runtime.contest_log import ContestLog, log_path
from getstep_server.tournament.combined import Tables
from tests.support.contests import make_contest, token_of
from tests.support.patience import PATIENCE_SECONDS
from tests.support.records import SCHEDULE, lines_of, result_of

MATCH = SCHEDULE[0]
FIRST, SECOND = MATCH.teams
ABOUT = {
    "match": 1,
    "round": 1,
    "game": "pseudo_tonga",
    "teams": [FIRST, SECOND],
    "names": [f"Team {FIRST}", f"Team {SECOND}"],
}

EVIL = 'a"b\\c\nd\re\x1b[31mf\u202eg\u2066h\x7fi\u2028j\ud800k\x00l\x9bm'
"""A quote, a backslash, line ends, colours, text that runs backwards, half a character, NUL."""

ADJUDICATION = Decision(
    DecisionKind.ADJUDICATE, "Grace", "it was agreed", "2024-10-05T14:30:00.000Z", match=1, winner=1
)
TOLD: list[tuple[Event, dict[str, Any]]] = [
    (StandbyMissing(7, 5), {"level": "error", "event": "standby_missing", "place": 7, "copied": 5}),
    (StandbyReady(7), {"level": "info", "event": "standby_ready", "place": 7}),
    (PageEnded(1, 2.0), {"level": "warning", "event": "page_ended", "code": 1, "again_in": 2.0}),
    (JudgeEnded(-9, 1.0), {"level": "warning", "event": "judge_ended", "code": -9, "again_in": 1.0}),
    (HouseBotEnded(2, -9, 4.0), {"level": "warning", "event": "house_bot_ended", "team": 2, "again_in": 4.0}),
    (Announced("Autumn"), {"level": "info", "event": "announced", "name": "Autumn"}),
    (
        AnnouncedAsAnother("Autumn (ada)", "10.0.0.66"),
        {"level": "warning", "event": "announced", "name": "Autumn (ada)", "taken_by": "10.0.0.66"},
    ),
    (CertificateNews("It expires."), {"level": "warning", "event": "certificate", "why": "It expires."}),
    (NotAnnounced("no network"), {"level": "warning", "event": "not_announced", "why": "no network"}),
    (Listening("::", 7777, None, True), {"level": "info", "event": "listening", "port": 7777, "stamped": True}),
    (
        ClusterConnected("tcp://lab:8786"),
        {"level": "info", "event": "cluster_connected", "where": "tcp://lab:8786"},
    ),
    (ClusterChanged(2, 8), {"level": "info", "event": "cluster_changed", "workers": 2, "slots": 8}),
    (
        WorkersRefused(("w1", "w2"), "no sandbox"),
        {"level": "warning", "event": "workers_refused", "names": ["w1", "w2"], "why": "no sandbox"},
    ),
    (ClusterTrouble("gone"), {"level": "warning", "event": "cluster_trouble", "why": "gone"}),
    (ContestStarted(3, 12), {"level": "info", "event": "contest_started", "done": 3, "total": 12}),
    (MatchStarted(MATCH, 17), {"level": "info", "event": "match_started", **ABOUT, "turns": 17}),
    (
        MatchNotResumed(MATCH, "its files are lost"),
        {"level": "warning", "event": "match_not_resumed", **ABOUT, "why": "its files are lost"},
    ),
    (
        MatchParked(MATCH, 3, "its process has died"),
        {"level": "error", "event": "match_parked", **ABOUT, "times": 3, "why": "its process has died"},
    ),
    (FriendlyStarted(MATCH), {"level": "info", "event": "friendly_started", **ABOUT}),
    (FriendlyEnded(MATCH, ""), {"level": "info", "event": "friendly_ended", **ABOUT, "how": ""}),
    (StartAsked("the host Ada", None), {"level": "info", "event": "start_asked", "by": "the host Ada", "at": None}),
    (PauseComesLater(MATCH), {"level": "warning", "event": "pause_comes_later", **ABOUT}),
    (
        QuestionAsked(1, 3, "Why?"),
        {"level": "info", "event": "question", "number": 1, "team": 3, "name": "Team 3", "question": "Why?"},
    ),
    (TeamsChanged((3,)), {"level": "info", "event": "teams_changed", "teams": [3]}),
    (
        TeamsUnreadable("teams.toml:3: ?"),
        {"level": "warning", "event": "teams_unreadable", "why": "teams.toml:3: ?"},
    ),
    (JournalCut("segment-1.journal", 9), {"level": "warning", "event": "journal_cut", "line": 9}),
    (
        DiskLow("autumn", 9, 2),
        {"level": "warning", "event": "disk_low", "folder": "autumn", "free": 9, "least": 2},
    ),
    (DiskFull("autumn", "no room"), {"level": "error", "event": "disk_full", "folder": "autumn", "why": "no room"}),
    (
        DatabaseLocked("autumn", "busy"),
        {"level": "error", "event": "database_held", "folder": "autumn", "why": "busy"},
    ),
    (
        DatabaseAway("autumn", "refused"),
        {"level": "error", "event": "database_away", "folder": "autumn", "why": "refused"},
    ),
    (ContestOver(), {"level": "info", "event": "contest_over"}),
    (DiskUsable("autumn"), {"level": "info", "event": "disk_usable", "folder": "autumn"}),
    (
        MatchEnded(result_of(MATCH), 4, 12, lambda: Tables({})),
        {
            "level": "info",
            "event": "match_ended",
            **ABOUT,
            "winner": FIRST,
            "reason": "finished",
            "detail": "Black ‘wins’",
            "scores": [3, 2],
            "turns": 9,
            "thought": [0.25, 1.5],
            "faults": [0, 2],
            "seconds": 3.5,
            "done": 4,
            "total": 12,
        },
    ),
    (
        Throttled(TeamArrived(2, "10.0.0.2", "bot 1.0", True), 3),
        {
            "level": "info",
            "event": "team_arrived",
            "team": 2,
            "name": "Team 2",
            "address": "10.0.0.2",
            "client": "bot 1.0",
            "again": True,
            "here": 1,
            "this_minute": 3,
        },
    ),
    (
        Throttled(TeamLeft(2, "connection lost"), 11),
        {"level": "info", "event": "team_left", "team": 2, "why": "connection lost", "here": 0, "this_minute": 11},
    ),
    (
        Throttled(Incident("out_of_turn", "an answer", "10.0.0.2", 2, "00 01"), 100),
        {
            "level": "warning",
            "event": "incident",
            "code": "out_of_turn",
            "team": 2,
            "name": "Team 2",
            "address": "10.0.0.2",
            "detail": "an answer",
            "first_bytes": "00 01",
            "count": 100,
        },
    ),
    (
        Throttled(TurnFaulted(MATCH, 1, "illegal_move", "not empty", 0.12345678), 1),
        {
            "level": "info",
            "event": "turn_faulted",
            "match": 1,
            "team": SECOND,
            "code": "illegal_move",
            "detail": "not empty",
            "thought": 0.1235,
            "count": 1,
        },
    ),
    (
        Throttled(PlayerStalled(MATCH, 1), 1),
        {"level": "warning", "event": "player_stalled", "match": 1, "team": SECOND, "count": 1},
    ),
    (
        Throttled(PlayerAskedAgain(MATCH, 1, 17), 10),
        {
            "level": "info",
            "event": "player_asked_again",
            "match": 1,
            "team": SECOND,
            "skipped": 17,
            "count": 10,
        },
    ),
    (
        Throttled(BotHangs(SECOND, 1, 3), 1),
        {"level": "warning", "event": "bot_hangs", "match": 1, "team": SECOND, "misses": 3, "this_minute": 1},
    ),
    (
        Throttled(BotAnswers(SECOND, 1, "it has left"), 2),
        {"level": "info", "event": "bot_answers", "match": 1, "team": SECOND, "why": "it has left"},
    ),
    (
        Throttled(ServerLate(MATCH, 0, 0.25), 1),
        {"level": "warning", "event": "server_late", "match": 1, "team": FIRST, "seconds": 0.25},
    ),
    (
        Throttled(ServerFault("match 1", "Traceback …\n  KeyError"), 1),
        {"level": "error", "event": "server_fault", "where": "match 1", "trace": "Traceback …\n  KeyError"},
    ),
    (
        DecisionTaken(ADJUDICATION, MATCH, 5, 12, lambda: Tables({})),
        {
            "level": "info",
            "event": "decision",
            "what": f"match 1 (Team {FIRST} – Team {SECOND}) is won by Team {SECOND}",
            "kind": "adjudicate",
            "team": None,
            "match": 1,
            "event_number": None,
            "by": "Grace",
            "why": "it was agreed",
            "done": 5,
            "total": 12,
        },
    ),
    (
        MatchCalledOff(MATCH, "it was agreed"),
        {
            "level": "info",
            "event": "match_called_off",
            "match": 1,
            "teams": [FIRST, SECOND],
            "why": "it was agreed",
        },
    ),
    (
        Throttled(Waiting((2, 3)), 1),
        {"level": "info", "event": "waiting", "teams": [2, 3], "names": ["Team 2", "Team 3"]},
    ),
    (
        IncidentsSummed(7, ((Incident("flood", "too much", "10.0.0.9", None, "ff"), 7),)),
        {
            "level": "info",
            "event": "incidents_summed",
            "total": 7,
            "most": [
                {
                    "code": "flood",
                    "team": None,
                    "address": "10.0.0.9",
                    "detail": "too much",
                    "first_bytes": "ff",
                    "count": 7,
                }
            ],
        },
    ),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def log(folder: Path) -> Iterator[ContestLog]:
    """A log that the test closes, or that is closed after it."""
    opened = ContestLog(make_contest(folder, teams=3))
    yield opened
    if opened._writer._thread is not None:
        opened.close("left open")


def written(log: ContestLog, *events: Event) -> list[dict[str, Any]]:
    """Return the lines of the log for these events."""
    for event in events:
        log(event)
    log.close("finished")
    first, *between, last = lines_of(log.contest.folder)
    assert (first["event"], last["event"], last["how"]) == ("run_began", "run_ended", "finished")
    return between


# --- what is in it ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("event", "fields"), TOLD, ids=lambda value: getattr(value, "get", lambda _: "")("event"))
def test_an_event_is_one_line(log: ContestLog, event: Event, fields: dict[str, Any]) -> None:
    (line,) = written(log, event)
    assert line | fields == line
    assert list(line)[:3] == ["time", "level", "event"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])


def test_no_kind_of_event_is_forgotten() -> None:
    told = {type(event) for event, _ in TOLD}
    noted = {type(event.event) for event, _ in TOLD if isinstance(event, Throttled)}
    assert noted == set(get_args(Repeatable))
    assert told | noted | {MovePlayed} == set(get_args(Event))


def test_no_line_for_a_move_nor_for_what_was_not_noted(log: ContestLog) -> None:
    assert written(log, MovePlayed(MATCH, 0, (3, 4), 0.1, True), TeamLeft(1, "gone"), Waiting((1,))) == []


def test_a_line_is_ascii_json_with_time_level_and_event_first(
    log: ContestLog, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte, because other programs read it."""
    monkeypatch.setattr(time, "time", lambda: 1.7e9)
    log(DiskFull("autumn", "д\n"))
    log.close("finished")
    assert log_path(folder).read_bytes().splitlines()[1] == (
        b'{"time": "2023-11-14T22:13:20.000Z", "level": "error", "event": "disk_full",'
        rb' "folder": "autumn", "why": "\u0434\n"}'
    )


def test_a_value_without_a_form_in_json_loses_no_line(log: ContestLog) -> None:
    (line,) = written(log, JournalCut(Path("x"), 1))  # type: ignore[arg-type]  # a value that the event's type does not allow
    assert line["path"] == repr(Path("x"))


def test_a_draw_has_no_winner(log: ContestLog) -> None:
    result = result_of(MATCH)
    drawn = type(result)(**{name: getattr(result, name) for name in result.__struct_fields__} | {"winner": None})
    (line,) = written(log, MatchEnded(drawn, 1, 12, lambda: Tables({})))
    assert line["winner"] is None


def test_a_system_without_stamps_is_warned_of(log: ContestLog) -> None:
    listening, warning = written(log, Listening("::", 7777, 8888, False))
    assert (listening["stamped"], listening["classic_port"]) == (False, 8888)
    assert (warning["level"], warning["event"]) == ("warning", "unstamped")
    assert "a thinking time ends when the server reads the answer" in warning["message"]


def test_the_first_line_says_what_runs_and_the_last_how_it_ended(log: ContestLog, folder: Path) -> None:
    log.close("Traceback: disk full")
    began, ended = lines_of(folder)
    assert (began["contest"], began["teams"]) == ("Test", 3)
    hop = {"name": "hop", "game": "hop", "options": {}, "format": "round_robin", "teams": 3}
    assert began["events"] == [hop]
    assert began["software"].startswith("getstep-server ")
    assert f", Python {platform.python_version()}, " in began["software"]
    assert ended["how"] == "Traceback: disk full"


def test_a_later_run_appends_to_the_same_file(folder: Path) -> None:
    for how in ("stopped", "finished"):
        ContestLog(make_contest(folder)).close(how)
    assert [line.get("how") for line in lines_of(folder)] == [None, "stopped", None, "finished"]


# --- harmless -----------------------------------------------------------------------------------------------------


def test_text_from_outside_cannot_forge_lines_or_control_a_terminal(log: ContestLog, folder: Path) -> None:
    arrived, incident = written(
        log,
        Throttled(TeamArrived(2, EVIL, EVIL, False), 1),
        Throttled(Incident(EVIL, EVIL, EVIL, None, EVIL), 1),
    )
    assert (arrived["client"], arrived["address"]) == (EVIL, EVIL)
    assert [incident[key] for key in ("code", "detail", "address", "first_bytes")] == [EVIL] * 4
    text = log_path(folder).read_bytes()
    assert text.count(b"\n") == 4
    assert re.fullmatch(rb"[ -~\n]*", text)


def test_a_token_is_struck_out_of_whatever_holds_it(log: ContestLog, folder: Path) -> None:
    token = token_of(2)
    hexadecimal = token.encode().hex(" ")
    bad = Incident("bad_msgpack", f"got {token!r}", "10.0.0.2", None, f"00 {hexadecimal} 0a")
    arrived, incident, fault, summed = written(
        log,
        Throttled(TeamArrived(2, "10.0.0.2", f"bot --token {token}", False), 1),
        Throttled(bad, 1),
        Throttled(TurnFaulted(MATCH, 0, "raised", f"play(token={token})", 0.1), 1),
        IncidentsSummed(1, ((bad, 1),)),
    )
    assert arrived["client"] == "bot --token (token)"
    assert (incident["detail"], incident["first_bytes"]) == ("got '(token)'", "00 (token) 0a")
    assert fault["detail"] == "play(token=(token))"
    assert summed["most"][0]["detail"] == "got '(token)'"
    text = log_path(folder).read_text("ascii")
    assert token not in text
    assert hexadecimal not in text


def test_a_token_is_struck_out_in_the_form_it_takes_in_json(folder: Path) -> None:
    contest = make_contest(folder)
    token = 'geheim"\\\u00fc\u202e'
    contest.teams[1] = replace_fields(contest.teams[1], token=token)
    log = ContestLog(contest)
    shown = token.replace("\u202e", "\\u202e")
    arrived, left = written(
        log, Throttled(TeamArrived(1, "::1", token, False), 1), Throttled(TeamLeft(1, shown), 1)
    )
    assert (arrived["client"], left["why"]) == ("(token)", "(token)")


def test_a_long_text_loses_its_middle(log: ContestLog) -> None:
    trace = "first line\n" + "x" * 80_000 + "\nlast line"
    (line,) = written(log, Throttled(ServerFault("match 1", trace), 1))
    assert line["trace"].startswith("first line\nx")
    assert line["trace"].endswith("x\nlast line")
    assert len(line["trace"]) < 8010


def test_no_other_logging_is_touched(log: ContestLog, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("getstep_server").error("somebody else's")
    assert [line["event"] for line in written(log, ContestStarted(0, 1))] == ["contest_started"]
    assert [record.message for record in caplog.records] == ["somebody else's"]


# --- bounded ------------------------------------------------------------------------------------------------------


def test_files_are_rotated_and_the_oldest_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "LOG_FILE_BYTES", 2000)
    monkeypatch.setattr(log_module, "LOG_FILES_KEPT", 2)
    log = ContestLog(make_contest(folder))
    for done in range(200):
        log(ContestStarted(done, 200))
    log.close("finished")
    assert sorted(path.name for path in folder.iterdir()) == ["contest.log", "contest.log.1", "contest.log.2"]
    assert all(0 < path.stat().st_size <= 2000 for path in folder.iterdir())
    *started, ended = lines_of(folder)
    assert ended["event"] == "run_ended"
    assert [line["done"] for line in started] == list(range(200 - len(started), 200))


def test_no_flood_fills_the_disk(log: ContestLog, folder: Path) -> None:
    """45 MB, of which 30 are kept: 5 MB each in the newest file and five older ones."""
    trace = "x" * 7500
    for number in range(6000):
        log(Throttled(ServerFault("match 1", trace), number))
        if number % 1000 == 0:
            log._writer.queue.join()  # type: ignore[attr-defined]  # none is lost on the way
    log.close("finished")
    sizes = [path.stat().st_size for path in folder.iterdir()]
    assert len(sizes) == 6
    assert max(sizes) <= 5_000_000
    assert sum(sizes) > 25_000_000


class StandingDisk:
    """A disk on which every write waits until it ``moves``."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.moves = threading.Event()
        self.waited_for = threading.Event()
        self._emit = log_module._File.emit
        patch.setattr(log_module._File, "emit", lambda file, record: self._when_it_moves(file, record))

    def _when_it_moves(self, file: Any, record: logging.LogRecord) -> None:
        self.waited_for.set()
        assert self.moves.wait(PATIENCE_SECONDS)
        self._emit(file, record)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandingDisk]:
    standing = StandingDisk(monkeypatch)
    yield standing
    standing.moves.set()


def test_a_hanging_disk_costs_lines_and_no_time(disk: StandingDisk, folder: Path) -> None:
    log = ContestLog(make_contest(folder))
    assert disk.waited_for.wait(PATIENCE_SECONDS)
    for done in range(5000):
        log(ContestStarted(done, 5000))  # waiting for the disk would take for ever
    assert log_path(folder).read_bytes() == b""
    disk.moves.set()
    lost, *kept = written(log)
    assert (lost["level"], lost["event"], lost["count"]) == ("warning", "lines_lost", 904)
    assert [line["done"] for line in kept] == list(range(4096))


def test_a_slow_disk_loses_nothing_that_fits_into_the_queue(disk: StandingDisk, folder: Path) -> None:
    log = ContestLog(make_contest(folder))
    for done in range(100):
        log(ContestStarted(done, 100))
    assert log_path(folder).read_bytes() == b""
    disk.moves.set()
    assert [line["done"] for line in written(log)] == list(range(100))


def test_lines_lost_to_a_full_disk_are_counted_once_there_is_room(
    log: ContestLog, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    failures = iter([OSError(errno.ENOSPC, "No space left on device")] * 3)

    def full(_file: Any, _record: logging.LogRecord) -> bool:
        for failure in failures:
            raise failure
        return False

    log._writer.queue.join()  # type: ignore[attr-defined]  # the first line is on disk
    monkeypatch.setattr(log_module._File, "shouldRollover", full)
    lines = written(log, *(ContestStarted(done, 5) for done in range(5)))
    assert [line.get("done") for line in lines] == [3, None, 4]
    assert (lines[1]["event"], lines[1]["count"]) == ("lines_lost", 3)
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_the_log_survives_a_disk_that_stays_full(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log_path(folder).symlink_to("/dev/full")
    log = ContestLog(make_contest(folder))
    for done in range(5):
        log(ContestStarted(done, 5))
    log.close("finished")
    assert log._file.failed == 7
    assert capfd.readouterr() == ("", "")


def test_a_log_that_cannot_be_opened_is_an_error_that_names_it(folder: Path) -> None:
    log_path(folder).mkdir()
    with pytest.raises(ConfigError, match=r"cannot write .*contest\.log: Is a directory"):
        ContestLog(make_contest(folder))


# --- the whole program --------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C cannot be sent to one process there")
def test_after_ctrl_c_the_log_is_complete(folder: Path) -> None:
    contest = folder / "contest"
    command = [sys.executable, "-m", "getstep_server"]
    assert run_command(["init", str(contest)]) == 0
    assert run_command(["teams", "add", str(contest), "A", "B"]) == 0
    serve = [*command, "run", str(contest), "--plain", "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(serve, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        while (listening := re.search(r"port (\d+)", server.stdout.readline())) is None:
            assert server.poll() is None
        with socket.create_connection(("127.0.0.1", int(listening[1])), timeout=PATIENCE_SECONDS) as client:
            assert client.recv(1)  # it serves, and by now it minds signals
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=PATIENCE_SECONDS)
    assert server.returncode == 130
    lines = lines_of(contest)
    assert [line["event"] for line in lines] == ["run_began", "listening", "incidents_summed", "run_ended"]
    assert lines[-1]["how"] == "stopped"
