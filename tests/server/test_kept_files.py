"""The files that a program of linkage leaves between its turns: a match that is resumed goes on with them."""

from __future__ import annotations

import errno
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from getstep.conventions.linkage import ORDER
from getstep.turn import CallResult, Turn
from getstep_engines import GAMES
from getstep_server.events import Listening
from getstep_server.play.scoresheet import Scoresheet
from getstep_server.programs import kept, playing
from getstep_server.programs.playing import ProgramJob, ProgramSession
from getstep_server.runtime.attempt import Attempt
from getstep_server.runtime.hosted import HostedPrograms
from getstep_server.sandbox import PLAYING, FilesError, Protections, SandboxError
from getstep_server.tournament.tournament import Tournament
from tests.support.journals import Kept
from tests.support.patience import PATIENCE_SECONDS
from tests.support.submitted_programs import add_program, needs_sandbox

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs are hosted on Linux")

BOARD = GAMES["linkage"].start().board()


def left(folder: Path, text: str) -> Path:
    """Write the files of a program, as one of its turns leaves them."""
    (folder / "book").mkdir(parents=True, exist_ok=True)
    (folder / "book" / "memory").write_text(text)
    return folder


def kept_in(folder: Path, *turns: int) -> Path:
    """Return a place with the files after some turns."""
    place = kept.place(folder / "kept", 7, 1, 2)
    for turn in turns:
        kept.keep(left(folder / "program", f"after {turn}"), place, turn, PLAYING)
    return place


def memory(folder: Path, turn: int, match: int = 7, attempt: int = 1, team: int = 2) -> str | None:
    """Return what was kept after a turn."""
    found = kept.find(folder / "kept", match, attempt, team, turn)
    return None if found is None else (found / "book" / "memory").read_text()


# --- copies --------------------------------------------------------------------------------------------------


def test_the_files_after_the_two_newest_turns_are_kept(tmp_path: Path) -> None:
    place = kept_in(tmp_path, 1, 3, 9, 11)
    assert [memory(tmp_path, turn) for turn in (1, 3, 9, 11)] == [None, None, "after 9", "after 11"]
    assert len(list(place.iterdir())) == kept.COPIES
    others = [{"match": 71}, {"attempt": 2}, {"team": 22}]
    assert [memory(tmp_path, 9, **other) for other in others] == [None] * 3


def test_a_turn_that_is_asked_again_replaces_its_copy(tmp_path: Path) -> None:
    place = kept_in(tmp_path, 1, 3)
    kept.keep(left(tmp_path / "program", "another time"), place, 3, PLAYING)
    assert [memory(tmp_path, turn) for turn in (1, 3)] == ["after 1", "another time"]


def test_what_a_kill_has_left_half_copied_is_replaced(tmp_path: Path) -> None:
    place = kept_in(tmp_path, 1)
    left(place / ".new", "half")
    (place / ".new" / "more").write_text("")
    kept.keep(left(tmp_path / "program", "after 3"), place, 3, PLAYING)
    assert [memory(tmp_path, turn) for turn in (1, 3)] == ["after 1", "after 3"]
    assert not (place / ".new").exists()


def _torn(copy: Path) -> None:
    (copy / "book" / "memory").write_bytes(bytes(7))


def _gone(copy: Path) -> None:
    (copy / "book" / "memory").unlink()


def _added(copy: Path) -> None:
    (copy / "other").mkdir()


