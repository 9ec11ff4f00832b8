"""Scoresheets and their journals: what was written comes back, a torn line is cut, and nothing else is taken."""

from __future__ import annotations

import errno
import json
import os
import zlib
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio

from getstep_engines import GAMES
from getstep_server import journal, limits
from getstep_server.contest import Contest
from getstep_server.course import Course, WrongTurn
from getstep_server.disk import Disk
from getstep_server.events import DiskFull, DiskUsable, Event, Incident
from getstep_server.game_record import head_of_game, parse, result_of
from getstep_server.journal import Journal, JournalError, read
from getstep_server.results import Result
from getstep_server.schedule import Match
from getstep_server.scoresheet import Scoresheet, Scoresheets
from tests.server.players import make_contest

MATCH = Match(7, 1, 3, 2, 1, 2, "hop")


def match_of(game: str) -> Match:
    options = {name: option.default for name, option in GAMES[game].options.items()}
    return Match(7, 1, 3, 2, 1, 2, game, options)


class Kept:
    """A contest with a place for scoresheets."""

    def __init__(self, folder: Path, game: str = "hop") -> None:
        self.events: list[Event] = []
        self.contest: Contest = make_contest(folder, event={"game": game})
        self.disk = Disk(folder, self.events.append)
        self.sheets = Scoresheets(self.contest, self.disk)
        self.match = match_of(game)
        self.path = self.contest.running / "match-7-1.journal"
        self.contest.running.mkdir()

    def begin(self, attempt: int = 1) -> Scoresheet:
        path = self.path.with_name(f"match-7-{attempt}.journal")
        return Scoresheet.begin(path, head_of_game(self.contest, self.match, attempt, 0.0), self.disk)

    def again(self, recorded: Any = ()) -> tuple[list[Scoresheet], list[Any]]:
        return self.sheets.unfinished([self.match], set(recorded))

    def resumed(self) -> Scoresheet:
        (sheet,), _ = self.again()
        return sheet


async def play(sheet: Scoresheet, seed: int, turns: int) -> None:
    """Random turns, some of them faults."""
    dice, course = Random(seed), sheet.course
    while course.verdict is None and course.turns < turns:
        player, ms = course.state.to_move, round(dice.uniform(0, 30), 3)
        if dice.random() < 0.02:
            course.fault("missed_limit", ms, away=True)
            await sheet.write({"player": player, "fault": "missed_limit", "detail": "x", "ms": ms, "away": True})
        else:
            move = json.loads(json.dumps(dice.choice(list(course.state.legal_moves()))))
            course.move(move, ms)
            await sheet.write({"player": player, "move": move, "ms": ms, "timed": "kernel"})


def facts(course: Course) -> dict[str, Any]:
    """All that a match goes on from."""
    state, clocks = course.state, course.clocks
    kept = {name: getattr(course, name) for name in ("turns", "move_number", "faults", "misses", "verdict")}
    last = json.loads(json.dumps(course.last_moves))
    return {**kept, "board": state.board(), "on_turn": state.to_move, "thought": clocks.thought_ms, "last": last}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("game", GAMES)
async def test_a_match_goes_on_where_it_was(tmp_path: Path, game: str, seed: int) -> None:
    kept = Kept(tmp_path, game)
    sheet = kept.begin()
    await play(sheet, seed, Random(seed).choice([0, 1, 15, 1000]))
    sheet.close()
    resumed = kept.resumed()
    assert facts(resumed.course) == facts(sheet.course)
    assert resumed.head == sheet.head
    await play(resumed, seed + 100, 1000)
    resumed.close()
    assert facts(kept.resumed().course) == facts(resumed.course)


async def test_the_record_has_all_that_happened(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "linkage")
    sheet = kept.begin()
    await play(sheet, 1, 3)
    for _ in range(5):
        sheet.incident(Incident("flood", "too much", "10.0.0.9", 2, "00"))
    sheet.close()
    sheet = kept.resumed()
    await play(sheet, 2, 1000)
    verdict = sheet.course.verdict
    assert verdict is not None
    result = Result(
        match=kept.match,
        winner=verdict.winner,
        reason=verdict.reason,
        detail=verdict.detail,
        scores=verdict.scores,
        turns=sheet.course.turns,
        thought=(sheet.course.clocks.thought_ms[0] / 1000, sheet.course.clocks.thought_ms[1] / 1000),
        faults=(0, 0),
        started=0.0,
        seconds=1.0,
    )
    fields = parse(sheet.record(result).content())
    assert result_of(fields) == result
    assert fields["resumed"] == [3]
    (incident,) = fields["incidents"]
    assert (incident["team"], incident["code"], incident["after_turn"]) == (2, "flood", 3)
    course = Course(GAMES["linkage"], {}, sheet.course.clocks.control, 0.1)
    for turn in fields["turns"]:
        course.apply(turn)
    assert course.verdict == verdict
    assert len([turn for turn in fields["turns"] if "pass" not in turn]) == result.turns


