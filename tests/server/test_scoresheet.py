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

from getstep.referee import MatchState, WrongTurn
from getstep_engines import GAMES
from getstep_server import limits
from getstep_server.events import DiskFull, DiskUsable
from getstep_server.incident import Incident
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.records.game import result_of
from getstep_server.records.match import Match
from getstep_server.records.record import parse
from getstep_server.records.result import Result
from getstep_server.storage import journal
from getstep_server.storage.journal import Journal, JournalError, WriteResult, read, segments
from getstep_server.storage.recovery import left_running
from tests.support.journals import Kept

MATCH = Match(7, 1, 3, 2, 1, 2, "hop")
MOVE = [[0, 0], [0, 1]]


async def play(sheet: Scoresheet, seed: int, turns: int) -> None:
    """Random turns, some of them faults."""
    dice, match_state = Random(seed), sheet.match_state
    while match_state.outcome is None and match_state.turns < turns:
        player, ms = match_state.state.to_move, round(dice.uniform(0, 30), 3)
        if dice.random() < 0.02:
            match_state.fault("missed_limit", ms, away=True)
            result = sheet.write({"player": player, "fault": "missed_limit", "detail": "x", "ms": ms, "away": True})
        else:
            move = json.loads(json.dumps(dice.choice(list(match_state.state.legal_moves()))))
            match_state.move(move, ms)
            result = sheet.write({"player": player, "move": move, "ms": ms, "timed": "kernel"})
        if result is not WriteResult.WRITTEN:
            await sheet.retry_until_written()


def facts(match_state: MatchState) -> dict[str, Any]:
    """Return the state from which a match is resumed."""
    state, clocks = match_state.state, match_state.clocks
    kept = {name: getattr(match_state, name) for name in ("turns", "move_number", "faults", "misses", "outcome")}
    last = json.loads(json.dumps(match_state.last_moves))
    return {**kept, "board": state.board(), "on_turn": state.to_move, "thought": clocks.thought_ms, "last": last}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("game", GAMES)
async def test_a_match_is_resumed_where_it_was(tmp_path: Path, game: str, seed: int) -> None:
    kept = Kept(tmp_path, game)
    sheet = await kept.begin()
    await play(sheet, seed, Random(seed).choice([0, 1, 15, 1000]))
    resumed = kept.resumed()
    assert facts(resumed.match_state) == facts(sheet.match_state)
    assert resumed.head == sheet.head
    await play(resumed, seed + 100, 1000)
    assert facts(kept.resumed().match_state) == facts(resumed.match_state)


async def test_the_record_has_all_that_happened(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "linkage")
    sheet = await kept.begin()
    await play(sheet, 1, 3)
    for _ in range(5):
        sheet.incident(Incident("flood", "too much", "10.0.0.9", 2, "00"))
    sheet = kept.resumed()
    await play(sheet, 2, 1000)
    outcome = sheet.match_state.outcome
    assert outcome is not None
    result = Result(
        match=kept.match,
        winner=outcome.winner,
        reason=outcome.reason,
        detail=outcome.detail,
        scores=outcome.scores,
        turns=sheet.match_state.turns,
        thought=(sheet.match_state.clocks.thought_ms[0] / 1000, sheet.match_state.clocks.thought_ms[1] / 1000),
        faults=(0, 0),
        started=0.0,
        seconds=1.0,
    )
    fields = parse(sheet.record(result).content())
    assert result_of(fields) == result
    assert fields["resumed"] == [3]
    (incident,) = fields["incidents"]
    assert (incident["team"], incident["code"], incident["after_turn"]) == (2, "flood", 3)
    match_state = MatchState(GAMES["linkage"], {}, sheet.match_state.clocks.control, 0.1)
    for turn in fields["turns"]:
        match_state.apply(turn)
    assert match_state.outcome == outcome
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


