"""Contests that an earlier version has left: they are read, verified and resumed, and no hash of them changes."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from getstep.wire import Welcome
from getstep_server.config.contest import Contest, load_contest
from getstep_server.runtime.run import RunOutcome
from getstep_server.storage.journal import read, segments
from getstep_server.storage.store import Store
from tests.server.command_line import Command
from tests.server.players import Running, connected, running

STORED = Path(__file__).with_name("stored")


def stored_lines(contest: Contest) -> list[bytes]:
    """Return the records of a contest as they were sealed."""
    with Store(contest.database) as store:
        return list(store.lines())


def expected(name: str, file: str) -> str:
    """Return the output about a stored contest from the version that made it."""
    return (STORED / name / "expected" / file).read_bytes().decode()


def copied(name: str, folder: Path) -> Contest:
    """Return a copy of a stored contest, on a free port of the loopback interface."""
    shutil.copytree(STORED / name, folder)
    return load_contest(folder).listening_on(host="127.0.0.1", port=0, classic_port=None)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def tables(command: Command, contest: Contest) -> Iterator[str]:
    """Yield all tables, as ``tables.jsonl`` has them."""
    yield command("export", str(contest.folder), "--standings").out
    for event in contest.events:
        for what in ("--standings", "--crosstable"):
            yield command("export", str(contest.folder), what, "--event", event.name).out


async def played_to_the_end(run: Running) -> None:
    """Let every team play until the contest is over."""

    async def play(team: int, token: str) -> None:
        async with connected(run.port) as player:
            await player.join(team, token)
            await player.expect(Welcome)
            await player.play()

    async with trio.open_nursery() as nursery:
        for team in run.contest.teams.values():
            nursery.start_soon(play, team.id, team.token)
        await run.finished()


@pytest.mark.parametrize("name", ["finished", "killed"])
def test_it_is_read_and_verified(name: str, command: Command, tmp_path: Path) -> None:
    contest = copied(name, tmp_path / name)
    head = re.findall("head ([0-9a-f]{64})", expected(name, "verify.txt"))[0]
    verified = command("verify", str(contest.folder), "--expect-hash", head)
    assert verified.code == 0
    assert verified.err.startswith(f"getstep-server: {contest.database}: no settings on record, an earlier version")
    assert verified.err.count("\n") == 1
    assert "The expected hash is in the chain, as its last.\n" in verified.out
    assert re.findall(r"\d+", verified.out.splitlines()[0]) == re.findall(
        r"\d+", expected(name, "verify.txt").splitlines()[0]
    )
    assert verified.out.endswith(f": {head}\n")
    assert "".join(tables(command, contest)) == expected(name, "tables.jsonl")
    games = command("export", str(contest.folder), "--games", "--format", "csv")
    found, wanted = (list(csv.DictReader(text.splitlines())) for text in (games.out, expected(name, "games.csv")))
    columns = wanted[0].keys()  # later versions may have more
    assert [{column: row[column] for column in columns} for row in found] == wanted


async def test_a_killed_contest_is_resumed(tmp_path: Path) -> None:
    contest = copied("killed", tmp_path / "killed")
    before = stored_lines(contest)
    (segment,) = segments(contest.running)
    entries = [line.entry for line in read(segment).lines if line.tag == b"4-1"]
    turns = entries[1:]
    async with running(contest) as run:
        await played_to_the_end(run)
    assert run.ending is RunOutcome.FINISHED
    after = stored_lines(contest)
    assert after[: len(before)] == before
    games = {record["match"]: record for record in map(json.loads, after) if record["type"] == "game"}
    assert len(games) == 12
    assert games[4]["turns"][: len(turns)] == turns
    assert games[4]["resumed"] == [sum("pass" not in turn for turn in turns)]


async def test_a_finished_contest_keeps_its_records_in_another_run(
    command: Command, tmp_path: Path, nobody_returns: None
) -> None:
    contest = copied("finished", tmp_path / "finished")
    before = stored_lines(contest)
    async with running(contest) as run:
        await run.finished()
    assert run.ending is RunOutcome.FINISHED
    assert stored_lines(contest)[: len(before)] == before
    assert "".join(tables(command, contest)) == expected("finished", "tables.jsonl")