@pytest.mark.parametrize("damage", [_torn, _gone, _added])
def test_a_copy_that_has_changed_is_not_used(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    (copy,) = kept_in(tmp_path, 1).iterdir()
    damage(copy)
    assert memory(tmp_path, 1) is None


def test_the_process_of_a_run_that_was_killed_changes_nothing_any_more(tmp_path: Path) -> None:
    place = kept_in(tmp_path, 1, 3)
    found = kept.find(tmp_path / "kept", 7, 1, 2, 1)
    assert found is not None
    taken = kept.take_over(found)
    with pytest.raises(FileNotFoundError):
        kept.keep(left(tmp_path / "program", "too late"), place, 5, PLAYING)
    assert (taken / "book" / "memory").read_text() == "after 1"
    assert [memory(tmp_path, turn) for turn in (1, 3, 5)] == ["after 1", "after 3", None]
    again = kept.find(tmp_path / "kept", 7, 1, 2, 1)
    assert again == taken
    assert again is not None
    assert kept.take_over(again).parent.name == "7-1-2-3"


def test_a_new_attempt_begins_without_files_and_a_match_that_is_over_leaves_none(tmp_path: Path) -> None:
    root = tmp_path / "kept"
    kept_in(tmp_path, 1)
    assert not list(kept.place(root, 7, 1, 2).iterdir())
    for match, attempt, team in ((7, 2, 2), (8, 1, 2), (71, 1, 2)):
        kept.place(root, match, attempt, team)
    kept.forget(root, 7, 1, 2)
    assert sorted(path.name for path in root.iterdir()) == ["7-2-2-1", "71-1-2-1", "8-1-2-1"]
    kept.clean(root, {(7, 2), (71, 2)})
    assert [path.name for path in root.iterdir()] == ["7-2-2-1"]
    kept.clean(tmp_path / "none", set())


def test_a_copy_has_the_limits_of_the_sandbox_and_no_links(tmp_path: Path) -> None:
    place = kept_in(tmp_path, 1)
    program = left(tmp_path / "program", "x" * 100)
    (program / "link").symlink_to("/etc/passwd")
    kept.keep(program, place, 3, replace(PLAYING, file_bytes=100))
    (copy,) = place.glob("3-*")
    assert [path.name for path in copy.iterdir()] == ["book"]
    with pytest.raises(FilesError, match="larger"):
        kept.keep(program, place, 5, replace(PLAYING, file_bytes=99))
    with pytest.raises(FilesError, match="more files"):
        kept.keep(program, place, 5, replace(PLAYING, files=2))
    assert memory(tmp_path, 3) == "x" * 100


# --- a program in a match ------------------------------------------------------------------------------------

NOTES = "open('memory', 'a').write('x')\nopen('order.txt', 'w').write(open('memory').read())\n"
"""It writes an ``x`` in each turn, all into its order: no move, but the complaint shows what it has found."""


def asked(player: ProgramSession, turn: int, seconds: float = PATIENCE_SECONDS) -> CallResult:
    return player.call(BOARD, True, Turn("linkage", 7, turn, "Other", None, round(1000 * seconds)))


def job_of(folder: Path, source: str, protections: Protections = Protections.NONE) -> ProgramJob:
    files = folder / "files"
    files.mkdir()
    (files / "program.py").write_text(source)
    keep = kept.place(folder / "kept", 7, 1, 2)
    return ProgramJob("linkage", ("python", "program.py"), files, protections, keep=keep)


@pytest.mark.parametrize("protections", [Protections.NONE, pytest.param(Protections.ALL, marks=needs_sandbox)])
def test_a_program_goes_on_with_the_files_of_its_last_turn_on_record(
    tmp_path: Path, protections: Protections
) -> None:
    job = job_of(tmp_path, NOTES, protections)
    with ProgramSession(job, 7, 0) as player:
        said = [asked(player, turn).error for turn in (1, 3)]  # then the server is killed: turn 3 is not on record
    found = kept.find(tmp_path / "kept", 7, 1, 2, 1)
    assert found is not None
    files = kept.take_over(found)
    with ProgramSession(replace(job, files=files, keep=files.parent), 7, 0) as player:
        said.append(asked(player, 3).error)
    assert [str(error).partition(";")[0].partition(f"{ORDER} has ")[2] for error in said] == ["'x'", "'xx'", "'xx'"]


def test_a_program_that_is_ended_in_its_turn_leaves_no_files(tmp_path: Path) -> None:
    job = job_of(tmp_path, NOTES)
    with ProgramSession(job, 7, 0) as player:
        assert asked(player, 1).error
        program = player._program
        program.turn = 3
        process = program.run(keep_files=True)
        process.wait(PATIENCE_SECONDS)
        program.close()  # as `ProgramSession.close` does before it ends the process
        process.close()
    assert job.keep is not None
    assert [path.name.partition("-")[0] for path in job.keep.iterdir()] == ["1"]


def test_more_files_than_allowed_cost_the_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "PLAYING", replace(PLAYING, files=3))
    source = "for n in range(3): open(str(n), 'w')\nopen('order.txt', 'w').write('RA1A2')\n"
    with ProgramSession(job_of(tmp_path, source), 7, 0) as player:
        error = asked(player, 1).error
    assert error == "its files cannot be kept for its next turn: there are more files than allowed"


NESTS = """\
import os
for _ in range(20):
    os.mkdir("x" * 250)
    os.chdir("x" * 250)
"""
"""The longest path has more characters than a call may name."""


