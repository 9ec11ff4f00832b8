"""What is left of a damaged database is saved, and the rest is named: each page is damaged in turn."""

from __future__ import annotations

import json
import random
import shlex
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.runtime.start import StartCondition
from getstep_server.storage.contest_state import check_database, load_tournament
from getstep_server.storage.recovery import left_running
from getstep_server.storage.rescue import Rescue, read_left, rescue
from getstep_server.storage.store import Store
from getstep_server.storage.verify import Verified, verify
from tests.support.command import Command
from tests.support.quick import quick
from tests.support.servers import running
from tests.support.stored_contests import copied

PAGE = 4096
PAGES = 38
INNER = (0x02, 0x05, 0x0A)
"""Pages that only lead to rows: inner pages of tables, and all of indices."""


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nobody_returns: None) -> Path:
    copied("finished", tmp_path / "finished")
    monkeypatch.chdir(tmp_path)
    return Path("finished")


def rescued_of(folder: Path, *backups: Path) -> tuple[Rescue, Verified]:
    """Rescue a contest; check that the new one opens and would resume, and return what `verify` says of it."""
    contest = load_contest(folder)
    target = Path(f"{folder}-rescued")
    shutil.rmtree(target, ignore_errors=True)
    rescued = rescue(contest, read_left(contest, backups), target)
    new = load_contest(target)
    check_database(new.database, lambda: False)
    with Store(new.database) as store:
        load_tournament(new, store)
        return rescued, verify(new, store)


def zeroes(_: bytes) -> bytes:
    return bytes(PAGE)


def noise(page: bytes) -> bytes:
    return random.Random(page).randbytes(PAGE)


def lines_of(folder: Path) -> list[bytes]:
    with Store(folder / "contest.db", reading=True) as store:
        return list(store.lines())


# --- each page --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", [zeroes, noise])
@pytest.mark.parametrize("page", quick(range(1, PAGES + 1), [1, 2, 3, 5, 8, 20, 38]))
def test_each_damaged_page_costs_only_the_records_in_it(
    finished: Path, page: int, damage: Callable[[bytes], bytes]
) -> None:
    path = finished / "contest.db"
    before, content = lines_of(finished), path.read_bytes()
    assert len(content) == PAGES * PAGE
    old = content[(page - 1) * PAGE : page * PAGE]
    path.write_bytes(content[: (page - 1) * PAGE] + damage(old) + content[page * PAGE :])
    damaged = path.read_bytes()

    rescued, said = rescued_of(finished)

    assert path.read_bytes() == damaged  # nothing is destroyed
    after = lines_of(Path("finished-rescued"))
    saved = set(after) & set(before)
    gone = {place for place, line in enumerate(before, start=1) if line not in saved}
    assert len(after) == len(before)
    assert gone == rescued.lost.keys() | rescued.made.keys()
    assert len(said.lost) == len(gone)
    if page == 1 or old[0] in INNER:
        assert not gone
    assert len(gone) <= 6  # as many records as a page has of this contest: nothing else goes with them
    assert not rescued.unfit
    unpaired = min((place for place in rescued.lost if b'"type":"pairings"' in before[place - 1]), default=99)
    for place, (_, game) in rescued.lost.items():
        fields = json.loads(before[place - 1])
        # The index knows the pairing and the leg of a lost game. Its match is in the pairings, if they are left.
        known = fields["type"] == "game" and place < unpaired
        assert game == ((fields["match"], fields["attempt"]) if known else None)


# --- what is left beside the database ---------------------------------------------------------------------------


def damage_page(path: Path, page: int) -> None:
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(bytes(PAGE))


def test_an_export_or_a_copy_fills_the_gaps(finished: Path, command: Command) -> None:
    before = lines_of(finished)
    command("export", "finished", "--matches", "--output", "matches.jsonl")
    shutil.copy(finished / "contest.db", "copy.db")
    for backup in ("matches.jsonl", "copy.db"):
        for page in (7, 13):
            damage_page(finished / "contest.db", page)
        rescued, said = rescued_of(finished, Path(backup))
        assert (rescued.lost, rescued.made, said.lost) == ({}, {}, ())
        assert lines_of(Path("finished-rescued")) == before


