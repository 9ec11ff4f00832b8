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
from getstep_server.journal import Journal, JournalError, read, segments
from getstep_server.results import Result
from getstep_server.schedule import Match
from getstep_server.scoresheet import Scoresheet, Scoresheets, left_running
from tests.server.players import make_contest

MATCH = Match(7, 1, 3, 2, 1, 2, "hop")
MOVE = [[0, 0], [0, 1]]


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
        self.running = self.contest.running
        self.path = self.running / "segment-1.journal"
        self.running.mkdir()

    async def begin(self, attempt: int = 1) -> Scoresheet:
        head = head_of_game(self.contest, self.match, attempt, 0.0)
        sheet = Scoresheet(head, self.sheets._journal, self.disk)
        await sheet.begin()
        return sheet

    def again(self, recorded: Any = ()) -> tuple[list[Scoresheet], list[Any]]:
        """What a new run finds."""
        self.sheets.close()
        self.sheets = Scoresheets(self.contest, self.disk)
        return self.sheets.unfinished([self.match], set(recorded))

    def names(self) -> list[str]:
        return [path.name for path in segments(self.running)]

    def entries(self) -> list[dict[str, Any]]:
        return [line.entry for path in segments(self.running) for line in read(path).lines]

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
            written = sheet.write(
                {"player": player, "fault": "missed_limit", "detail": "x", "ms": ms, "away": True}
            )
        else:
            move = json.loads(json.dumps(dice.choice(list(course.state.legal_moves()))))
            course.move(move, ms)
            written = sheet.write({"player": player, "move": move, "ms": ms, "timed": "kernel"})
        if not written:
            await sheet.insist()


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
    sheet = await kept.begin()
    await play(sheet, seed, Random(seed).choice([0, 1, 15, 1000]))
    resumed = kept.resumed()
    assert facts(resumed.course) == facts(sheet.course)
    assert resumed.head == sheet.head
    await play(resumed, seed + 100, 1000)
    assert facts(kept.resumed().course) == facts(resumed.course)


async def test_the_record_has_all_that_happened(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "linkage")
    sheet = await kept.begin()
    await play(sheet, 1, 3)
    for _ in range(5):
        sheet.incident(Incident("flood", "too much", "10.0.0.9", 2, "00"))
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


