"""Records that are gone are not taken for a new contest, and a contest is not run twice."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from getstep_server.config.contest import load_contest
from getstep_server.errors import ConfigError, ContestInUse
from getstep_server.storage.contest_state import accept_loss, complete_tournament
from getstep_server.storage.lost_records import check_nothing_lost
from getstep_server.storage.store import Store
from tests.support.command import Command
from tests.support.stored_contests import copied

LOGGED = '{"event": "match_started", "match": 1}\n'
CLAIMER = """
import sys
from pathlib import Path
from getstep_server.storage.store import Store
with Store(Path(sys.argv[1])) as store:
    store.claim()
    print("claimed", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nobody_returns: None) -> Path:
    copied("finished", tmp_path / "finished")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "finished" / "contest.log").write_text(LOGGED, encoding="utf-8")
    return Path("finished")


def locks_on(path: Path) -> list[str]:
    """Return the locks of this process on a file: their kinds and ranges."""
    inode = f":{path.stat().st_ino}"
    rows = (line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines())
    return [" ".join(row[1:4] + row[6:]) for row in rows if row[4] == str(os.getpid()) and row[5].endswith(inode)]


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="this system does not list its locks")
@pytest.mark.parametrize("linked", [False, True])
def test_looking_for_lost_records_releases_no_lock_of_the_database(finished: Path, linked: bool) -> None:
    """A reader would take itself for the first one, and build the index of the log anew under the server."""
    contest = load_contest(finished)
    if linked:
        os.link(finished / "contest.db", finished / "contest-copy.db")
    (finished / "contest.log").unlink()
    with Store(contest.database) as store:
        store.chain()
        files = [finished / "contest.db", finished / "contest.db-shm"]
        before = [locks_on(path) for path in files]
        check_nothing_lost(contest)
        assert [locks_on(path) for path in files] == before
        assert before[1]


# --- an empty database --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", ["emptied", "deleted", "without records"])
def test_no_command_takes_lost_records_for_a_new_contest(finished: Path, command: Command, lost: str) -> None:
    path = finished / "contest.db"
    path.unlink()
    if lost == "emptied":
        path.touch()
    elif lost == "without records":
        with Store(path):
            pass
    before = path.read_bytes() if path.exists() else None
    commands = [
        *("run finished --now --port 0", "standings finished", "verify finished", "export finished --matches"),
        *("report finished", "ratings finished", "incidents finished", "show finished 1", "web finished"),
        "teams withdraw finished Ada --why late",
    ]
    for words in commands:
        ran = command(*words.split())
        assert (ran.code, ran.out) == (2, ""), words
        assert "no records in it, and matches were played: contest.log in finished says so" in ran.err
        assert "getstep-server rescue finished (" in ran.err
        assert "getstep-server rescue finished --records matches.jsonl" in ran.err
        assert "getstep-server run finished --anew" in ran.err
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("name", ["contest.log.2", "contest.db.bak", "running/segment-4.journal"])
def test_each_kind_of_evidence_is_enough(finished: Path, command: Command, name: str) -> None:
    (finished / "contest.log").unlink()
    database = finished / "contest.db"
    evidence = finished / name
    evidence.parent.mkdir(exist_ok=True)
    evidence.write_bytes(database.read_bytes() if name.endswith("bak") else LOGGED.encode())
    database.write_bytes(b"")
    ran = command("verify", "finished")
    assert ran.code == 2
    assert f"matches were played: {name.split('/')[0]} in finished says so" in ran.err


def test_two_files_of_evidence_say_so(finished: Path, command: Command) -> None:
    (finished / "contest.db").rename(finished / "contest.db.bak")
    assert "contest.db.bak, contest.log in finished say so" in command("verify", "finished").err


def test_a_contest_of_which_nothing_was_played_is_new(finished: Path, command: Command) -> None:
    (finished / "contest.log").write_text('{"event": "run_began"}\n', encoding="utf-8")
    (finished / "contest.db").unlink()
    assert command("standings", "finished").code == 0