def test_a_forged_backup_is_not_taken(finished: Path, command: Command) -> None:
    command("export", "finished", "--matches", "--output", "matches.jsonl")
    text = Path("matches.jsonl").read_text(encoding="utf-8")
    Path("matches.jsonl").write_text(text.replace('"winner":0', '"winner":1'), encoding="utf-8")
    damage_page(finished / "contest.db", 9)
    rescued, _ = rescued_of(finished, Path("matches.jsonl"))
    assert rescued.lost.keys() == {7}


@pytest.mark.parametrize("lost", ["emptied", "deleted"])
def test_running_matches_are_saved_from_the_journal_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command, lost: str
) -> None:
    copied("killed", tmp_path / "killed")
    monkeypatch.chdir(tmp_path)
    folder = Path("killed")
    (folder / "contest.db-wal").unlink()
    (folder / "contest.db").unlink()
    if lost == "emptied":
        (folder / "contest.db").touch()
    rescued, said = rescued_of(folder)
    assert rescued.journal == [b"1-1", b"2-1", b"3-1", b"4-1"]  # three were over, and a run finds that out again
    assert len(said.lost) == len(rescued.made) == 3  # settings, and the pairings of two events
    assert left_running(Path("killed-rescued/running"), rescued.tournament.recorded) == {1, 2, 3, 4}
    ran = command("rescue", "killed", "--to", "again")
    assert ran.code == 1
    assert "match 4 (Ada - Blaise): 19 lines of the journal saved, run resumes it" in ran.out


def test_a_damaged_journal_is_saved_up_to_the_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied("killed", tmp_path / "killed")
    monkeypatch.chdir(tmp_path)
    (path,) = Path("killed/running").glob("segment-*")
    lines = path.read_bytes().splitlines(keepends=True)
    own = [line for line in lines if b" 4-1-" in line[:14]]
    path.write_bytes(path.read_bytes().replace(own[7], b"\xff" * 40 + b"\n"))
    rescued_of(Path("killed"))
    (saved,) = Path("killed-rescued/running").glob("segment-*")
    assert saved.read_bytes() == b"".join(own[:7])