async def test_a_torn_last_line_is_cut_at_any_byte(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    sheet = await kept.begin()
    await play(sheet, 1, 4)
    whole = kept.path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for end in range(last + 1, len(whole)):
        kept.path.write_bytes(whole[:end])
        (resumed,), (cut,) = kept.again()
        assert (cut.path, cut.line, resumed.match_state.turns) == (str(kept.path), 5, 3)
        assert kept.path.read_bytes() == whole[:last]
        kept.sheets.close()
        for path in segments(kept.running)[1:]:
            assert read(path).cut is None
            path.unlink()


async def test_a_torn_pass_is_added_again(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "linkage")
    sheet = await kept.begin()
    seed = 0
    while not sheet.match_state.state.passed:  # a game with a pass in its middle
        seed += 1
        sheet.release()
        sheet = await kept.begin()
        while sheet.match_state.outcome is None and not sheet.match_state.state.passed:
            await play(sheet, seed * 1000 + sheet.match_state.turns, sheet.match_state.turns + 1)
    text = kept.path.read_bytes()
    assert b'"pass"' in text.splitlines()[-1]
    kept.path.write_bytes(text[:-10])
    resumed = kept.resumed()
    assert facts(resumed.match_state) == facts(sheet.match_state)
    assert read(kept.path).cut is None
    (_, *passes) = [line for line in kept.entries() if "pass" in line or "record" in line][-2:]
    assert len(passes) == len(sheet.match_state.state.passed)


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


async def test_an_abandoned_match_begins_again(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    given_up = await kept.begin()
    await play(given_up, 1, 4)
    given_up.abandon()
    given_up.release()
    sheet = await kept.begin()
    await play(sheet, 2, 7)
    assert facts(kept.resumed().match_state) == facts(sheet.match_state)


async def test_a_resumed_match_that_was_abandoned_is_not_resumed_again(tmp_path: Path) -> None:
    """Its head was in a segment that is gone, and other matches still need the one with its last lines."""
    kept = Kept(tmp_path)
    await play(await kept.begin(), 1, 4)
    resumed = kept.resumed()
    resumed.abandon()
    resumed.release()
    assert kept.names() == ["segment-2.journal"]
    assert left_running(kept.running, set()) == set()
    assert kept.again() == ([], [])
    assert kept.names() == []


@pytest.mark.parametrize("missing", [1, 2, 3])
async def test_a_missing_line_is_detected(tmp_path: Path, missing: int) -> None:
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


async def test_turns_of_several_matches_share_a_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept(tmp_path)
    sheets = [await kept.begin(attempt) for attempt in (1, 2, 3)]
    writes: list[bytes] = []
    results: list[WriteResult] = []

    def write(_: int, data: bytes) -> int:
        writes.append(data)
        return len(data)

    monkeypatch.setattr(os, "write", write)
    with kept.sheets.batch():
        for sheet in sheets:
            sheet.match_state.move(MOVE, 1.0)
            turn = {"player": 0, "move": MOVE, "ms": 1.0, "timed": "kernel"}
            assert sheet.write(turn) is WriteResult.PENDING
            sheet.on_commit(results.append)
        assert (writes, results) == ([], [])
    assert [line.split()[1] for line in writes[0].splitlines()] == [b"7-1-2", b"7-2-2", b"7-3-2"]
    assert (len(writes), results) == (1, [WriteResult.WRITTEN] * 3)
    with pytest.raises(RuntimeError):
        sheets[0].on_commit(results.append)  # no batch is open


async def test_a_failed_commit_reaches_the_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Kept(tmp_path)
    sheet = await kept.begin()
    results: list[WriteResult] = []
    sheet.match_state.move(MOVE, 1.0)
    with monkeypatch.context() as full, kept.sheets.batch():  # the batch ends first
        full.setattr(os, "write", FullDisk(0))
        sheet.write({"player": 0, "move": MOVE, "ms": 1.0, "timed": "kernel"})
        sheet.on_commit(results.append)
    assert results == [WriteResult.FAILED]
    await sheet.retry_until_written()
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
async def test_other_damage_is_reported_with_file_and_line(tmp_path: Path, damage: str) -> None:
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
def test_an_invalid_head(tmp_path: Path, head: Any) -> None:
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


async def test_the_later_of_two_attempts_is_resumed(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    for attempt in (10, 9):
        await kept.begin(attempt)
    assert left_running(kept.running, set()) == {7}
    resumed = kept.resumed()
    assert resumed.attempt == 10
    assert kept.names() == ["segment-1.journal", "segment-2.journal"]
    resumed.release()
    kept.sheets.close()
    assert kept.names() == []


# --- segments -------------------------------------------------------------------------------------------------


@pytest.fixture
def short_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of two lines."""
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 20)


@pytest.mark.usefixtures("short_segments")
def test_a_segment_is_deleted_when_no_match_needs_it(tmp_path: Path) -> None:
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
async def test_a_match_in_many_segments_is_resumed(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    sheet = await kept.begin()
    await play(sheet, 1, 12)
    assert len(kept.names()) == 13
    resumed = kept.resumed()
    assert facts(resumed.match_state) == facts(sheet.match_state)
    await play(resumed, 2, 15)
    assert kept.names()[-1] == "segment-17.journal"  # a new run begins a new one
    assert facts(kept.resumed().match_state) == facts(resumed.match_state)


@pytest.mark.usefixtures("short_segments")
async def test_an_incident_after_the_end_keeps_no_segment(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    sheet = await kept.begin()
    sheet.release()
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
    match_state = MatchState(GAMES["hop"], {}, GAMES["hop"].time_control, 0.1)
    match_state.lose(0, "resigned", "", 0.0)
    with pytest.raises(WrongTurn, match="the match is over"):
        match_state.apply({"player": 0, "move": [[0, 0], [0, 1]], "ms": 1.0})


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
    monkeypatch.setattr(journal.os, "write", disk)  # type: ignore[attr-defined]  # the module `os` that the journal imports
    async with trio.open_nursery() as nursery:
        nursery.start_soon(play, sheet, 1, 3)
        await trio.sleep(10)
        assert sheet.match_state.turns == 1
        assert not kept.disk.writable
        sheet.incident(Incident("flood", "too much", "10.0.0.9", 2, "00"))  # meanwhile
        disk.room = 1 << 20
    assert kept.disk.writable
    assert [type(event) for event in kept.events] == [DiskFull, DiskUsable]
    assert facts(kept.resumed().match_state) == facts(sheet.match_state)


async def test_errors_other_than_a_full_disk_are_not_waited_for(
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
    monkeypatch.setattr(journal.os, "write", disk)  # type: ignore[attr-defined]  # the module `os` that the journal imports
    async with trio.open_nursery() as nursery:
        nursery.start_soon(kept.begin)
        await trio.sleep(10)
        assert not kept.disk.writable
        disk.room = 1 << 20
    assert kept.disk.writable
    assert kept.resumed().match_state.turns == 0


def test_a_line_is_written_at_once(tmp_path: Path) -> None:
    opened = Journal(tmp_path)
    opened.append(b"7-1", b'{"a":1}')
    (line,) = read(tmp_path / "segment-1.journal").lines
    assert (line.tag, line.entry) == (b"7-1", {"a": 1})
    opened.close()
