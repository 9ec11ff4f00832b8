"""Contests that earlier versions have written: they open, show, verify and resume, and no hash of them changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from getstep.wire import GetStep, Start, Welcome
from getstep_server.config.contest import Contest, load_contest
from getstep_server.runtime.run import RunOutcome
from getstep_server.storage.journal import read, segments
from getstep_server.storage.store import Store
from tests.support.golden import assert_golden
from tests.support.servers import Running, connected, running

from .contests import HERE, NAMES, contradictions, course, expected, facts, in_utc, said, transcript, unpack
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