def test_a_damaged_log_of_the_database_costs_only_its_own_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite ends its log at the first damaged frame; the frames after it are still in the file."""
    copied("killed", tmp_path / "killed")
    monkeypatch.chdir(tmp_path)
    before = lines_of(Path("killed"))
    shutil.rmtree("killed")
    copied("killed", tmp_path / "killed")
    wal = Path("killed/contest.db-wal")
    with wal.open("r+b") as file:
        file.seek(32 + 5 * (24 + PAGE) + 40)
        file.write(b"\xff" * 100)
    rescued, _ = rescued_of(Path("killed"))
    assert len(rescued.rows) == len(before)
    assert len(rescued.lost) + len(rescued.made) <= 1


# --- the command ------------------------------------------------------------------------------------------------


def test_each_match_has_a_line_and_a_lost_one_the_command_for_its_result(finished: Path, command: Command) -> None:
    (finished / "contest.log").write_text(
        '{"event": "match_ended", "match": 1, "winner": 1, "reason": "finished", "scores": [15, 9]}\n',
        encoding="utf-8",
    )
    damage_page(finished / "contest.db", 9)
    for words in ("verify finished", "export finished --matches", "run finished --now --port 0"):
        ran = command(*words.split())
        assert ran.code == 1
        assert "getstep-server rescue finished" in ran.err
    ran = command("rescue", "finished")
    assert ran.code == 1
    assert ran.out.startswith("47 of 48 records saved in finished-rescued\n")
    assert "match 2 (" in ran.out
    assert ": saved, attempt 1\n" in ran.out
    assert "attempt 1 is lost; run plays it again\n" in ran.out
    assert "contest.log: won by team 1 (finished), scores [15, 9]. To keep that result:" in ran.out
    assert "place 7: lost (match 1, attempt 1): its page is damaged\n" in ran.out
    assert Path("finished-rescued/rescue.txt").read_text(encoding="utf-8") == ran.out
    said = command("verify", "finished-rescued")
    assert said.code == 0
    assert said.out.startswith("Everything that is left fits: 48 records")
    assert "  place 7: match 1, attempt 1: its page is damaged\n" in said.out
    kept = ["matches", "adjudicate", "finished-rescued", "1", "--winner", "1", "--why", "as in contest.log"]
    assert command(*kept).code == 0
    assert command("verify", "finished-rescued").code == 0
    again = command("rescue", "finished", "--records", "no such file")
    assert again.code == 2
    assert again.err == "getstep-server: --records no such file: no such file\n"
    again = command("rescue", "finished")
    assert again.code == 2
    assert again.err.startswith("getstep-server: finished-rescued: it exists")
    assert again.err.endswith(": getstep-server rescue finished --to finished-rescued-2\n")
    assert command("rescue", "finished", "--to", "finished-rescued-2").code == 1
    assert "--to finished-rescued: it exists" in command("rescue", "finished", "--to", "finished-rescued").err


# --- all records are lost ---------------------------------------------------------------------------------------


def lose_all(folder: Path, **changed: object) -> None:
    """Delete the database, and leave a log of the games in it."""
    with Store(folder / "contest.db", reading=True) as store:
        tournament = load_tournament(load_contest(folder), store)
        contest, lines = tournament.contest, list(store.lines())
    log = []
    for line in lines:
        fields = json.loads(line)
        if fields["type"] == "game":
            match = tournament.matches[fields["match"]]
            about = {"match": match.number, "event_number": match.event, "round": match.round, "game": match.game}
            names = [contest.team_name(team) for team in match.teams]
            winner = None if fields["winner"] is None else match.teams[fields["winner"]]
            ended = {"winner": winner, "reason": fields["reason"], "scores": fields["scores"]}
            told = {"event": "match_ended", **about, "teams": match.teams, "names": names, **ended, **changed}
            log.append(json.dumps(told) + "\n")
    (folder / "contest.log").write_text("".join(log), encoding="utf-8")
    (folder / "contest.db").unlink()


def test_the_printed_commands_set_the_results_of_the_log(finished: Path, command: Command) -> None:
    lose_all(finished)
    ran = command("rescue", "finished")
    assert ran.code == 1
    printed = [line for line in ran.out.splitlines() if line.startswith("  getstep-server matches adjudicate")]
    assert len(printed) == 14  # of 16 matches; the other two were never played
    said = command("verify", "finished-rescued")
    assert said.code == 1
    assert said.out.startswith("ALL RECORDS ARE LOST: 16 matches paired again, none with a result.\n")
    for line in printed:
        kept = command(*shlex.split(line)[1:])
        assert kept.code == 0, kept.err
    assert command("verify", "finished-rescued").code == 0
    # the later rounds follow from results, and only the log knows their matches
    assert "match 32 (Ada - =1+1): won by Ada (" in ran.out
    assert "This is in contest.log only: it has no turns and no hashes" in ran.out
    hint = "getstep-server rescue finished --to finished-rescued-2 --records matches.jsonl\n"
    assert f"A backup saves everything, and so does a file of export --matches: {hint}" in ran.out


@pytest.mark.parametrize("changed", [{"teams": [2, 9]}, {"event_number": 7}, {"winner": [1]}])
def test_a_log_that_denies_the_pairings_is_listed_only(
    finished: Path, command: Command, changed: dict[str, object]
) -> None:
    lose_all(finished, **changed)
    ran = command("rescue", "finished")
    assert ran.code == 1
    assert "adjudicate" not in ran.out
    if "winner" in changed:
        return  # the pairings are confirmed, and a result that no team has is not set
    assert "its result is lost" not in ran.out
    assert "match 1 (Ada - =1+1): won by " in ran.out
    said = command("verify", "finished-rescued")
    assert said.code == 1
    assert "\nTo begin the contest anew, as nothing is left: getstep-server run finished-rescued\n" in ran.out
    assert said.out.startswith("ALL RECORDS ARE LOST: this is an empty contest.\n")
    refused = command("matches", "adjudicate", "finished-rescued", "3", "--winner", "Ada", "--why", "x")
    assert refused.code == 2
    assert "MATCH 3: the contest in finished-rescued has no matches yet" in refused.err


def test_an_export_restores_a_deleted_database(finished: Path, command: Command) -> None:
    before = lines_of(finished)
    command("export", "finished", "--matches", "--output", "matches.jsonl")
    lose_all(finished)
    ran = command("rescue", "finished", "--records", "matches.jsonl")
    assert ran.code == 0
    assert "A backup saves everything" not in ran.out
    assert lines_of(Path("finished-rescued")) == before


def test_a_text_with_headers_fills_the_gaps_of_games(finished: Path, command: Command) -> None:
    before = lines_of(finished)
    command("export", "finished", "--matches", "--format", "headed", "--output", "matches.txt")
    with Path("matches.txt").open("ab") as file:
        file.write(b"[record 1]\n[turns 7]\nno turn at all\n")
    damage_page(finished / "contest.db", 9)
    assert command("rescue", "finished", "--to", "without").code == 1
    assert lines_of(Path("without")) != before
    assert command("rescue", "finished", "--records", "matches.txt").code == 0
    assert lines_of(Path("finished-rescued")) == before


def test_a_hash_of_before_the_damage_is_still_in_the_chain(finished: Path, command: Command) -> None:
    before = lines_of(finished)
    damage_page(finished / "contest.db", 9)
    command("rescue", "finished")
    tip = json.loads(before[-1])["hash"]
    assert command("verify", "finished-rescued", "--expect-hash", tip).code == 0


async def test_a_rescued_contest_is_played_to_its_end(finished: Path) -> None:
    damage_page(finished / "contest.db", 9)
    rescued_of(finished)
    contest = load_contest(Path("finished-rescued")).listening_on(host="127.0.0.1", port=0, classic_port=None)
    async with running(contest, StartCondition(now=True)) as server:
        await server.finished()
    with Store(contest.database, reading=True) as store:
        said = verify(load_contest(contest.folder), store)
    assert said.records > 48
    assert said.played + said.cancelled + said.annulled == said.matches


# --- export -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", range(1, PAGES + 1))
@pytest.mark.parametrize("damage", [zeroes, noise])
def test_an_export_of_a_damaged_database_has_whole_records_only(
    finished: Path, command: Command, page: int, damage: Callable[[bytes], bytes]
) -> None:
    path = finished / "contest.db"
    before, content = lines_of(finished), path.read_bytes()
    path.write_bytes(
        content[: (page - 1) * PAGE] + damage(content[(page - 1) * PAGE : page * PAGE]) + content[page * PAGE :]
    )
    ran = command("export", "finished", "--matches", "--output", "out.jsonl")
    written = Path("out.jsonl").read_bytes().splitlines() if Path("out.jsonl").exists() else []
    assert written == before[: len(written)]
    if ran.code:
        assert "getstep-server rescue finished" in ran.err
    else:
        assert written == before


def test_a_text_that_is_not_utf_8_is_not_exported(finished: Path, command: Command) -> None:
    database = sqlite3.connect(finished / "contest.db")
    with database:
        database.execute("UPDATE records SET turns = CAST(x'ff' || turns AS TEXT) WHERE place = 9")
    database.close()
    ran = command("export", "finished", "--matches", "--output", "out.jsonl")
    assert ran.code == 1
    assert "the record at place 9 is not what was written" in ran.err
    assert "getstep-server rescue finished" in ran.err
    assert len(Path("out.jsonl").read_text(encoding="utf-8").splitlines()) == 8