def test_a_contest_is_begun_anew_on_purpose(finished: Path, command: Command) -> None:
    (finished / "contest.db").write_bytes(b"")
    ran = command("run", "finished", "--anew", "--at", "25:00")
    assert ran.code == 2  # the command line is checked before anything is moved
    assert (finished / "contest.log").exists()
    ran = command("run", "finished", "--anew", "--now", "--host", "256.0.0.1", "--no-web", "--no-announce")
    assert "The old files are in finished/earlier-" in ran.out
    (kept,) = finished.glob("earlier-*")
    assert (kept / "contest.log").read_text(encoding="utf-8") == LOGGED
    assert (kept / "contest.db").read_bytes() == b""
    assert command("standings", "finished").code == 0


def test_records_are_not_put_aside(finished: Path, command: Command) -> None:
    ran = command("run", "finished", "--anew")
    assert ran.code == 2
    assert "--anew: finished/contest.db has " in ran.err
    assert (finished / "contest.log").exists()


# --- a database that was cut short --------------------------------------------------------------------------------


@pytest.fixture
def rulings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nobody_returns: None) -> Path:
    """A contest with its log; its three newest records are decisions, after the rematch of match 4."""
    copied("rulings", tmp_path / "rulings", "0.1.0")
    monkeypatch.chdir(tmp_path)
    return Path("rulings")


def cut(folder: Path, records: int) -> None:
    """Cut the newest records off, as a log of the database does that is damaged: what is left is a valid chain."""
    with closing(sqlite3.connect(folder / "contest.db")) as database, database:
        (length,) = database.execute("SELECT length FROM chain").fetchone()
        database.execute("DELETE FROM records WHERE place > ?", (length - records,))
        hashed = database.execute("SELECT hash FROM records WHERE place = ?", (length - records,)).fetchone()
        database.execute("UPDATE chain SET length = ?, hash = ?", (length - records, *hashed))


def said_of(folder: Path, command: Command) -> str:
    """Return what `verify` says, and check that a table and a run agree with it."""
    verified, table = command("verify", str(folder)), command("standings", str(folder))
    complete = verified.code == 0
    assert ("This table may be wrong" not in table.err) is complete
    if complete:
        complete_tournament(load_contest(folder))
    else:
        with pytest.raises(ConfigError, match="the newest records are missing"):
            complete_tournament(load_contest(folder))
    return verified.out


def test_results_of_the_log_that_are_not_on_record_are_missed(rulings: Path, command: Command) -> None:
    """A match that was played again has two results in the log, and one of them is on record."""
    log = rulings / "contest.log"
    (rulings / "contest.log.bak").write_bytes(log.read_bytes())  # a copy says nothing new
    assert "Everything fits" in said_of(rulings, command)
    cut(rulings, 4)
    said = said_of(rulings, command)
    assert "contest.log has results of match 4 that are not on record" in said
    assert "getstep-server rescue rulings (" in said
    assert "getstep-server run rulings --accept-loss" in said
    log.unlink()
    assert "has results of match 4 that" in said_of(rulings, command)  # in what a rotation has left
    cut(rulings, 5)
    assert "has results of matches 4, 5, 10 that" in said_of(rulings, command)


@pytest.mark.parametrize("kept", ["no log", "an earlier contest's log", "a torn line", "another text"])
def test_nothing_is_missed_that_the_log_does_not_say(rulings: Path, command: Command, kept: str) -> None:
    cut(rulings, 4)
    log = rulings / "contest.log"
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    (last,) = (line for line in lines[-12:] if '"match_ended"' in line)
    others = "".join(line for line in lines if line != last)
    left = {
        "an earlier contest's log": others + last.replace("2026-", "2025-"),
        "a torn line": others + last[:-20],
        "another text": others + '{"event": "match_ended", "match": "none"}\n["match_ended"]\n\xff"match_ended"\n',
    }
    log.unlink()
    if kept in left:
        log.write_text(left[kept], encoding="latin-1")
    assert "Everything fits" in said_of(rulings, command)


def test_without_a_time_in_the_first_record_one_result_of_each_match_is_enough(
    finished: Path, command: Command
) -> None:
    """In such a contest, the log of an earlier one in the same folder cannot be told apart."""
    ended = '{"event": "match_ended", "time": "2026-11-22T08:53:%02d.000Z", "match": %d}\n'
    log = finished / "contest.log"
    log.write_text("".join(ended % (second, 32) for second in range(3)), encoding="utf-8")
    assert "Everything fits" in said_of(finished, command)
    cut(finished, 2)
    assert "has results of match 32 that" in said_of(finished, command)