async def test_incidents_are_bounded(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    sheet = await kept.begin()
    size = kept.path.stat().st_size
    for n in range(10 * limits.GAME_INCIDENTS_KEPT):
        sheet.incident(Incident(f"code {n % 100}", "x" * 10_000, "10.0.0.9", 2, "00"))
    assert len(sheet._happened.incidents) == limits.GAME_INCIDENTS_KEPT
    assert sheet._happened.incidents[0]["count"] == 4
    grown = kept.path.stat().st_size - size
    assert grown < limits.GAME_INCIDENTS_KEPT * (limits.INCIDENT_DETAIL_CHARS + 200)


# --- what a crash or a hand does to a journal -------------------------------------------------------------------


async def test_wherever_the_last_line_is_torn_it_is_cut(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    sheet = await kept.begin()
    await play(sheet, 1, 4)
    whole = kept.path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for end in range(last + 1, len(whole)):
        kept.path.write_bytes(whole[:end])
        (resumed,), (cut,) = kept.again()
        assert (cut.path, cut.line, resumed.course.turns) == (str(kept.path), 5, 3)
        assert kept.path.read_bytes() == whole[:last]
        kept.sheets.close()
        for path in segments(kept.running)[1:]:
            assert read(path).cut is None
            path.unlink()


async def test_a_torn_pass_is_added_again(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "linkage")
    sheet = await kept.begin()
    seed = 0
    while not sheet.course.state.passed:  # a game with a pass in its middle
        seed += 1
        sheet.remove()
        sheet = await kept.begin()
        while sheet.course.verdict is None and not sheet.course.state.passed:
            await play(sheet, seed * 1000 + sheet.course.turns, sheet.course.turns + 1)
    text = kept.path.read_bytes()
    assert b'"pass"' in text.splitlines()[-1]
    kept.path.write_bytes(text[:-10])
    resumed = kept.resumed()
    assert facts(resumed.course) == facts(sheet.course)
    assert read(kept.path).cut is None
    (_, *passes) = [line for line in kept.entries() if "pass" in line or "record" in line][-2:]
    assert len(passes) == len(sheet.course.state.passed)


async def test_a_journal_without_its_first_line_is_of_a_match_that_never_began(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    await kept.begin()
    kept.path.write_bytes(kept.path.read_bytes()[:20])
    sheets, (cut,) = kept.again()
    assert (sheets, cut.line, kept.path.exists()) == ([], 1, False)


async def test_only_the_last_segment_can_have_a_torn_line(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    await kept.begin()
    kept.resumed()
    kept.path.write_bytes(kept.path.read_bytes()[:-1])
    with pytest.raises(JournalError, match=r"segment-1\.journal, line 1: torn, expected that in segment-2"):
        kept.again()


async def test_lines_without_their_head(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    await kept.begin()
    kept.resumed()
    kept.path.unlink()
    with pytest.raises(JournalError, match=r"segment-2\.journal, line 1: line 2 of 7-1, expected its line 1"):
        kept.again()
    assert kept.names() == ["segment-2.journal"]


async def test_what_was_given_up_without_a_record_begins_anew(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    given_up = await kept.begin()
    await play(given_up, 1, 4)
    given_up.drop()
    given_up.remove()
    sheet = await kept.begin()
    await play(sheet, 2, 7)
    assert facts(kept.resumed().course) == facts(sheet.course)


async def test_of_what_was_given_up_later_nothing_is_left_to_go_on_with(tmp_path: Path) -> None:
    """Its head was in a segment that is gone, and other matches still need the one with its last lines."""
    kept = Kept(tmp_path)
    await play(await kept.begin(), 1, 4)
    resumed = kept.resumed()
    resumed.drop()
    resumed.remove()
    assert kept.names() == ["segment-2.journal"]
    assert left_running(kept.running, set()) == set()
    assert kept.again() == ([], [])
    assert kept.names() == []


@pytest.mark.parametrize("missing", [1, 2, 3])
async def test_no_line_is_missing_without_a_word(tmp_path: Path, missing: int) -> None:
    kept = Kept(tmp_path)
    sheet = await kept.begin()
    await play(sheet, 1, 4)
    lines = kept.path.read_bytes().splitlines(keepends=True)
    kept.path.write_bytes(b"".join([*lines[:missing], *lines[missing + 1 :]]))
    with pytest.raises(JournalError, match=f"line {missing + 1}: line {missing + 2} of 7-1, expected its line"):
        kept.again()


def test_a_segment_is_a_file(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.path.symlink_to("/dev/zero")
    with pytest.raises(JournalError, match=r"segment-1\.journal: not a file"):
        kept.again()


async def test_turns_of_many_are_written_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept(tmp_path)
    sheets = [await kept.begin(attempt) for attempt in (1, 2, 3)]
    writes: list[bytes] = []
    heard: list[bool] = []

    def write(_: int, data: bytes) -> int:
        writes.append(data)
        return len(data)

    monkeypatch.setattr(os, "write", write)
    kept.sheets.hold()
    for sheet in sheets:
        sheet.course.move(MOVE, 1.0)
        assert not sheet.write({"player": 0, "move": MOVE, "ms": 1.0, "timed": "kernel"})
        assert sheet.until_commit(heard.append)
    assert (writes, heard) == ([], [])
    kept.sheets.commit()
    assert [line.split()[1] for line in writes[0].splitlines()] == [b"7-1-2", b"7-2-2", b"7-3-2"]
    assert (len(writes), heard) == (1, [True] * 3)
    assert not sheets[0].until_commit(heard.append)  # nothing is held


async def test_who_waits_for_a_commit_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept(tmp_path)
    sheet = await kept.begin()
    heard: list[bool] = []
    sheet.course.move(MOVE, 1.0)
    kept.sheets.hold()
    sheet.write({"player": 0, "move": MOVE, "ms": 1.0, "timed": "kernel"})
    sheet.until_commit(heard.append)
    with monkeypatch.context() as full:
        full.setattr(os, "write", FullDisk(0))
        kept.sheets.commit()
    assert heard == [False]
    await sheet.insist()
    assert kept.entries()[-1]["move"] == MOVE


def sealed(entry: Any, tag: str = "7-1-2") -> bytes:
    text = f"{tag} {json.dumps(entry)}".encode()
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
    "no JSON": lambda lines: [lines[0], sealed(1).replace(b"1", b"{x}")],
    "no match": lambda lines: [lines[0], sealed({"player": 0}, "0-1-2")],
    "another match": lambda lines: [lines[0], sealed({"player": 0, "move": [[0, 0], [0, 1]], "ms": 1.0}, "8-1-1")],
    "another match's head": lambda lines: [lines[0], lines[0].replace(lines[0][:8], sealed({})[:8])],
    "another kind of entry": lambda lines: [lines[0], sealed({"player": 0})],
    "no end of time": lambda lines: [lines[0], sealed({"player": 0, "move": [[0, 0], [0, 1]], "ms": 1e308})],
    "odd types": lambda lines: [lines[0], sealed({"player": [], "fault": {}, "ms": "x"})],
}


@pytest.mark.parametrize("damage", DAMAGE)
async def test_anything_else_is_told_with_file_and_line(tmp_path: Path, damage: str) -> None:
    kept = Kept(tmp_path)
    sheet = await kept.begin()
    await play(sheet, 1, 4)
    lines = kept.path.read_bytes().splitlines(keepends=True)
    changed = b"".join([*DAMAGE[damage](lines), lines[-1]])
    kept.path.write_bytes(changed)
    with pytest.raises(JournalError, match=r"segment-1\.journal, line [23]: "):
        kept.again()
    assert kept.path.read_bytes() == changed


@pytest.mark.parametrize(
    "head",
    [{}, {"match": 7, "attempt": 1}, {"match": True, "attempt": 1}, {"match": 7, "attempt": 1, "teams": [1, 2]}],
)
def test_a_head_that_is_none(tmp_path: Path, head: Any) -> None:
    kept = Kept(tmp_path)
    kept.path.write_bytes(sealed(head, "7-1-1"))
    with pytest.raises(JournalError, match=r"segment-1\.journal, line 1: "):
        kept.again()


async def test_a_head_of_another_game(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    await kept.begin()
    (head,) = kept.entries()
    kept.path.write_bytes(sealed(head, "7-2-1"))
    with pytest.raises(JournalError, match=r"segment-1\.journal, line 1: the head of 7-1, expected that of 7-2"):
        kept.again()


async def test_a_match_of_another_contest(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    await kept.begin()
    with pytest.raises(JournalError, match="not one of this contest"):
        kept.sheets.unfinished([Match(7, 1, 3, 2, 2, 1, "hop")], set())


async def test_a_journal_that_fills_the_memory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MAX_SEGMENT_BYTES", 100)
    kept = Kept(tmp_path)
    await kept.begin()
    with pytest.raises(JournalError, match="expected at most 100"):
        kept.again()


async def test_a_match_on_record_needs_no_journal(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    await kept.begin()
    assert left_running(kept.running, set()) == {7}
    assert left_running(kept.running, {(7, 1)}) == set()
    assert kept.again([(7, 1)]) == ([], [])
    assert kept.names() == []


async def test_of_two_attempts_the_later_goes_on(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    for attempt in (10, 9):
        await kept.begin(attempt)
    assert left_running(kept.running, set()) == {7}
    resumed = kept.resumed()
    assert resumed.attempt == 10
    assert kept.names() == ["segment-1.journal", "segment-2.journal"]
    resumed.remove()
    kept.sheets.close()
    assert kept.names() == []


# --- segments -------------------------------------------------------------------------------------------------


@pytest.fixture
def short_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of two lines."""
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 20)


@pytest.mark.usefixtures("short_segments")
def test_a_segment_goes_when_nobody_needs_it(tmp_path: Path) -> None:
    opened = Journal(tmp_path)

    def left() -> list[str]:
        return [path.name[len("segment-") : -len(".journal")] for path in segments(tmp_path)]

    for tag in (b"1-1", b"2-1", b"1-1", b"3-1", b"3-1", b"3-1", b"2-1"):
        opened.append(tag, b"{}")
    assert left() == ["1", "2", "3", "4"]
    opened.finish(b"1-1")
    assert left() == ["1", "2", "3", "4"]
    opened.finish(b"3-1")
    assert left() == ["1", "4"]  # 3-1 alone had lines in the third, and 1-1 with it in the second
    opened.append(b"4-1", b"{}")
    opened.finish(b"2-1")
    assert left() == ["4"]  # the newest stays
    opened.finish(b"4-1")
    assert left() == []  # it is full
    opened.append(b"5-1", b"{}")
    assert left() == ["5"]
    opened.finish(b"5-1")
    assert left() == ["5"]
    opened.close()
    assert left() == []


@pytest.mark.usefixtures("short_segments")
async def test_a_match_in_many_segments_goes_on(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    sheet = await kept.begin()
    await play(sheet, 1, 12)
    assert len(kept.names()) == 13
    resumed = kept.resumed()
    assert facts(resumed.course) == facts(sheet.course)
    await play(resumed, 2, 15)
    assert kept.names()[-1] == "segment-17.journal"  # a new run goes on in new ones
    assert facts(kept.resumed().course) == facts(resumed.course)


@pytest.mark.usefixtures("short_segments")
async def test_an_incident_after_the_end_keeps_no_segment(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    sheet = await kept.begin()
    sheet.remove()
    sheet.incident(Incident("flood", "too much", "10.0.0.9", 2, "00"))
    assert kept.names() == []


def test_a_segment_that_is_there_is_not_written_again(tmp_path: Path) -> None:
    (tmp_path / "segment-1.journal").touch()
    with pytest.raises(FileExistsError):
        Journal(tmp_path).append(b"1-1", b"{}")


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in ("segment-0.journal", "segment-x.journal", "segment-1.journal~", "notes.txt"):
        (tmp_path / name).touch()
    assert segments(tmp_path) == []


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
    sheet = await kept.begin()
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
    assert facts(kept.resumed().course) == facts(sheet.course)


async def test_what_more_room_does_not_mend_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    kept = Kept(tmp_path)
    sheet = await kept.begin()
    os.close(kept.sheets._journal._file)
    with pytest.raises(OSError, match="Bad file descriptor"):
        await play(sheet, 1, 3)
    kept.sheets._journal._file = -1


async def test_a_match_begins_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    kept = Kept(tmp_path)
    disk = FullDisk(10)
    monkeypatch.setattr(journal.os, "write", disk)  # type: ignore[attr-defined]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(kept.begin)
        await trio.sleep(10)
        assert not kept.disk.usable
        disk.room = 1 << 20
    assert kept.disk.usable
    assert kept.resumed().course.turns == 0


def test_a_line_goes_out_at_once(tmp_path: Path) -> None:
    opened = Journal(tmp_path)
    opened.append(b"7-1", b'{"a":1}')
    (line,) = read(tmp_path / "segment-1.journal").lines
    assert (line.tag, line.entry) == (b"7-1", {"a": 1})
    opened.close()
