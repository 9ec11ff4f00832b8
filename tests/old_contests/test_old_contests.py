"""Contests that earlier versions have written: they open, show, verify and resume, and no hash of them changes."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import pytest
import trio

from getstep.client import saved_login
from getstep.replay import read_replays, replay_data
from getstep.wire import GetStep, Start, Welcome
from getstep_server.config.contest import Contest, load_contest
from getstep_server.runtime.run import RunOutcome
from getstep_server.storage.journal import read, segments
from getstep_server.storage.store import Store
from tests.support.command import Command
from tests.support.folder_files import unnamed
from tests.support.golden import assert_golden
from tests.support.servers import Running, connected, running
from tests.support.tampering import Forged

from .contests import HERE, NAMES, contradictions, course, expected, facts, in_utc, names, said, transcript, unpack
from .moves import move

UNFINISHED = [name for name in NAMES if expected(name)["resumed"]]
VERSIONS = {name.split("/")[0] for name in NAMES}


def test_the_page_names_all_of_them() -> None:
    page = (HERE / "README.md").read_text(encoding="utf-8")
    named = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert named == {name.split("/")[1] for name in NAMES} | VERSIONS


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_said(name: str, tmp_path: Path) -> None:
    folder, was = unpack(name, tmp_path / "contest"), expected(name)
    assert "The expected hash is in the chain, as its last." in said(
        "verify", str(folder), "--expect-hash", was["hash"]
    )
    assert contradictions(was, {**facts(folder), "course": course(folder), "resumed": was["resumed"]}) == []
    with in_utc():
        version, short = name.split("/")
        assert_golden(short, transcript(folder), folder=HERE / version)


def test_each_file_that_a_contest_has_left_is_named_with_its_bound() -> None:
    left = [path for archive in HERE.glob("*/*.tar.xz") for path in names(archive)]
    assert len(left) > 100
    assert unnamed(left) == []
    assert unnamed(["contest.log.5", "programs/1/2/files/bot.py", "other", "x/contest.db"]) == [
        "other",
        "x/contest.db",
    ]


def opened(name: str, folder: Path) -> Contest:
    """Return a copy of an old contest, on a free port of the loopback interface."""
    unpack(name, folder)
    return load_contest(folder).listening_on(host="127.0.0.1", port=0, classic_port=None)


def stored_lines(contest: Contest) -> list[bytes]:
    with Store(contest.database) as store:
        return list(store.lines())


def choose(start: Start, question: GetStep) -> Any:
    return move(start.game, start.match, question.board, question.is_black)


async def played_to_the_end(run: Running) -> None:
    """Let every team play until the contest is over."""

    async def play(team: int, token: str) -> None:
        async with connected(run.port) as player:
            await player.join(team, token)
            await player.expect(Welcome)
            await player.play(choose)

    async with trio.open_nursery() as nursery:
        for team in run.contest.teams.values():
            nursery.start_soon(play, team.id, team.token)
        await run.finished()


@pytest.mark.parametrize("name", UNFINISHED)
async def test_an_unfinished_one_is_resumed(name: str, tmp_path: Path) -> None:
    contest = opened(name, tmp_path / "contest")
    before, was = stored_lines(contest), expected(name)
    interrupted: dict[bytes, list[Any]] = {}
    for path in segments(contest.running):
        for line in read(path).lines:
            if "player" in line.entry:
                interrupted.setdefault(line.tag, []).append(line.entry)
    assert interrupted
    async with running(contest) as run:
        await played_to_the_end(run)
    assert run.ending is RunOutcome.FINISHED
    after = stored_lines(contest)
    assert after[: len(before)] == before
    assert contradictions(was["resumed"], course(contest.folder)) == []


# --- newer than this version ------------------------------------------------------------------------------------


NEWER: dict[str, dict[str, Any]] = {
    "records": {"record": 2},
    "tables": {},
    "a kind of record": {"type": "ballot"},
    "a decision": {"type": "decision", "decision": "promote", "team": 1},
}


@pytest.mark.parametrize("what", NEWER)
def test_a_folder_that_is_newer_is_refused_with_the_version_that_it_needs(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = unpack("0.1.0/games", tmp_path / "contest")
    (folder / "contest.db").rename(tmp_path / "old.db")
    forged = Forged(tmp_path / "old.db", folder / "contest.db")
    if "type" in NEWER[what]:
        forged.repeat(forged.last, number=None, event=None, pairing=None, leg=None, attempt=None, turns="")
    newer = {"software": "getstep-server 1.4.0", **NEWER[what]}
    forged.head(forged.last, lambda head: head.update(newer)).reseal()
    if what == "tables":
        forged.sql("PRAGMA user_version = 2")
    forged.close()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    commands = [
        ("run", "--now"),
        ("standings",),
        ("verify",),
        ("report",),
        ("teams", "withdraw", "Ada", "--why", "late", "--yes"),
    ]
    if what == "tables":  # otherwise they copy each record as it is
        commands += [("export", "--matches"), ("show", "1"), ("backup", "--to", str(tmp_path / "copy"))]
    else:
        commands += [("rescue", "--to", str(tmp_path / "copy"))]
    command = Command(capsys)
    for name, *arguments in commands:
        after = 1 if name == "teams" else 0
        ran = command(name, *arguments[:after], str(folder), *arguments[after:])
        assert ran.code in (1, 2), name
        said = ran.out + ran.err
        assert "it needs getstep-server 1.4.0 or a newer version, and this is getstep-server " in said
        assert "a copy of the contest's folder" not in said  # nothing is damaged
    assert not (tmp_path / "copy").exists()
    for path, content in before.items():
        assert path.read_bytes() == content


# --- files of contestants ---------------------------------------------------------------------------------------


def test_a_replay_of_an_old_practice_is_read(tmp_path: Path) -> None:
    page = tmp_path / "practice.html"
    page.write_bytes(lzma.decompress((HERE / "0.1.0" / "practice.html.xz").read_bytes()))
    games = read_replays(page)
    assert [(game.names, len(game.turns), game.result) for game in games] == [
        (("b.py", "greedy"), 35, "draw"),
        (("greedy", "b.py"), 45, "greedy wins"),
    ]
    assert all("problem" not in game for game in replay_data(games, title="Again")["games"])


def test_an_old_saved_login_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GETSTEP_LOGIN_FILE", str(HERE / "0.1.0" / "login.json"))
    seen = saved_login.Seen("Autumn contest", 1795852800.0, over=True)
    assert saved_login.load() == saved_login.SavedLogin("192.168.1.10", 7777, 7, "kq3m-x7fd-29pt", seen)