def test_a_match_of_the_journal_without_its_pairing_is_missed(tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    copied("killed", folder, "0.1.0")
    contest = load_contest(folder)
    running = complete_tournament(contest).matches.keys()
    (folder / "contest.log").unlink()
    cut(folder, 3)  # the settings are left
    with pytest.raises(
        ConfigError, match=r"the journal has turns of matches 1, 2, .* whose pairings are not on rec"
    ):
        complete_tournament(contest)
    kept = accept_loss(contest)
    assert kept is not None
    assert list((kept / "running").glob("segment-*"))
    assert running
    assert not complete_tournament(contest).matches


def test_a_rescued_contest_does_not_miss_what_was_lost(rulings: Path, command: Command) -> None:
    """The log goes with it into the new folder, and tells of the lost result still."""
    cut(rulings, 4)
    assert command("rescue", "rulings").code == 0  # the chain is valid: nothing in it says that there was more
    assert "Everything fits" in said_of(Path("rulings-rescued"), command)
    assert [path.name for path in Path("rulings-rescued").glob("earlier-*/contest.log")] == ["contest.log"]


def test_a_decision_is_not_built_on_records_that_were_cut(rulings: Path, command: Command) -> None:
    cut(rulings, 4)
    before = (rulings / "contest.db").read_bytes()
    ran = command("teams", "withdraw", "rulings", "Ada", "--why", "late")
    assert (ran.code, ran.out) == (2, "")
    assert "getstep-server run rulings --accept-loss" in ran.err
    assert (rulings / "contest.db").read_bytes() == before


# --- an exported file ---------------------------------------------------------------------------------------------


def test_a_file_instead_of_a_folder(finished: Path, command: Command) -> None:
    command("export", "finished", "--matches", "--output", "matches.jsonl")
    said = command("verify", "matches.jsonl")
    assert said.code == 2
    assert "matches.jsonl: the records of a contest, as export --matches writes them" in said.err
    assert "getstep-server rescue CONTEST --records matches.jsonl" in said.err
    assert command("verify", "finished/contest.toml").err == (
        "getstep-server: finished/contest.toml: a file, expected the folder of a contest\n"
    )


# --- two servers --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has locks of open files")
def test_a_second_server_is_refused_although_the_lock_was_renamed(finished: Path, command: Command) -> None:
    """It is refused before its first line, from the folder itself and from another with the same database."""
    other = Path("other")
    copied("finished", other)
    (other / "contest.db").unlink()
    (other / "contest.db").symlink_to(Path("../finished/contest.db"))
    arguments = [sys.executable, "-c", CLAIMER, str(finished / "contest.db")]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"claimed\n"
        for folder in (finished, other):
            ran = command("run", str(folder), "--now", "--port", "0")
            assert (ran.code, ran.out) == (2, "")
            assert "in use by another server" in ran.err
        assert command("standings", "finished").code == 0
        assert command("verify", "finished").code == 0
        first.kill()
    with Store(load_contest(finished).database) as store:
        store.claim()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has locks of open files")
def test_a_reader_in_the_servers_process_does_not_release_its_lock(finished: Path) -> None:
    path = finished / "contest.db"
    with Store(path) as store:
        store.claim()
        with Store(path, reading=True) as reader:
            reader.check_end()
        os.close(os.open(path, os.O_RDONLY))
        with Store(path) as second, pytest.raises(ContestInUse):
            second.claim()


# --- a table of changed records -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE records SET head = replace(head, '{', '{ ') WHERE place = 48", "the record at place 48 is not"),
        ("UPDATE records SET turns = replace(turns, '1', '2') WHERE place = 47", "the record at place 47 is not"),
        ("DELETE FROM records WHERE place = 48", "47 records up to place 47"),
    ],
)
def test_a_table_of_changed_records_says_so(finished: Path, command: Command, change: str, said: str) -> None:
    assert "This table may be wrong" not in command("standings", "finished").err
    database = sqlite3.connect(finished / "contest.db")
    with database:
        assert database.execute(change).rowcount == 1
    database.close()
    for name in ("standings", "crosstable"):
        ran = command(name, "finished")
        assert ran.code == 0
        (line,) = (line for line in ran.err.splitlines() if "This table may be wrong" in line)
        assert said in line
        assert line.endswith("check it with: getstep-server verify finished")