def test_incidents_are_bounded(tmp_path: Path) -> None:
    sheet = Kept(tmp_path).begin()
    size = (tmp_path / "running" / "match-7-1.journal").stat().st_size
    for n in range(10 * limits.GAME_INCIDENTS_KEPT):
        sheet.incident(Incident(f"code {n % 100}", "x" * 10_000, "10.0.0.9", 2, "00"))
    assert len(sheet._happened.incidents) == limits.GAME_INCIDENTS_KEPT
    assert sheet._happened.incidents[0]["count"] == 4
    grown = (tmp_path / "running" / "match-7-1.journal").stat().st_size - size
    assert grown < limits.GAME_INCIDENTS_KEPT * (limits.INCIDENT_DETAIL_CHARS + 200)


# --- what a crash or a hand does to a journal -------------------------------------------------------------------


async def test_wherever_the_last_line_is_torn_it_is_cut(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    sheet = kept.begin()
    await play(sheet, 1, 4)
    whole = kept.path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for end in range(last + 1, len(whole)):
        kept.path.write_bytes(whole[:end])
        (resumed,), (cut,) = kept.again()
        resumed.close()
        assert (cut.line, resumed.course.turns) == (5, 3)
        assert kept.path.read_bytes().startswith(whole[:last])
        assert read(kept.path, mend=False).cut is None


async def test_a_torn_pass_is_added_again(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "linkage")
    sheet = kept.begin()
    seed = 0
    while not sheet.course.state.passed:  # a game with a pass in its middle
        seed += 1
        sheet.remove()
        sheet = kept.begin()
        while sheet.course.verdict is None and not sheet.course.state.passed:
            await play(sheet, seed * 1000 + sheet.course.turns, sheet.course.turns + 1)
    sheet.close()
    text = kept.path.read_bytes()
    assert b'"pass"' in text.splitlines()[-1]
    kept.path.write_bytes(text[:-10])
    resumed = kept.resumed()
    assert facts(resumed.course) == facts(sheet.course)
    resumed.close()
    passes = [entry for entry in read(kept.path, mend=False).entries if "pass" in entry]
    assert len(passes) == len(sheet.course.state.passed)


def test_a_journal_without_its_first_line_is_of_a_match_that_never_began(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.begin().close()
    kept.path.write_bytes(kept.path.read_bytes()[:20])
    sheets, (cut,) = kept.again()
    assert (sheets, cut.line, kept.path.exists()) == ([], 1, False)


def sealed(entry: Any) -> bytes:
    text = json.dumps(entry).encode()
    return b"%08x %b\n" % (zlib.crc32(text), text)


DAMAGE: dict[str, Any] = {
    "a flipped bit": lambda lines: [lines[0], bytes([lines[1][20] ^ 1]).join([lines[1][:20], lines[1][21:]])],
    "a line without checksum": lambda lines: [lines[0], lines[1][9:]],
    "a line twice": lambda lines: [lines[0], lines[1], lines[1]],
    "an illegal move": lambda lines: [lines[0], sealed({"player": 0, "move": [[0, 0], [5, 5]], "ms": 1.0})],
    "another player's move": lambda lines: [lines[0], sealed({"player": 1, "move": [[0, 7], [0, 6]], "ms": 1.0})],
    "a pass that was none": lambda lines: [lines[0], sealed({"player": 1, "pass": True})],
    "no time": lambda lines: [lines[0], sealed({"player": 0, "move": [[0, 0], [0, 1]]})],
    "not an object": lambda lines: [lines[0], sealed([1])],
    "another kind of entry": lambda lines: [lines[0], sealed({"player": 0})],
    "odd types": lambda lines: [lines[0], sealed({"player": [], "fault": {}, "ms": "x"})],
}


@pytest.mark.parametrize("damage", DAMAGE)
async def test_anything_else_is_told_with_file_and_line(tmp_path: Path, damage: str) -> None:
    kept = Kept(tmp_path)
    sheet = kept.begin()
    await play(sheet, 1, 4)
    lines = kept.path.read_bytes().splitlines(keepends=True)
    changed = b"".join([*DAMAGE[damage](lines), lines[-1]])
    kept.path.write_bytes(changed)
    with pytest.raises(JournalError, match=r"match-7-1\.journal, line [23]: "):
        kept.again()
    assert kept.path.read_bytes() == changed


@pytest.mark.parametrize(
    "head",
    [{}, {"match": 7, "attempt": 1}, {"match": True, "attempt": 1}, {"match": 7, "attempt": 1, "teams": [1, 2]}],
)
def test_a_head_that_is_none(tmp_path: Path, head: Any) -> None:
    kept = Kept(tmp_path)
    kept.path.write_bytes(sealed(head))
    with pytest.raises(JournalError, match=r"match-7-1\.journal, line 1: "):
        kept.again()


def test_a_match_of_another_contest(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.begin().close()
    with pytest.raises(JournalError, match="not one of this contest"):
        kept.sheets.unfinished([Match(7, 1, 3, 2, 2, 1, "hop")], set())


def test_a_journal_that_fills_the_memory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MAX_JOURNAL_BYTES", 100)
    kept = Kept(tmp_path)
    kept.begin().close()
    with pytest.raises(JournalError, match="expected at most 100"):
        kept.again()


def test_a_match_on_record_needs_no_journal(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.begin().close()
    assert kept.again([(7, 1)]) == ([], [])
    assert not kept.path.exists()


def test_of_two_attempts_the_later_goes_on(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    for attempt in (10, 9):
        kept.begin(attempt).close()
    assert kept.resumed().attempt == 10
    assert [path.name for path in kept.contest.running.iterdir()] == ["match-7-10.journal"]


def test_a_turn_that_cannot_follow() -> None:
    course = Course(GAMES["hop"], {}, GAMES["hop"].time_control, 0.1)
    course.lose(0, "resigned", "", 0.0)
    with pytest.raises(WrongTurn, match="the match is over"):
        course.apply({"player": 0, "move": [[0, 0], [0, 1]], "ms": 1.0})


# --- a full disk --------------------------------------------------------------------------------------------------


class FullDisk:
    """`os.write` on a disk that takes ``room`` bytes."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._write = os.write

    def __call__(self, file: int, data: bytes) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._write(file, data[: self.room])
        self.room -= written
        return written


@pytest.mark.parametrize("room", [0, 1, 30])
async def test_a_turn_waits_for_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock, room: int
) -> None:
    kept = Kept(tmp_path)
    sheet = kept.begin()
    disk = FullDisk(room)
    monkeypatch.setattr(journal.os, "write", disk)  # type: ignore[attr-defined]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(play, sheet, 1, 3)
        await trio.sleep(10)
        assert sheet.course.turns == 1
        assert not kept.disk.usable
        sheet.incident(Incident("flood", "too much", "10.0.0.9", 2, "00"))  # meanwhile
        disk.room = 1 << 20
    assert kept.disk.usable
    assert [type(event) for event in kept.events] == [DiskFull, DiskUsable]
    sheet.close()
    assert facts(kept.resumed().course) == facts(sheet.course)


async def test_what_more_room_does_not_mend_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    kept = Kept(tmp_path)
    sheet = kept.begin()
    sheet.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        await play(sheet, 1, 3)


def test_nothing_is_left_of_a_journal_that_could_not_be_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Kept(tmp_path)
    monkeypatch.setattr(journal.os, "write", FullDisk(10))  # type: ignore[attr-defined]
    with pytest.raises(OSError, match="No space"):
        kept.begin()
    assert list(kept.contest.running.iterdir()) == []


def test_a_line_goes_out_at_once(tmp_path: Path) -> None:
    opened = Journal(tmp_path / "x.journal", new=True)
    opened.append(b'{"a":1}')
    assert read(tmp_path / "x.journal", mend=False).entries == [{"a": 1}]
    with pytest.raises(FileExistsError):
        Journal(tmp_path / "x.journal", new=True)