@pytest.mark.parametrize("protections", [Protections.NONE, pytest.param(Protections.ALL, marks=needs_sandbox)])
def test_folders_in_folders_cost_the_turn_and_are_deleted(tmp_path: Path, protections: Protections) -> None:
    job = job_of(tmp_path, f"open('order.txt', 'w').write('RA1A2')\n{NESTS}", protections)
    with ProgramSession(job, 7, 0) as player:
        error = asked(player, 1).error or ""
    assert error == "its files cannot be kept for its next turn: File name too long"
    kept.forget(tmp_path / "kept", 7, 1, 2)
    assert not list((tmp_path / "kept").iterdir())


def test_a_full_disk_is_no_fault_of_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def keep(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(kept, "keep", keep)
    with (
        ProgramSession(job_of(tmp_path, NOTES), 7, 0) as player,
        pytest.raises(SandboxError, match="next turn: No space left"),
    ):
        asked(player, 1)


# --- a match that is resumed ---------------------------------------------------------------------------------


class Resumed:
    """A match of linkage, of which three turns are in the journal when another run begins."""

    def __init__(self, folder: Path) -> None:
        self.here = Kept(folder, "linkage")
        for team in (1, 2):
            self.version = add_program(self.here.contest.folder, team, "linkage", "")
        self.programs = HostedPrograms(self.here.contest, Tournament(self.here.contest), self.here.events.append)
        self.programs.logins.update({1: None, 2: None})
        self.root = self.here.contest.folder / "programs" / ".kept"

    async def play(self, turns: int) -> Scoresheet:
        entry = {"version": 1, "sha256": self.version.sha256}
        sheet = await self.here.begin()
        sheet.head["programs"] = [entry, entry]  # type: ignore[index]  # a dict, as game_header makes it
        for _ in range(turns):
            state = sheet.match_state
            player, move = state.state.to_move, next(state.state.legal_moves())
            state.move(move, 1.0)
            sheet.write({"player": player, "move": move, "ms": 1.0, "timed": "kernel"})
        return sheet

    def leave(self, team: int, *turns: int) -> None:
        place = kept.place(self.root, 7, 1, team)
        for turn in turns:
            kept.keep(left(self.here.contest.folder / "program", f"after {turn}"), place, turn, PLAYING)

    def job(self, sheet: Scoresheet | None, team: int) -> ProgramJob:
        no_seats: Any = (None, None)
        running = Attempt(self.here.match, no_seats, sheet, [False, False], 0)
        return self.programs._seated(running, team - 1, self.version, None).program


async def test_a_resumed_match_gets_the_files_of_the_last_turn_on_record(tmp_path: Path) -> None:
    match = Resumed(tmp_path)
    sheet = await match.play(3)
    match.leave(1, 1, 3)
    match.leave(2, 2, 4)
    assert await match.programs.why_not_resumed(sheet) is None
    assert [(match.job(sheet, team).files / "book" / "memory").read_text() for team in (1, 2)] == [
        "after 3",
        "after 2",
    ]
    assert await match.programs.why_not_resumed(sheet) is None, "the server may be killed again at once"


async def test_a_match_whose_files_are_lost_is_not_resumed(tmp_path: Path) -> None:
    match = Resumed(tmp_path)
    sheet = await match.play(3)
    match.leave(1, 3)
    match.leave(2, 4)
    why = await match.programs.why_not_resumed(sheet)
    assert why == "the files that the program of Team 2 has left after its turn 2 are lost"
    with pytest.raises(OSError, match="turn 2 are lost"):
        match.job(sheet, 2)


async def test_a_program_without_a_turn_begins_with_its_own_files(tmp_path: Path) -> None:
    match = Resumed(tmp_path)
    begun = match.job(None, 1)
    assert begun.files == match.version.files
    assert begun.keep is not None
    shutil.rmtree(begun.keep)
    sheet = await match.play(1)
    match.leave(1, 1)
    match.leave(2, 2)  # which is not on record
    assert await match.programs.why_not_resumed(sheet) is None
    begun = match.job(sheet, 2)
    assert begun.files == match.version.files
    assert begun.keep is not None
    assert not list(begun.keep.iterdir())


async def test_a_new_run_keeps_the_files_of_unfinished_matches_only(tmp_path: Path) -> None:
    match = Resumed(tmp_path)
    sheet = await match.play(1)
    for number, attempt in ((7, 1), (7, 2), (8, 1)):
        kept.place(match.root, number, attempt, 1)
    where = Listening("127.0.0.1", 0, None, stamped=False)
    await match.programs.open({}, where, [sheet])
    assert [path.name for path in match.root.iterdir()] == ["7-1-1-1"]
