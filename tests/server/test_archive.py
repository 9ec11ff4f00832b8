"""Turns of old matches that are moved into a file: what stays, what proves it, and the way back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from getstep_server.config.contest import Contest, load_contest
from getstep_server.errors import UsageError
from getstep_server.events import MatchEnded
from getstep_server.records.record import sealed
from getstep_server.storage import archive as moving
from getstep_server.storage.archive import archive, restore
from getstep_server.storage.archived import ArchiveFiles, shortened
from getstep_server.storage.contest_state import check_database, load_tournament
from getstep_server.storage.database import RecordRow
from getstep_server.storage.exported import exported_row
from getstep_server.storage.lock import ContestLock
from getstep_server.storage.store import Store, copy_records, stored_record
from getstep_server.storage.verify import Verified, VerifyError, verify
from tests.support.command import Command
from tests.support.contests import make_contest
from tests.support.servers import running, seated
from tests.support.site import TOKENS, Browser, following
from tests.support.stored_contests import copied
from tests.support.tampering import Forged

LATER = 4e9
"""A time after the end of each match, in seconds since the epoch."""

MATCHES, TURNS = 29, 1387
"""Those of the stored contest that have turns."""


@pytest.fixture
def contest(tmp_path: Path) -> Contest:
    copied("finished", tmp_path / "lab")
    return load_contest(tmp_path / "lab")


def moved(contest: Contest, name: str = "moved.jsonl", ended_before: float = LATER) -> moving.Archived | None:
    return archive(contest, ended_before, contest.folder.parent / name, "Grace", "the disk is small")


def checked(contest: Contest, *names: str) -> Verified:
    files = ArchiveFiles([contest.folder.parent / name for name in names])
    with Store(contest.database, reading=True) as store:
        return verify(contest, store, archives=files)


def rows_of(contest: Contest) -> list[RecordRow]:
    with Store(contest.database, reading=True) as store:
        return [row for rows in store.rows() for row in rows]


def tables_of(contest: Contest) -> Any:
    with Store(contest.database, reading=True) as store:
        return load_tournament(contest, store).tables()


def test_what_stays_proves_the_standings_and_the_file_proves_the_rest(contest: Contest) -> None:
    before, tables = rows_of(contest), tables_of(contest)
    size = contest.folder.joinpath("contest.db").stat().st_size
    made = moved(contest)
    assert made is not None
    assert made.games == MATCHES
    after = rows_of(contest)
    assert [row[7] for row in after] == [b""] * len(after)
    assert tables_of(contest) == tables
    check_database(contest.database, lambda: False)
    found = checked(contest)
    assert (found.turns, found.archived, len(found.archives)) == (0, MATCHES, 1)
    assert (found.archives[0].by, found.archives[0].sha256) == ("Grace", made.sha256)
    whole = checked(contest, "moved.jsonl")
    assert (whole.turns, whole.archived) == (TURNS, 0)
    with Store(contest.database) as store:
        store.shrink()
    assert contest.folder.joinpath("contest.db").stat().st_size < size / 2
    assert restore(contest, ArchiveFiles([contest.folder.parent / "moved.jsonl"])) == MATCHES
    assert rows_of(contest)[:-1] == before
    assert checked(contest).turns == TURNS


def ends(contest: Contest) -> list[float]:
    with Store(contest.database, reading=True) as store:
        results = load_tournament(contest, store).results
    return sorted(result.started + result.seconds for result in results if result.turns)


def test_older_matches_go_first_and_each_archive_goes_on_where_the_one_before_ended(contest: Contest) -> None:
    times = ends(contest)
    assert moved(contest, "none.jsonl", times[0] - 1) is None
    assert not (contest.folder.parent / "none.jsonl").exists()
    one, two = moved(contest, "one.jsonl", times[9]), moved(contest, "two.jsonl", times[19])
    assert one is not None
    assert two is not None
    assert 0 < one.through < two.through
    assert moved(contest, "again.jsonl", times[19]) is None
    found = checked(contest)
    assert (found.archived, len(found.archives)) == (one.games + two.games, 2)
    assert checked(contest, "two.jsonl").archived == one.games
    assert checked(contest, "one.jsonl", "two.jsonl").archived == 0


def test_an_archive_that_was_interrupted_is_finished_by_the_next(
    contest: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, calls = Store.replace, 0

    def fail(self: Store, rows: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise OSError("killed")
        replace(self, rows[:5])

    monkeypatch.setattr(Store, "rows_after", few(Store.rows_after))
    monkeypatch.setattr(Store, "replace", fail)
    with pytest.raises(OSError, match="killed"):
        moved(contest, "one.jsonl")
    monkeypatch.undo()
    found = checked(contest)
    assert (found.archived, len(found.archives)) == (5, 1)
    assert found.turns > 0
    rest = moved(contest, "two.jsonl")
    assert rest is not None
    assert rest.games == MATCHES - 5
    found = checked(contest, "two.jsonl")
    assert (found.archived, len(found.archives)) == (5, 1)
    assert checked(contest, "one.jsonl", "two.jsonl").turns == TURNS


def few(rows_after: Callable[[Store, int], Any]) -> Callable[[Store, int], Any]:
    return lambda store, place: rows_after(store, place)[:12]


def flip(head: dict[str, Any]) -> None:
    head["winner"] = 1 - (head["winner"] or 0)


def reshorten(forged: Forged, place: int) -> None:
    """Give a record without turns the hash of its text."""
    ((head, previous),) = forged.sql("SELECT head, previous FROM records WHERE place = ?", place)
    _, digest = sealed(head[:-1] + b',"turns":[]}', place, previous.decode())
    forged.write(place, "hash", digest.encode())


def test_what_was_changed_since_the_archive_is_found(contest: Contest, tmp_path: Path) -> None:
    moved(contest)
    forged = Forged(contest.folder / "contest.db", tmp_path / "forged.db")
    place = forged.place(1)
    forged.head(place, flip)
    assert re_found(contest, forged, "text is not what was sealed") == place
    reshorten(forged, place)
    assert re_found(contest, forged, "kept") == forged.last
    forged.close()


def re_found(contest: Contest, forged: Forged, what: str) -> int | None:
    with Store(forged.path, reading=True) as store, pytest.raises(VerifyError, match=what) as found:
        verify(contest, store)
    return found.value.place


def test_turns_that_no_decision_has_removed_are_missed(contest: Contest, tmp_path: Path) -> None:
    forged = Forged(contest.folder / "contest.db", tmp_path / "forged.db")
    place = forged.place(1)
    row = shortened(next(row for row in rows_of(contest) if row[0] == place))
    forged.write(place, "head", row[6]).write(place, "turns", b"").write(place, "hash", row[9])
    assert re_found(contest, forged, "no turns, expected a decision") == place
    forged.close()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda head: head.update(games=1), "an archive of 1 games"),
        (lambda head: head.update(through=10**6), "expected one before this record"),
        (lambda head: head.update(through=0), "through is 0"),
        (lambda head: head.update(kept="0" * 64), "expected 29 with"),
    ],
)
def test_a_decision_that_does_not_fit(
    contest: Contest, tmp_path: Path, change: Callable[[dict[str, Any]], object], what: str
) -> None:
    moved(contest)
    forged = Forged(contest.folder / "contest.db", tmp_path / "forged.db")
    ((previous,),) = forged.sql("SELECT previous FROM records WHERE place = ?", forged.last)
    forged.head(forged.last, change)
    ((head,),) = forged.sql("SELECT head FROM records WHERE place = ?", forged.last)
    _, digest = sealed(head, forged.last, previous.decode())
    forged.write(forged.last, "hash", digest.encode()).sql("UPDATE chain SET hash = ?", digest)
    assert re_found(contest, forged, what) == forged.last
    forged.close()


def test_a_file_of_another_contest_or_none_is_refused(contest: Contest, tmp_path: Path) -> None:
    moved(contest)
    path = tmp_path / "moved.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    other = tmp_path / "other.jsonl"
    other.write_bytes(lines[0].replace(b'"turns"', b'"turms"'))
    with pytest.raises(UsageError, match=r"other.jsonl:1: not a whole record"):
        ArchiveFiles([other])
    copied("killed", tmp_path / "killed")
    killed = load_contest(tmp_path / "killed")
    with pytest.raises(Exception, match="not of this contest"):
        restore(killed, ArchiveFiles([path]))


def test_a_record_of_a_friendly_match_is_shortened_too() -> None:
    """It has no key columns, and is told from others by its type."""
    head, turns = b'{"record":1,"type":"friendly","match":3}', b'{"player":0,"pass":true}'
    line, digest = sealed(head[:-1] + b',"turns":[' + turns + b"]}", 4, "0" * 64)
    whole: RecordRow = (4, None, None, None, None, None, head, turns, b"0" * 64, digest.encode())
    assert exported_row(line) == whole
    assert stored_record(whole).line == line
    short = shortened(whole)
    fields = json.loads(stored_record(short).line)
    assert (fields["turns"], fields["instead_of"]) == ([], digest)
    assert exported_row(stored_record(short).line) == short


def test_copies_have_the_archived_records_and_go_on(contest: Contest, tmp_path: Path) -> None:
    moved(contest)
    with Store(contest.database, reading=True) as store, Store(tmp_path / "copy.db") as copy:
        copy_records(store, copy, lambda *_: None)
        assert verify(contest, copy).archived == MATCHES
    with Store(contest.database, reading=True) as store, Store(tmp_path / "standby.db") as copy:
        for row in (row for rows in store.rows() for row in rows):
            copy.extend([row])  # of a standby host, which may be interrupted behind each
        assert verify(contest, copy).archived == MATCHES


async def test_a_server_plays_on_while_turns_are_moved(tmp_path: Path) -> None:
    short = {"game": "pseudo_tonga", "options": {"size": 6}}
    contest = make_contest(tmp_path / "lab", event=short, on_disk=True, patient=True)
    async with running(contest) as run, seated(run.port, 1) as one, seated(run.port, 2) as two:
        async with trio.open_nursery() as nursery:
            for player in (one, two):
                nursery.start_soon(player.play)
            await run.recorder.wait_for(MatchEnded)
            made = await trio.to_thread.run_sync(moved, contest)
        await run.finished()
    assert made is not None
    found = checked(contest)
    assert (found.played, len(found.archives)) == (2, 1)
    assert found.archived == made.games
    assert checked(contest, "moved.jsonl").archived == 0


async def test_pages_say_where_the_turns_are(contest: Contest, monkeypatch: pytest.MonkeyPatch) -> None:
    await trio.to_thread.run_sync(moved, contest)
    async with trio.open_nursery() as nursery:
        site = await following(contest.folder, nursery)
        match = next(one.match for one in site.app.feed.whole.results if 1 in one.match.teams and one.turns)
        number, other = match.number, next(team for team in match.teams if team != 1)
        for path in (f"/match/{number}", "/", f"/team/1/against/{other}", "/team/1", "/event/1"):
            assert (await site.get(path)).status == 200, path
        against = (await site.get(f"/team/1/against/{other}")).body
        assert b"same moves" not in against
        (game,) = (await site.json(f"/api/v1/matches/{number}/replay"))["games"][-1:]
        (said,) = [value for name, value in game["facts"] if name == "turns"]
        assert (
            game["problem"]
            == f"Turns: {said}."
            == f"Turns: {said.split(',')[0]}, moved into an archive by the host."
        )
        refused = await site.get(f"/api/v1/matches/{number}/turns")
        assert (refused.status, b"were moved into an archive" in refused.body) == (410, True)
        browser = Browser(site.app)
        assert (await browser.log_in(1, TOKENS[1])).status == 200
        assert (await browser.get("/own/state.json")).status == 200
        assert (await browser.get("/own/analysis", {"match": str(number)})).status == 409
        nursery.cancel_scope.cancel()


def test_the_command_says_what_it_does(contest: Contest, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(contest.folder.parent)
    for wrong in ("lab.txt", "lab", "none/lab.jsonl"):
        assert "expected a new file" in command.complaint("archive", "lab", "--days", "0", "--to", wrong)
    assert "expected a day such as" in command("archive", "lab", "--before", "tomorrow").err
    with ContestLock(contest.folder):
        made = command("archive", "lab", "--before", "2035-01-01", "--to", "a.jsonl", "--by", "Grace")
    assert made.out.startswith(f"Moved the turns of {MATCHES} matches to a.jsonl. SHA-256: ")
    assert "this command gives it" in made.out
    again = command("archive", "lab", "--days", "0", "--to", "b.jsonl")
    assert again.out == "No match that is so old has turns in the contest: nothing was moved.\n"
    assert "moved into an archive by the host" in command("show", "lab", "1").out
    said = command("verify", "lab").out
    assert f"{MATCHES} matches were moved into an archive by Grace on " in said
    assert f"Without these files, {MATCHES} matches could not be replayed" in said
    assert "All of these matches were replayed." in command("verify", "lab", "--archive", "a.jsonl").out
    assert "No such file" in command.complaint("verify", "lab", "--archive", "none.jsonl")
    assert f"the turns of {MATCHES} matches, up to the record at place" in command("decisions", "lab").out
    assert command("archive", "lab", "--restore", "a.jsonl").out == f"{MATCHES} matches have their turns again.\n"


@pytest.mark.long
def test_reports_and_exports_are_made_without_the_turns(
    contest: Contest, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(contest.folder.parent)
    moved(contest)
    for form in ("jsonl", "csv", "text", "headed"):
        assert command("export", "lab", "--matches", "--format", form).code == 0
    assert f"Without the turns of {MATCHES} matches" in command("export", "lab", "--npz", "--output", "turns").out
    assert command("report", "lab", "--output", "report.html").code == 0
    assert command("site", "lab", "--output", "site").code == 0
    assert "moved into an archive by the host" in Path("site/matches/1.html").read_text(encoding="utf-8")


def test_rescue_saves_what_stays_and_takes_the_turns_from_the_file(
    contest: Contest, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(contest.folder.parent)
    assert moved(contest) is not None
    assert command("rescue", "lab").code == 0
    rescued = contest.folder.parent / "lab-rescued"
    assert checked(load_contest(rescued)).archived == MATCHES
    shutil.rmtree(rescued)
    (contest.folder / "contest.db").unlink()
    assert "saved" in command("rescue", "lab", "--records", "moved.jsonl").out
    assert sum(bool(row[7]) for row in rows_of(load_contest(rescued))) == MATCHES
